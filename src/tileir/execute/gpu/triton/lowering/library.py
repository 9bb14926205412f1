"""Calls of functions in the libraries that come with Triton: libdevice for NVIDIA's GPUs, OCML for AMD's.

LLVM crashes where it computes a subnormal number of constants while it inlines such a function (in Triton 3.5 to 3.9).
So constants from which that may come are hidden from it, behind an instruction that moves them; functions of constants
alone have been computed before (`preparing/decided.py`).
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
    given = [
        build.assembly(f"mov.{element}", [value], element) if _is_extreme(operand) else value
        for operand, value in zip(operation.operands, values, strict=True)
    ]
    return build.external(f"__nv_{name}{'f' if element == 'f32' else ''}", given)


def _is_extreme(value: Value) -> bool:
    """Whether a value is a constant that may be near to numbers that are subnormal."""
    operation = value.defining_operation
    if operation is None or operation.declaration is not CONSTANT:
        return False
    element = cast(TileType, value.type).element
    elements = constant_elements(operation.value_attribute)
    if len(elements) > 1:
        return True
    if not isinstance(element, FloatType):
        return False
    number = floats.to_double(floats.FORMATS[element.name], int(to_bits(element, elements)[0]))
    return not _LEAST <= abs(number) <= _GREATEST
