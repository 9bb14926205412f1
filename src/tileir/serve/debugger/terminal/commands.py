"""Commands by name, as gdb finds them: a command has a name and abbreviations, and any prefix that no other has.

`COMMANDS`, and `INFO` for what follows `info`, are filled by the modules `session_commands`, `breakpoint_commands` and
`inspection_commands`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tileir.ir.quoting import close_names

Function = Callable[[Any, str], None]
"""Carries out a command, given the shell and what follows the name; its docstring is the help."""


class BadCommand(Exception):
    """A command cannot be carried out; the message says why."""


@dataclass
class Command:
    name: str
    short: tuple[str, ...]
    function: Function
    summary: str
    details: str
    group: str = ""
    usage: str = ""
    """What follows the name."""
    repeats: bool = False
    """Whether an empty line carries it out again."""
    again: str | None = None
    """What an empty line does instead."""
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
        self._what: str = what
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
        exact = self._names.get(word)
        if exact is not None:
            return exact
        found = [command for name, command in self.commands.items() if name.startswith(word)]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join([command.name for command in found])
            raise BadCommand(f'Ambiguous {self._what} "{word}": {names}.')
        close = close_names(word, self._names)
        hint = f' Did you mean "{close[0]}"?' if close else ' Try "help".'
        raise BadCommand(f'Undefined {self._what}: "{word}".{hint}')


COMMANDS: Final = CommandTable("command")
INFO: Final = CommandTable('"info" command')


def split(line: str) -> tuple[str, str]:
    """The name of a command and what follows it, which may be a format right behind it, as in `p/x`."""
    line = line.strip()
    end = 0
    while end < len(line) and (line[end].isalnum() or line[end] in "-_"):
        end += 1
    # `!`, `?` and their like are no commands of this debugger.
    end = end or 1
    return line[:end], line[end:].strip()
