"""Calls of functions in the libraries that come with Triton: libdevice for NVIDIA's GPUs, OCML for AMD's.

LLVM crashes where it computes a subnormal number of constants while it inlines such a function (in Triton 3.5 to 3.9).
So constants from which that may come are hidden from it, behind an instruction that moves them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from tileir.dialect.ops import CONSTANT
from tileir.dialect.types import TileType
from tileir.execute.dtypes import constant_elements, to_bits
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.ttir.values import TtirValue
from tileir.ir import floats
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.types import FloatType
from tileir.ir.values import Value

_LEAST: Final = 2.0**-64
_GREATEST: Final = 2.0**64


def call(lowering: Lowering, operation: Operation, name: str, values: Sequence[TtirValue]) -> TtirValue:
    """The function of f32 or f64, `exp` say, of the operands of an operation."""
    build = lowering.build
    element = values[0].element
    if not lowering.has_ptx:
        return build.external(f"__ocml_{name}_{element}", values)
    known = [_is_constant(operand) for operand in operation.operands]
    given = [
        build.assembly(f"mov.{element}", [value], element)
        if all(known) or (is_known and not _is_moderate(operand))
        else value
        for operand, is_known, value in zip(operation.operands, known, values, strict=True)
    ]
    return build.external(f"__nv_{name}{'f' if element == 'f32' else ''}", given)


def _is_constant(value: Value) -> bool:
    operation = value.defining_operation
    return operation is not None and operation.declaration is CONSTANT


def _is_moderate(value: Value) -> bool:
    """Whether a constant is far from numbers that are subnormal."""
    operation = value.defining_operation
    assert operation is not None
    element = cast(TileType, value.type).element
    elements = constant_elements(cast(DenseAttribute, operation.attributes["value"]))
    if len(elements) > 1:
        return False
    if not isinstance(element, FloatType):
        return True
    number = floats.to_double(floats.FORMATS[element.name], int(to_bits(element, elements)[0]))
    return _LEAST <= abs(number) <= _GREATEST
