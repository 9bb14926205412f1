"""What the author of a text calls the parameters of a kernel and the arguments of loops; a program has no names."""

from __future__ import annotations

import re
from typing import Final

from tileir.dialect.ops import ENTRY, FOR, LOOP
from tileir.ir.core import Operation
from tileir.ir.diagnostics import position_of, source_of
from tileir.ir.location import SourceText

_MOST_HEAD_LINES: Final = 100
"""The head of a kernel may go over several lines."""
_NAME: Final = r"%([\w$.-]+)"
_ARGUMENTS: Final = {
    ENTRY: re.compile(rf"{_NAME}\s*:"),
    FOR: re.compile(rf"{_NAME}\s*(?:in\b|=)"),
    LOOP: re.compile(rf"{_NAME}\s*="),
}
"""How a text names the arguments of a block: before a colon, before `in` and before `=`."""


class ArgumentNames:
    """The names of arguments in the texts that programs were read from."""

    def __init__(self) -> None:
        self._lines: dict[SourceText, list[str]] = {}

    def of(self, operation: Operation) -> list[str]:
        """The names of the arguments of an operation's block, without the sign before; none if it has no such
        arguments, or the text is not at hand."""
        pattern = _ARGUMENTS.get(operation.declaration)
        source, position = source_of(operation.location), position_of(operation.location)
        if pattern is None or source is None or position is None:
            return []
        lines = self._lines.get(source)
        if lines is None:
            lines = self._lines[source] = source.text.split("\n")
        first = position.line - source.first_line
        head = "\n".join(lines[first : first + _MOST_HEAD_LINES])[position.column - 1 :].partition("{")[0]
        names: list[str] = pattern.findall(head)
        return names if len(names) == len(operation.regions[0].block.arguments) else []
