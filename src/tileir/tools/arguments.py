"""The command lines of all tools: a table of options, read in one pass.

Written by hand because argparse alone costs as much start-up as a whole `tileir check`.  `Usage.read` prints the help
or the mistake itself; a tool goes on unless `status` is set.
"""

from __future__ import annotations

import os
import sys

from tileir.annotations import TYPE_CHECKING, Callable
from tileir.ir.quoting import harmless

if TYPE_CHECKING:
    from typing import TextIO

EXIT_FINE = 0
EXIT_WRONG_INPUT = 1
EXIT_USAGE = 2
# As of a process that the signal of a closed pipe ends: the shell's 128 and the signal's number.
EXIT_TIMED_OUT = 124
EXIT_BROKEN_PIPE = 128 + 13
EXIT_INTERRUPTED = 128 + 2


class ToolFailure(Exception):
    """Ends a tool with a one-line message and an exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.message: str = message
        self.status: int = status


class Option:
    """One option.

    `value` names what it takes (empty for a flag), `choices` limits it.  `bare` is the value of an option whose value
    may be left out; it is then given with `=` only, as in `--split-input-file=MARKER`.
    """

    __slots__ = ("bare", "choices", "help", "name", "short", "value")

    def __init__(
        self,
        name: str,
        help: str,
        *,
        value: str = "",
        choices: tuple[str, ...] = (),
        short: str = "",
        bare: str | None = None,
    ) -> None:
        self.name: str = name
        self.help: str = help
        self.value: str = value if value or not choices else "|".join(choices)
        self.choices: tuple[str, ...] = choices
        self.short: str = short
        self.bare: str | None = bare

    def spelling(self, dash: str = "--") -> str:
        """How the help shows it."""
        long = f"{dash}{self.name}" if len(self.name) > 1 else f"-{self.name}"
        if self.value:
            long += f"[={self.value}]" if self.bare is not None else f" {self.value}"
        return f"-{self.short}, {long}" if self.short else long


COLOR = Option(
    "color", "colours: on a terminal (auto, the default), always or never", choices=("auto", "always", "never")
)


# What tools take that write files.
OVERWRITE = Option("overwrite", "let the output replace an input file of another kind")
OUTPUT_DIRECTORY = Option("output-dir", "write the output of each FILE there, under its name", value="DIR")


class Arguments:
    """What was given.  `status` is None, or the exit status of a command line that asks for nothing more.

    `sequence` holds every option with its value in the order given, for those that may come several times.
    """

    __slots__ = ("operands", "options", "sequence", "status")

    def __init__(self, status: int | None = None) -> None:
        self.options: dict[str, str] = {}
        self.sequence: list[tuple[str, str]] = []
        self.operands: list[str] = []
        self.status: int | None = status

    def has(self, name: str) -> bool:
        return name in self.options

    def value(self, name: str, default: str) -> str:
        return self.options.get(name, default)

    def wants_colour(self, stream: TextIO) -> bool:
        """Whether what is written to a stream has colours: as the command line says, else the environment."""
        chosen = self.options.get(COLOR.name, "auto")
        return wants_colour(stream) if chosen == "auto" else chosen == "always"


def wants_colour(stream: TextIO) -> bool:
    """Colours are for people at a terminal who did not refuse them (no-color.org), and for who insists."""
    environment = os.environ
    if environment.get("NO_COLOR"):
        return False
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        if environment.get(name, "0") not in ("", "0"):
            return True
    return environment.get("TERM") != "dumb" and environment.get("CLICOLOR") != "0" and stream.isatty()


class UsageMistake(Exception):
    """The command line makes no sense; the message says why."""


class Usage:
    """The command line of one tool.

    `operands` is how the help shows what is not an option, `least` and `most` how many there may be (-1: any number).
    `single_dash` lets long options begin with one dash or two, as LLVM's tools do.  With `rest_after` what follows the
    first operand, or one of the options it names, are operands whatever they look like: the command line of another
    program.  `more_help`, given the command line, makes what the help ends with and takes time to find out.
    """

    def __init__(
        self,
        program: str,
        summary: str,
        operands: str,
        options: tuple[Option, ...],
        *,
        least: int = 1,
        most: int = 1,
        details: str = "",
        single_dash: bool = False,
        usage_status: int = EXIT_USAGE,
        rest_after: tuple[str, ...] | None = None,
        more_help: Callable[[list[str]], str] | None = None,
    ) -> None:
        self.more_help: Callable[[list[str]], str] | None = more_help
        self.program: str = program
        self.summary: str = summary
        self.operands: str = operands
        self.options: tuple[Option, ...] = options
        self.least: int = least
        self.most: int = most
        self.details: str = details
        self.single_dash: bool = single_dash
        self.usage_status: int = usage_status
        self.rest_after: tuple[str, ...] | None = rest_after

    def read(self, arguments: list[str]) -> Arguments:
        """Read a command line; help and mistakes are printed here."""
        try:
            return self.parse(arguments)
        except UsageMistake as mistake:
            print(f"{self.program}: {harmless(str(mistake))}", file=sys.stderr)
            print(f"Try '{self.program} --help'.", file=sys.stderr)
            return Arguments(self.usage_status)

    def parse(self, arguments: list[str]) -> Arguments:
        """Read a command line, or raise `UsageMistake`."""
        found = Arguments()
        index = 0
        while index < len(arguments):
            argument = arguments[index]
            index += 1
            if argument == "--":
                found.operands.extend(arguments[index:])
                break
            if argument == "-" or not argument.startswith("-"):
                found.operands.append(argument)
                if self.rest_after is not None:
                    found.operands.extend(arguments[index:])
                    break
                continue
            spelled, equals, value = argument.partition("=")
            if spelled == "--help" or spelled == "-h" or (self.single_dash and spelled == "-help"):
                more = self.more_help(arguments) if self.more_help is not None else ""
                print(f"{self.help()}\n\n{more}" if more else self.help())
                found.status = EXIT_FINE
                return found
            option = self._find(spelled)
            if option is None:
                # -oOUT
                option = self._find(argument[:2]) if not argument.startswith("--") else None
                if option is None or not option.value or option.bare is not None:
                    raise UsageMistake(self._unknown(spelled))
                spelled, equals, value = argument[:2], "=", argument[2:]
            if not option.value:
                if equals:
                    if not self.single_dash or value not in ("true", "false", "1", "0"):
                        raise UsageMistake(f"option '{spelled}' takes no value")
                    if value in ("false", "0"):
                        found.options.pop(option.name, None)
                        continue
                value = ""
            elif not equals:
                if option.bare is not None:
                    value = option.bare
                elif index == len(arguments):
                    raise UsageMistake(f"option '{spelled}' needs a value: {option.spelling(self._dash)}")
                else:
                    value = arguments[index]
                    index += 1
            if option.choices and value not in option.choices:
                raise UsageMistake(f"'{value}' is not a value of '{spelled}': use {_alternatives(option.choices)}")
            found.options[option.name] = value
            found.sequence.append((option.name, value))
            if self.rest_after is not None and option.name in self.rest_after:
                found.operands.extend(arguments[index:])
                break
        self._check_operands(found.operands)
        return found

    @property
    def _dash(self) -> str:
        return "-" if self.single_dash else "--"

    def _find(self, spelled: str) -> Option | None:
        name = spelled.lstrip("-")
        dashes = len(spelled) - len(name)
        if dashes > 2:
            return None
        for option in self.options:
            if dashes == 1 and option.short == name and name:
                return option
            if option.name == name and (self.single_dash or dashes == (1 if len(name) == 1 else 2)):
                return option
        return None

    def _unknown(self, spelled: str) -> str:
        import difflib

        close = difflib.get_close_matches(spelled.lstrip("-"), [option.name for option in self.options], 1, 0.7)
        hint = f"; did you mean '{self._dash}{close[0]}'?" if close else ""
        return f"unknown option '{spelled}'{hint}"

    def _check_operands(self, operands: list[str]) -> None:
        if len(operands) < self.least:
            raise UsageMistake(f"expected {self.operands}")
        if 0 <= self.most < len(operands):
            raise UsageMistake(f"unexpected argument '{operands[self.most]}'")

    def help(self) -> str:
        rows = [(option.spelling(self._dash), option.help) for option in self.options]
        rows.append(("-h, --help" if not self.single_dash else "-help", "show this text"))
        width = min(max([len(left) for left, _ in rows]), 30)
        words = [*self.operands.split(), "[options]"] if self.rest_after is None else ["[options]", self.operands]
        usage = " ".join(["usage:", self.program, *words])
        lines = [usage, "", self.summary, "", "options:"]
        for left, right in rows:
            lines.extend(_row(left, right, width))
        if self.details:
            lines.extend(["", self.details])
        return "\n".join(lines)


def _row(left: str, right: str, width: int) -> list[str]:
    """One line of a two-column list; a long left column has a line of its own."""
    if len(left) > width:
        return [f"  {left}", f"  {'':{width}}  {right}"]
    return [f"  {left:{width}}  {right}"]


def _alternatives(choices: tuple[str, ...]) -> str:
    return f"{', '.join(choices[:-1])} or {choices[-1]}" if len(choices) > 1 else choices[0]
