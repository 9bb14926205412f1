"""Lowering of conversions between element types."""

from __future__ import annotations

from typing import Final, cast

from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute.gpu.triton.lowering import directed, narrow_types
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.ttir.operations import TtirOperations
from tileir.execute.gpu.triton.ttir.values import TtirValue, value_element
from tileir.ir.core import Operation
from tileir.ir.types import BF16, F16, F32, F64, I1, I4, I64, FloatType, IntegerType, Type
from tileir.ir.values import Value

_MODES: Final = {"nearest_even": "rn", "zero": "rz", "negative_inf": "rm", "positive_inf": "rp"}


def _element(value: Value) -> Type:
    return cast(TileType, value.type).element


# --- integers ---


def lower_exti(lowering: Lowering, operation: Operation) -> None:
    target, _ = lowering.type_of(operation.results[0])
    is_signed = operation.keyword("signedness") == "signed"
    value = _integer(lowering, operation.operands[0], is_signed)
    name = "arith.extsi" if is_signed else "arith.extui"
    lowering.result(operation, lowering.build.convert(name, value, target))


def _integer(lowering: Lowering, operand: Value, is_signed: bool) -> TtirValue:
    """An integer whose type tells its value: an i4, in a byte with its sign, without it."""
    value = lowering.value(operand)
    if _element(operand) is I4 and not is_signed:
        return lowering.build.immediate("arith.andi", value, 15)
    return value


def lower_trunci(lowering: Lowering, operation: Operation) -> None:
    build = lowering.build
    target, _ = lowering.type_of(operation.results[0])
    value = build.convert("arith.trunci", lowering.value(operation.operands[0]), target)
    if _element(operation.results[0]) is I4:
        value = build.immediate("arith.shrsi", build.immediate("arith.shli", value, 4), 4)
    lowering.result(operation, value)


# --- floats ---


def lower_ftof(lowering: Lowering, operation: Operation) -> None:
    source = cast(FloatType, _element(operation.operands[0]))
    target = cast(FloatType, _element(operation.results[0]))
    value = lowering.value(operation.operands[0])
    mode = operation.keyword("rounding_mode")
    lowering.result(operation, _convert(lowering, operation, value, source, target, mode))


def _convert(
    lowering: Lowering, operation: Operation, value: TtirValue, source: FloatType, target: FloatType, mode: str
) -> TtirValue:
    build = lowering.build
    if target is F64:
        return build.convert("arith.extf", narrow_types.widened(lowering, value, source), "f64")
    if source is F64:
        if target is F32 and mode != "nearest_even":
            lowering.require_ptx(operation, f"rounding<{mode}>")
            return build.assembly(f"cvt.{_MODES[mode]}.f32.f64", [value], "f32")
        if target in (F32, F16) and mode == "nearest_even":
            return build.convert("arith.truncf", value, value_element(target))
        value = narrow_types.odd_single(build, value)
    else:
        value = narrow_types.widened(lowering, value, source)
    if target is F32:
        return value
    if target in (F16, BF16):
        if mode == "zero":
            lowering.require_ptx(operation, "rounding<zero>")
            return directed.round_single(build, value, target.name, "rz")
        return build.convert("arith.truncf", value, target.name)
    return narrow_types.narrowed(lowering, value, target, mode)


def lower_itof(lowering: Lowering, operation: Operation) -> None:
    build = lowering.build
    source = cast(IntegerType, _element(operation.operands[0]))
    target = cast(FloatType, _element(operation.results[0]))
    is_signed = operation.keyword("signedness") == "signed"
    value = _integer(lowering, operation.operands[0], is_signed)
    name = "arith.sitofp" if is_signed else "arith.uitofp"
    # NVIDIA's GPUs convert to f16 by one instruction; and what f32 holds is rounded once, whatever the way.
    is_direct = target in (F32, F64) or (target is F16 and lowering.has_ptx) or (target is BF16 and source.width <= 16)
    if is_direct:
        lowering.result(operation, build.convert(name, value, target.name))
        return
    # In f32 with an odd last bit where it is not exact, so that it is rounded once.
    if source is I64:
        single = narrow_types.odd_single(build, build.convert(name, _jammed(build, value, is_signed, 53), "f64"))
    else:
        kept = _jammed(build, value, is_signed, 24) if source.width == 32 else value
        single = build.convert(name, kept, "f32")
    made = (
        build.convert("arith.truncf", single, target.name)
        if target in (F16, BF16)
        else narrow_types.narrowed(lowering, single, target, "nearest_even")
    )
    lowering.result(operation, made)


def _jammed(build: TtirOperations, value: TtirValue, is_signed: bool, precision: int) -> TtirValue:
    """An integer that a float of so many bits holds: of a larger one, the low bits are joined into one, which is set if
    any of them is.  What is left has bits enough for every target of fewer than 24."""
    # 8 of 32 bits leave 24, 11 of 64 leave 53.
    low = value.bits - precision
    mask = (1 << low) - 1
    lowest = build.immediate("arith.addi", build.immediate("arith.andi", value, mask), mask)
    jammed = build.immediate("arith.andi", build.binary("arith.ori", value, lowest), ~mask)
    moved = build.immediate("arith.addi", value, 1 << precision) if is_signed else value
    limit = build.integer(1 << (precision + (1 if is_signed else 0)), value.element, value.shape)
    return build.select(build.compare("ult", moved, limit), value, jammed)


def lower_ftoi(lowering: Lowering, operation: Operation) -> None:
    build = lowering.build
    source = cast(FloatType, _element(operation.operands[0]))
    target = cast(IntegerType, _element(operation.results[0]))
    value = lowering.value(operation.operands[0])
    if source is not F64:
        value = narrow_types.widened(lowering, value, source)
    if target is I1:
        lowering.result(operation, build.compare("une", value, build.zero(value.element, value.shape)))
        return
    is_signed = operation.keyword("signedness") == "signed"
    convert = _clamped_by_instruction if lowering.has_ptx else _clamped
    lowering.result(operation, convert(build, value, target.width, is_signed))


def _limits(width: int, is_signed: bool) -> tuple[int, int]:
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if is_signed else (0, (1 << width) - 1)


def _clamped_by_instruction(build: TtirOperations, value: TtirValue, width: int, is_signed: bool) -> TtirValue:
    """PTX clamps, and makes 0 of a NaN of f32, to 32 bits."""
    stage = max(width, 32)
    letter = "s" if is_signed else "u"
    whole = build.assembly(f"cvt.rzi.{letter}{stage}.{value.element}", [value], f"i{stage}")
    if stage == 64 or value.element == "f64":
        is_number = build.compare("ord", value, value)
        whole = build.select(is_number, whole, build.integer(0, whole.element, whole.shape))
    if width < stage:
        least, greatest = _limits(width, is_signed)
        whole = build.immediate(f"arith.min{letter}i", whole, greatest)
        if is_signed:
            whole = build.immediate("arith.maxsi", whole, least)
        whole = build.convert("arith.trunci", whole, f"i{width}")
    return whole


def _clamped(build: TtirOperations, value: TtirValue, width: int, is_signed: bool) -> TtirValue:
    """With comparisons: what is out of range never reaches the conversion."""
    least, greatest = _limits(width, is_signed)
    element, shape = f"i{width}", value.shape
    is_above = build.compare("oge", value, build.float(float(greatest + 1), value.element, shape))
    # Of what is between -1 and 0 nothing remains.
    below, predicate = (float(least), "oge") if is_signed else (-1.0, "ogt")
    is_usable = build.compare(predicate, value, build.float(below, value.element, shape))
    is_low = build.compare("olt", value, build.float(0.0, value.element, shape))
    usable = build.binary("arith.andi", is_usable, build.immediate("arith.xori", is_above, 1))
    safe = build.select(usable, value, build.zero(value.element, shape))
    whole = build.convert("arith.fptosi" if is_signed else "arith.fptoui", safe, element)
    whole = build.select(is_above, build.integer(greatest, element, shape), whole)
    is_low = build.binary("arith.andi", is_low, build.immediate("arith.xori", is_usable, 1))
    return build.select(is_low, build.integer(least, element, shape), whole)


# --- bits ---


def lower_bitcast(lowering: Lowering, operation: Operation) -> None:
    """Types of one width, which are the same in TTIR where it has no type for them."""
    target, _ = lowering.type_of(operation.results[0])
    lowering.result(operation, lowering.build.bitcast(lowering.value(operation.operands[0]), target))


def lower_pointer_cast(lowering: Lowering, operation: Operation) -> None:
    """int_to_ptr, ptr_to_int, ptr_to_ptr."""
    build = lowering.build
    value = lowering.value(operation.operands[0])
    target, _ = lowering.type_of(operation.results[0])
    if operation.declaration is ops.PTR_TO_PTR:
        lowering.result(operation, build.bitcast(value, target))
        return
    name = "tt.int_to_ptr" if operation.declaration is ops.INT_TO_PTR else "tt.ptr_to_int"
    lowering.result(operation, build.reinterpret(name, value, target))
