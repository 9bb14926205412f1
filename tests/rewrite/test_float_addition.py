"""Sums of float constants against a model that knows nothing but exact fractions and the list of all values."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import cache
from random import Random

import pytest
from tests.sampling import one_in

from tileir.ir.floats import FORMATS, FloatFormat, is_finite, to_double
from tileir.rewrite.folds import ROUNDING_MODES, add_bits


def value(form: FloatFormat, bits: int) -> Fraction:
    return Fraction(to_double(form, bits))


@cache
def magnitudes(name: str) -> list[Fraction]:
    """All finite values that are not negative, in order; the index is the pattern."""
    form = FORMATS[name]
    return [value(form, bits) for bits in range(form.largest + 1)]


def modeled(form: FloatFormat, left: int, right: int, rounding: str) -> int | None:
    total = value(form, left) + value(form, right)
    if total == 0:
        signs = {bool(left & form.sign_mask), bool(right & form.sign_mask)}
        negative = signs == {True} or (len(signs) == 2 and rounding == "negative_inf")
        return form.sign_mask if negative else 0
    values = magnitudes(form.name)
    negative = total < 0
    size = abs(total)
    sign = form.sign_mask if negative else 0
    above = bisect_left(values, size)
    if above < len(values) and values[above] == size:
        return above | sign
    outwards = rounding == ("negative_inf" if negative else "positive_inf")
    if above == len(values):
        middle = values[-1] + (values[-1] - values[-2]) / 2
        up = size > middle or (size == middle and form.largest % 2 == 1)
        if outwards or (rounding == "nearest_even" and up):
            return None
        return form.largest | sign
    below = above - 1
    if rounding == "nearest_even":
        middle = (values[below] + values[above]) / 2
        if size == middle:
            return (below if below % 2 == 0 else above) | sign
        return (below if size < middle else above) | sign
    return (above if outwards else below) | sign


def flushed(form: FloatFormat, bits: int) -> int:
    return bits & form.sign_mask if (bits & form.magnitude_mask) < (1 << form.mantissa_bits) else bits


@pytest.mark.parametrize(
    ("name", "rounding"), one_in(2, [(name, mode) for mode in ROUNDING_MODES for name in ("f8E5M2", "f8E4M3FN")])
)
def test_every_pair_of_small_floats_is_added_exactly(name: str, rounding: str) -> None:
    form = FORMATS[name]
    finite = [bits for bits in range(256) if is_finite(form, bits)]
    for left in finite[::3]:
        for right in finite:
            assert add_bits(form, left, right, rounding, False) == modeled(form, left, right, rounding)


@pytest.mark.parametrize("flush", [False, True])
@pytest.mark.parametrize("rounding", ROUNDING_MODES)
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_random_pairs_of_halves_are_added_exactly(name: str, rounding: str, flush: bool) -> None:
    form = FORMATS[name]
    rng = Random(f"{name} {rounding}")
    checked = 0
    while checked < 1500:
        left = rng.randrange(1 << 16)
        # Near neighbors cancel, which a random partner hardly ever does.
        right = rng.choice(
            (rng.randrange(1 << 16), (left ^ form.sign_mask) + rng.randrange(-3, 4), rng.randrange(1 << 8))
        )
        right &= 0xFFFF
        if not is_finite(form, left) or not is_finite(form, right):
            continue
        checked += 1
        one, other = (flushed(form, left), flushed(form, right)) if flush else (left, right)
        expected = modeled(form, one, other, rounding)
        if flush and expected is not None:
            expected = flushed(form, expected)
        assert add_bits(form, left, right, rounding, flush) == expected


@pytest.mark.parametrize("name", ["f32", "f64", "tf32"])
def test_wide_floats_are_added_as_the_machine_does(name: str) -> None:
    import struct

    form = FORMATS[name]
    rng = Random(name)
    if name == "tf32":
        # Values of 10 bits whose sum fits 10 bits: nothing is rounded.
        for _ in range(200):
            a, b = rng.randrange(512), rng.randrange(512)
            bits = [struct.unpack("<I", struct.pack("<f", float(x)))[0] >> 13 for x in (a, b, a + b)]
            assert add_bits(form, bits[0], bits[1], "nearest_even", False) == bits[2]
        return
    whole, real = ("<I", "<f") if name == "f32" else ("<Q", "<d")
    for _ in range(1000):
        bits = [rng.randrange(1 << form.width) for _ in range(2)]
        if not all(is_finite(form, b) for b in bits):
            continue
        a, b = (struct.unpack(real, struct.pack(whole, pattern))[0] for pattern in bits)
        try:
            expected = struct.unpack(whole, struct.pack(real, a + b))[0] if abs(a + b) != float("inf") else None
        except OverflowError:
            expected = None
        assert add_bits(form, bits[0], bits[1], "nearest_even", False) == expected


def test_what_is_not_finite_or_has_no_zero_is_left_alone() -> None:
    single = FORMATS["f32"]
    assert add_bits(single, 0x7F800000, 0, "nearest_even", False) is None
    assert add_bits(single, 0, 0x7FC00000, "zero", False) is None
    assert add_bits(FORMATS["f8E8M0FNU"], 1, 1, "nearest_even", False) is None


def test_rounding_to_zero_stops_at_the_largest_number() -> None:
    single = FORMATS["f32"]
    assert add_bits(single, single.largest, single.largest, "zero", False) == single.largest
    assert add_bits(single, single.largest, single.largest, "positive_inf", False) is None
