"""What ends a tile block: a failed `assert`, an index of `extract` or `insert` without a sub-tile, a bad loop step."""

from __future__ import annotations

from tileir.dialect.ops import ALLOCA, EXTRACT, FOR, INSERT
from tileir.execute.errors import AssertionFailedError, ExecutionError
from tileir.execute.observer import TileBlock
from tileir.execute.sanitizer.report import Finding, Place

_HINTS = {
    FOR: "the behaviour is undefined: guard the loop with `if`, or compute a step that is at least 1",
    ALLOCA: "reserve less, or with a smaller alignment",
}


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
        hint = "indices count sub-tiles, not elements"
        return Finding("index", f"{mnemonic} {error.message}", place, details, hint)
    hint = _HINTS.get(operation.declaration, "the behaviour is undefined")
    return Finding("error", f"{mnemonic} {error.message}", place, details, hint)
