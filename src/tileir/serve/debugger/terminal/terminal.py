"""`Terminal`: the debugger of a person at a terminal, with a prompt, completion and Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from types import FrameType
from typing import Final

from tileir.execute.locations.wording import several
from tileir.ir.diagnostics import TileIRError
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.stops import Position, Stop
from tileir.serve.debugger.terminal.breakpoint_commands import WATCHPOINTS
from tileir.serve.debugger.terminal.session_commands import SessionCommands
from tileir.serve.debugger.terminal.shell import BadCommand
from tileir.terminal import Progress, launch_bar

PROMPT: Final = "(tileir) "
_PATIENCE: Final = 3  # Times that Ctrl-C is pressed until what does not stop is ended.
_MOST_STEPS: Final = 64  # The values of more steps than these are not shown.
_MOST_VALUES: Final = 6


@contextmanager
def interruptible(debugger: Debugger) -> Iterator[None]:
    """While a launch runs, Ctrl-C stops it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    presses = count(1)

    def interrupt(*_: object) -> None:
        if next(presses) >= _PATIENCE:
            raise KeyboardInterrupt
        debugger.interrupt()

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class SessionEnd(Exception):
    """The session ends: "quit", "detach", "done", .."""


class Terminal(SessionCommands):
    """A session about the launch of a program, which may run again and again, or about those of a script."""

    def __init__(self, commands: Iterable[tuple[str, str]], *, colors: bool, batch: bool = False) -> None:
        """With `batch`, there is no prompt when the commands are done."""
        # A script may change its standard streams.
        super().__init__(lambda text: sys.stdout.write(text), colors)
        # Commands that were carried out are removed: the others are for the next launch.
        self._given = deque(commands)
        self._batch: bool = batch
        self._is_of_script: bool = False
        self._caller: FrameType | None = None
        self.reader = self._read
        self._completed: list[str] = []  # What readline completes the word to that is being typed.
        self._before: Position | None = None  # The last stop.
        self._shown: tuple[int, str] | None = None  # The tile block and the frame that were shown there.

    def begin(self, stop_on_entry: bool) -> None:
        if self._is_of_script and self.is_running:
            hint = "'continue' runs it, 'next-launch' goes on to the next one"
            raise BadCommand(f"The kernel is launched already: {hint}.")
        self.is_running = True
        self._before = self._shown = None
        self.perform(lambda: self.debugger.start(stop_on_entry), False)

    def perform(self, run: Callable[[], Stop], stops_at_end: bool) -> None:
        with interruptible(self.debugger), Progress(after=1.0) as progress:
            self.debugger.show_progress(launch_bar(progress))
            stop = run()
            self.debugger.show_progress(None)
        for number in stop.breakpoints:
            self.pending.extend(self.attached.get(number, ()))
        if stop.reason != "end":
            self._show_stop(stop)
            return
        self._before, self._shown = stop.position, None
        if stop.text:
            self.say(self.paint(stop.text, "red"))
        if self._is_of_script and not stops_at_end:
            raise SessionEnd("done")
        onwards = "'continue' goes on with the script" if self._is_of_script else "'run' begins again"
        self.say(f"[The launch is at its end; 'reverse-step' goes back, {onwards}]")

    def leave(self, how: str) -> None:
        if how != "kill":
            raise SessionEnd(how)
        self.is_running = False
        self.say("[The launch is killed]")

    def python(self) -> None:
        if self._caller is None:
            raise BadCommand("There is no script: the launch is that of a program.")
        import pdb

        python = pdb.Pdb()
        python.reset()
        self.say("[Python's debugger, at the launch; 'continue' comes back to this one]")
        python.interaction(self._caller, None)

    def _show_stop(self, stop: Stop) -> None:
        block = stop.position.block
        before, self._before = self._before, stop.position
        frame = self.debugger.stack()[0]
        frame_shown = (block, frame.name)
        if self._shown is None or self._shown[0] != block:
            self.say(f"[Switching to tile block {block} {self.block_text(block)}]")
        if stop.reason in ("step", "goto") and self._shown is not None and before is not None:
            self._show_values(before, stop.position)
        headline = self._headline(stop)
        if headline:
            self.say(f"\n{headline}")
        if headline or frame_shown != self._shown:
            self.say(self.frame_text(frame))
        self._shown = frame_shown
        self.show_location(frame.location, self.debugger.recording.program.text(frame.operation))
        self.show_displays()

    def _headline(self, stop: Stop) -> str:
        if stop.reason in ("failure", "sanitizer", "nan"):
            # The text of a NaN begins with what is made.
            headings = {"failure": "The launch fails: ", "sanitizer": "The sanitizer finds: ", "nan": ""}
            return self.paint(f"{headings[stop.reason]}{stop.text}", "red")
        if stop.reason in ("breakpoint", "data"):
            numbers = ", ".join([str(number) for number in stop.breakpoints])
            is_data, known = stop.reason == "data", self.debugger.breakpoints
            hit = [known[number].spec for number in stop.breakpoints if is_data and number in known]
            kinds = {WATCHPOINTS[spec.access] for spec in hit}
            kind = kinds.pop() if len(kinds) == 1 else "Watchpoint" if is_data else "Breakpoint"
            more = f": {stop.text}" if stop.text else "".join([self._new_value(str(spec.what)) for spec in hit])
            return f"{self.paint(f'{kind} {numbers}', 'bold')}{more}"
        headings = {"pause": "Interrupted.", "limit": stop.text, "beginning": "No more reverse-execution history."}
        return headings.get(stop.reason, "")

    def _new_value(self, text: str) -> str:
        with suppress(TileIRError):
            return f": {text} = {self.debugger.evaluate(text).text}"
        return f": {text}"

    def _show_values(self, before: Position, now: Position) -> None:
        """What the steps between two stops have computed."""
        if before.block != now.block or not 0 < now.step - before.step <= _MOST_STEPS:
            return
        found = self.debugger.changes(before, now)
        for variable in found[:_MOST_VALUES]:
            self.say(f"  {self.paint(variable.name, 'cyan')} = {variable.text}")
        if len(found) > _MOST_VALUES:
            self.say(f"  .. and {several(len(found) - _MOST_VALUES, 'more value')}")

    def debug(self, debugger: Debugger, stop_on_entry: bool, caller: FrameType | None) -> str:
        """Debug a launch of a script; breakpoints are those of the launch before."""
        sys.stdout.flush()
        sys.stderr.flush()
        if self.launch is not None:
            debugger.breakpoints.take_over(self.launch.breakpoints)
            debugger.stop_on = set(self.launch.stop_on)
        self.launch, self._caller = debugger, caller
        self._is_of_script, self.is_running = True, False
        self.listed, self.frame_number, self._last = None, 0, ""
        self.pending.clear()
        try:
            self.begin(stop_on_entry)
            how = self.converse()
        except SessionEnd as end:
            how = str(end)
        sys.stdout.flush()
        return "detach" if how == "batch" else how

    def converse(self) -> str:
        """Carry out commands and files of commands, then what is typed; return how it ended."""
        try:
            while self._given:
                kind, text = self._given.popleft()
                self.execute(f"source {text}" if kind == "x" else text, typed=False)
            while not self._batch:
                self._execute_line()
        except SessionEnd as end:
            return str(end)
        return "batch"

    def _execute_line(self) -> None:
        try:
            line = self._read(PROMPT)
            if line is None:
                if sys.stdin is not None and sys.stdin.isatty():
                    self.say("quit")
                raise SessionEnd("quit")
            self.execute(line)
        except KeyboardInterrupt:
            self.say("Quit")

    def _read(self, prompt: str) -> str | None:
        """The next line; None at the end of the input.  Without a terminal, no prompt is shown."""
        if sys.stdin is None or not sys.stdin.isatty():
            line = sys.stdin.readline() if sys.stdin is not None else ""
            return line.rstrip("\n") if line else None
        with self._readline(), suppress(EOFError):
            return input(prompt)
        return None

    @contextmanager
    def _readline(self) -> Iterator[None]:
        """Completion for as long as a line is read: the script that is debugged may have its own."""
        try:
            import readline
        except ImportError:
            yield
            return

        def complete(text: str, number: int) -> str | None:
            if number == 0:
                self._completed = self.completions(readline.get_line_buffer()[: readline.get_endidx()])
            return self._completed[number] if number < len(self._completed) else None

        before, delimiters = readline.get_completer(), readline.get_completer_delims()
        readline.set_completer(complete)
        readline.set_completer_delims(" \t\n")
        readline.parse_and_bind("tab: complete")
        try:
            yield
        finally:
            readline.set_completer(before)
            readline.set_completer_delims(delimiters)
