"""`Terminal`: the debugger of a person at a terminal."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from types import FrameType

from tileir.serve.debugger.moments import Stop
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.terminal.catalogue import all_commands
from tileir.serve.debugger.terminal.command_table import CommandMistake
from tileir.serve.debugger.terminal.completing import completions
from tileir.serve.debugger.terminal.console import Console, interruptible
from tileir.serve.debugger.terminal.shell import Shell
from tileir.serve.debugger.terminal.stops import StopTeller


class Leaving(Exception):
    """The end of a conversation, as it was asked for: "quit", "detach", "done", .."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how: str = how


class Terminal:
    """One conversation, about one launch: that of a program, which may run again and again, or one of a script."""

    def __init__(
        self,
        debugger: Debugger,
        write: Callable[[str], object] = sys.stdout.write,
        colours: bool = False,
        *,
        is_of_script: bool = False,
        caller: FrameType | None = None,
    ) -> None:
        self._caller: FrameType | None = caller
        self._debugger: Debugger = debugger
        self._is_of_script: bool = is_of_script
        self._runs: bool = False
        self.shell: Shell = Shell(self, all_commands(), write, colours)
        self._console: Console = Console(lambda line: completions(self.shell, line))
        self.shell.reader = self._console.read
        self._stops: StopTeller = StopTeller(self.shell)

    # --- what a shell asks for ---

    @property
    def debugger(self) -> Debugger | None:
        return self._debugger

    @property
    def is_running(self) -> bool:
        return self._runs

    @property
    def is_interactive(self) -> bool:
        return self._console.is_terminal

    def begin(self, stop_on_entry: bool) -> None:
        if self._is_of_script and self._runs:
            raise CommandMistake(
                "The kernel is launched already: 'continue' runs it, 'next-launch' goes on to the next one."
            )
        self._runs = True
        self._stops.forget()
        self.perform(lambda: self._debugger.start(stop_on_entry), False)

    def perform(self, run: Callable[[], Stop], stops_at_end: bool) -> None:
        with interruptible(self._debugger):
            stop = run()
        self._stops.tell(stop)
        for number in stop.breakpoints:
            self.shell.pending.extend(self.shell.attached.get(number, ()))
        if stop.reason == "end":
            if self._is_of_script and not stops_at_end:
                raise Leaving("done")
            self.shell.say(f"[The launch is at its end; 'reverse-step' goes back, {self._onwards}]")

    @property
    def _onwards(self) -> str:
        return "'continue' goes on with the script" if self._is_of_script else "'run' begins again"

    def leave(self, how: str) -> None:
        if how == "kill":
            self._runs = False
            self.shell.say("[The launch is killed]")
            return
        raise Leaving(how)

    def python(self) -> None:
        if self._caller is None:
            raise CommandMistake("There is no script: the launch is that of a program.")
        import pdb

        python = pdb.Pdb()
        python.reset()
        self.shell.say("[Python's debugger, at the launch; 'continue' comes back to this one]")
        python.interaction(self._caller, None)

    # --- the conversation ---

    def debug(self, stop_on_entry: bool, commands: deque[tuple[str, str]], *, batch: bool) -> str:
        """A launch of a script, which has begun; how it was left."""
        try:
            self.begin(stop_on_entry)
        except Leaving as end:
            return end.how
        return self.converse(commands, batch=batch)

    def converse(self, commands: deque[tuple[str, str]], *, batch: bool = False) -> str:
        """Carry out commands and files of commands, then what is typed; how it ended.

        Commands that were carried out are taken away: the others are for the next launch.
        """
        try:
            while commands:
                kind, text = commands.popleft()
                if kind == "x":
                    self._read_file(text)
                else:
                    self.shell.execute(text, typed=False)
            if batch:
                return "batch"
            while True:
                self._one()
        except Leaving as end:
            return end.how

    def _read_file(self, path: str) -> None:
        try:
            self.shell.read_file(path)
        except CommandMistake as error:
            self.shell.failed = True
            self.shell.say(str(error))

    def _one(self) -> None:
        try:
            line = self._console.read()
            if line is None:
                if self._console.is_terminal:
                    self.shell.say("quit")
                raise Leaving("quit")
            self.shell.execute(line)
        except KeyboardInterrupt:
            self.shell.say("Quit")
