"""Lowering of tensor views: memory with a shape and strides.  They are no values in TTIR, but what is known of them."""

from __future__ import annotations

from typing import NamedTuple, cast

from tileir.dialect.types import (
    DYNAMIC,
    GatherScatterViewType,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
    TileViewType,
)
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.ttir.builder import TtirBuilder
from tileir.execute.gpu.triton.ttir.values import TtirValue
from tileir.ir.core import Operation
from tileir.ir.values import Value


class Dimension(NamedTuple):
    """An extent or a stride."""

    number: int
    """DYNAMIC where only the value says it."""
    value: TtirValue | None
    most: int
    """What it is at most."""

    def wide(self, build: TtirBuilder) -> TtirValue:
        """As i64."""
        if self.value is None:
            return build.integer(self.number, "i64")
        return build.convert("arith.extui", self.value, "i64")

    def narrow(self, build: TtirBuilder) -> TtirValue:
        """As i32; right where it fits."""
        if self.value is None:
            return build.integer(self.number)
        return build.convert("arith.trunci" if self.value.bits > 32 else "arith.extui", self.value, "i32")


class Tensor(NamedTuple):
    """A tensor view: what it is made of, as scalars."""

    number: int
    """Among `Program.views`."""
    type: TensorViewType
    base: TtirValue
    shape: list[Dimension]
    strides: list[Dimension]


def lower_make_tensor_view(lowering: Lowering, operation: Operation) -> None:
    type = cast(TensorViewType, operation.results[0].type)
    base = lowering.value(operation.operands[0])
    shape = _dimensions(lowering, type.shape, operation.dynamic_shape)
    strides = _dimensions(lowering, type.strides, operation.dynamic_strides)
    number = lowering.program.number_of[operation]
    lowering.views[operation.results[0]] = Tensor(number, type, base, shape, strides)


def _dimensions(lowering: Lowering, numbers: tuple[int, ...], values: list[Value]) -> list[Dimension]:
    dynamic = iter(values)
    found = []
    for number in numbers:
        if number != DYNAMIC:
            found.append(Dimension(number, None, number))
            continue
        value = next(dynamic)
        most = lowering.facts.range(value, signed=False)[1]
        found.append(Dimension(DYNAMIC, lowering.value(value), most))
    return found


def lower_make_tile_view(lowering: Lowering, operation: Operation) -> None:
    """Of a view of tiles, the type says all but the tensor."""
    lowering.views[operation.results[0]] = lowering.views[operation.operands[0]]


def dimension_map(type: TileViewType) -> tuple[int, ...]:
    """For each dimension of a tile, the dimension of the tensor that it runs along."""
    if isinstance(type, (PartitionViewType, StridedViewType)):
        return type.dim_map
    return tuple(range(len(type.tile_shape)))


def steps_of(type: TileViewType) -> tuple[int, ...]:
    """How many elements apart tiles begin; what an index counts in."""
    if isinstance(type, StridedViewType):
        return type.traversal_strides
    return (1,) * len(type.tile_shape) if isinstance(type, GatherScatterViewType) else type.tile_shape


def lower_index_space_shape(lowering: Lowering, operation: Operation) -> None:
    build = lowering.build
    type = cast(TileViewType, operation.operands[0].type)
    tensor: Tensor = lowering.views[operation.operands[0]]
    counted = zip(dimension_map(type), steps_of(type), operation.results, strict=True)
    for along, step, result in counted:
        count = tensor.shape[along].wide(build)
        if step != 1:
            # In 64 bits, rounding up does not overflow.
            up = build.binary("arith.addi", count, build.integer(step - 1, "i64"))
            count = build.binary("arith.divui", up, build.integer(step, "i64"))
        _define_number(lowering, result, count)


def lower_tensor_shape(lowering: Lowering, operation: Operation) -> None:
    tensor: Tensor = lowering.views[operation.operands[0]]
    for extent, result in zip(tensor.shape, operation.results, strict=True):
        _define_number(lowering, result, extent.wide(lowering.build))


def _define_number(lowering: Lowering, result: Value, number: TtirValue) -> None:
    element, _ = lowering.type_of(result)
    lowering.define(result, lowering.build.convert("arith.trunci", number, element))
