"""What the text of a tile program calls operations and values.

A program has no names: they are in the text that it was read from, or come with its printing.
"""

from __future__ import annotations

import re
from typing import Final

from tileir.ir.core import Operation
from tileir.ir.diagnostics import position_of, source_of
from tileir.ir.location import SourceText, TextLocation
from tileir.ir.traversal import ancestors
from tileir.ir.values import Value
from tileir.text.names import Naming
from tileir.text.printer import Printer

_RESULTS: Final = re.compile(r"%[\w$.-]+(\s*,\s*%[\w$.-]+)*\s*=\s*$")
_MOST_HEAD_TOKENS: Final = 20_000  # Of the head of an operation, in which the arguments of its blocks have their names.


def printed_names(module: Operation) -> dict[Value, str]:
    naming = Naming()
    naming.name_regions(module)
    return naming.names


def written_names(root: Operation) -> dict[Value, str]:
    """The names in the text that a program was read from; none for bytecode, and for operations with locations."""
    tokens: dict[SourceText, list[str]] = {}
    found: dict[Value, str] = {}
    for operation in root.walk():
        location = operation.location
        if not isinstance(location, TextLocation) or (not operation.results and not operation.regions):
            continue
        source = location.source
        if source not in tokens:
            tokens[source] = source.tokens()
        words = tokens[source]
        if location.token < len(words):
            _name_results(operation, words, location.token, found)
            if operation.regions:
                _name_arguments(operation, words, location.token, found)
    return found


def _name_results(operation: Operation, words: list[str], place: int, found: dict[Value, str]) -> None:
    """`%a, %b = name ..` or `%a:2 = name ..`: what stands before the name."""
    if place < 2 or words[place - 1] != "=":
        return
    names: list[str] = []
    place -= 2
    count = ""
    while place >= 0:
        word = words[place]
        if word.isdigit():
            count = word
        elif word.startswith("%"):
            names.append(word)
            if place == 0 or words[place - 1] != ",":
                break
        elif word not in (",", ":"):
            break
        place -= 1
    names.reverse()
    if count and len(names) == 1:
        names = [f"{names[0]}#{number}" for number in range(len(operation.results))]
    if len(names) == len(operation.results):
        found.update(zip(operation.results, names, strict=True))


def _name_arguments(operation: Operation, words: list[str], place: int, found: dict[Value, str]) -> None:
    """Arguments of blocks stand before a colon, `in` or `=`, in front of the brace that opens the region."""
    blocks = operation.regions[0].blocks
    arguments = blocks[0].arguments if blocks else []
    if not arguments:
        return
    names: list[str] = []
    for index in range(place + 1, min(len(words) - 1, place + _MOST_HEAD_TOKENS)):
        word = words[index]
        if word == "{":
            break
        if word.startswith("%") and words[index + 1] in (":", "in", "="):
            names.append(word)
    if len(names) == len(arguments):
        found.update(zip(arguments, names, strict=True))


class Spelling:
    """Operations as the whole program prints them, with the names values have there."""

    def __init__(self) -> None:
        self._printers: dict[Operation, Printer] = {}
        self._written: dict[Operation, dict[Value, str]] = {}

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
        block = value.parent_block
        assert block is not None and block.parent_operation is not None
        owner = block.parent_operation
        top = [owner, *ancestors(owner)][-1]
        if top not in self._written:
            self._written[top] = written_names(top)
        return self._written[top].get(value) or self._printer(owner).names.get(value, "%?")


def _source_line(operation: Operation) -> tuple[str, str]:
    """The line of source an operation is on: what comes before it, and the rest."""
    source = source_of(operation.location)
    position = position_of(operation.location)
    if source is None or position is None:
        return "", ""
    text, column = source.excerpt(position.line, position.column)
    return text[: column - 1], text[column - 1 :].rstrip()
