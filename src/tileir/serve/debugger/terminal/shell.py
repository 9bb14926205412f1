"""`Shell`: carries out the commands of a person who debugs, at a terminal or in the console of an editor."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from tileir.execute.locations.wording import parenthesized
from tileir.execute.schedule import block_at
from tileir.ir.diagnostics import TileIRError
from tileir.ir.quoting import harmless
from tileir.serve.debugger.breakpoints import AccessKind
from tileir.serve.debugger.evaluation import ExpressionMistake
from tileir.serve.debugger.lines import SourcePlace, same_file
from tileir.serve.debugger.moments import Stop
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.stack import Frame
from tileir.serve.debugger.terminal.command_table import Command, CommandMistake, CommandTable, split
from tileir.serve.debugger.terminal.orders import Order
from tileir.serve.debugger.terminal.painting import Painter
from tileir.serve.debugger.terminal.value_history import ValueHistory
from tileir.serve.debugger.variables import Result

WATCHED: Final[dict[AccessKind, str]] = {
    "write": "Watchpoint",
    "read": "Read watchpoint",
    "readWrite": "Access watchpoint",
}
"""What gdb calls a breakpoint of something that is watched."""
_MOST_NESTED: Final = 20
"""Files of commands that read files of commands."""


class Host(Protocol):
    """Who has the launch that a shell is about."""

    @property
    def debugger(self) -> Debugger | None:
        """The launch, once there is one."""

    @property
    def is_running(self) -> bool:
        """Whether the launch has begun, and is not over."""

    @property
    def is_interactive(self) -> bool:
        """Whether somebody types, and can be asked."""

    def begin(self, stop_on_entry: bool) -> None:
        """Launch, once more if it has been."""

    def perform(self, run: Callable[[], Stop], stops_at_end: bool) -> None:
        """Have the launch run, and tell where it stops."""

    def leave(self, how: str) -> None:
        """End: "quit", "kill", "detach", "next-launch", "skip"."""

    def python(self) -> None:
        """Open Python's debugger where the script launches the kernel."""


class Shell:
    """The state of a conversation: the frame that is looked at, what is displayed, the last command."""

    def __init__(self, host: Host, table: CommandTable, write: Callable[[str], object], colours: bool = False) -> None:
        self.host: Host = host
        self.table: CommandTable = table
        self._write: Callable[[str], object] = write
        self.paint: Painter = Painter(colours)
        self.frame_number: int = 0
        self.displays: dict[int, tuple[str, str]] = {}
        """What is shown at each stop, by number: a format and an expression."""
        self.history: ValueHistory = ValueHistory()
        """What was printed."""
        self.orders: dict[int, Order] = {}
        """Breakpoints by number, as they were typed."""
        self.attached: dict[int, list[str]] = {}
        """The commands of breakpoints."""
        self.pending: deque[str] = deque()
        """Commands of breakpoints that were hit, to be carried out."""
        self.typed: list[str] = []
        """The commands that were given."""
        self.listed: tuple[str, int] | None = None
        """The file and the line behind the last one that was listed."""
        self.list_size: int = 10
        self.print_elements: int = 200
        self.reader: Callable[[str], str | None] | None = None
        """Reads a line of a command that goes on, as of `commands`; None at the end."""
        self.failed: bool = False
        """Whether a command could not be carried out."""
        self._last: str = ""
        self._depth: int = 0

    def take_over(self, before: Shell) -> None:
        """Go on with what was typed, set and displayed in an earlier launch."""
        breakpoints = self.debugger.breakpoints
        for number, order in before.orders.items():
            if order.temporary and number not in before.debugger.breakpoints:
                continue
            placed = order.put(self.debugger)
            breakpoints.enable(placed.number, before.debugger.breakpoints[number].is_enabled)
            self.orders[placed.number] = order
            if number in before.attached:
                self.attached[placed.number] = before.attached[number]
        self.debugger.stop_on = set(before.debugger.stop_on)
        self.displays, self.history = before.displays, before.history
        self.typed = before.typed
        self.list_size, self.print_elements = before.list_size, before.print_elements
        self.failed = before.failed

    # --- commands ---

    def execute(self, line: str, typed: bool = True) -> bool:
        """Carry out a command; False if it could not be.  An empty line that is `typed` repeats the last one."""
        line = line.strip()
        if typed:
            if not line:
                line = self._last
            elif line:
                self.typed.append(line)
        if not line or line.startswith("#"):
            return True
        try:
            name, rest = split(line)
            command = self.table.find(name)
            if typed:
                again = command.again
                self._last = (line if again is None else again) if command.repeats else ""
            command.function(self, rest)
            while self.pending:
                if not self.execute(self.pending.popleft(), typed=False):
                    self.pending.clear()
        except CommandMistake as error:
            self.say(str(error))
        except ExpressionMistake as error:
            self.say(sentence(error.message))
        except TileIRError as error:
            self.say(str(error))
        else:
            return True
        self.failed = True
        return False

    def find(self, word: str) -> Command:
        return self.table.find(word)

    def read_file(self, path: str) -> None:
        """Carry out the commands of a file; the first that cannot be carried out is the last."""
        if self._depth >= _MOST_NESTED:
            raise CommandMistake(f"{path}: too many files of commands within each other.")
        try:
            with open(os.path.expanduser(path), encoding="utf-8") as file:
                lines = file.read().split("\n")
        except (OSError, ValueError) as error:
            raise CommandMistake(f"{path}: {getattr(error, 'strerror', None) or error}.") from None
        self._depth += 1
        reader, self.reader = self.reader, lambda prompt: lines.pop(0) if lines else None
        try:
            number = 0
            count = len(lines)
            while lines:
                number = count - len(lines) + 1
                if not self.execute(lines.pop(0), typed=False):
                    raise CommandMistake(f"{path}:{number}: Error in sourced command file.")
        finally:
            self._depth -= 1
            self.reader = reader

    # --- words ---

    def say(self, text: str) -> None:
        """A line, or several."""
        self.write(f"{text}\n")

    def write(self, text: str) -> None:
        self._write(harmless(text, keep="\n\t\033" if self.paint.colours else "\n\t"))

    # --- what commands ask for ---

    @property
    def debugger(self) -> Debugger:
        """The launch, begun or not."""
        found = self.host.debugger
        if found is None:
            raise CommandMistake("There is no launch to debug.")
        return found

    @property
    def running(self) -> Debugger:
        """The launch, which has begun."""
        if not self.host.is_running:
            raise CommandMistake("The launch is not being run: 'run' or 'start' begins it.")
        return self.debugger

    def run(self, run: Callable[[], Stop], stops_at_end: bool = False) -> None:
        """Have the launch run."""
        self.frame_number = 0
        self.listed = None
        self.host.perform(run, stops_at_end)

    @property
    def frame(self) -> Frame:
        frames = self.running.stack()
        return frames[min(self.frame_number, len(frames) - 1)]

    def evaluate(self, expression: str) -> Result:
        """Compute an expression where the launch stands."""
        return self.running.evaluate(expression, self.frame, self.history.find)

    def location(self, text: str) -> tuple[str, int]:
        """A file and a line: `12`, `FILE:12`, or the name of a kernel."""
        text = text.strip()
        place = self.frame.place if self.host.is_running else self.debugger.lines.head
        file, colon, line = text.rpartition(":")
        if line.isdecimal() and len(line) < 10:
            files = self.debugger.lines.files
            if not colon:
                if place is None and not files:
                    raise CommandMistake("The program has no source.")
                return (place.file if place is not None else files[0]), int(line)
            for known in files:
                if same_file(known, file):
                    return known, int(line)
            raise CommandMistake(f"No source file named {file}: there is {', '.join([short(one) for one in files])}.")
        if text.removeprefix("@") == self.debugger.recording.program.entry.symbol_name:
            head = self.debugger.lines.head
            if head is not None:
                return head.file, head.line
        raise CommandMistake(f'"{text}" is no line: give LINE or FILE:LINE.')

    def block_words(self, block: int) -> str:
        return parenthesized(block_at(block, self.debugger.grid))

    # --- sources ---

    def line_of(self, file: str, line: int) -> str | None:
        lines = self.lines_of(file)
        return lines[line - 1] if lines is not None and 0 < line <= len(lines) else None

    def lines_of(self, file: str) -> list[str] | None:
        """The lines of a source; None if it is not at hand."""
        text = self.debugger.lines.text(file)
        if text is not None:
            return text.split("\n")
        import linecache

        return [line.rstrip("\n") for line in linecache.getlines(file)] or None

    def show_place(self, place: SourcePlace | None, operation: str = "") -> None:
        """The line where the launch stands, as gdb shows it."""
        if place is None:
            self.say(operation)
            return
        line = self.line_of(place.file, place.line)
        self.say(f"{place.line}\t{self.paint.code((line if line is not None else place.text).rstrip())}")

    def frame_words(self, frame: Frame) -> str:
        place = frame.place
        at = f" at {self.paint(short(place.file), 'green')}:{place.line}" if place is not None else ""
        return f"{self.paint(frame.name, 'yellow')}{at}"


def sentence(words: str) -> str:
    """A message as a sentence; a name that it begins with stays as it is written."""
    return f"{words[0].upper() if words.partition(' ')[0].isalpha() else words[0]}{words[1:]}."


def short(path: str) -> str:
    """A path below the working directory, as one would write it."""
    here = os.getcwd() + os.sep
    return path.removeprefix(here)


def count_in(text: str) -> int:
    """How often, where nothing is said once."""
    if not text:
        return 1
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise CommandMistake(f'"{text}" is no number of times.')
    return int(text)
