"""Statements of atomics whose outcome no order changes.

On memory of the tile block's own every element is met once, so the old values are known.  In arrays that all tile
blocks share an element has one way to be combined, which is commutative and exact, and nobody looks at the old values.
"""

from __future__ import annotations

from tileir.analyze.smith.memory import apart, memory, small_shape
from tileir.analyze.smith.tiles import Memory, Shape, Tile
from tileir.analyze.smith.writer import Statement, Writer
from tileir.dialect import ops
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import F16, F32, F64, I1, I32, I64, Type

SHARED = 16
"""Elements of an array that all tile blocks share."""
_COMMUTATIVE = ("and", "or", "xor", "add", "max", "min", "umax", "umin")
_ANY_SCOPE = ("tl_blk", "device", "sys")
_ORDERINGS = ("relaxed", "relaxed", "acquire", "release", "acq_rel")


def _ordering(writer: Writer, scopes: tuple[str, ...]) -> dict[str, object]:
    semantics = writer.bits.choice(_ORDERINGS)
    return {"memory_ordering_semantics": semantics, "memory_scope": writer.bits.choice(scopes)}


def _own(writer: Writer) -> None:
    """Read, modify and write elements that no other tile block knows."""
    found = memory(writer, [I32, I64, F32, F64])
    shape = small_shape(writer, found.count)
    value = writer.numeric(writer.want(shape, found.element))
    integer = found.element in (I32, I64)
    mode = writer.bits.choice((*_COMMUTATIVE, "xchg")) if integer else "xchg"
    pointers = writer.pointers(found.base, apart(writer, shape, found.count))
    _combine(writer, found, ops.ATOMIC_RMW_TKO, pointers, value, mode=mode)


def _swap(writer: Writer) -> None:
    found = memory(writer, [I32, I64, F32, F64])
    shape = small_shape(writer, found.count)
    compared, value = (writer.numeric(writer.want(shape, found.element)) for _ in range(2))
    pointers = writer.pointers(found.base, apart(writer, shape, found.count))
    mask = writer.want(shape, I1) if writer.bits.chance(30) else None
    _combine(writer, found, ops.ATOMIC_CAS_TKO, pointers, compared, value, mask)


def _combine(
    writer: Writer, found: Memory, declaration: OperationDeclaration, *values: Tile | None, **named: str
) -> None:
    """Append an atomic operation after all accesses of a memory; its old values are known."""
    token = writer.joined(found.accesses)
    old, token = writer.op(declaration, *values, token=token, **named, **_ordering(writer, _ANY_SCOPE)).results
    found.was_written(token)
    writer.know(Tile(old))


def _shared(writer: Writer) -> tuple[Tile, Type, str]:
    """An array of all tile blocks, and the one way in which its elements are combined."""
    element = writer.bits.choice((I32, I32, I64, F32, F64, F16))
    mode = writer.bits.choice(_COMMUTATIVE) if element in (I32, I64) else "addf"
    key = (element, mode)
    if key not in writer.shared:
        seed = None if mode == "addf" else writer.bits.below(1 << 32)
        writer.shared[key] = writer.array(element, SHARED, seed)
    return writer.shared[key], element, mode


def _value(writer: Writer, shape: Shape, element: Type) -> Tile:
    """What is added to a float is 0 or 1: no sum of these rounds, however many there are in a program."""
    return writer.want(shape, element) if element in (I32, I64) else writer.whole(shape, element, 1)


def _together(writer: Writer) -> None:
    """Tile blocks and elements meet."""
    base, element, mode = _shared(writer)
    shape = writer.some_shape()
    value = _value(writer, shape, element)
    pointers = writer.pointers(base, writer.places(shape, SHARED))
    mask = writer.want(shape, I1) if writer.bits.chance(40) else None
    writer.op(ops.ATOMIC_RMW_TKO, pointers, value, mask, mode=mode, **_ordering(writer, ("device", "sys")))


def _either(writer: Writer) -> None:
    (_own if writer.bits.chance(50) else _together)(writer)


def _through_view(writer: Writer) -> None:
    base, element, mode = _shared(writer)
    count = writer.bits.choice((4, 8, 16))
    view = writer.value(ops.MAKE_PARTITION_VIEW, writer.value(ops.MAKE_TENSOR_VIEW, base, [SHARED], [1]), (count,))
    value = _value(writer, (count,), element)
    index = writer.below(writer.want((), I32), SHARED // count)
    writer.op(ops.ATOMIC_RED_VIEW_TKO, view, [index], value, None, "relaxed", "device", mode)


STATEMENTS = (
    Statement(ops.ATOMIC_RMW_TKO, _either),
    Statement(ops.ATOMIC_CAS_TKO, _swap),
    Statement(ops.ATOMIC_RED_VIEW_TKO, _through_view),
)
