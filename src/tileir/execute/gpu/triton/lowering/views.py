"""Lowering of views, and of what is read and written through them."""

from __future__ import annotations

from typing import NamedTuple, cast

from tileir.dialect.types import DYNAMIC, PartitionViewType, TensorViewType
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.ttir.values import TtirValue
from tileir.ir.core import Operation
from tileir.ir.values import Value


class Tensor(NamedTuple):
    """A tensor view: what it is made of, as scalars."""

    number: int
    """Among `Program.views`."""
    type: TensorViewType
    base: TtirValue
    shape: list[TtirValue]
    """i64."""
    strides: list[TtirValue]
    """i64."""


def lower_make_tensor_view(lowering: Lowering, operation: Operation) -> None:
    type = cast(TensorViewType, operation.results[0].type)
    base = lowering.value(operation.operands[0])
    shape = _scalars(lowering, type.shape, operation.operand_group("dynamicShape"))
    strides = _scalars(lowering, type.strides, operation.operand_group("dynamicStrides"))
    number = lowering.program.number_of[operation]
    lowering.views[operation.results[0]] = Tensor(number, type, base, shape, strides)


def _scalars(lowering: Lowering, numbers: tuple[int, ...], values: list[Value]) -> list[TtirValue]:
    build = lowering.build
    dynamic = iter(values)
    return [
        build.convert("arith.extui", lowering.value(next(dynamic)), "i64")
        if number == DYNAMIC
        else build.integer(number, "i64")
        for number in numbers
    ]


def lower_make_view(lowering: Lowering, operation: Operation) -> None:
    lowering.views[operation.results[0]] = lowering.views[operation.operands[0]]


def lower_load_view(lowering: Lowering, operation: Operation) -> None:
    view = operation.operands[0]
    pointers, mask = _elements(lowering, view, operation.operand_group("index"))
    other = lowering.build.zero(lowering.type_of(operation.results[0])[0], pointers.shape)
    lowering.result(operation, lowering.build.load(pointers, mask, other))


def lower_store_view(lowering: Lowering, operation: Operation) -> None:
    tile, view = operation.operands[0], operation.operands[1]
    pointers, mask = _elements(lowering, view, operation.operand_group("index"))
    lowering.build.store(pointers, lowering.value(tile), mask)


def _elements(lowering: Lowering, view: Value, index: list[Value]) -> tuple[TtirValue, TtirValue]:
    """The addresses of the elements of a tile, and which of them are in the tensor."""
    build = lowering.build
    type = cast(PartitionViewType, view.type)
    tensor: Tensor = lowering.views[view]
    shape = type.tile_shape
    offset: TtirValue | None = None
    mask: TtirValue | None = None
    for axis, extent in enumerate(shape):
        along = type.dim_map[axis]
        position = build.convert("arith.extui", lowering.value(index[axis]), "i64")
        start = build.binary("arith.muli", position, build.integer(extent, "i64"))
        lanes = build.convert("arith.extsi", build.range(extent), "i64")
        lanes = build.binary("arith.addi", lanes, build.splat(start, (extent,)))
        inside = build.compare("slt", lanes, build.splat(tensor.shape[along], (extent,)))
        steps = build.binary("arith.muli", lanes, build.splat(tensor.strides[along], (extent,)))
        for other in range(len(shape)):
            if other != axis:
                steps, inside = build.expand(steps, other), build.expand(inside, other)
        steps, inside = build.broadcast(steps, shape), build.broadcast(inside, shape)
        offset = steps if offset is None else build.binary("arith.addi", offset, steps)
        mask = inside if mask is None else build.binary("arith.andi", mask, inside)
    assert offset is not None and mask is not None, "tiles of views have dimensions"
    return build.advance(build.splat(tensor.base, shape), offset), mask


def lower_index_space_shape(lowering: Lowering, operation: Operation) -> None:
    build = lowering.build
    view = operation.operands[0]
    type = cast(PartitionViewType, view.type)
    tensor: Tensor = lowering.views[view]
    for axis, result in enumerate(operation.results):
        extent = build.integer(type.tile_shape[axis], "i64")
        count = build.binary("arith.ceildivui", tensor.shape[type.dim_map[axis]], extent)
        element, _ = lowering.type_of(result)
        lowering.define(result, build.convert("arith.trunci", count, element))
