"""Element types as NumPy arrays: what a tile value is, and what memory holds.

docs/reference/numerics.md has the dtype of each element type, in values and in memory.  A tf32 is held in 32 bits.
What moves it copies them all, as GPUs do; what computes with it takes the low 13 for zeros (`tf32_numbers`), and what
makes one leaves zeros.  Integers are signless: an unsigned operation views its operands as unsigned.  No element shares
a byte (docs/reference/conflicts.md C15): four-bit data that is packed two to a byte is read as i8 and goes through
`unpack`.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import ml_dtypes
import numpy

from tileir.dialect.types import PointerType
from tileir.ir import floats
from tileir.ir.dense import DenseAttribute, element_bytes, element_mask
from tileir.ir.types import F4E2M1FN, FLOAT_TYPES, I1, I4, TF32, FloatType, IntegerType, Type, integer_type

Array: TypeAlias = "numpy.ndarray[Any, numpy.dtype[Any]]"
DType: TypeAlias = "numpy.dtype[Any]"

TF32_UNUSED_BITS: Final = 13  # Low bits of the float32 that holds a tf32, which do not count.
_TF32_MASK: Final = numpy.uint32(0xFFFFFFFF << TF32_UNUSED_BITS & 0xFFFFFFFF)
_F32_QUIET: Final = numpy.uint32(0x00400000)

_VALUE: Final[dict[str, DType]] = {
    "i1": numpy.dtype(numpy.bool_),
    "i4": numpy.dtype(numpy.int8),
    **{f"i{width}": numpy.dtype(f"i{width // 8}") for width in (8, 16, 32, 64)},
    **{f"f{width}": numpy.dtype(f"f{width // 8}") for width in (16, 32, 64)},
    "tf32": numpy.dtype(numpy.float32),
    "bf16": numpy.dtype(ml_dtypes.bfloat16),
    "f8E4M3FN": numpy.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": numpy.dtype(ml_dtypes.float8_e5m2),
    "f8E8M0FNU": numpy.dtype(ml_dtypes.float8_e8m0fnu),
    "f4E2M1FN": numpy.dtype(ml_dtypes.float4_e2m1fn),
    "fnv8E5M3FNU": numpy.dtype(numpy.uint8),
}
_POINTER: Final = numpy.dtype(numpy.uint64)
_UNSIGNED: Final[dict[int, DType]] = {size: numpy.dtype(f"u{size}") for size in (1, 2, 4, 8)}
_SIGNED: Final[dict[int, DType]] = {size: numpy.dtype(f"i{size}") for size in (1, 2, 4, 8)}


def value_dtype(element: Type) -> DType:
    if isinstance(element, PointerType):
        return _POINTER
    found = _VALUE.get(element.text)
    if found is None:
        raise ValueError(f"no tile holds elements of type '{element.text}'")
    return found


def memory_dtype(element: Type) -> DType:
    return _UNSIGNED[1] if element is I1 or element is F4E2M1FN else value_dtype(element)


def memory_bytes(element: Type) -> int:
    """Distance in bytes of neighboring elements in memory."""
    return int(value_dtype(element).itemsize)


def bits_dtype(element: Type) -> DType:
    """The unsigned dtype that holds one bit pattern of the element type."""
    return _UNSIGNED[4] if element is TF32 else _UNSIGNED[int(value_dtype(element).itemsize)]


def plain_memory(element: Type) -> bool:
    """Whether memory and tile values agree byte for byte, whatever the bytes are."""
    return element is not I1 and element is not I4 and element is not F4E2M1FN


def is_float_dtype(dtype: DType) -> bool:
    """Whether a dtype holds floats; some of ml_dtypes are of kind V to NumPy."""
    return dtype.kind == "f" or isinstance(_ELEMENTS.get(dtype), FloatType)


def from_memory(element: Type, array: Array) -> Array:
    """Tile values of elements as they lie in memory."""
    if plain_memory(element):
        return array
    if element is I1:
        result: Array = numpy.not_equal(array, 0)
        return result
    if element is I4:
        return _sign_extend_four(array)
    return numpy.bitwise_and(array, numpy.uint8(15)).view(_VALUE["f4E2M1FN"])


def to_memory(element: Type, array: Array) -> Array:
    return array.view(_UNSIGNED[1]) if element is I1 or element is F4E2M1FN else array


def to_bits(element: Type, array: Array) -> Array:
    """Bit patterns, zero extended: 0..15 for the four-bit types, 19 bits for tf32."""
    if element is TF32:
        patterns: Array = numpy.right_shift(array.view(_UNSIGNED[4]), numpy.uint32(TF32_UNUSED_BITS))
        return patterns
    bits = array.view(bits_dtype(element))
    if element is I4 or element is F4E2M1FN:
        low: Array = numpy.bitwise_and(bits, numpy.uint8(15))
        return low
    return bits


def from_bits(element: Type, bits: Array) -> Array:
    """Values of bit patterns in `bits_dtype(element)`."""
    if element is I1:
        truth: Array = numpy.not_equal(numpy.bitwise_and(bits, numpy.uint8(1)), 0)
        return truth
    if element is I4:
        return _sign_extend_four(bits)
    if element is TF32:
        return numpy.left_shift(bits, numpy.uint32(TF32_UNUSED_BITS)).view(_VALUE["tf32"])
    if element is F4E2M1FN:
        return numpy.bitwise_and(bits, numpy.uint8(15)).view(_VALUE["f4E2M1FN"])
    return bits.view(value_dtype(element))


def signed(array: Array) -> Array:
    """The same bits as signed integers; an i1 becomes 0 or -1."""
    if array.dtype == numpy.bool_:
        result: Array = numpy.negative(array.view(numpy.int8))
        return result
    return array.view(_SIGNED[array.dtype.itemsize])


def unsigned(array: Array) -> Array:
    """The same bits as unsigned integers; an i1 becomes 0 or 1."""
    return array.view(_UNSIGNED[array.dtype.itemsize])


def _sign_extend_four(bits: Array) -> Array:
    # (x & 15 ^ 8) - 8: the fourth bit is the sign.
    low = numpy.bitwise_and(bits.view(numpy.int8), numpy.int8(15))
    result: Array = numpy.subtract(numpy.bitwise_xor(low, numpy.int8(8)), numpy.int8(8))
    return result


def tf32_numbers(array: Any) -> Any:
    """The numbers of tf32 values as float32; a NaN becomes quiet, as its payload may lie in bits that do not count."""
    kept = numpy.bitwise_and(array.view(numpy.uint32), _TF32_MASK)
    nan = numpy.isnan(array)
    if numpy.count_nonzero(nan):
        kept = numpy.where(nan, numpy.bitwise_or(kept, _F32_QUIET), kept)
    return kept.view(numpy.float32)


# Constants


def constant_elements(attribute: DenseAttribute) -> Array:
    """The elements of a dense attribute in a row, read-only; only one where all are the same."""
    element = attribute.element_type
    size = element_bytes(element)
    raw = numpy.frombuffer(attribute.data, numpy.uint8)
    if size == 3:
        # tf32 takes three bytes in a constant; a fourth makes its 19 bits a uint32.
        raw = numpy.concatenate((raw.reshape(-1, 3), numpy.zeros((raw.size // 3, 1), numpy.uint8)), axis=1).reshape(-1)
    bits = raw.view(numpy.dtype(f"<u{raw.size * size // len(attribute.data)}")).astype(bits_dtype(element), copy=False)
    if isinstance(element, FloatType) and element.width % 8:
        # Bytecode may set bits that the element does not have.
        bits = bits & bits.dtype.type(element_mask(element))
    values = from_bits(element, bits)
    values = (values[:1] if attribute.is_splat else values).copy()
    values.flags.writeable = False
    return values


def constant_array(attribute: DenseAttribute) -> Array:
    """The elements of a dense attribute as a read-only, contiguous value array of its shape."""
    values = constant_elements(attribute)
    if not attribute.is_splat:
        return values.reshape(attribute.shape)
    full: Array = numpy.empty(attribute.shape, values.dtype)
    full[...] = values[0]
    full.flags.writeable = False
    return full


def scalar_array(element: Type, value: int | float | bool) -> Array:
    """A Python number as a 0-D value array: integers wrap to the width, floats round to nearest even."""
    if isinstance(element, FloatType):
        bits = floats.from_double(floats.FORMATS[element.name], float(value))
    elif isinstance(element, IntegerType):
        bits = int(value) & ((1 << element.width) - 1)
    else:
        bits = int(value) & 0xFFFFFFFFFFFFFFFF
    return from_bits(element, numpy.array(bits, bits_dtype(element)))


_INTEGERS: Final = [integer_type(width) for width in (8, 16, 32, 64)]
_ELEMENTS: Final[dict[DType, Type]] = {
    **{value_dtype(element): element for element in FLOAT_TYPES.values() if element is not TF32},
    **{bits_dtype(element): element for element in _INTEGERS},
    **{value_dtype(element): element for element in (I1, *_INTEGERS)},
}


def element_of_dtype(dtype: DType) -> Type | None:
    """The element type that an array of this dtype most naturally holds: what an argument is taken for."""
    return _ELEMENTS.get(dtype)
