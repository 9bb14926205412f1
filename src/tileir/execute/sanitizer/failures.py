"""What ends a tile block: a failed `assert`, an index of `extract` or `insert` without a sub-tile, a bad loop step."""

from __future__ import annotations

from typing import cast

from tileir.dialect.ops import ALLOCA, EXTRACT, FOR, INSERT
from tileir.dialect.types import TileType
from tileir.execute.errors import AssertionFailedError, ExecutionError
from tileir.execute.observer import TileBlock
from tileir.execute.sanitizer.report import Finding, Place
from tileir.execute.script_names import THIS, phrase
from tileir.ir.core import Operation


def finding_of(error: ExecutionError, block: TileBlock) -> Finding:
    """The finding for an error that ended a tile block; the others go on."""
    operation = error.operation
    place = Place(operation, block.id)
    details = ["the tile block ended here"]
    if isinstance(error, AssertionFailedError):
        place.element = error.numbers or None
        text = f": {operation.message}" if operation.message else ""
        title = phrase(f"{THIS} failed{text}", operation)
        return Finding("assert", title, place, details, "the program itself says that this must not happen")
    title = phrase(f"{THIS} {error.message}", operation)
    if operation.declaration in (EXTRACT, INSERT):
        return Finding("index", title, place, details, _index_hint(operation, error.numbers))
    hint = "the behavior is undefined"
    if operation.declaration is FOR:
        hint += ": guard the loop with `if`, or compute a step that is at least 1"
    elif operation.declaration is ALLOCA:
        size, alignment = error.numbers
        hint = "reserve less" if size > alignment else "reserve it with a smaller alignment"
    return Finding("error", title, place, details, hint)


def _index_hint(operation: Operation, numbers: tuple[int, ...]) -> str:
    index, axis, count = numbers
    part = operation.results[0] if operation.declaration is EXTRACT else operation.operands[0]
    extent = cast(TileType, part.type).shape[axis]
    if extent > 1 and index % extent == 0 and 0 <= index // extent < count:
        return f"indices count sub-tiles, not elements: element {index} is in sub-tile {index // extent}"
    return f"there are sub-tiles 0 to {count - 1}: guard with `if`, or correct the index"
