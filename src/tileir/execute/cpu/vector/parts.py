"""Vectors taken apart and put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.llvm import Register


def shuffled(builder: Builder, first: Register, second: Register | None, lanes: Sequence[int]) -> Register:
    """Lanes of one vector, or of two, whose lanes count on."""
    other = second.typed if second is not None else f"{first.type} poison"
    places = ", ".join([f"i32 {lane}" for lane in lanes])
    text = f"shufflevector {first.typed}, {other}, <{len(lanes)} x i32> <{places}>"
    return builder.value(text, first.dtype, len(lanes))


def in_parts(
    builder: Builder, vectors: list[Register], lanes: int, emit: Callable[[list[Register]], Register]
) -> Register:
    """What an instruction for vectors of at most so many lanes gives for wider ones."""
    width = vectors[0].width
    if width <= lanes:
        return emit(vectors)
    found = []
    for start in range(0, width, lanes):
        places = range(start, start + lanes)
        found.append(emit([shuffled(builder, vector, None, places) for vector in vectors]))
    return joined(builder, found)


def joined(builder: Builder, parts: list[Register]) -> Register:
    """Vectors of one width, one after the other; their number is a power of two."""
    while len(parts) > 1:
        places = range(2 * parts[0].width)
        parts = [shuffled(builder, *pair, places) for pair in zip(parts[0::2], parts[1::2], strict=True)]
    return parts[0]
