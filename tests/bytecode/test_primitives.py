"""Numbers as bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bytecode.annotated import annotated

from tileir.bytecode.attributes import read_bits, write_bits
from tileir.bytecode.primitives import (
    MAXIMUM_COUNT,
    ByteReader,
    ByteWriter,
    Malformed,
    read_signed_leb128,
    signed_leb128,
)

U64 = st.integers(0, (1 << 64) - 1)
I64 = st.integers(-(1 << 63), (1 << 63) - 1)


def reader(data: bytes) -> ByteReader:
    return ByteReader(data, 0, len(data))


def failure(caught: pytest.ExceptionInfo[Malformed]) -> list[str]:
    return caught.value.messages


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (0, "00"),
        (127, "7F"),
        (128, "80 01"),
        (300, "AC 02"),
        (16384, "80 80 01"),
        ((1 << 64) - 1, "FF*9 01"),
    ],
)
def test_varint(value: int, data: str) -> None:
    writer = ByteWriter()
    writer.varint(value)
    assert bytes(writer.data) == annotated(data)
    assert reader(annotated(data)).varint("no number") == value


def test_varint_need_not_be_minimal() -> None:
    assert reader(annotated("85 80 00")).varint("no number") == 5


@pytest.mark.parametrize("data", ["", "80", "80 80", "80*10", "FF*11"])
def test_varint_without_an_end_is_an_error(data: str) -> None:
    with pytest.raises(Malformed) as caught:
        reader(annotated(data)).varint("no number")
    assert failure(caught)[0].endswith(": no number")


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, "00"), (-1, "01"), (1, "02"), (-2, "03"), (63, "7E"), (-64, "7F"), (64, "80 01"), (-(1 << 63), "FF*9 01")],
)
def test_signed_numbers_are_zig_zag(value: int, data: str) -> None:
    writer = ByteWriter()
    writer.signed(value)
    assert bytes(writer.data) == annotated(data)
    assert reader(annotated(data)).signed("no number") == value


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, "00"), (-1, "7F"), (-2, "7E"), (63, "3F"), (64, "C0 00"), (-64, "40"), (-65, "BF 7F"), (128, "80 01")],
)
def test_location_indices_are_signed_leb128(value: int, data: str) -> None:
    """The bytecode draft writes -1 as 0x7F, which zig-zag would not."""
    assert signed_leb128(value) == annotated(data)
    assert read_signed_leb128(reader(annotated(data)), "no number") == value


@pytest.mark.parametrize("data", ["", "80", "80*12"])
def test_signed_leb128_without_an_end_is_an_error(data: str) -> None:
    with pytest.raises(Malformed):
        read_signed_leb128(reader(annotated(data)), "no number")


@given(U64)
def test_varints_round_trip(value: int) -> None:
    writer = ByteWriter()
    writer.varint(value)
    piece = reader(bytes(writer.data))
    assert piece.varint("no number") == value
    assert piece.remaining == 0


@given(I64)
def test_signed_numbers_round_trip(value: int) -> None:
    writer = ByteWriter()
    writer.signed(value)
    assert reader(bytes(writer.data)).signed("no number") == value
    assert read_signed_leb128(reader(signed_leb128(value)), "no number") == value


@pytest.mark.parametrize(
    ("width", "bits", "data"),
    [
        (8, 0xFF, "FF"),
        (16, 0x3C00, "80 F0 01"),
        (19, 0x1FC00, "80 F0 0F"),
        (32, 0x3F800000, "80 80 80 F8 07"),
        (64, 0xBFF0000000000000, "FF*7 8F 80 01"),
    ],
)
def test_float_patterns(width: int, bits: int, data: str) -> None:
    """Up to eight bits a byte, else zig-zag; the 64 bits of -1.0 are a negative number."""
    writer = ByteWriter()
    write_bits(writer, width, bits)
    assert bytes(writer.data) == annotated(data)
    assert read_bits(reader(annotated(data)), width) == bits


@given(st.sampled_from([8, 16, 19, 32, 64]), st.data())
def test_patterns_round_trip(width: int, data: st.DataObject) -> None:
    bits = data.draw(st.integers(0, (1 << width) - 1))
    writer = ByteWriter()
    write_bits(writer, width, bits)
    assert read_bits(reader(bytes(writer.data)), width) == bits


def test_pattern_that_does_not_fit_is_an_error() -> None:
    writer = ByteWriter()
    writer.signed(1 << 16)
    with pytest.raises(Malformed) as caught:
        read_bits(reader(bytes(writer.data)), 16)
    assert "value 65536 does not fit in 16 bits" in failure(caught)[0]


def test_lists_are_counted_and_little_endian() -> None:
    writer = ByteWriter()
    writer.integers((1, -2), 4)
    assert bytes(writer.data) == annotated("02 01 00 00 00 FE FF FF FF")
    assert reader(bytes(writer.data)).integers(4, "no list") == (1, -2)


@given(st.sampled_from([1, 4, 8]), st.lists(st.integers(-128, 127) | st.integers(-(1 << 63), (1 << 63) - 1)))
def test_lists_round_trip(size: int, values: list[int]) -> None:
    # Twice: short ones are remembered.
    for _ in range(2):
        half = 1 << (8 * size - 1)
        kept = tuple([(value + half) % (2 * half) - half for value in values])
        writer = ByteWriter()
        writer.integers(kept, size)
        assert reader(bytes(writer.data)).integers(size, "no list") == kept


@pytest.mark.parametrize("data", ["", "02 01 00 00 00", "FF FF FF FF 07"])
def test_list_longer_than_its_bytes_is_an_error(data: str) -> None:
    with pytest.raises(Malformed) as caught:
        reader(annotated(data)).integers(4, "no list")
    assert failure(caught)[-1].endswith("no list")


def test_count_past_the_limit_is_an_error() -> None:
    writer = ByteWriter()
    writer.varint(MAXIMUM_COUNT + 1)
    with pytest.raises(Malformed) as caught:
        reader(bytes(writer.data)).count("no count")
    assert "varint value exceeds maximum supported capacity" in failure(caught)[0]


def test_padding_is_counted_from_the_start_of_the_piece() -> None:
    writer = ByteWriter()
    writer.byte(1)
    writer.align(4)
    assert bytes(writer.data) == annotated("01 CB CB CB")
    piece = ByteReader(annotated("00 00 01 CB CB CB 02"), 2, 7)
    piece.byte("no byte")
    piece.align(4, "no padding")
    assert piece.byte("no byte") == 2


def test_message_has_the_offset_in_its_piece() -> None:
    piece = ByteReader(bytes(10), 4, 6)
    piece.fixed(2, "no number")
    with pytest.raises(Malformed) as caught:
        piece.byte("no byte")
    assert failure(caught) == ["error at offset 2: no byte"]
    assert caught.value.offset == 2
