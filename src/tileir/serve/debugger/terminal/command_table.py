"""Commands by name, as gdb finds them: a command has a name and abbreviations, and any prefix that no other has."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any, Final

Function = Callable[[Any, str], None]
"""Carries out a command: given the shell, and what follows the name."""


class CommandMistake(Exception):
    """A command that cannot be carried out; the message says why, to who typed it."""


class Command:
    """`usage` is what follows the name.  One that `repeats` is carried out again by an empty line; `again` is what that
    does, where it is not the same once more."""

    def __init__(
        self,
        name: str,
        function: Function,
        summary: str,
        *,
        short: Iterable[str] = (),
        usage: str = "",
        details: str = "",
        repeats: bool = False,
        again: str | None = None,
        completes: str = "",
    ) -> None:
        self.name: str = name
        self.function: Function = function
        self.summary: str = summary
        self.short: tuple[str, ...] = tuple(short)
        self.usage: str = usage
        self.group: str = ""
        self.details: str = details
        self.repeats: bool = repeats
        self.again: str | None = again
        self.completes: str = completes
        """What its argument is completed with: "value", "command", "break", "info", ..."""

    @property
    def names(self) -> str:
        """The name and its abbreviations, but for those that merely begin like it."""
        told = [one for one in self.short if len(one) < 3 or not self.name.startswith(one)]
        return ", ".join([self.name, *told])

    def help(self) -> str:
        text = f"{self.names}{' ' if self.usage else ''}{self.usage}\n{self.summary[0].upper()}{self.summary[1:]}."
        return f"{text}\n{self.details}" if self.details else text


class CommandTable:
    """A set of commands, or of the words that follow one; `what` names them in messages."""

    def __init__(self, what: str = "command") -> None:
        self._what: str = what
        self.commands: dict[str, Command] = {}
        self._names: dict[str, Command] = {}

    def add(self, commands: Iterable[Command], group: str = "") -> None:
        for command in commands:
            command.group = group
            self.commands[command.name] = command
            for name in (command.name, *command.short):
                assert name not in self._names, f"two commands are called {name}"
                self._names[name] = command

    def find(self, word: str) -> Command:
        exact = self._names.get(word)
        if exact is not None:
            return exact
        found = [command for name, command in self.commands.items() if name.startswith(word)]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join([command.name for command in found])
            raise CommandMistake(f'Ambiguous {self._what} "{word}": {names}.')
        close = difflib.get_close_matches(word, self._names, 1, 0.7)
        hint = f' Did you mean "{close[0]}"?' if close else ' Try "help".'
        raise CommandMistake(f'Undefined {self._what}: "{word}".{hint}')

    def names(self) -> list[str]:
        return list(self.commands)


WORD_END: Final = " \t/"
"""A format stands right behind a command, as in `p/x`."""


def split(line: str) -> tuple[str, str]:
    """The name of a command and what follows it."""
    line = line.strip()
    end = 0
    while end < len(line) and (line[end].isalnum() or line[end] in "-_"):
        end += 1
    if not end:
        # `!`, `?` and their like are no commands of this debugger.
        end = 1
    return line[:end], line[end:].strip()
