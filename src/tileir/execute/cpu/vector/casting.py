"""NumPy's `astype` and `view` as LLVM instructions.

Casts between float formats are those of NumPy and ml_dtypes bit for bit (a NaN stays a NaN, its payload may differ).
The formats of eight and four bits and bf16 are patterns in integers; `half` is LLVM's, and converted with integers too
where the machine has no instruction for it (`Module.native_half`), since LLVM would call a function that is missing.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.lanes import has_bf16_instruction, joined, rounded_to_bf16, shuffled
from tileir.execute.cpu.vector.llvm import Register, literal, scalar_type, storage_type, suffix_of, value_type
from tileir.execute.dtypes import DType
from tileir.ir import floats

BOOL: Final = numpy.dtype(numpy.bool_)
INT32, INT64 = numpy.dtype(numpy.int32), numpy.dtype(numpy.int64)
UINT8, UINT16, UINT32, UINT64 = (numpy.dtype(f"u{size}") for size in (1, 2, 4, 8))
HALF, SINGLE, DOUBLE = (numpy.dtype(f"f{size}") for size in (2, 4, 8))


class Untraceable(TypeError):
    """An operation on a symbolic value that has no instructions here."""


def unsupported(name: str, dtype: DType) -> Untraceable:
    return Untraceable(f"{name} of {dtype}")


FORMATS: Final = {
    "float16": floats.F16,
    "bfloat16": floats.BF16,
    "float8_e4m3fn": floats.F8E4M3FN,
    "float8_e5m2": floats.F8E5M2,
    "float4_e2m1fn": floats.F4E2M1FN,
}
"""The formats of at most 16 bits with a dtype of their own that is converted with float32 by its pattern."""
_SINGLE_SIGN, _SINGLE_INFINITY, _SINGLE_QUIET = 0x80000000, 0x7F800000, 0x7FC00000


# Shorthands


Operand = Register | int | float  # A number stands for a constant of the type of the other operand.


def binary(builder: Builder, instruction: str, left: Register, right: Operand, dtype: DType | None = None) -> Register:
    name = right.name if isinstance(right, Register) else constant(right, left).name
    return builder.value(f"{instruction} {left.typed}, {name}", left.dtype if dtype is None else dtype, left.width)


def constant(value: Any, like: Register, dtype: DType | None = None) -> Register:
    """A constant as wide as another value."""
    return literal(value, like.dtype if dtype is None else dtype, like.width)


def compare(builder: Builder, predicate: str, left: Register, right: Operand) -> Register:
    """`fcmp` or `icmp`, with the predicate: `compare(b, "icmp eq", x, y)`."""
    return binary(builder, predicate, left, right, BOOL)


def choose(builder: Builder, condition: Register, first: Operand, second: Operand) -> Register:
    """`first` where the condition holds, else `second`; one of them is a register."""
    if not isinstance(first, Register):
        assert isinstance(second, Register)
        first = constant(first, second)
    elif not isinstance(second, Register):
        second = constant(second, first)
    text = f"select {condition.typed}, {first.typed}, {second.typed}"
    return builder.value(text, first.dtype, first.width)


def convert(builder: Builder, instruction: str, value: Register, dtype: DType) -> Register:
    return builder.value(f"{instruction} {value.typed} to {value_type(dtype, value.width)}", dtype, value.width)


def retag(value: Register, dtype: DType) -> Register:
    return Register(value.name, dtype, value.width)


def intrinsic(builder: Builder, name: str, operands: list[Register], extra: str = "") -> Register:
    """An overloaded intrinsic whose operands and result have one type."""
    first = operands[0]
    suffix = suffix_of(scalar_type(first.dtype), first.width)
    arguments = [*[operand.typed for operand in operands], *([extra] if extra else [])]
    return Register(builder.call(first.type, f"llvm.{name}.{suffix}", arguments), first.dtype, first.width)


# Views


def reinterpret(builder: Builder, value: Register, dtype: DType) -> Register:
    """`view`: the same bits as another dtype of the same size."""
    source = value.dtype
    if source == dtype:
        return value
    if source.itemsize != dtype.itemsize:
        raise Untraceable(f"a view of {source} as {dtype} changes the shape")
    if source == BOOL:
        return retag(convert(builder, "zext", value, UINT8), dtype)
    if dtype == BOOL:
        return compare(builder, "icmp ne", value, constant(0, value, UINT8))
    if scalar_type(source) == scalar_type(dtype):
        return retag(value, dtype)
    return convert(builder, "bitcast", value, dtype)


def bits(builder: Builder, value: Register) -> Register:
    return reinterpret(builder, value, numpy.dtype(f"u{value.dtype.itemsize}"))


def to_storage(builder: Builder, value: Register) -> Register:
    """A value as it lies in memory, where a truth value is a byte."""
    return convert(builder, "zext", value, UINT8) if value.dtype == BOOL else value


def from_storage(builder: Builder, name: str, dtype: DType, width: int = 0) -> Register:
    """A value of what was loaded from memory."""
    if dtype != BOOL:
        return Register(name, dtype, width)
    return compare(builder, "icmp ne", Register(name, UINT8, width), 0)


def to_bits(builder: Builder, value: Register) -> str:
    """A scalar as it lies in memory, an integer."""
    stored = to_storage(builder, value)
    return bits(builder, stored).name if stored.dtype.kind == "f" else stored.name


def from_bits(builder: Builder, name: str, dtype: DType) -> Register:
    """A scalar of the integer that lies in memory."""
    if storage_type(dtype).startswith("i"):
        return Register(name, dtype)
    return reinterpret(builder, Register(name, numpy.dtype(f"u{dtype.itemsize}")), dtype)


# Casts


def is_integer(dtype: DType) -> bool:
    return dtype.kind in "iu"


def is_machine_float(dtype: DType) -> bool:
    return dtype in (SINGLE, DOUBLE)


def cast(builder: Builder, value: Register, dtype: DType) -> Register:
    source = value.dtype
    if source == dtype:
        return value
    if source == BOOL:
        if is_integer(dtype):
            return convert(builder, "zext", value, dtype)
        return choose(builder, value, constant(1, value, dtype), constant(0, value, dtype))
    if dtype == BOOL:
        return truth(builder, value)
    if is_integer(source):
        return _from_integer(builder, value, dtype)
    if is_integer(dtype):
        # Toward zero.  A value past the range is some number, and kernels replace it: `freeze` makes it one.
        found = convert(builder, "fptosi" if dtype.kind == "i" else "fptoui", to_machine(builder, value), dtype)
        return builder.value(f"freeze {found.typed}", dtype, value.width)
    if source == DOUBLE:
        return _from_double(builder, value, dtype)
    return _from_single(builder, to_single(builder, value), dtype)


_WIDENED_BY_MEMORY: Final = 8  # Vectors of doubles from which on that is faster.


def widened(builder: Builder, value: Register) -> Register:
    """float32 as doubles, for a function of them.  Widening from memory is one step on x86, against two or three in
    registers.  Its latency is longer, so only several vectors side by side gain from it."""
    module, width = builder.module, value.width
    lanes = module.widened_lanes
    if builder.stack is None or not lanes or width < _WIDENED_BY_MEMORY * lanes or value.dtype != SINGLE:
        return cast(builder, value, DOUBLE)
    pointer = builder.stack("float", width, 64, f"widened{width}")
    # Volatile, or LLVM would take the value instead of what it lies in.
    for start in range(0, width, 2 * lanes):
        part = value if width == 2 * lanes else shuffled(builder, value, None, range(start, start + 2 * lanes))
        builder.do(f"store volatile {part.typed}, ptr {builder.moved(pointer, 4 * start)}, align {8 * lanes}")
    parts = []
    for start in range(0, width, lanes):
        narrow_pointer = builder.moved(pointer, 4 * start)
        narrow = builder.load(SINGLE, lanes, narrow_pointer, 4 * lanes)
        parts.append(convert(builder, "fpext", narrow, DOUBLE))
    return joined(builder, parts)


def truth(builder: Builder, value: Register) -> Register:
    """Whether elements are not zero; NaN is not."""
    if value.dtype == BOOL:
        return value
    if is_integer(value.dtype):
        return compare(builder, "icmp ne", value, 0)
    return compare(builder, "fcmp une", to_machine(builder, value), 0)


def _from_integer(builder: Builder, value: Register, dtype: DType) -> Register:
    source = value.dtype
    is_signed = source.kind == "i"
    if is_integer(dtype):
        if source.itemsize == dtype.itemsize:
            return retag(value, dtype)
        if source.itemsize > dtype.itemsize:
            return convert(builder, "trunc", value, dtype)
        return convert(builder, "sext" if is_signed else "zext", value, dtype)
    if is_machine_float(dtype):
        return convert(builder, "sitofp" if is_signed else "uitofp", value, dtype)
    if dtype == HALF or dtype.name == "bfloat16":
        # NumPy and ml_dtypes go through float32.
        return cast(builder, _from_integer(builder, value, SINGLE), dtype)
    raise Untraceable(f"a cast from {source} to {dtype}")


def to_machine(builder: Builder, value: Register) -> Register:
    """A float as one that the machine computes in."""
    return value if value.dtype == DOUBLE else to_single(builder, value)


def to_single(builder: Builder, value: Register) -> Register:
    """Any narrow float as float32, exactly."""
    name = value.dtype.name
    if value.dtype == SINGLE:
        return value
    if value.dtype == HALF and builder.module.native_half:
        return convert(builder, "fpext", value, SINGLE)
    if name == "bfloat16":
        wide = convert(builder, "zext", value, UINT32)
        return reinterpret(builder, binary(builder, "shl", wide, 16), SINGLE)
    if name == "float8_e8m0fnu":
        return decode_power(builder, retag(value, UINT8))
    if name in FORMATS:
        return decode(builder, bits(builder, value), FORMATS[name])
    raise Untraceable(f"a cast from {value.dtype} to float32")


def _from_single(builder: Builder, value: Register, dtype: DType) -> Register:
    if dtype == SINGLE:
        return value
    if dtype == DOUBLE:
        return convert(builder, "fpext", value, DOUBLE)
    if dtype == HALF and builder.module.native_half:
        return convert(builder, "fptrunc", value, HALF)
    if dtype.name == "bfloat16":
        if has_bf16_instruction(builder.module, value.width):
            return retag(rounded_to_bf16(builder, value, UINT16, _encode_bf16), dtype)
        return retag(_encode_bf16(builder, value), dtype)
    if dtype.name in FORMATS:
        return reinterpret(builder, encode(builder, value, FORMATS[dtype.name]), dtype)
    raise Untraceable(f"a cast from float32 to {dtype}")


def _from_double(builder: Builder, value: Register, dtype: DType) -> Register:
    if dtype not in (SINGLE, HALF) and dtype.name != "bfloat16":
        raise Untraceable(f"a cast from float64 to {dtype}")
    # One instruction for it exists on few machines; rounding to odd makes the second rounding the only one.
    single = _single_to_odd(builder, value) if dtype == HALF else convert(builder, "fptrunc", value, SINGLE)
    return cast(builder, single, dtype)


def _single_to_odd(builder: Builder, value: Register) -> Register:
    """A double as a float32 rounded to odd: of the two neighbors of what is no float32, the odd one."""
    near = convert(builder, "fptrunc", value, SINGLE)
    back = intrinsic(builder, "fabs", [convert(builder, "fpext", near, DOUBLE)])
    exact = intrinsic(builder, "fabs", [value])
    pattern = reinterpret(builder, near, UINT32)
    even = compare(builder, "icmp eq", binary(builder, "and", pattern, 1), 0)
    for instruction, predicate in (("add", "fcmp olt"), ("sub", "fcmp ogt")):
        step = binary(builder, "and", compare(builder, predicate, back, exact), even)
        pattern = binary(builder, instruction, pattern, cast(builder, step, UINT32))
    return reinterpret(builder, pattern, SINGLE)


# Formats as patterns


def decode(builder: Builder, pattern: Register, form: floats.FloatFormat) -> Register:
    """float32 of patterns in an unsigned integer.  A normal value is its pattern moved to float32's place; a subnormal
    one is an integer times a power of two, which avoids float32's own subnormals."""
    wide = convert(builder, "zext", pattern, UINT32) if pattern.dtype != UINT32 else pattern
    sign_place = form.width - 1
    magnitude = binary(builder, "and", wide, (1 << sign_place) - 1) if form.has_sign else wide
    moved = binary(builder, "shl", magnitude, 23 - form.mantissa_bits)
    normal = binary(builder, "add", moved, (127 - form.bias) << 23)
    # Patterns are small: signed conversion is the cheaper one.
    whole = convert(builder, "sitofp", retag(magnitude, INT32), SINGLE)
    small = binary(builder, "fmul", whole, 2.0 ** (1 - form.bias - form.mantissa_bits))
    is_small = compare(builder, "icmp ult", magnitude, 1 << form.mantissa_bits)
    result = choose(builder, is_small, reinterpret(builder, small, UINT32), normal)
    if form.quiet_nan >= 0:
        special = compare(builder, "icmp ugt", magnitude, form.largest)
        if form.quiet_nan == form.overflow:
            result = choose(builder, special, _SINGLE_QUIET, result)
        else:
            # Infinity and NaN keep their mantissa, and a NaN gets the bit that makes it a quiet one.
            nan = compare(builder, "icmp ugt", magnitude, form.overflow)
            field = choose(builder, nan, constant(_SINGLE_QUIET, wide), _SINGLE_INFINITY)
            result = choose(builder, special, binary(builder, "or", moved, field), result)
    if form.has_sign:
        sign = binary(builder, "shl", binary(builder, "and", wide, 1 << sign_place), 31 - sign_place)
        result = binary(builder, "or", result, sign)
    return reinterpret(builder, result, SINGLE)


def decode_power(builder: Builder, pattern: Register) -> Register:
    """float32 of f8E8M0FNU: the exponent field; 0 is the subnormal 2**-127, 255 is NaN."""
    wide = convert(builder, "zext", pattern, UINT32)
    result = binary(builder, "shl", wide, 23)
    result = choose(builder, compare(builder, "icmp eq", wide, 0), 0x00400000, result)
    result = choose(builder, compare(builder, "icmp eq", wide, 255), _SINGLE_QUIET, result)
    return reinterpret(builder, result, SINGLE)


def encode(builder: Builder, value: Register, form: floats.FloatFormat) -> Register:
    """Patterns of float32 values, rounded to nearest even, in the unsigned integer that holds them.  Normal values
    round by adding just under half a unit, and one more where the last kept bit is odd; smaller ones by a float32
    addition of a number whose unit is the smallest value."""
    pattern = reinterpret(builder, value, UINT32)
    magnitude = binary(builder, "and", pattern, _SINGLE_SIGN - 1)
    shift = 23 - form.mantissa_bits
    last = binary(builder, "and", binary(builder, "lshr", magnitude, shift), 1)
    offset = (1 << (shift - 1)) - 1 - ((127 - form.bias) << 23)
    normal = binary(builder, "add", binary(builder, "add", magnitude, offset & 0xFFFFFFFF), last)
    normal = binary(builder, "lshr", normal, shift)
    # 1.5 * 2**e has the unit 2**(e - 23), and stays in its power of two.
    anchor = 1.5 * 2.0 ** (24 - form.bias - form.mantissa_bits)
    total = binary(builder, "fadd", reinterpret(builder, magnitude, SINGLE), anchor)
    anchor_bits = int(numpy.float32(anchor).view(numpy.uint32))
    small = binary(builder, "sub", reinterpret(builder, total, UINT32), anchor_bits)
    is_small = compare(builder, "icmp ult", magnitude, (128 - form.bias) << 23)
    result = choose(builder, is_small, small, normal)
    # The first float32 that rounds past the largest value: half a unit above it, a tie only where that is odd.
    limit = (form.largest << shift) + ((127 - form.bias) << 23) + (1 << (shift - 1)) + (form.largest + 1) % 2
    result = choose(builder, compare(builder, "icmp uge", magnitude, limit), form.overflow, result)
    if form.quiet_nan != form.overflow:
        nan = compare(builder, "icmp ugt", magnitude, _SINGLE_INFINITY)
        result = choose(builder, nan, max(form.quiet_nan, 0), result)
    sign = binary(builder, "and", binary(builder, "lshr", pattern, 32 - form.width), 1 << (form.width - 1))
    return convert(builder, "trunc", binary(builder, "or", result, sign), UINT16 if form.width > 8 else UINT8)


def _encode_bf16(builder: Builder, value: Register) -> Register:
    """bf16 has float32's exponents: rounding on the pattern is right for subnormal values too, and overflows to inf."""
    pattern = reinterpret(builder, value, UINT32)
    last = binary(builder, "and", binary(builder, "lshr", pattern, 16), 1)
    rounded = binary(builder, "add", binary(builder, "add", pattern, 0x7FFF), last)
    nan = compare(builder, "fcmp uno", value, value)
    rounded = choose(builder, nan, binary(builder, "or", pattern, 0x00400000), rounded)
    return convert(builder, "trunc", binary(builder, "lshr", rounded, 16), UINT16)


def bf16_pairs(builder: Builder, pairs: Register) -> list[Register]:
    """The even and the odd elements of pairs of bf16, as float32."""
    width = pairs.width // 2
    words = builder.value(f"bitcast {pairs.typed} to <{width} x i32>", UINT32, width)
    singles = [binary(builder, "shl", words, 16), binary(builder, "and", words, 0xFFFF0000)]
    return [reinterpret(builder, single, SINGLE) for single in singles]


def split_bf16(builder: Builder, value: Register) -> list[Register]:
    """The high and the low part of f16 in a vector, as patterns of bf16: 11 significant bits are eight and three, of
    the same sign, and both are normal numbers.  The product of two is four products without an error, whose magnitudes
    add up to its own.  The low part of infinities and NaNs is zero."""
    wide = convert(builder, "fpext", value, SINGLE)
    top = binary(builder, "and", bits(builder, wide), 0xFFFF0000)
    rest = binary(builder, "fsub", wide, reinterpret(builder, top, SINGLE))
    low = choose(builder, compare(builder, "fcmp ord", rest, 0.0), rest, 0.0)
    lanes = 2 * value.width
    halves = [builder.value(f"bitcast {part.typed} to <{lanes} x i16>", UINT16, lanes) for part in (wide, low)]
    return [shuffled(builder, half, None, range(1, lanes, 2)) for half in halves]
