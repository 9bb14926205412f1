"""Command lines: a table of options, read in one pass.

It is not argparse because importing that takes almost as long as Python takes to start: `tileir dis` of a small file
takes 2.4 times the processor time of bare Python, with argparse 3.2; the bar is 2.5 (`benchmarks/startup.py`).
"""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Callable, Iterable, Iterator
from tileir.ir.quoting import close_names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

EXIT_FINE = 0
EXIT_WRONG_INPUT = 1
EXIT_USAGE = 2
EXIT_TIMED_OUT = 124
# As of a process that a signal ends: the shell's 128 and the signal's number.
EXIT_INTERRUPTED = 128 + 2
EXIT_BROKEN_PIPE = 128 + 13

STATUSES = {
    EXIT_FINE: "success",
    EXIT_WRONG_INPUT: "the input is wrong",
    EXIT_USAGE: "the command line is wrong, or a file cannot be read or written",
    EXIT_INTERRUPTED: "interrupted",
}
"""What the exit statuses of most commands mean."""
_LONGEST_TIME = 1e8
_UNITS = {"s": 1, "m": 60, "h": 3600}


class ToolFailure(Exception):
    """End a command, or its work on one file, with a one-line message (none if it is empty) and an exit status.

    `help` is the change to make, where it is known.
    """

    def __init__(self, message: str, status: int = EXIT_USAGE, help: str = "") -> None:
        super().__init__(message)
        self.message: str = message
        self.status: int = status
        self.help: str = help


class UsageFailure(ToolFailure):
    """The command line is invalid; the message explains why and where help is."""


class Option:
    """One option, spelled as the help shows it: `-o, --output FILE`.

    A value with bars is one of those words: `--format text|json`.  One in brackets may be left out, and is then `bare`
    or the first word; it is given with `=` only: `--sanitize[=errors|all]`.  Options that are common to many commands
    are named on one line of their help.
    """

    __slots__ = ("bare", "choices", "help", "is_common", "name", "short", "spelling", "value")

    def __init__(self, spelling: str, help: str, *, bare: str = "", is_common: bool = False) -> None:
        self.spelling: str = spelling
        self.help: str = help
        self.is_common: bool = is_common
        short, _, long = spelling.rpartition(", ")
        is_optional = long.endswith("]") and "[=" in long
        name, _, value = long[:-1].partition("[=") if is_optional else long.partition(" ")
        self.name: str = name.lstrip("-")
        self.short: str = short[1:]
        self.value: str = value
        self.choices: tuple[str, ...] = tuple(value.split("|")) if "|" in value else ()
        self.bare: str | None = (bare or (self.choices or ("",))[0]) if is_optional else None

    def with_help(self, help: str) -> Option:
        """The same option with another help text, for one command."""
        return Option(self.spelling, help, bare=self.bare or "")


class Arguments:
    """A parsed command line.

    `sequence` holds every option with its value in the order given, for those that may come several times.
    """

    __slots__ = ("operands", "options", "program", "sequence")

    def __init__(self, program: str = "") -> None:
        self.program: str = program
        self.options: dict[str, str] = {}
        self.sequence: list[tuple[str, str]] = []
        self.operands: list[str] = []

    def has(self, name: str) -> bool:
        return name in self.options

    def value(self, name: str, default: str = "") -> str:
        return self.options.get(name, default)

    def values(self, name: str) -> list[str]:
        """The values of an option that may come several times."""
        return [value for option, value in self.sequence if option == name]

    def names(self, name: str) -> list[str]:
        """The names in a list with commas, from each time that the option is given; each name once."""
        found = [word.strip() for value in self.values(name) for word in value.split(",")]
        if not all(found):
            raise ToolFailure(f"'--{name}' needs names, separated by commas")
        return list(dict.fromkeys(found))

    def number(self, name: str, default: int = 0, least: int = 1, most: int = (1 << 63) - 1) -> int:
        if name not in self.options:
            return default
        text = self.options[name]
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else -1
        if not least <= number <= most:
            bounds = f"from {least} on" if most >= 1 << 31 else f"from {least} to {most}"
            raise ToolFailure(f"'--{name} {text}' is not valid: give a number {bounds}")
        return number

    def seconds(self, name: str, default: float = 0.0) -> float:
        """A time in seconds, from a number with or without a unit."""
        text = self.options.get(name)
        if text is None:
            return default
        unit = _UNITS.get(text[-1:], 0)
        found = _number(text[:-1] if unit else text) * (unit or 1)
        if not 0 < found < float("inf"):
            raise ToolFailure(f"'--{name} {text}' is no time: give seconds, as 2.5, or a unit, as 30s, 10m or 1h")
        return min(found, _LONGEST_TIME)

    def amount(self, name: str) -> float | None:
        """A number from 0 on; None if there is none."""
        text = self.options.get(name)
        if text is not None and not 0 <= _number(text) < float("inf"):
            raise ToolFailure(f"'--{name} {text}' is no amount: give a number, as 0.01")
        return None if text is None else _number(text)

    def size(self, name: str, default: int) -> int:
        """A number of bytes, from a number with a unit."""
        if name not in self.options:
            return default
        from tileir.execute.arguments.argument_text import LaunchDescriptionError, size_of

        text = self.options[name]
        try:
            return size_of("" if text.isdecimal() else text)
        except LaunchDescriptionError:
            raise ToolFailure(f"'--{name} {text}' is no size: give one with its unit, as 512M or 4G") from None

    def format(self) -> str:
        """How results are written: --json is --format json."""
        if self.has("json") and self.value("format", "json") != "json":
            raise ToolFailure(f"'--json' and '--format {self.value('format')}' exclude each other")
        return self.value("format", "json" if self.has("json") else "text")

    def only_one(self, *names: str) -> str:
        """The one of some options that is given, or an empty text; several are an error."""
        found = [name for name in names if name in self.options]
        if len(found) > 1:
            raise ToolFailure(f"'--{found[0]}' and '--{found[1]}' exclude each other")
        return found[0] if found else ""

    def refuse(self, names: Iterable[str], why: str) -> None:
        """Refuse options that have no meaning here."""
        for name in names:
            if name in self.options:
                raise ToolFailure(f"{'--' if len(name) > 1 else '-'}{name} {why}")

    def wants_color(self, stream: TextIO) -> bool:
        """Whether output to a stream has colors: `--color` decides, else the environment."""
        chosen = self.options.get("color", "auto")
        if chosen != "auto":
            return chosen == "always"
        from tileir.terminal import wants_color

        return wants_color(stream)


def _number(text: str) -> float:
    """The number that a text stands for, or -1; a NaN is none."""
    try:
        number = float(text)
    except ValueError:
        return -1.0
    return number if number == number else -1.0


def did_you_mean(name: str, known: Iterable[str], before: str = "") -> str:
    """The help for a name that is not known, if there is one that is spelled nearly so."""
    close = close_names(name, known)
    return f"did you mean '{before}{close[0]}'?" if close else ""


class Usage:
    """The command line of one command.

    `operands` is the help's text for operands, and limits their number: `[FILE]` may be left out, `FILE...` may be
    several; `least` and `most` are for other limits (-1: any number).  The table of commands has the summary of a
    command of `tileir`; `statuses` are the exit statuses with a meaning that is not in `STATUSES`.
    With `single_dash` long options may begin with one dash or two, as with LLVM's tools, and errors have the status
    of theirs.  With `rest_after` what follows the first operand, or one of the options it names, are operands whatever
    they look like: the command line of another program.  `more_help`, given the command line, makes what the help ends
    with and takes time to find out.
    """

    def __init__(
        self,
        program: str,
        operands: str,
        examples: tuple[str, ...],
        options: tuple[Option, ...],
        details: str = "",
        *,
        summary: str = "",
        statuses: Mapping[int, str] | None = None,
        least: int | None = None,
        most: int | None = None,
        single_dash: bool = False,
        rest_after: tuple[str, ...] | None = None,
        more_help: Callable[[list[str]], str] | None = None,
    ) -> None:
        self.program: str = program
        self.operands: str = operands
        self.examples: tuple[str, ...] = examples
        self.options: tuple[Option, ...] = options
        self.details: str = details
        self.statuses: dict[int, str] = STATUSES if statuses is None else {**STATUSES, **statuses}
        words = operands.split()
        required = len([word for word in words if not word.startswith("[")])
        self.least: int = required if least is None else least
        self.most: int = (-1 if "..." in operands else len(words)) if most is None else most
        self.single_dash: bool = single_dash
        self.rest_after: tuple[str, ...] | None = rest_after
        self._summary: str = summary
        self._more_help: Callable[[list[str]], str] | None = more_help

    def parse(self, arguments: list[str]) -> Arguments | None:
        """Read a command line, or raise `UsageFailure`; None after printing the help."""
        found = Arguments(self.program)
        words = iter(arguments)
        for word in words:
            if word == "--":
                found.operands.extend(words)
            elif word == "-" or not word.startswith("-"):
                found.operands.append(word)
                if self.rest_after is not None:
                    found.operands.extend(words)
            elif word in ("-h", "--help") or (self.single_dash and word == "-help"):
                more = self._more_help(arguments) if self._more_help is not None else ""
                print(f"{self.help()}\n\n{more}" if more else self.help())
                return None
            else:
                self._read_option(word, words, found)
        if len(found.operands) < self.least:
            raise self._error(f"expected {self.operands}")
        if 0 <= self.most < len(found.operands):
            raise self._error(f"unexpected argument '{found.operands[self.most]}'")
        return found

    def _read_option(self, word: str, words: Iterator[str], found: Arguments) -> None:
        spelled, equals, value = word.partition("=")
        option = self._find(spelled)
        if option is None and not word.startswith("--"):
            # -oOUT
            option = self._find(word[:2])
            if option is not None and option.value and option.bare is None:
                spelled, equals, value = word[:2], "=", word[2:]
            else:
                option = None
        if option is None:
            names = [option.name for option in self.options]
            hint = did_you_mean(spelled.lstrip("-"), names, "-" if self.single_dash else "--")
            raise self._error(f"unknown option '{spelled}'", hint)
        if not option.value:
            if equals and (not self.single_dash or value not in ("true", "false", "1", "0")):
                raise self._error(f"option '{spelled}' takes no value")
            if value in ("false", "0"):
                found.options.pop(option.name, None)
                return
            value = ""
        elif not equals:
            following = option.bare if option.bare is not None else next(words, None)
            if following is None:
                raise self._error(f"option '{spelled}' needs a value: {option.spelling}")
            value = following
        if option.choices and value not in option.choices:
            choices = " or ".join(", ".join(option.choices).rsplit(", ", 1))
            raise self._error(f"'{value}' is not a value of '{spelled}': use {choices}")
        found.options[option.name] = value
        found.sequence.append((option.name, value))
        if self.rest_after is not None and option.name in self.rest_after:
            found.operands.extend(words)

    def _error(self, message: str, help: str = "") -> UsageFailure:
        return UsageFailure(message, EXIT_WRONG_INPUT if self.single_dash else EXIT_USAGE, help)

    def _find(self, spelled: str) -> Option | None:
        name = spelled.lstrip("-")
        dashes = len(spelled) - len(name)
        for option in self.options:
            if dashes == 1 and option.short == name and name:
                return option
            long = dashes in (1, 2) if self.single_dash else dashes == (1 if len(name) == 1 else 2)
            if option.name == name and long:
                return option
        return None

    @property
    def summary(self) -> str:
        from tileir.tools.commands import COMMANDS

        return self._summary or COMMANDS[self.program.partition(" ")[2]][0]

    def help(self) -> str:
        rows = [(option.spelling, option.help) for option in self.options if not option.is_common]
        common = [f"--{option.name}" for option in self.options if option.is_common]
        rows.append(("-h, --help" if not self.single_dash else "-help", "show this text"))
        width = min(max([len(left) for left, _ in rows]), 30)
        words = [*self.operands.split(), "[options]"] if self.rest_after is None else ["[options]", self.operands]
        lines = [f"{self.summary}.", "", *[f"  {example}" for example in self.examples]]
        lines += [*([""] if self.examples else []), " ".join(["usage:", self.program, *words]), "", "options:"]
        for left, right in rows:
            # A long left column has a line of its own.
            start = f"  {left}\n  {'':{width}}  " if len(left) > width else f"  {left:{width}}  "
            lines.append(start + _filled(right, " " * (width + 4)))
        others = f"and {', '.join(common)}: see 'tileir --help'"
        lines += [f"  {_filled(others, '  ')}"] if common else []
        lines += ["", "\n\n".join([_filled(each) for each in self.details.split("\n\n")])] if self.details else []
        if self.statuses and not self.single_dash:
            lines += ["", "exit status:"]
            lines += [f"  {status:<5}{meaning}" for status, meaning in sorted(self.statuses.items()) if meaning]
        return "\n".join(lines)


_WIDTH = 120


def _filled(text: str, indent: str = "") -> str:
    """A paragraph of a help, broken anew where a line is too long; `indent` stands before all lines but the first."""
    lines = text.split("\n")
    if max(map(len, lines)) + len(indent) <= _WIDTH or any(line.startswith(" ") for line in lines):
        return text
    # Imported here: only helps need it.
    from textwrap import fill

    initial = fill(" ".join(lines), _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    return initial[len(indent) :]
