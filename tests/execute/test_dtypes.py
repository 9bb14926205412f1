"""Element types as arrays: values, memory, bits, constants."""

from __future__ import annotations

import numpy
import pytest
from tests.execute.exact_model import random_patterns

import tileir
from tileir.dialect.types import pointer_type
from tileir.execute.dtypes import (
    bits_dtype,
    constant_array,
    element_of_dtype,
    from_bits,
    from_memory,
    memory_bytes,
    memory_dtype,
    plain_memory,
    scalar_array,
    tf32_numbers,
    to_bits,
    to_memory,
    value_dtype,
)
from tileir.ir import floats
from tileir.ir.dense import DenseAttribute
from tileir.ir.types import (
    BF16,
    F4E2M1FN,
    F32,
    FLOAT_TYPES,
    FNV8E5M3FNU,
    I1,
    I4,
    I8,
    I16,
    I32,
    I64,
    NONE,
    TF32,
)


@pytest.fixture(autouse=True)
def quiet():
    with numpy.errstate(all="ignore"):
        yield


EVERY = [I1, I4, I8, I16, I32, I64, *FLOAT_TYPES.values(), pointer_type(F32)]


@pytest.mark.parametrize("element", FLOAT_TYPES.values(), ids=str)
def test_bits_are_those_of_the_float_model(element):
    form = floats.FORMATS[element.name]
    patterns = random_patterns(form, 500, 1)
    array = from_bits(element, numpy.array(patterns, bits_dtype(element)))
    assert array.dtype == value_dtype(element)
    assert to_bits(element, array).tolist() == patterns
    if element is FNV8E5M3FNU:
        return
    for bits, value in zip(patterns, array.astype(numpy.float64).tolist(), strict=True):
        assert value == floats.to_double(form, bits) or (value != value and floats.is_nan(form, bits))


@pytest.mark.parametrize("element", EVERY, ids=str)
def test_memory_round_trip_keeps_values(element):
    width = 64 if element.text.startswith("!") else element.width
    patterns = [int(x) & (1 << width) - 1 for x in numpy.random.default_rng(2).integers(0, 1 << 62, 50)]
    array = from_bits(element, numpy.array(patterns, bits_dtype(element)))
    stored = to_memory(element, array)
    assert stored.dtype == memory_dtype(element) and stored.dtype.itemsize == memory_bytes(element)
    assert to_bits(element, from_memory(element, stored)).tolist() == patterns


def test_any_byte_that_is_not_zero_is_true():
    assert from_memory(I1, numpy.array([0, 1, 2, 255], numpy.uint8)).tolist() == [False, True, True, True]


def test_four_bit_elements_take_a_byte_each_and_ignore_its_high_half():
    assert memory_bytes(I4) == memory_bytes(F4E2M1FN) == 1
    assert from_memory(I4, numpy.array([0x7F, 0x18, 0x07], numpy.int8)).tolist() == [-1, -8, 7]
    assert from_memory(F4E2M1FN, numpy.array([0xF7, 0x01], numpy.uint8)).astype(float).tolist() == [6.0, 0.5]


def test_tf32_takes_four_bytes_that_are_copied_and_its_number_has_no_low_thirteen_bits():
    assert memory_bytes(TF32) == 4
    raw = numpy.array([0x3F801FFF, 0x3F802000, 0x7F800001, 0xFF800000], numpy.uint32).view(numpy.float32)
    assert from_memory(TF32, raw) is raw and to_memory(TF32, raw) is raw
    assert tf32_numbers(raw).view(numpy.uint32).tolist() == [0x3F800000, 0x3F802000, 0x7FC00000, 0xFF800000]


def test_only_types_with_unused_bits_need_conversion_from_memory():
    assert [element for element in EVERY if not plain_memory(element)] == [I1, I4, F4E2M1FN]


def test_type_that_no_tile_holds_is_named():
    with pytest.raises(ValueError, match="no tile holds elements of type 'none'"):
        value_dtype(NONE)


def constant(text: str) -> DenseAttribute:
    module = tileir.parse(f"cuda_tile.module @m {{ entry @e() {{ %0 = constant {text} }} }}")
    found = [operation.attributes["value"] for operation in module.walk() if operation.name == "cuda_tile.constant"]
    assert isinstance(found[0], DenseAttribute)
    return found[0]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("<f32: 1.5> : tile<2x2xf32>", [[1.5, 1.5], [1.5, 1.5]]),
        ("<f32: 2.0> : tile<f32>", 2.0),
        ("<i32: [1, -2]> : tile<2xi32>", [1, -2]),
        ("<i1: [true, false]> : tile<2xi1>", [True, False]),
        ("<i64: -1> : tile<4xi64>", [-1] * 4),
        ("<bf16: [[1.0, 2.0], [3.0, 4.0]]> : tile<2x2xbf16>", [[1, 2], [3, 4]]),
        ("<tf32: [1.0, -0.5]> : tile<2xtf32>", [1.0, -0.5]),
        ("<tf32: 3.0> : tile<2xtf32>", [3.0, 3.0]),
        ("<f8E4M3FN: [448.0, 0.5]> : tile<2xf8E4M3FN>", [448.0, 0.5]),
        ("<f4E2M1FN: [6.0, -0.5]> : tile<2xf4E2M1FN>", [6.0, -0.5]),
    ],
)
def test_constants_become_arrays(text, values):
    array = constant_array(constant(text))
    assert array.tolist() == values
    assert not array.flags.writeable
    assert array.flags.c_contiguous


def test_numbers_become_zero_dimensional_values():
    assert scalar_array(I8, 255) == -1
    assert scalar_array(I1, True).dtype == numpy.bool_
    assert scalar_array(BF16, 1.00390625).astype(float) == 1.0
    assert scalar_array(TF32, 1 + 2.0**-12) == 1.0
    assert scalar_array(pointer_type(F32), 4096) == 4096


def test_arrays_are_taken_for_the_element_type_of_their_dtype():
    for element in EVERY:
        if element not in (I4, TF32, FNV8E5M3FNU) and not element.text.startswith("!"):
            assert element_of_dtype(value_dtype(element)) is element
    assert element_of_dtype(numpy.dtype(numpy.uint32)) is I32
    assert element_of_dtype(numpy.dtype(numpy.complex64)) is None
