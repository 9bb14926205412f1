"""Lines of operations that are alike: they differ in names only, so the rest of the line is made once.

A line is found out by printing an operation that takes values of its own, each under a mark for a name.  What stands
between the marks is the same for all operations that are alike (`Operation.likeness`), since directives look at an
operation, its attributes and its types, and of its values at their names alone.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.core import NO_REGIONS, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.values import Value

# Nothing that is printed has this character: strings are quoted.
MARK: Final = "\0"


class PlainHead:
    """What stands before and behind the operands in the line of an operation without attributes, if that is plain."""

    __slots__ = ("end", "is_plain", "start")

    def __init__(self, name: str, middle: str | None) -> None:
        self.is_plain: bool = middle is not None
        self.start: str = f" = {name} "
        self.end: str = f"{middle} : "


class Line:
    """What the lines of operations that are alike have in common, behind the names of the results.

    `pieces` stand in front of the operands with the numbers `places`, and `end` behind the last.  `count` is how many
    operands there are where they stand in their order, each once, and -1 otherwise.
    """

    __slots__ = ("count", "end", "pieces", "places")

    def __init__(self, text: str) -> None:
        parts = text.split(MARK)
        self.pieces: list[str] = parts[:-1:2]
        self.places: list[int] = [int(number) for number in parts[1::2]]
        self.end: str = parts[-1]
        self.count: int = len(self.places) if self.places == list(range(len(self.places))) else -1


class Lines:
    """What is known of lines: of the plainest by declaration, of others by likeness, once there was one before."""

    __slots__ = ("heads", "known")

    def __init__(self) -> None:
        self.heads: dict[OperationDeclaration, PlainHead] = {}
        self.known: dict[tuple[object, ...], Line | None] = {}


def example_of(operation: Operation, names: dict[Value, str]) -> Operation:
    """An operation like another one that takes values of its own, whose names are marks around their numbers."""
    operands: list[Value] = []
    for value in operation.operands:
        taken = Value(value.type)
        names[taken] = f"{MARK}{len(operands)}{MARK}"
        operands.append(taken)
    types = [result.type for result in operation.results]
    return Operation(
        operation.declaration,
        operands,
        types,
        operation.attributes,
        NO_REGIONS,
        operation.location,
        operation.segments,
    )
