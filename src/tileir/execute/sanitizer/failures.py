"""What ends a tile block: a failed `assert`, an index of `extract` or `insert` without a sub-tile, a bad loop step."""

from __future__ import annotations

import re
from typing import cast

from tileir.dialect.ops import ALLOCA, EXTRACT, FOR, INSERT
from tileir.dialect.types import TileType
from tileir.execute.errors import AssertionFailedError, ExecutionError
from tileir.execute.observer import TileBlock
from tileir.execute.sanitizer.report import Finding, Place
from tileir.ir.core import Operation


def finding_of(error: ExecutionError, block: TileBlock) -> Finding:
    """The finding for an error that ended a tile block; the others go on."""
    operation = error.operation
    place = Place(operation, block.id)
    mnemonic = operation.declaration.mnemonic
    details = ["the tile block ended here"]
    if isinstance(error, AssertionFailedError):
        text, _, element = error.message.removeprefix("failed: ").partition(" (first at element [")
        if element:
            place.element = tuple([int(number) for number in element.removesuffix("])").split(", ")])
        title = f"assert failed: {text}" if text else "assert failed"
        return Finding("assert", title, place, details, "the program itself says that this must not happen")
    if operation.declaration in (EXTRACT, INSERT):
        return Finding("index", f"{mnemonic} {error.message}", place, details, _index_hint(operation, error.message))
    hint = "the behavior is undefined"
    if operation.declaration is FOR:
        hint += ": guard the loop with `if`, or compute a step that is at least 1"
    elif operation.declaration is ALLOCA:
        size, alignment = [int(number) for number in re.findall(r"\d+", error.message)]
        hint = "reserve less" if size > alignment else "reserve it with a smaller alignment"
    return Finding("error", f"{mnemonic} {error.message}", place, details, hint)


def _index_hint(operation: Operation, message: str) -> str:
    found = re.match(r"has index (-?\d+) in dimension (\d+): there are (\d+) sub-tiles", message)
    assert found is not None
    index, axis, count = [int(number) for number in found.groups()]
    part = operation.results[0] if operation.declaration is EXTRACT else operation.operands[0]
    extent = cast(TileType, part.type).shape[axis]
    if extent > 1 and index % extent == 0 and 0 <= index // extent < count:
        return f"indices count sub-tiles, not elements: element {index} is in sub-tile {index // extent}"
    return f"there are sub-tiles 0 to {count - 1}: guard with `if`, or correct the index"
