"""Tiles and arrays as answers show them: every element type, parts, bins, statistics."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy
import pytest

from tileir.dialect.types import pointer_type
from tileir.execute.dtypes import bits_dtype, from_bits
from tileir.execute.recording.tiles import MOST_ELEMENTS, statistics_of, summarized, tile_answer
from tileir.ir import floats
from tileir.ir.types import F16, F32, F64, FLOAT_TYPES, I1, I8, I32, I64, FloatType


def drawn(answer: dict[str, Any]) -> Any:
    kind = answer["data"]["type"]
    data = numpy.frombuffer(base64.b64decode(answer["data"]["data"]), f"<{kind[0]}{int(kind[1:]) // 8}")
    return data.reshape(answer["data"]["shape"])


@pytest.mark.parametrize("name", sorted(FLOAT_TYPES))
def test_every_float_is_drawn_and_written_as_the_number_it_is(name: str) -> None:
    element = FLOAT_TYPES[name]
    assert isinstance(element, FloatType)
    form = floats.FORMATS[name]
    width = min(form.width, 10)
    bits = numpy.arange(1 << width, dtype=numpy.uint64) << numpy.uint64(form.width - width)
    tile = from_bits(element, bits.astype(bits_dtype(element)))
    answer = tile_answer(element, tile)
    json.dumps(answer, allow_nan=False)
    wanted = numpy.array([floats.to_double(form, int(pattern)) for pattern in bits])
    numpy.testing.assert_array_equal(drawn(answer).astype(numpy.float64), wanted.astype(drawn(answer).dtype))
    # The text tells the numbers of the format apart.
    for text, pattern, number in zip(answer["text"], bits.tolist(), wanted.tolist(), strict=True):
        if numpy.isfinite(number):
            assert floats.to_double(form, floats.from_double(form, float(text))) == number, (text, pattern)
    assert answer["statistics"]["nan"] == int(numpy.isnan(wanted).sum())
    assert answer["statistics"]["infinite"] == int(numpy.isinf(wanted).sum())


def test_integers_truth_values_and_pointers() -> None:
    assert tile_answer(I1, numpy.array([True, False]))["text"] == ["true", "false"]
    assert tile_answer(I8, numpy.array([-128, 127], numpy.int8))["text"] == ["-128", "127"]
    large = numpy.array([2**63 - 1, -(2**63)], numpy.int64)
    assert tile_answer(I64, large)["text"] == ["9223372036854775807", "-9223372036854775808"]
    pointers = numpy.array([0xFFFFFFFFFFFFFFFF, 16], numpy.uint64)
    answer = tile_answer(pointer_type(F32), pointers)
    assert answer["text"] == ["0xffffffffffffffff", "0x10"]
    json.dumps(answer, allow_nan=False)


def test_large_tiles_are_binned_by_means_in_which_nan_and_infinities_show() -> None:
    array = numpy.arange(700 * 500, dtype=numpy.float32).reshape(700, 500)
    array[3, 3], array[650, 499] = numpy.nan, numpy.inf
    answer = tile_answer(F32, array)
    rows, columns = answer["binned"]
    found = drawn(answer)
    assert answer["text"] is None and found.size <= MOST_ELEMENTS and rows > 1
    assert found.shape == (-(-700 // rows), -(-500 // columns))
    for place in numpy.ndindex(found.shape):
        block = array[place[0] * rows : (place[0] + 1) * rows, place[1] * columns : (place[1] + 1) * columns]
        mean = block.astype(numpy.float64).mean()
        if not numpy.isfinite(mean):
            assert numpy.array_equal(found[place], numpy.float32(mean), equal_nan=True)
        else:
            assert found[place] == pytest.approx(mean, rel=1e-6)
    statistics = answer["statistics"]
    assert (statistics["count"], statistics["nan"], statistics["infinite"]) == (350_000, 1, 1)
    assert sum(statistics["histogram"]) == 349_998 and statistics["most"] == 349_999
    part = tile_answer(F32, array, [100, 490], [2, 100])
    assert part["extents"] == [2, 10] and part["binned"] is None
    numpy.testing.assert_array_equal(drawn(part), array[100:102, 490:500])


def test_statistics_are_those_of_numpy() -> None:
    rng = numpy.random.default_rng(0)
    # Larger than what is looked at together, and not contiguous.
    array = rng.standard_normal((3000, 1000))[:, ::2]
    found = statistics_of(F64, array)
    assert found["mean"] == pytest.approx(array.mean(), abs=1e-9)
    assert found["deviation"] == pytest.approx(array.std(), rel=1e-9)
    assert found["histogram"] == numpy.histogram(array, 32)[0].tolist()
    extreme = statistics_of(F64, numpy.array([-1.7e308, 1.7e308]))
    json.dumps(extreme, allow_nan=False)
    assert sum(extreme["histogram"]) == 2


def test_a_tile_in_a_few_words() -> None:
    assert summarized(F32, numpy.array(1.5, numpy.float32)) == "1.5"
    assert summarized(I32, numpy.array([1, 2], numpy.int32)) == "[1, 2]"
    assert summarized(F16, numpy.array([1, numpy.nan, numpy.inf, 2, 3], numpy.float16)) == "1 to 3, 1 NaN, 1 infinite"
    assert summarized(I1, numpy.array([True] * 3 + [False] * 2)) == "3 of 5 true"
    assert summarized(F32, numpy.full(5, numpy.nan, numpy.float32)) == "5 NaN"
