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
from tileir.ir.declaration import PURE
from tileir.ir.dense import DenseAttribute
from tileir.ir.types import FloatType
from tileir.ir.values import Value

_LEAST: Final = 2.0**-64
_GREATEST: Final = 2.0**64
_DEEPEST: Final = 100


def call(lowering: Lowering, operation: Operation, name: str, values: Sequence[TtirValue]) -> TtirValue:
    """The function of f32 or f64, `exp` say, of the operands of an operation."""
    build = lowering.build
    element = values[0].element
    if not lowering.has_ptx:
        return build.external(f"__ocml_{name}_{element}", values)
    memo: dict[Value, bool] = {}
    known = [_is_constant(operand, memo) for operand in operation.operands]
    given = [
        build.assembly(f"mov.{element}", [value], element)
        if all(known) or (is_known and not _is_moderate(operand))
        else value
        for operand, is_known, value in zip(operation.operands, known, values, strict=True)
    ]
    return build.external(f"__nv_{name}{'f' if element == 'f32' else ''}", given)


def _is_constant(value: Value, memo: dict[Value, bool], depth: int = 0) -> bool:
    """Whether a value is a constant, or computed of constants alone; what takes too long to tell may be."""
    found = memo.get(value)
    if found is None:
        operation = value.defining_operation
        found = operation is not None and (
            operation.declaration is CONSTANT
            or depth == _DEEPEST
            or (
                bool(operation.declaration.traits & PURE)
                and bool(operation.operands)
                and all(_is_constant(operand, memo, depth + 1) for operand in operation.operands)
            )
        )
        memo[value] = found
    return found


def _is_moderate(value: Value) -> bool:
    """Whether a constant is far from numbers that are subnormal."""
    operation = value.defining_operation
    if operation is None or operation.declaration is not CONSTANT:
        return False
    element = cast(TileType, value.type).element
    elements = constant_elements(cast(DenseAttribute, operation.attributes["value"]))
    if len(elements) > 1:
        return False
    if not isinstance(element, FloatType):
        return True
    number = floats.to_double(floats.FORMATS[element.name], int(to_bits(element, elements)[0]))
    return _LEAST <= abs(number) <= _GREATEST
