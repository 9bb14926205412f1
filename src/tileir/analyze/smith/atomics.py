"""Statements of atomics whose outcome no order changes.

On memory of the tile block's own every element is met once, so the old values are known.  In arrays that all tile
blocks share an element has one way to be combined, which is commutative and exact, and nobody looks at the old values.
"""

from __future__ import annotations

from tileir.analyze.smith.memory import apart, memory, small_shape
from tileir.analyze.smith.tiles import Shape, Tile
from tileir.analyze.smith.writer import Statement, Writer
from tileir.dialect import ops
from tileir.dialect.enums import ATOMIC_MODE, MEMORY_ORDERING, MEMORY_SCOPE
from tileir.dialect.types import TOKEN, partition_view_type, tensor_view_type
from tileir.ir.attributes import Attribute
from tileir.ir.types import F16, F32, F64, I1, I32, I64, Type
from tileir.ir.values import Value

SHARED = 16
"""Elements of an array that all tile blocks share."""
_COMMUTATIVE = ("and", "or", "xor", "add", "max", "min", "umax", "umin")
_ORDERINGS = ("relaxed", "relaxed", "acquire", "release", "acq_rel")


def _ordering(writer: Writer, scopes: tuple[str, ...]) -> dict[str, Attribute]:
    return {
        "memory_ordering_semantics": MEMORY_ORDERING[writer.bits.choice(_ORDERINGS)],
        "memory_scope": MEMORY_SCOPE[writer.bits.choice(scopes)],
    }


def _own(writer: Writer) -> None:
    """Read, modify and write elements that no other tile block knows."""
    found = memory(writer, [I32, I64, F32, F64])
    if found is None:
        return
    shape = small_shape(writer, found.count)
    value = writer.numeric(writer.want(shape, found.element))
    integer = found.element in (I32, I64)
    mode = writer.bits.choice((*_COMMUTATIVE, "xchg")) if integer else "xchg"
    pointers = writer.pointers(found.base, apart(writer, shape, found.count))
    tokens = writer.joined(found.accesses)
    attributes = {**_ordering(writer, ("tl_blk", "device", "sys")), "mode": ATOMIC_MODE[mode]}
    types: list[Type] = [value.type, TOKEN]
    old, token = writer.add(
        ops.ATOMIC_RMW_TKO,
        [pointers.value, value.value, *tokens],
        types,
        attributes,
        segments=(1, 1, 0, len(tokens)),
    ).results
    found.was_written(token)
    writer.know(Tile(old))


def _swap(writer: Writer) -> None:
    found = memory(writer, [I32, I64, F32, F64])
    if found is None:
        return
    shape = small_shape(writer, found.count)
    compared, value = (writer.numeric(writer.want(shape, found.element)) for _ in range(2))
    pointers = writer.pointers(found.base, apart(writer, shape, found.count))
    masks = [writer.want(shape, I1).value] if writer.bits.chance(30) else []
    tokens = writer.joined(found.accesses)
    types: list[Type] = [value.type, TOKEN]
    old, token = writer.add(
        ops.ATOMIC_CAS_TKO,
        [pointers.value, compared.value, value.value, *masks, *tokens],
        types,
        _ordering(writer, ("tl_blk", "device", "sys")),
        segments=(1, 1, 1, len(masks), len(tokens)),
    ).results
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
    masks = [writer.want(shape, I1).value] if writer.bits.chance(40) else []
    attributes = {**_ordering(writer, ("device", "sys")), "mode": ATOMIC_MODE[mode]}
    types: list[Type] = [value.type, TOKEN]
    writer.add(
        ops.ATOMIC_RMW_TKO,
        [pointers.value, value.value, *masks],
        types,
        attributes,
        segments=(1, 1, len(masks), 0),
    )


def _either(writer: Writer) -> None:
    (_own if writer.bits.chance(50) else _together)(writer)


def _through_view(writer: Writer) -> None:
    base, element, mode = _shared(writer)
    count = writer.bits.choice((4, 8, 16))
    tensor = tensor_view_type(element, (SHARED,), (1,))
    view_type = partition_view_type((count,), tensor)
    whole = writer.add(ops.MAKE_TENSOR_VIEW, [base.value], [tensor], segments=(1, 0, 0)).results[0]
    view = writer.add(ops.MAKE_PARTITION_VIEW, [whole], [view_type]).results[0]
    value = _value(writer, (count,), element)
    index = writer.below(writer.want((), I32), SHARED // count)
    attributes: dict[str, Attribute] = {
        "memory_ordering_semantics": MEMORY_ORDERING["relaxed"],
        "memory_scope": MEMORY_SCOPE["device"],
        "mode": ATOMIC_MODE[mode],
    }
    operands: list[Value] = [view, index.value, value.value]
    writer.add(ops.ATOMIC_RED_VIEW_TKO, operands, [TOKEN], attributes, segments=(1, 1, 1, 0))


STATEMENTS = (
    Statement(ops.ATOMIC_RMW_TKO, _either),
    Statement(ops.ATOMIC_CAS_TKO, _swap),
    Statement(ops.ATOMIC_RED_VIEW_TKO, _through_view),
)
