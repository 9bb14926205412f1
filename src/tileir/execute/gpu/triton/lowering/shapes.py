"""Lowering of operations that make tiles, and that rearrange them."""

from __future__ import annotations

from typing import cast

from tileir.dialect.types import TileType
from tileir.execute.dtypes import constant_elements, to_bits
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.ttir.values import TtirValue, value_type
from tileir.ir.attributes import DenseArrayAttribute
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute


def lower_nothing(lowering: Lowering, operation: Operation) -> None:
    """What has no equal in TTIR: tokens, and views, which are known while lowering."""


def lower_assume(lowering: Lowering, operation: Operation) -> None:
    """A promise: what is known by it is asked of `lowering.facts`."""
    lowering.result(operation, lowering.value(operation.operands[0]))


def lower_constant(lowering: Lowering, operation: Operation) -> None:
    type = cast(TileType, operation.results[0].type)
    element, shape = value_type(type)
    elements = constant_elements(cast(DenseAttribute, operation.attributes["value"]))
    if len(elements) > 1:
        lowering.refuse(operation, "tables are not lowered yet")
    bits = int(to_bits(type.element, elements)[0])
    build = lowering.build
    made = TtirValue("", element)
    constant = build.float_bits(bits, element, shape) if made.is_float else build.integer(bits, element, shape)
    lowering.result(operation, constant)


def lower_iota(lowering: Lowering, operation: Operation) -> None:
    element, shape = lowering.type_of(operation.results[0])
    made = lowering.build.range(shape[0])
    name = "arith.extsi" if element == "i64" else "arith.trunci"
    lowering.result(operation, lowering.build.convert(name, made, element))


def lower_broadcast(lowering: Lowering, operation: Operation) -> None:
    _, shape = lowering.type_of(operation.results[0])
    lowering.result(operation, lowering.build.broadcast(lowering.value(operation.operands[0]), shape))


def lower_reshape(lowering: Lowering, operation: Operation) -> None:
    _, shape = lowering.type_of(operation.results[0])
    lowering.result(operation, lowering.build.reshape(lowering.value(operation.operands[0]), shape))


def lower_permute(lowering: Lowering, operation: Operation) -> None:
    order = cast(DenseArrayAttribute, operation.attributes["permutation"]).values
    lowering.result(operation, lowering.build.transpose(lowering.value(operation.operands[0]), list(order)))
