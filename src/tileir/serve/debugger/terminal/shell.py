"""gdb's commands: `COMMANDS` finds them by name, `Shell` carries them out, for the terminal and an editor's console.

A command has a name and abbreviations; any prefix that no other has will do.  `COMMANDS`, and `INFO` for what follows
`info`, are filled by the modules `session_commands`, `breakpoint_commands` and `inspection_commands`.
"""

from __future__ import annotations

import inspect
import linecache
import os
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tileir.execute.arguments.argument_text import natural
from tileir.execute.locations.wording import parenthesized
from tileir.execute.schedule import block_at
from tileir.ir.diagnostics import TileIRError
from tileir.ir.quoting import close_names, harmless
from tileir.serve.debugger.expressions import BadExpression
from tileir.serve.debugger.history import Frame
from tileir.serve.debugger.inspection import Variable
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.source_lines import SourceLocation, same_file
from tileir.serve.debugger.stops import Stop

_MOST_NESTED: Final = 20  # Files of commands that read files of commands.
_HISTORY_NAME: Final = re.compile(r"(\$\$?)(\d{0,9})$")
_COLORS: Final = {"bold": "1", "dim": "2", "red": "1;31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_TOKEN: Final = re.compile(
    r"(?P<dim>//.*|#(?![\w]).*$)|(?P<cyan>%[\w$.-]+|@[\w$.-]+)|(?P<green>\"[^\"]*\")"
    r"|(?P<blue>!?\b(?:tile|ptr|token|\w*_view)\b)"
)


Function = Callable[[Any, str], None]
"""Carries out a command, given the shell and what follows the name; its docstring is the help."""


class BadCommand(Exception):
    """A command cannot be carried out; the message explains why."""


@dataclass
class Command:
    name: str
    short: tuple[str, ...]
    function: Function
    summary: str
    details: str
    group: str = ""
    usage: str = ""  # What follows the name.
    repeats: bool = False  # Whether an empty line carries it out again.
    again: str | None = None  # What an empty line does instead.
    completes: str = ""
    """What its argument is completed with: "value", "command", "location", "info"."""

    @property
    def names(self) -> str:
        """The name and its abbreviations, except those that merely begin like it."""
        return ", ".join([self.name, *[one for one in self.short if len(one) < 3 or not self.name.startswith(one)]])

    def help(self) -> str:
        text = f"{self.names}{' ' if self.usage else ''}{self.usage}\n{self.summary}"
        return f"{text}\n{self.details}" if self.details else text


class CommandTable:
    """A set of commands; `what` names them in messages."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.commands: dict[str, Command] = {}
        self._names: dict[str, Command] = {}

    def command(self, name: str, *short: str, help: str = "", **options: Any) -> Callable[[Function], Function]:
        """Add the function that follows; `options` are fields of `Command`."""

        def add(function: Function) -> Function:
            summary, _, details = inspect.cleandoc(help or function.__doc__ or "").partition("\n")
            added = Command(name, short, function, summary, details.strip(), **options)
            self.commands[name] = added
            for one in (name, *short):
                assert one not in self._names, f"two commands are called {one}"
                self._names[one] = added
            return function

        return add

    def find(self, word: str) -> Command:
        found = [name for name in self.commands if name.startswith(word)]
        if word in self._names or len(found) == 1:
            return self._names[word if word in self._names else found[0]]
        if found:
            raise BadCommand(f'Ambiguous {self._what} "{word}": {", ".join(found)}.')
        close = close_names(word, self._names)
        hint = f' Did you mean "{close[0]}"?' if close else ' Try "help".'
        raise BadCommand(f'Undefined {self._what}: "{word}".{hint}')


COMMANDS: Final = CommandTable("command")
INFO: Final = CommandTable('"info" command')


def split(line: str) -> tuple[str, str]:
    """The name of a command and what follows it, which may be a format right after it, as in `p/x`."""
    line = line.strip()
    rest = re.sub(r"^([\w-]+|.)", "", line, count=1)
    return line[: len(line) - len(rest)], rest.strip()


class Shell(ABC):
    """A session of commands: the launch, the selected frame, displays, printed values, the last command."""

    def __init__(self, write: Callable[[str], object], colors: bool = False) -> None:
        self.launch: Debugger | None = None  # The launch, once there is one.
        self.is_running: bool = False  # Whether the launch has begun, and is not over.
        self._write, self._colors = write, colors
        self.frame_number: int = 0
        self.displays: dict[int, tuple[str, str]] = {}
        """What is shown at each stop, by number: a format and an expression."""
        self.printed: list[Any] = []  # What was printed: `$1` is the first.
        self.attached: dict[int, list[str]] = {}  # The commands of breakpoints.
        self.pending: deque[str] = deque()  # Commands of breakpoints that were hit, to be carried out.
        self.typed: list[str] = []  # The commands that were given.
        self.listed: tuple[str, int] | None = None  # The file and the line after the last one that was listed.
        self.settings: dict[str, int] = {"listsize": 10, "print elements": 200}
        self.reader: Callable[[str], str | None] | None = None
        """Reads a line of a command that continues, as of `commands`; None at the end."""
        self.failed: bool = False  # Whether a command could not be carried out.
        self._last, self._depth = "", 0

    @abstractmethod
    def begin(self, stop_on_entry: bool) -> None:
        """Launch, once more if it has been."""

    @abstractmethod
    def perform(self, run: Callable[[], Stop], stops_at_end: bool) -> None:
        """Run the launch, and show where it stops."""

    @abstractmethod
    def leave(self, how: str) -> None:
        """End: "quit", "kill", "detach", "next-launch", "skip"."""

    @abstractmethod
    def python(self) -> None:
        """Open Python's debugger where the script launches the kernel."""

    def execute(self, line: str, typed: bool = True) -> bool:
        """Carry out a command; False if it could not be.  An empty line that is `typed` repeats the last one."""
        line = line.strip()
        if typed and not line:
            line = self._last
        elif typed:
            self.typed.append(line)
        if not line or line.startswith("#"):
            return True
        try:
            name, rest = split(line)
            command = COMMANDS.find(name)
            if typed:
                self._last = (command.again or line) if command.repeats else ""
            command.function(self, rest)
            while self.pending:
                if not self.execute(self.pending.popleft(), typed=False):
                    self.pending.clear()
        except (BadCommand, TileIRError) as error:
            self.say(sentence(error.message) if isinstance(error, BadExpression) else str(error))
        else:
            return True
        self.failed = True
        return False

    def read_file(self, path: str) -> None:
        """Carry out the commands of a file, up to the first that fails."""
        if self._depth >= _MOST_NESTED:
            raise BadCommand(f"{path}: too many files of commands within each other.")
        try:
            with open(os.path.expanduser(path), encoding="utf-8") as file:
                lines = file.read().split("\n")
        except (OSError, ValueError) as error:
            raise BadCommand(f"{path}: {getattr(error, 'strerror', None) or error}.") from None
        self._depth += 1
        reader, self.reader = self.reader, lambda prompt: lines.pop(0) if lines else None
        try:
            count = len(lines)
            while lines:
                number = count - len(lines) + 1
                if not self.execute(lines.pop(0), typed=False):
                    raise BadCommand(f"{path}:{number}: Error in sourced command file.")
        finally:
            self._depth -= 1
            self.reader = reader

    def completions(self, line: str) -> list[str]:
        """What the last word of a line may become."""
        stripped = line.lstrip()
        name, _ = split(stripped) if stripped else ("", "")
        if stripped == name:
            return [each for each in COMMANDS.commands if each.startswith(name)]
        try:
            completes = COMMANDS.find(name).completes
        except BadCommand:
            return []
        found = {"command": [*COMMANDS.commands], "info": [*INFO.commands]}.get(completes, [])
        if completes == "location" and self.launch is not None:
            operations = self.launch.recording.program.operations
            mnemonics = dict.fromkeys([operation.declaration.mnemonic for operation in operations])
            found = [*mnemonics, *[f"{short(file)}:" for file in self.launch.lines.files]]
        elif completes == "value" and self.is_running:
            found = self.debugger.value_names()
        word = stripped.rpartition(" ")[2]
        return [each for each in found if each.startswith(word)]

    def say(self, text: str) -> None:
        self.write(f"{text}\n")

    def write(self, text: str) -> None:
        self._write(harmless(text, keep="\n\t\033" if self._colors else "\n\t"))

    def paint(self, text: str, color: str) -> str:
        return f"\033[{_COLORS[color]}m{text}\033[0m" if self._colors and text else text

    def _code(self, line: str) -> str:
        """A line of a program: comments, names, strings and types stand out."""
        return _TOKEN.sub(lambda found: self.paint(found[0], found.lastgroup or ""), line) if self._colors else line

    @property
    def debugger(self) -> Debugger:
        """The launch, begun or not."""
        if self.launch is None:
            raise BadCommand("There is no launch to debug.")
        return self.launch

    @property
    def running(self) -> Debugger:
        """The launch, which has begun."""
        if not self.is_running:
            raise BadCommand("The launch is not being run: 'run' or 'start' begins it.")
        return self.debugger

    def run(self, run: Callable[[], Stop], stops_at_end: bool = False) -> None:
        self.frame_number = 0
        self.listed = None
        self.perform(run, stops_at_end)

    @property
    def frame(self) -> Frame:
        frames = self.running.stack()
        return frames[min(self.frame_number, len(frames) - 1)]

    def evaluate(self, expression: str) -> Variable:
        return self.running.evaluate(expression, self.frame, self.printed_value)

    def printed_value(self, name: str) -> Any:
        """The value of `$1`, of `$`, the last one, or of `$$3`, the third before it; None for any other name."""
        read = _HISTORY_NAME.match(name)
        if read is None:
            return None
        last = len(self.printed)
        number = int(read[2] or last) if read[1] == "$" else last - int(read[2] or 1)
        if not 0 < number <= last:
            raise BadExpression(f"the history of values has no {name}: its last is ${last}")
        return self.printed[number - 1]

    def location(self, text: str) -> tuple[str, int]:
        """A file and a line: `12`, `FILE:12`, or the name of a kernel."""
        file, colon, line = text.strip().rpartition(":")
        if line.isdecimal() and len(line) < 10:
            if not colon:
                return self.current_line()[0], int(line)
            files = self.debugger.lines.files
            known = next((one for one in files if same_file(one, file)), None)
            if known is not None:
                return known, int(line)
            raise BadCommand(f"No source file named {file}: there is {', '.join([short(one) for one in files])}.")
        head = self.debugger.lines.head
        if text.strip().removeprefix("@") == self.debugger.name and head is not None:
            return head.file, head.line
        raise BadCommand(f'"{text.strip()}" is no line: give LINE or FILE:LINE.')

    def current_line(self) -> tuple[str, int]:
        """The file and the line of the selected frame; before the launch, where the kernel begins."""
        location = self.frame.location if self.is_running else self.debugger.lines.head
        if location is not None:
            return location.file, location.line
        if not self.debugger.lines.files:
            raise BadCommand("The program has no source.")
        return self.debugger.lines.files[0], 1

    def block_text(self, block: int) -> str:
        return parenthesized(block_at(block, self.debugger.grid))

    def source(self, file: str) -> list[str]:
        """The lines of a source; none if the file cannot be read."""
        text = self.debugger.lines.text(file)
        return text.split("\n") if text is not None else [line.rstrip("\n") for line in linecache.getlines(file)]

    def source_line(self, file: str, line: int) -> str | None:
        return self.source(file)[line - 1] if 0 < line <= len(self.source(file)) else None

    def show_line(self, number: int, line: str, mark: str = "") -> None:
        self.say(f"{mark}{number}\t{self._code(line.rstrip())}")

    def show_location(self, location: SourceLocation | None, operation: str) -> None:
        """The line where the launch stands, as gdb shows it."""
        if location is None:
            self.say(operation)
        else:
            line = self.source_line(location.file, location.line)
            self.show_line(location.line, line if line is not None else location.text)

    def frame_text(self, frame: Frame) -> str:
        location = frame.location
        at = f" at {self.paint(short(location.file), 'green')}:{location.line}" if location is not None else ""
        return f"{self.paint(frame.name, 'yellow')}{at}"


def named(name: str, variables: list[Variable]) -> Variable | None:
    """The variable of a name, which may be written without the `%` of a tile program."""
    return next((one for one in variables if name in (one.name, one.name.removeprefix("%"))), None)


def sentence(text: str) -> str:
    """A message as a sentence; a name that it begins with stays as it is written."""
    return f"{text[0].upper() if text.partition(' ')[0].isalpha() else text[0]}{text[1:]}."


def short(path: str) -> str:
    """A path below the working directory, as one would write it."""
    return path.removeprefix(os.getcwd() + os.sep)


def count_in(text: str) -> int:
    """A number of times, by default 1."""
    count = natural(text) if text else 1
    if not count:
        raise BadCommand(f'"{text}" is no number of times.')
    return count
