"""What the text of a tile program calls operations, values, and the arguments of kernels and loops.

A program has no names: they are in the text that it was read from, or come with its printing.
"""

from __future__ import annotations

import re
from typing import Final, cast

from tileir.dialect.ops import ENTRY, FOR, LOOP
from tileir.ir.core import Operation
from tileir.ir.diagnostics import position_of, source_of
from tileir.ir.location import SourceText
from tileir.ir.traversal import ancestors
from tileir.ir.values import OperationResult, Value
from tileir.text.printer import Printer

_NAME: Final = r"%[\w$.-]+"
_RESULTS: Final = re.compile(rf"{_NAME}(\s*,\s*{_NAME})*\s*=\s*$")
_MOST_HEAD_LINES: Final = 100  # The head of a kernel may go over several lines.
_ARGUMENTS: Final = {
    ENTRY: re.compile(rf"({_NAME})\s*:"),
    FOR: re.compile(rf"({_NAME})\s*(?:in\b|=)"),
    LOOP: re.compile(rf"({_NAME})\s*="),
}
"""How a text names the arguments of a block: before a colon, before `in` and before `=`."""


class Spelling:
    """Operations as the whole program prints them, with the names values have there."""

    def __init__(self) -> None:
        self._printers: dict[Operation, Printer] = {}

    def _printer(self, operation: Operation) -> Printer:
        top = [operation, *ancestors(operation)][-1]
        found = self._printers.get(top)
        if found is None:
            found = self._printers[top] = Printer()
            found.naming.name_regions(top)
            found.elide = True
        return found

    def line(self, operation: Operation) -> str:
        """The printed operation; of one with regions the first line."""
        printer = self._printer(operation)
        printer.out.clear()
        printer.print_operation(operation)
        return "".join(printer.out).strip().partition("\n")[0]

    def source(self, operation: Operation) -> str:
        """The operation as its source has it, from its results to the end of the line; else as it is printed."""
        head, rest = _source_line(operation)
        if not rest.removeprefix("cuda_tile.").startswith(operation.declaration.mnemonic):
            return self.line(operation)
        results = _RESULTS.search(head)
        return (results.group() if results is not None else "") + rest

    def value(self, value: Value) -> str:
        """The name of a value: in the source, where that is at hand, else as it is printed."""
        owner = value.defining_operation
        if owner is not None:
            results = _RESULTS.search(_source_line(owner)[0])
            names = re.findall(_NAME, results.group()) if results is not None else []
            if len(names) == len(owner.results):
                return str(names[owner.results.index(cast(OperationResult, value))])
        if owner is None:
            block = value.parent_block
            owner = block.parent_operation if block is not None else None
        return self._printer(owner).names.get(value, "%?") if owner is not None else "%?"


def _source_line(operation: Operation) -> tuple[str, str]:
    """The line of source an operation is on: what comes before it, and the rest."""
    source = source_of(operation.location)
    position = position_of(operation.location)
    if source is None or position is None:
        return "", ""
    text, column = source.excerpt(position.line, position.column)
    return text[: column - 1], text[column - 1 :].rstrip()


class ArgumentNames:
    """The names of arguments in the texts that programs were read from."""

    def __init__(self) -> None:
        self._lines: dict[SourceText, list[str]] = {}

    def of(self, operation: Operation) -> list[str]:
        """The names of the arguments of an operation's block, without `%`; none where there are none, or no text."""
        pattern = _ARGUMENTS.get(operation.declaration)
        source, position = source_of(operation.location), position_of(operation.location)
        if pattern is None or source is None or position is None:
            return []
        lines = self._lines.get(source)
        if lines is None:
            lines = self._lines[source] = source.text.split("\n")
        first = position.line - source.first_line
        head = "\n".join(lines[first : first + _MOST_HEAD_LINES])[position.column - 1 :].partition("{")[0]
        names = [name.removeprefix("%") for name in pattern.findall(head)]
        return names if len(names) == len(operation.regions[0].block.arguments) else []
