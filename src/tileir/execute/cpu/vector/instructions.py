"""Elementwise operations as LLVM instructions.

`emit_operation` knows the instruction or short sequence of the common cases; every other case is emitted by tracing the
interpreter's kernel (`tracing`).  Both give the same bits, which the tests hold them to; the direct forms are there
because one instruction is faster than the portable construction that defines it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from tileir.dialect import ops
from tileir.dialect.types import PointerType, TileType
from tileir.execute import dtypes
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.casting import binary, choose, compare, constant, convert, intrinsic, retag, to_machine
from tileir.execute.cpu.vector.fast_math import emit_fast
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.cpu.vector.nans import extreme, handed_on, literal_float, quieted
from tileir.execute.cpu.vector.tracing import trace
from tileir.execute.cpu.vector.ufuncs import fused
from tileir.execute.dtypes import memory_bytes, memory_dtype, value_dtype
from tileir.execute.errors import CompilationError
from tileir.execute.interpreter.kernels import KERNELS
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traits import OPEN_BITS, PURE
from tileir.ir.types import BF16, F16, F32, F64, I1, I4, IntegerType, Type

Emit = Callable[[Builder, Operation, list[Register]], "Register | None"]


def emit_operation(builder: Builder, operation: Operation, operands: list[Register]) -> Register:
    """An elementwise operation on registers of one width; scalars among vectors are spread."""
    width = max([operand.width for operand in operands])
    operands = [builder.splat(operand, width) for operand in operands]
    fast = emit_fast(builder, operation, operands)
    if fast is not None:
        return fast
    direct = DIRECT.get(operation.declaration)
    if direct is not None:
        found = direct(builder, operation, operands)
        if found is not None:
            return found
    return emit_traced(builder, operation, operands)


def emit_traced(builder: Builder, operation: Operation, operands: list[Register]) -> Register:
    """The same by running the interpreter's kernel on symbolic values."""
    declaration = operation.declaration
    try:
        with fused(builder, declaration, _element(operation)):
            return trace(builder, KERNELS[declaration](operation, True), operands)
    except casting.Untraceable as error:
        raise CompilationError(
            f"the CPU backend cannot compile '{operation.name}': its NumPy function uses {error}, and can only use "
            "arithmetic, comparisons, bit operations, rounding, square roots, numpy.where and numpy.clip "
            "(execute/cpu/vector/ufuncs.py); launch it with backend='interpreter'"
        ) from error


def from_memory(builder: Builder, element: Type, register: Register) -> Register:
    """A tile value of what was loaded with the storage type."""
    if dtypes.plain_memory(element):
        return register
    loaded = retag(register, memory_dtype(element))
    return trace(builder, lambda array: dtypes.from_memory(element, array), [loaded])


def to_memory(builder: Builder, element: Type, register: Register) -> Register:
    """What to store, with the storage type, of a tile value."""
    if dtypes.plain_memory(element):
        return register
    return trace(builder, lambda array: dtypes.to_memory(element, array), [register])


# Reading the operation


def _element(operation: Operation, operand: int = 0) -> Type:
    return cast(TileType, operation.operands[operand].type).element


def _result(operation: Operation) -> Type:
    return cast(TileType, operation.results[0].type).element


def _rounds_to_nearest(operation: Operation) -> bool:
    return operation.keyword("rounding_mode") in ("", "nearest_even", "approx", "full")


def _is_plain(operation: Operation) -> bool:
    """Nearest even, subnormal numbers kept."""
    return "flush_to_zero" not in operation.attributes and _rounds_to_nearest(operation)


def _plain_integer(element: Type) -> bool:
    """Whether values fill their register: i1 and i4 have rules of their own."""
    return isinstance(element, IntegerType) and element is not I1 and element is not I4


def _is_signed(operation: Operation) -> bool:
    return operation.keyword("signedness") == "signed"


# Floats

_COMPUTED: Final = (F16, BF16, F32, F64)


def _float_binary(instruction: str) -> Emit:
    def emit(builder: Builder, operation: Operation, operands: list[Register]) -> Register | None:
        if not _is_plain(operation) or _element(operation) not in _COMPUTED:
            return None
        left, right = operands
        wide = binary(builder, instruction, to_machine(builder, left), to_machine(builder, right))
        # The second rounding of narrow types changes nothing: 24 bits are enough (Figueroa 1995).  Where a bf16 result
        # is subnormal, so is the float32 one, but products are exact there down to a quarter of bf16's smallest value,
        # and quotients of 8-bit mantissas stay 2**-9 of it away from a midpoint, float32 rounding by 2**-17 of it.
        result = casting.cast(builder, wide, left.dtype)
        kept = handed_on(instruction, left, right)
        return result if kept is None else quieted(builder, kept, result)

    return emit


def _fma(builder: Builder, operation: Operation, operands: list[Register]) -> Register | None:
    element = _element(operation)
    if not _is_plain(operation) or element not in (F32, F64) or not builder.module.native_fma:
        return None
    result = intrinsic(builder, "fma", operands)
    unknown = [operand for operand in operands if literal_float(operand) is None]
    return quieted(builder, unknown[0], result) if len(unknown) == 1 else result


def _minmax(largest: bool, always_propagates: bool) -> Emit:
    def emit(builder: Builder, operation: Operation, operands: list[Register]) -> Register | None:
        if "flush_to_zero" in operation.attributes:
            return None
        propagates = always_propagates or "propagate_nan" in operation.attributes
        return extreme(builder, largest, propagates, operands[0], operands[1])

    return emit


# Integers


def _on_integers(instruction: str) -> Emit:
    """An instruction, or an intrinsic; of a zero all bits lead and trail."""

    def emit(builder: Builder, operation: Operation, operands: list[Register]) -> Register | None:
        if not _plain_integer(_element(operation)):
            return None
        if len(operands) == 2:
            return binary(builder, instruction, operands[0], operands[1])
        return intrinsic(builder, instruction, operands, "i1 false" if instruction in ("ctlz", "cttz") else "")

    return emit


# Conversions


def _integer_to_float(builder: Builder, operation: Operation, operands: list[Register]) -> Register | None:
    source, target = _element(operation), _result(operation)
    if source is I4 or not _rounds_to_nearest(operation) or target not in (F32, F64):
        return None
    instruction = "sitofp" if _is_signed(operation) else "uitofp"
    return convert(builder, instruction, operands[0], value_dtype(target))


def _float_to_integer(builder: Builder, operation: Operation, operands: list[Register]) -> Register | None:
    """Toward zero, saturating, NaN to 0.  LLVM has an intrinsic for it, but takes vectors apart."""
    source, target = _element(operation), _result(operation)
    mode = operation.rounding_mode
    if not _plain_integer(target) or source not in _COMPUTED or mode != "nearest_int_to_zero":
        return None
    value = to_machine(builder, operands[0])
    dtype = value_dtype(target)
    is_signed = _is_signed(operation)
    width = dtype.itemsize * 8
    least = -(1 << (width - 1)) if is_signed else 0
    greatest = (1 << (width - 1)) - 1 if is_signed else -1
    # What is out of range is no value to LLVM, and never chosen.
    whole = convert(builder, "fptosi" if is_signed else "fptoui", value, dtype)
    above = compare(builder, "fcmp oge", value, 2.0 ** (width - 1 if is_signed else width))
    whole = choose(builder, above, greatest, whole)
    if is_signed:
        below = compare(builder, "fcmp olt", value, float(least))
        whole = choose(builder, below, least, whole)
        return choose(builder, compare(builder, "fcmp uno", value, value), 0, whole)
    return choose(builder, compare(builder, "fcmp ogt", value, 0), whole, constant(0, whole))


def _float_to_float(builder: Builder, operation: Operation, operands: list[Register]) -> Register | None:
    source, target = _element(operation), _result(operation)
    if source not in _COMPUTED or target not in _COMPUTED or not _rounds_to_nearest(operation):
        return None
    if source is F64 and target is BF16:
        # Through float32 would round twice.
        return None
    result = casting.cast(builder, to_machine(builder, operands[0]), value_dtype(target))
    if (target is F16 or (source is F64 and target is F32)) and not _is_computed(operation):
        # LLVM would undo a widening and a narrowing together, as if nothing had been.
        return quieted(builder, result, result)
    return result


def _is_computed(operation: Operation) -> bool:
    """Whether the operand is the result of arithmetic, of which no NaN signals."""
    made = operation.operands[0].defining_operation
    if made is None or not made.declaration.has_trait(PURE):
        return False
    declaration = made.declaration
    rounds = declaration.chapter == "Floating point" and "rounding_mode" in declaration.inherent
    return rounds or declaration.has_trait(OPEN_BITS)


# Values


def _offset(builder: Builder, operation: Operation, operands: list[Register]) -> Register:
    """An address so many elements further; offsets are signed."""
    pointer, amount = operands
    size = memory_bytes(cast(PointerType, _result(operation)).pointee)
    if amount.dtype != casting.INT64:
        amount = convert(builder, "sext", amount, casting.INT64)
    if size > 1:
        amount = binary(builder, "mul", amount, size)
    return binary(builder, "add", retag(pointer, casting.UINT64), amount)


DIRECT: Final[dict[OperationDeclaration, Emit]] = {
    **{each: _float_binary(f"f{each.mnemonic[:3]}") for each in (ops.ADDF, ops.SUBF, ops.MULF, ops.DIVF)},
    ops.FMA: _fma,
    ops.MAXF: _minmax(True, False),
    ops.MINF: _minmax(False, False),
    ops.MAXIMUMF: _minmax(True, True),
    ops.MINIMUMF: _minmax(False, True),
    **{each: _on_integers(each.mnemonic[:3]) for each in (ops.ADDI, ops.SUBI, ops.MULI)},
    ops.POPCNT: _on_integers("ctpop"),
    ops.CLZ: _on_integers("ctlz"),
    ops.CTZ: _on_integers("cttz"),
    ops.BREV: _on_integers("bitreverse"),
    ops.ITOF: _integer_to_float,
    ops.FTOI: _float_to_integer,
    ops.FTOF: _float_to_float,
    ops.SELECT: lambda builder, operation, operands: choose(builder, *operands),
    ops.OFFSET: _offset,
}
"""What is not here, or answers None, is traced."""
