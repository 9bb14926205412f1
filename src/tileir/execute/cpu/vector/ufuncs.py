"""NumPy's ufuncs as LLVM instructions: what each computes on operands that have the dtypes of its loop.

Floats follow NumPy bit for bit, but for the payload of NaNs and, where NumPy's own loops differ from machine to
machine, the sign of a zero that minimum and maximum choose between two equal ones.  f16, bf16 and narrower formats
compute in float32 and round, as NumPy and ml_dtypes do.  No lane ever traps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.casting import (
    BOOL,
    DOUBLE,
    INT32,
    SINGLE,
    binary,
    bits,
    cast,
    choose,
    compare,
    constant,
    convert,
    intrinsic,
    is_integer,
    is_machine_float,
    reinterpret,
    to_single,
    unsupported,
)
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.cpu.vector.nans import literal_float
from tileir.execute.dtypes import DType
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traits import FUSIBLE
from tileir.ir.types import BF16, F16, F32, Type

Emitter = Callable[[Builder, list[Register]], "Register | tuple[Register, ...]"]


def _kind(dtype: DType) -> str:
    """bool, int, uint, float (the machine's) or narrow (formats that compute in float32)."""
    if dtype == BOOL:
        return "bool"
    if dtype.kind == "i":
        return "int"
    if dtype.kind == "u":
        return "uint"
    return "float" if is_machine_float(dtype) else "narrow"


# Arithmetic


def _arithmetic(name: str, float_instruction: str, integer_instruction: str, truth_instruction: str) -> Emitter:
    def emit(builder: Builder, operands: list[Register]) -> Register:
        left, right = operands
        kind = _kind(left.dtype)
        if kind == "narrow":
            wide = binary(builder, float_instruction, to_single(builder, left), to_single(builder, right))
            return cast(builder, wide, left.dtype)
        instruction = float_instruction
        if kind == "bool":
            instruction = truth_instruction
        elif kind != "float":
            instruction = integer_instruction
        if not instruction:
            raise unsupported(name, left.dtype)
        products = builder.products
        if products is None or left.dtype != DOUBLE:
            return binary(builder, instruction, left, right)
        if instruction == "fmul":
            product = binary(builder, instruction, left, right)
            products[product.name] = left, right
            return product
        return _fused(builder, products, instruction, left, right) or binary(builder, instruction, left, right)

    return emit


def is_fusible(function: OperationDeclaration, element: Type) -> bool:
    """Whether fusing the multiplications and additions of a function changes no result.

    The interpreter computes functions of f32 and narrower types in double, far more precisely than the type needs, and
    rounds once.  NumPy has no fused multiply-add; with it the same program takes two thirds of the time, and the last
    bits of its doubles differ.  Rounding hides that for all but about one argument in 2**30.  The trait says that none
    of the 2**32 arguments is such a one: `tests/execute/cpu/test_fusible.py` compares them all with `make test-long`,
    and every argument of the narrower types always.  Functions of two operands have too many arguments for that.
    """
    return function.has_trait(FUSIBLE) and element in (F32, F16, BF16)


@contextmanager
def fused(builder: Builder, function: OperationDeclaration, element: Type) -> Iterator[None]:
    """Fuse what is traced within, where that changes no result and the machine can."""
    if builder.module.native_fma and is_fusible(function, element):
        builder.products = {}
    try:
        yield
    finally:
        builder.products = None


def _fused(
    builder: Builder, products: dict[str, tuple[Register, Register]], instruction: str, left: Register, right: Register
) -> Register | None:
    """A sum or difference with a product in it as one operation, for fusible functions."""
    if instruction not in ("fadd", "fsub"):
        return None
    if left.name in products:
        first, second = products[left.name]
        addend = right if instruction == "fadd" else _negative(builder, [right])
        return intrinsic(builder, "fma", [first, second, addend])
    if right.name in products:
        first, second = products[right.name]
        factor = first if instruction == "fadd" else _negative(builder, [first])
        return intrinsic(builder, "fma", [factor, second, left])
    return None


def _on_pattern(builder: Builder, instruction: str, value: Register, has_sign: bool) -> Register:
    """A narrow float whose pattern is combined with its sign bit, or with all the others."""
    pattern = bits(builder, value)
    sign = 1 << (3 if value.dtype.name == "float4_e2m1fn" else value.dtype.itemsize * 8 - 1)
    changed = binary(builder, instruction, pattern, sign if has_sign else sign - 1)
    return reinterpret(builder, changed, value.dtype)


def _negative(builder: Builder, operands: list[Register]) -> Register:
    (value,) = operands
    kind = _kind(value.dtype)
    if kind == "float":
        return builder.value(f"fneg {value.typed}", value.dtype, value.width)
    if kind == "narrow":
        return _on_pattern(builder, "xor", value, True)
    if kind == "bool":
        raise unsupported("negative", value.dtype)
    return binary(builder, "sub", constant(0, value), value)


def _absolute(builder: Builder, operands: list[Register]) -> Register:
    (value,) = operands
    kind = _kind(value.dtype)
    if kind == "float":
        return intrinsic(builder, "fabs", [value])
    if kind == "int":
        return intrinsic(builder, "abs", [value], "i1 false")
    return _on_pattern(builder, "and", value, False) if kind == "narrow" else value


def _float_function(name: str) -> Emitter:
    """An intrinsic on floats; integers are integral already."""

    def emit(builder: Builder, operands: list[Register]) -> Register:
        (value,) = operands
        kind = _kind(value.dtype)
        if kind == "narrow":
            return cast(builder, intrinsic(builder, name, [to_single(builder, value)]), value.dtype)
        if kind != "float":
            if name == "sqrt":
                raise unsupported(name, value.dtype)
            return value
        return intrinsic(builder, name, [value])

    return emit


def _copysign(builder: Builder, operands: list[Register]) -> Register:
    if not is_machine_float(operands[0].dtype):
        raise unsupported("copysign", operands[0].dtype)
    return intrinsic(builder, "copysign", operands)


# Order


_PREDICATES: Final = {
    "equal": ("oeq", "eq", "eq"),
    "not_equal": ("une", "ne", "ne"),
    "less": ("olt", "slt", "ult"),
    "less_equal": ("ole", "sle", "ule"),
    "greater": ("ogt", "sgt", "ugt"),
    "greater_equal": ("oge", "sge", "uge"),
}


def _comparison(name: str) -> Emitter:
    on_floats, on_signed, on_unsigned = _PREDICATES[name]

    def emit(builder: Builder, operands: list[Register]) -> Register:
        left, right = operands
        kind = _kind(left.dtype)
        if kind == "float":
            return compare(builder, f"fcmp {on_floats}", left, right)
        if kind == "narrow":
            return compare(builder, f"fcmp {on_floats}", to_single(builder, left), to_single(builder, right))
        return compare(builder, f"icmp {on_signed if kind == 'int' else on_unsigned}", left, right)

    return emit


def _extreme(largest: bool, propagate: bool) -> Emitter:
    """maximum and minimum take a NaN operand, fmax and fmin the other one."""

    def emit(builder: Builder, operands: list[Register]) -> Register:
        left, right = operands
        kind = _kind(left.dtype)
        if kind == "bool":
            return binary(builder, "or" if largest else "and", left, right)
        if kind in ("int", "uint"):
            name = ("s" if kind == "int" else "u") + ("max" if largest else "min")
            return intrinsic(builder, name, [left, right])
        a, b = (value if kind == "float" else to_single(builder, value) for value in operands)
        predicate = "ge" if largest else "le"
        # Chosen is `a` where it compares so or the doubtful operand is NaN.
        doubtful, other = (a, b) if propagate else (b, a)
        if _is_number(other):
            return choose(builder, compare(builder, f"fcmp u{predicate}", a, b), left, right)
        chosen = compare(builder, f"fcmp o{predicate}", a, b)
        if not _is_number(doubtful):
            chosen = binary(builder, "or", chosen, compare(builder, "fcmp uno", doubtful, doubtful))
        return choose(builder, chosen, left, right)

    return emit


def _is_number(value: Register) -> bool:
    """Whether a float register is a constant and not NaN."""
    known = literal_float(value)
    return known is not None and known == known


# Bits


def _bitwise(instruction: str) -> Emitter:
    def emit(builder: Builder, operands: list[Register]) -> Register:
        left, right = operands
        if _kind(left.dtype) in ("float", "narrow"):
            raise unsupported(f"bitwise {instruction}", left.dtype)
        return binary(builder, instruction, left, right)

    return emit


# Integers: every amount and every divisor has a result


def literal_integer(value: Register) -> int | None:
    """The number that an integer register holds in all lanes, where that is known."""
    text = value.name
    if text.startswith("splat ("):
        text = text[7:-1].split(" ", 1)[1]
    return int(text) if text.lstrip("-").isdigit() else None


def shift(builder: Builder, instruction: str, value: Register, amount: Register) -> Register:
    """shl, lshr or ashr; amounts are unsigned, and past the width everything is shifted out."""
    width = value.dtype.itemsize * 8
    known = literal_integer(amount)
    if known is not None and 0 <= known < width:
        return binary(builder, instruction, value, amount)
    if instruction == "ashr":
        return binary(builder, instruction, value, intrinsic(builder, "umin", [amount, constant(width - 1, amount)]))
    inside = compare(builder, "icmp ult", amount, width)
    return choose(builder, inside, binary(builder, instruction, value, amount), 0)


def left_shift(builder: Builder, operands: list[Register]) -> Register:
    return shift(builder, "shl", operands[0], operands[1])


def right_shift(builder: Builder, operands: list[Register]) -> Register:
    return shift(builder, "ashr" if operands[0].dtype.kind == "i" else "lshr", operands[0], operands[1])


def divide_integers(builder: Builder, left: Register, right: Register) -> tuple[Register, Register]:
    """The quotient towards zero, and where the divisor is zero.

    There, and where the quotient overflows, the divisor counts as 1.
    """
    is_signed = left.dtype.kind == "i"
    size = left.dtype.itemsize
    instruction = "sdiv" if is_signed else "udiv"
    known = literal_integer(right)
    if known is not None and known not in (0, -1):
        return binary(builder, instruction, left, right), constant(False, right, BOOL)
    by_zero = compare(builder, "icmp eq", right, 0)
    unsafe = by_zero
    if is_signed and size >= 4:
        least = compare(builder, "icmp eq", left, -(1 << (size * 8 - 1)))
        overflow = binary(builder, "and", least, compare(builder, "icmp eq", right, -1))
        unsafe = binary(builder, "or", by_zero, overflow)
    safe = choose(builder, unsafe, 1, right)
    if size == 8 or (size == 4 and not left.width):
        return binary(builder, instruction, left, safe), by_zero
    # Vectors of integers have no division.  Quotients of integers miss the next integer by more than a unit in the last
    # place of a float with half as many bits again, so the float quotient truncates to the right one.
    form = DOUBLE if size == 4 else SINGLE
    wide = "sitofp" if is_signed else "uitofp"
    quotient = binary(builder, "fdiv", convert(builder, wide, left, form), convert(builder, wide, safe, form))
    if size == 4:
        return convert(builder, "fptosi" if is_signed else "fptoui", quotient, left.dtype), by_zero
    return convert(builder, "trunc", convert(builder, "fptosi", quotient, INT32), left.dtype), by_zero


def floor_divide(builder: Builder, operands: list[Register]) -> Register:
    left, right = operands
    if not is_integer(left.dtype):
        raise unsupported("floor_divide", left.dtype)
    quotient, by_zero = divide_integers(builder, left, right)
    if left.dtype.kind == "i":
        rest = binary(builder, "sub", left, binary(builder, "mul", quotient, right))
        zero = constant(0, left)
        opposite = compare(builder, "icmp slt", binary(builder, "xor", rest, right), zero)
        lower = binary(builder, "and", opposite, compare(builder, "icmp ne", rest, zero))
        quotient = binary(builder, "sub", quotient, cast(builder, lower, left.dtype))
    return choose(builder, by_zero, 0, quotient)


EMITTERS: Final[dict[str, Emitter]] = {
    "add": _arithmetic("add", "fadd", "add", "or"),
    "subtract": _arithmetic("subtract", "fsub", "sub", ""),
    "multiply": _arithmetic("multiply", "fmul", "mul", "and"),
    "divide": _arithmetic("divide", "fdiv", "", ""),
    "negative": _negative,
    "absolute": _absolute,
    "sqrt": _float_function("sqrt"),
    "floor": _float_function("floor"),
    "ceil": _float_function("ceil"),
    "trunc": _float_function("trunc"),
    "rint": _float_function("rint"),
    # Exact: a call of C's fmod per lane.
    "fmod": _arithmetic("fmod", "frem", "", ""),
    "copysign": _copysign,
    **{name: _comparison(name) for name in _PREDICATES},
    "maximum": _extreme(True, True),
    "minimum": _extreme(False, True),
    "fmax": _extreme(True, False),
    "fmin": _extreme(False, False),
    "bitwise_and": _bitwise("and"),
    "bitwise_or": _bitwise("or"),
    "bitwise_xor": _bitwise("xor"),
    "left_shift": left_shift,
    "right_shift": right_shift,
    "floor_divide": floor_divide,
}
"""By the ufunc's name."""
