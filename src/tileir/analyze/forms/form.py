"""One representation of a program: lines of text, each with the numbers of the operations that it comes from.

The operations of a kernel are numbered in program order, each before what it contains; 0 is the first one inside the
kernel.  A copy of the program has the number of each operation as its location.  Passes, engines and LLVM carry
locations to whatever they make of an operation, and here they are read again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Final, NamedTuple

from tileir.dialect.debug_info import children
from tileir.execute.launching.entries import select_entry
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.location import UNKNOWN, FileLocation, Location, file_location
from tileir.ir.traversal import clone, pre_order

MOST_LINES: Final = 20_000
"""Lines of a form that are kept: more, nobody reads, and a page of them is slow to show."""


class RemovedLine(NamedTuple):
    """A line that the step before had and this one has not, and the line before which it stood."""

    line: int
    text: str


@dataclass(slots=True, eq=False, repr=False)
class Representation:
    """One representation of a program.

    `links` has for each line the numbers of the operations that it comes from, in order.  Of a step of the optimizer
    `changed` has for each line whether it is new or changed, and `removed` the lines that are gone.
    """

    id: str
    title: str
    language: str
    lines: list[str]
    links: list[list[int]]
    changed: list[bool] | None = None
    removed: list[RemovedLine] | None = None
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.trim()

    def __repr__(self) -> str:
        return f"<Form {self.id}: {len(self.lines)} lines>"

    @property
    def text(self) -> str:
        return "\n".join([*self.lines, ""])

    def lines_of(self, operation: int) -> list[int]:
        """The lines that come from an operation, by its number."""
        return [line for line, numbers in enumerate(self.links) if operation in numbers]

    def answer(self) -> dict[str, Any]:
        """The representation as the explorer's page requests it."""
        answer = {each.name: getattr(self, each.name) for each in fields(self)}
        answer["changed"] = self.changed and [int(each) for each in self.changed]
        answer["removed"] = self.removed and [each._asdict() for each in self.removed]
        return answer

    def trim(self) -> None:
        """Keep a readable number of lines, and note how many are left out."""
        total = len(self.lines)
        if total > MOST_LINES:
            self.lines, self.links = self.lines[:MOST_LINES], self.links[:MOST_LINES]
            self.changed = self.changed and self.changed[:MOST_LINES]
            self.notes.append(f"The first {MOST_LINES:,} of {total:,} lines are shown.")
        if self.removed is not None:
            inside = [each for each in self.removed if each.line <= len(self.lines)][:MOST_LINES]
            if len(inside) < len(self.removed):
                self.notes.append(f"{len(inside):,} of {len(self.removed):,} removed lines are shown.")
                self.removed = inside


_FILE: Final = "operation of the tile program"
"""The file of locations that are numbers; the line is the number, counted from 1."""


def operations_of(entry: Operation) -> list[Operation]:
    """The operations of a kernel, each at its number."""
    return pre_order(entry)[1:]


def numbered(module: Operation, entry: Operation) -> tuple[Operation, Operation]:
    """A copy of a module and of a kernel in it, whose operations are at their numbers; nothing else is located."""
    copy = clone(module)
    chosen = select_entry(copy, entry.symbol_name)
    for operation in copy.walk():
        operation.location = UNKNOWN
    for number, operation in enumerate(operations_of(chosen), 1):
        operation.location = file_location(_FILE, number, 1)
    return copy, chosen


class Numbers:
    """Reads numbers from locations."""

    def __init__(self) -> None:
        self._known: dict[Attribute, set[int]] = {}

    def of(self, locations: Iterable[Location]) -> list[int]:
        """The numbers that some locations have, in order, each once."""
        return sorted({number for location in locations for number in self._of(location)})

    def _of(self, root: Attribute) -> set[int]:
        found: set[int] = set()
        seen = {root}
        # An explicit stack: the location of a merged operation nests as deeply as operations were merged.
        pending = [root]
        while pending:
            location = pending.pop()
            if location in self._known:
                found |= self._known[location]
                continue
            if isinstance(location, FileLocation) and location.file == _FILE:
                found.add(location.line - 1)
            parts = [part for part in children(location) if part not in seen]
            seen.update(parts)
            pending += parts
        self._known[root] = found
        return found
