"""Lowering of comparisons, of what they choose, and of the greater and the lesser of two floats."""

from __future__ import annotations

from typing import Final, cast

from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute.dtypes import constant_elements, to_bits
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.flushing import flushed
from tileir.execute.gpu.triton.ttir.values import TtirValue
from tileir.ir import floats
from tileir.ir.core import Operation
from tileir.ir.types import FloatType
from tileir.ir.values import Value

_PREDICATES: Final = {
    "equal": "eq",
    "not_equal": "ne",
    "less_than": "lt",
    "less_than_or_equal": "le",
    "greater_than": "gt",
    "greater_than_or_equal": "ge",
}


def lower_cmpi(lowering: Lowering, operation: Operation) -> None:
    left, right = lowering.operands(operation)
    predicate = _PREDICATES[operation.comparison_predicate]
    if predicate not in ("eq", "ne"):
        predicate = ("s" if operation.signedness == "signed" else "u") + predicate
    lowering.result(operation, lowering.build.compare(predicate, left, right))


def lower_cmpf(lowering: Lowering, operation: Operation) -> None:
    left, right = lowering.operands(operation)
    ordering = "o" if operation.comparison_ordering == "ordered" else "u"
    predicate = ordering + _PREDICATES[operation.comparison_predicate]
    lowering.result(operation, lowering.build.compare(predicate, left, right))


def lower_select(lowering: Lowering, operation: Operation) -> None:
    lowering.result(operation, lowering.build.select(*lowering.operands(operation)))


def lower_extremum(lowering: Lowering, operation: Operation) -> None:
    """maxf, minf."""
    build = lowering.build
    left, right = [_without_signal(lowering, value) for value in operation.operands]
    is_maximum = operation.declaration is ops.MAXF
    propagates = "propagate_nan" in operation.attributes
    if "flush_to_zero" in operation.attributes and not lowering.has_ptx:
        left, right = flushed(build, left), flushed(build, right)
    elif "flush_to_zero" in operation.attributes:
        instruction = f"{'max' if is_maximum else 'min'}.ftz{'.NaN' if propagates else ''}.f32"
        lowering.result(operation, build.assembly(instruction, [left, right], "f32"))
        return
    name = f"arith.{'max' if is_maximum else 'min'}{'imumf' if propagates else 'numf'}"
    lowering.result(operation, build.binary(name, left, right))


def _without_signal(lowering: Lowering, value: Value) -> TtirValue:
    """An operand of a maximum: a constant NaN as a quiet one, because LLVM has a signalling one win."""
    operation = value.defining_operation
    if operation is not None and operation.declaration is ops.CONSTANT:
        type = cast(TileType, value.type)
        elements = constant_elements(operation.value_attribute)
        if len(elements) == 1:
            bits = int(to_bits(type.element, elements)[0])
            form = floats.FORMATS[cast(FloatType, type.element).name]
            if bits & form.magnitude_mask > form.infinity:
                element, shape = lowering.type_of(value)
                return lowering.build.float_bits(form.quiet_nan, element, shape)
    return lowering.value(value)
