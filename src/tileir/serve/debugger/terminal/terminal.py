"""`Terminal`: the debugger of a person at a terminal, with a prompt, completion and Ctrl-C.

`ScriptTerminal` is the same for all launches of a script.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final

from tileir.execute.locations.wording import several
from tileir.ir.diagnostics import TileIRError
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.stops import Position, Stop
from tileir.serve.debugger.terminal import inspection_commands, session_commands
from tileir.serve.debugger.terminal.breakpoint_commands import WATCHPOINTS
from tileir.serve.debugger.terminal.commands import COMMANDS, INFO, BadCommand, split
from tileir.serve.debugger.terminal.inspection_commands import show_displays
from tileir.serve.debugger.terminal.shell import Shell, short

COMMAND_MODULES: Final = (inspection_commands, session_commands)
"""Imported for the commands that they define."""
PROMPT: Final = "(tileir) "
_PATIENCE: Final = 3
"""Times that Ctrl-C is pressed until what does not stop is ended."""


class Console:
    """Where commands come from.  Without a terminal lines are read as they are, and no prompt is shown."""

    def __init__(self, complete: Callable[[str], list[str]]) -> None:
        self._complete: Callable[[str], list[str]] = complete
        self.is_terminal: bool = sys.stdin is not None and sys.stdin.isatty()
        self._found: list[str] = []

    def read(self, prompt: str = PROMPT) -> str | None:
        """The next line; None at the end of the input.  Ctrl-C is a `KeyboardInterrupt`."""
        try:
            if not self.is_terminal:
                line = sys.stdin.readline() if sys.stdin is not None else ""
                return line.rstrip("\n") if line else None
            with self._readline():
                return input(prompt)
        except EOFError:
            return None

    @contextmanager
    def _readline(self) -> Iterator[None]:
        """Completion for as long as a line is read: the script that is debugged may have its own."""
        try:
            import readline
        except ImportError:
            yield
            return
        before, delimiters = readline.get_completer(), readline.get_completer_delims()
        readline.set_completer(self._completed)
        readline.set_completer_delims(" \t\n")
        readline.parse_and_bind("tab: complete")
        try:
            yield
        finally:
            readline.set_completer(before)
            readline.set_completer_delims(delimiters)

    def _completed(self, text: str, number: int) -> str | None:
        import readline

        if number == 0:
            self._found = self._complete(readline.get_line_buffer()[: readline.get_endidx()])
        return self._found[number] if number < len(self._found) else None


@contextmanager
def interruptible(debugger: Debugger) -> Iterator[None]:
    """While a launch runs, Ctrl-C stops it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = 0

    def interrupt(*_: object) -> None:
        nonlocal pressed
        pressed += 1
        if pressed >= _PATIENCE:
            raise KeyboardInterrupt
        debugger.interrupt()

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def completions(shell: Shell, line: str) -> list[str]:
    """What the last word of a line may become."""
    stripped = line.lstrip()
    name, _ = split(stripped) if stripped else ("", "")
    if stripped == name:
        return [each for each in COMMANDS.commands if each.startswith(name)]
    try:
        completes = COMMANDS.find(name).completes
    except BadCommand:
        return []
    found: list[str] = []
    if completes == "command":
        found = list(COMMANDS.commands)
    elif completes == "info":
        found = list(INFO.commands)
    elif completes == "location" and shell.host.debugger is not None:
        operations = shell.debugger.recording.program.operations
        mnemonics = dict.fromkeys([operation.declaration.mnemonic for operation in operations])
        found = [*mnemonics, *[f"{short(file)}:" for file in shell.debugger.lines.files]]
    elif completes == "value" and shell.host.is_running:
        found = shell.debugger.value_names()
    word = stripped.rpartition(" ")[2]
    return [each for each in found if each.startswith(word)]


_MOST_STEPS: Final = 64
"""The values of more steps than these are not shown."""
_MOST_VALUES: Final = 6


class Leave(Exception):
    """The session ends: "quit", "detach", "done", .."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how: str = how


class Terminal:
    """A session about one launch: that of a program, which may run again and again, or one of a script."""

    def __init__(
        self,
        debugger: Debugger,
        write: Callable[[str], object] = sys.stdout.write,
        colors: bool = False,
        *,
        is_of_script: bool = False,
        caller: FrameType | None = None,
    ) -> None:
        self.debugger: Debugger = debugger
        self.is_running: bool = False
        self._caller: FrameType | None = caller
        self._is_of_script: bool = is_of_script
        self.shell: Shell = Shell(self, write, colors)
        self._console: Console = Console(lambda line: completions(self.shell, line))
        self.shell.reader = self._console.read
        # The last stop, and the frame that was shown there.
        self._before: Position | None = None
        self._shown: tuple[int, str] | None = None

    # --- as the host of a shell ---

    def begin(self, stop_on_entry: bool) -> None:
        if self._is_of_script and self.is_running:
            raise BadCommand(
                "The kernel is launched already: 'continue' runs it, 'next-launch' goes on to the next one."
            )
        self.is_running = True
        self._before = self._shown = None
        self.perform(lambda: self.debugger.start(stop_on_entry), False)

    def perform(self, run: Callable[[], Stop], stops_at_end: bool) -> None:
        with interruptible(self.debugger):
            stop = run()
        if stop.reason != "end":
            self._show(stop)
        for number in stop.breakpoints:
            self.shell.pending.extend(self.shell.attached.get(number, ()))
        if stop.reason == "end":
            self._before, self._shown = stop.position, None
            if stop.text:
                self.shell.say(self.shell.paint(stop.text, "red"))
            if self._is_of_script and not stops_at_end:
                raise Leave("done")
            onwards = "'continue' goes on with the script" if self._is_of_script else "'run' begins again"
            self.shell.say(f"[The launch is at its end; 'reverse-step' goes back, {onwards}]")

    def leave(self, how: str) -> None:
        if how == "kill":
            self.is_running = False
            self.shell.say("[The launch is killed]")
            return
        raise Leave(how)

    def python(self) -> None:
        if self._caller is None:
            raise BadCommand("There is no script: the launch is that of a program.")
        import pdb

        python = pdb.Pdb()
        python.reset()
        self.shell.say("[Python's debugger, at the launch; 'continue' comes back to this one]")
        python.interaction(self._caller, None)

    # --- stops, as gdb shows them ---

    def _show(self, stop: Stop) -> None:
        shell, block = self.shell, stop.position.block
        before, self._before = self._before, stop.position
        frame = self.debugger.stack()[0]
        frame_shown = (block, frame.name)
        if self._shown is None or self._shown[0] != block:
            shell.say(f"[Switching to tile block {block} {shell.block_text(block)}]")
        if stop.reason in ("step", "goto") and self._shown is not None and before is not None:
            self._show_values(before, stop.position)
        headline = self._headline(stop)
        if headline:
            shell.say(f"\n{headline}")
        if headline or frame_shown != self._shown:
            shell.say(shell.frame_text(frame))
        self._shown = frame_shown
        shell.show_location(frame.location, self.debugger.recording.program.text(frame.operation))
        show_displays(shell)

    def _headline(self, stop: Stop) -> str:
        paint = self.shell.paint
        if stop.reason in ("failure", "sanitizer", "nan"):
            # The text of a NaN begins with what is made.
            headings = {"failure": "The launch fails: ", "sanitizer": "The sanitizer finds: ", "nan": ""}
            return paint(f"{headings[stop.reason]}{stop.text}", "red")
        if stop.reason in ("breakpoint", "data"):
            numbers = ", ".join([str(number) for number in stop.breakpoints])
            known = self.debugger.breakpoints
            hit = [known[number] for number in stop.breakpoints if stop.reason == "data" and number in known]
            accesses = {one.spec.access for one in hit}
            kind = "Breakpoint"
            if stop.reason == "data":
                kind = WATCHPOINTS[accesses.pop()] if len(accesses) == 1 else "Watchpoint"
            more = f": {stop.text}" if stop.text else "".join([self._new_value(one.text) for one in hit])
            return f"{paint(f'{kind} {numbers}', 'bold')}{more}"
        headings = {"pause": "Interrupted.", "limit": stop.text, "beginning": "No more reverse-execution history."}
        return headings.get(stop.reason, "")

    def _new_value(self, text: str) -> str:
        """The value of what is watched."""
        try:
            return f": {text} = {self.debugger.evaluate(text).text}"
        except TileIRError:
            return f": {text}"

    def _show_values(self, before: Position, now: Position) -> None:
        """What the steps between two stops have computed."""
        if before.block != now.block or not 0 < now.step - before.step <= _MOST_STEPS:
            return
        found = self.debugger.changes(before, now)
        for variable in found[:_MOST_VALUES]:
            self.shell.say(f"  {self.shell.paint(variable.name, 'cyan')} = {variable.text}")
        if len(found) > _MOST_VALUES:
            self.shell.say(f"  .. and {several(len(found) - _MOST_VALUES, 'more value')}")

    # --- the session ---

    def debug(self, stop_on_entry: bool, commands: deque[tuple[str, str]], *, batch: bool) -> str:
        """Debug a launch of a script, which has begun; return how it was left."""
        try:
            self.begin(stop_on_entry)
        except Leave as end:
            return end.how
        return self.converse(commands, batch=batch)

    def converse(self, commands: deque[tuple[str, str]], *, batch: bool = False) -> str:
        """Carry out commands and files of commands, then what is typed; return how it ended.

        Commands that were carried out are removed: the others are for the next launch.
        """
        try:
            while commands:
                kind, text = commands.popleft()
                self.shell.execute(f"source {text}" if kind == "x" else text, typed=False)
            if batch:
                return "batch"
            while True:
                self._read()
        except Leave as end:
            return end.how

    def _read(self) -> None:
        try:
            line = self._console.read()
            if line is None:
                if self._console.is_terminal:
                    self.shell.say("quit")
                raise Leave("quit")
            self.shell.execute(line)
        except KeyboardInterrupt:
            self.shell.say("Quit")


class ScriptTerminal:
    """Debugs launches at this terminal; what was typed and is displayed stays from one to the next."""

    def __init__(
        self, commands: Sequence[str | tuple[str, str]] = (), *, colors: bool = False, batch: bool = False
    ) -> None:
        """With `batch`, the script continues without a prompt when the commands are done."""
        self._commands = deque([("ex", one) if isinstance(one, str) else one for one in commands])
        self._colors: bool = colors
        self._batch: bool = batch
        self._before: Terminal | None = None

    @property
    def failed(self) -> bool:
        """Whether a command could not be carried out."""
        return self._before is not None and self._before.shell.failed

    def debug(self, debugger: Debugger, stop_on_entry: bool, caller: FrameType | None) -> str:
        sys.stdout.flush()
        sys.stderr.flush()
        terminal = Terminal(debugger, sys.stdout.write, self._colors, caller=caller, is_of_script=True)
        if self._before is not None:
            terminal.shell.take_over(self._before.shell)
        self._before = terminal
        how = terminal.debug(stop_on_entry, self._commands, batch=self._batch)
        sys.stdout.flush()
        return "detach" if how == "batch" else how
