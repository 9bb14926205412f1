"""Tensor descriptors: loads, stores and reductions of blocks of an array.

A descriptor is made by the kernel, or by the host: then a parameter that the extents and strides follow.  Here it is
several values: a pointer, whether elements outside of the array read as NaN, the extents and the strides.  The last
stride is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final, NamedTuple

from tileir.dialect.ops import CONSTANT
from tileir.dialect.types import TileType, tile_type, with_element
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.types import I1, I32, I64, FloatType
from tileir.ir.values import Value
from tileir.ttir.rules.arithmetic import filled, splat
from tileir.ttir.rules.atomics import Order, combine
from tileir.ttir.translation import Translation, rule
from tileir.ttir.types import DescriptorType, descriptor_of

_NAN_PADDING: Final = 2
# The kinds of reductions, which begin at 1; None for those of 32 bits that Tile IR lacks.
_KINDS: Final = ("add", "min", "max", None, None, "and", "or", "xor")


class Descriptor(NamedTuple):
    type: DescriptorType
    pointer: Value
    pads_with_nan: Value
    shape: Sequence[Value]
    strides: Sequence[Value]

    @classmethod
    def of(cls, t: Translation, value: Value) -> Descriptor:
        type = descriptor_of(value.type.text)
        assert type is not None
        pointer, pads, *sizes = t.parts(value)
        rank = len(type.block.shape)
        return cls(type, pointer, pads, sizes[:rank], sizes[rank:])


@rule("tt.make_tensor_descriptor")
def make_descriptor(t: Translation, op: Operation) -> list[Value]:
    pointer, *sizes = t.operands(op)
    pads = t.build.constant(t.attribute(op, "padding", 1) == _NAN_PADDING, I1)
    return [pointer, pads, *sizes]


@rule("tt.descriptor_load", memory=True)
def load(t: Translation, op: Operation) -> Value:
    descriptor = Descriptor.of(t, op.operands[0])
    offsets = t.operands(op)[-len(descriptor.shape) :]
    return _load(t, op, descriptor, _block(t, descriptor, offsets))


@rule("tt.descriptor_gather", memory=True)
def gather(t: Translation, op: Operation) -> Value:
    """Rows by number, from one column on."""
    descriptor = Descriptor.of(t, op.operands[0])
    rows, column = t.operands(op)[-2:]
    return _load(t, op, descriptor, _rows(t, descriptor, rows, column))


@rule("tt.descriptor_store", memory=True)
def store(t: Translation, op: Operation) -> None:
    descriptor = Descriptor.of(t, op.operands[0])
    value, *offsets = t.operands(op)[-len(descriptor.shape) - 1 :]
    _store(t, op, descriptor, _block(t, descriptor, offsets), value)


@rule("tt.descriptor_scatter", memory=True)
def scatter(t: Translation, op: Operation) -> None:
    descriptor = Descriptor.of(t, op.operands[0])
    rows, column, value = t.operands(op)[-3:]
    _store(t, op, descriptor, _rows(t, descriptor, rows, column), value)


@rule("tt.descriptor_reduce", memory=True)
def reduce_into(t: Translation, op: Operation) -> None:
    descriptor = Descriptor.of(t, op.operands[0])
    value, *offsets = t.operands(op)[-len(descriptor.shape) - 1 :]
    mode = _KINDS[t.attribute(op, "kind") - 1]
    if mode is None:
        raise t.unsupported(op, "Tile IR has no atomic increment that wraps around at a bound")
    if mode == "add" and isinstance(descriptor.type.block.element, FloatType):
        mode = "addf"
    elif mode in ("min", "max") and not descriptor.type.is_signed:
        mode = f"u{mode}"
    indices = _block(t, descriptor, offsets)
    pointers, mask = _pointers(t, descriptor, indices)
    value = t.build.reshape(value, _shape(indices))
    before = t.tokens.before(op.operands[0])
    assert before is not None
    _, token = combine(t, pointers, value, mask, mode, Order(), before)
    t.tokens.after(token, op.operands[0])


def _load(t: Translation, op: Operation, descriptor: Descriptor, indices: Sequence[Value]) -> Value:
    pointers, mask = _pointers(t, descriptor, indices)
    type = tile_type(_shape(indices), descriptor.type.block.element)
    padding = _padding(t, descriptor, type)
    value, token = t.build.load_ptr_tko(pointers, mask, padding, t.tokens.before(op.operands[0]))
    t.tokens.after(token, op.operands[0])
    return t.build.reshape(value, t.result_type(op).shape)


def _store(t: Translation, op: Operation, descriptor: Descriptor, indices: Sequence[Value], value: Value) -> None:
    pointers, mask = _pointers(t, descriptor, indices)
    value = t.build.reshape(value, _shape(indices))
    token = t.build.store_ptr_tko(pointers, value, mask, t.tokens.before(op.operands[0]))
    t.tokens.after(token, op.operands[0])


def _padding(t: Translation, descriptor: Descriptor, type: TileType) -> Value:
    """What elements outside of the array read as."""
    zero = filled(t, 0, type)
    if not isinstance(type.element, FloatType):
        return zero
    pads, nan = descriptor.pads_with_nan, t.build.constant(float("nan"), type)
    made = pads.defining_operation
    value = made.attributes["value"] if made is not None and made.declaration is CONSTANT else None
    if isinstance(value, DenseAttribute):
        return nan if any(value.data) else zero
    return t.build.select(splat(t, pads, type.shape), nan, zero)


def _block(t: Translation, descriptor: Descriptor, offsets: Sequence[Value]) -> list[Value]:
    """The indices of a block along each dimension."""
    shape = descriptor.type.block.shape
    return [_along(t, _range(t, offset, extent), axis, len(shape)) for axis, (offset, extent) in _dims(offsets, shape)]


def _rows(t: Translation, descriptor: Descriptor, rows: Value, column: Value) -> list[Value]:
    assert isinstance(rows.type, TileType)
    wide = with_element(rows.type, I32)
    rows = rows if rows.type is wide else t.build.exti(rows, wide, "signed")
    columns = _range(t, column, descriptor.type.block.shape[1])
    return [_along(t, each, axis, 2) for axis, each in enumerate((rows, columns))]


def _dims(offsets: Sequence[Value], shape: Sequence[int]) -> list[tuple[int, tuple[Value, int]]]:
    return list(enumerate(zip(offsets, shape, strict=True)))


def _range(t: Translation, offset: Value, extent: int) -> Value:
    return t.build.addi(splat(t, offset, (extent,)), t.build.iota(tile_type((extent,), I32)))


def _along(t: Translation, indices: Value, axis: int, rank: int) -> Value:
    """A list of indices as a tile that is 1 wide along all other dimensions."""
    shape = [1] * rank
    assert isinstance(indices.type, TileType)
    shape[axis] = indices.type.count
    return t.build.reshape(indices, shape)


def _shape(indices: Sequence[Value]) -> tuple[int, ...]:
    extents = []
    for axis, each in enumerate(indices):
        assert isinstance(each.type, TileType)
        extents.append(each.type.shape[axis])
    return tuple(extents)


def _pointers(t: Translation, descriptor: Descriptor, indices: Sequence[Value]) -> tuple[Value, Value]:
    """Pointers to elements, and which of them are elements of the array.

    Indices are compared unsigned: a negative one is too large.
    """
    build, shape = t.build, _shape(indices)
    pointers, masks = splat(t, descriptor.pointer, (1,) * len(shape)), []
    for index, extent, stride in zip(indices, descriptor.shape, descriptor.strides, strict=True):
        assert isinstance(index.type, TileType)
        along = index.type.shape
        masks.append(build.broadcast(build.cmpi(index, splat(t, extent, along), "less_than", "unsigned"), shape))
        offset = build.exti(index, with_element(index.type, I64), "signed")
        if stride is not descriptor.strides[-1]:
            offset = build.muli(offset, splat(t, stride, along))
        pointers = build.offset(build.broadcast(pointers, shape), build.broadcast(offset, shape))
    return pointers, reduce(build.andi, masks)
