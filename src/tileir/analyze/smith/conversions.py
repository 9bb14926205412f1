"""Statements that convert elements (between widths, integers and floats, of bits, of packed bytes) or move them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tileir.analyze.smith.tiles import FLOATS, INTEGERS, SMALL_FLOATS, Shape, Tile, either, range_of, width_of
from tileir.analyze.smith.writer import SHAPES, Statement, Writer
from tileir.dialect import ops
from tileir.dialect.types import ELEMENT_SINCE, tile_error, tile_type
from tileir.ir.types import F16, F32, I1, I4, I8, I16, I32, I64, Type
from tileir.ir.versions import V13_1, V13_4

TF32, F8E4M3FN, F8E5M2, F8E8M0FNU, F4E2M1FN, FNV8E5M3FNU = SMALL_FLOATS
# What conversions keep away from: numbers that are too large, whose results tools disagree on, and for types without a
# sign those below zero.
_LARGEST: dict[Type, float] = {TF32: 1e30, F8E4M3FN: 448.0, F8E5M2: 57344.0, F4E2M1FN: 6.0}
_LARGEST_SCALE = 64.0
_UNSIGNED = (F8E8M0FNU, FNV8E5M3FNU)


def _signedness(signed: bool) -> str:
    return "signed" if signed else "unsigned"


def known_in(writer: Writer, elements: Sequence[Type]) -> list[Type]:
    """The element types that the version has."""
    return [element for element in elements if ELEMENT_SINCE.get(element, V13_1) <= writer.version]


def _extend(writer: Writer) -> None:
    source = writer.some([I1, *known_in(writer, (I4,)), *[kind for kind in writer.integers if kind is not I64]])
    wider = [kind for kind in INTEGERS if width_of(kind) > width_of(source.element)]
    if not wider:
        return
    target = writer.bits.choice(wider)
    signed = writer.bits.chance(60)
    found = writer.value(ops.EXTI, source, target, _signedness(signed))
    low, high = source.low, source.high
    if source.element is I1 and signed:
        low, high = -high, -low
    elif not signed and low < 0:
        low, high = 0, (1 << width_of(source.element)) - 1
    writer.know(Tile(found, low, high))


def _truncate(writer: Writer) -> None:
    source = writer.some([kind for kind in writer.integers if kind is not I8] or [I32])
    narrower = [kind for kind in (I1, *known_in(writer, (I4,)), *INTEGERS) if width_of(kind) < width_of(source.element)]
    target = writer.bits.choice(narrower)
    least, most = range_of(target)
    fits = least <= source.low and source.high <= most
    overflow = None
    if fits and writer.bits.chance(40) and target is not I1:
        overflow = "no_signed_wrap" if source.low < 0 else "no_wrap"
    bounds = (source.low, source.high) if fits else ()
    writer.know(Tile(writer.value(ops.TRUNCI, source, target, overflow=overflow), *bounds))


def _integer_to_float(writer: Writer) -> None:
    source = writer.some(writer.integers)
    target = writer.bits.choice([*FLOATS, *writer.floats, *known_in(writer, (TF32, F8E4M3FN, F8E5M2))])
    if target not in FLOATS:
        source = writer.below(source, 16)
    signed = writer.bits.chance(70) or target not in FLOATS
    found = writer.value(ops.ITOF, source, target, _signedness(signed))
    exact = target in FLOATS and signed and max(-source.low, source.high) <= 256
    # An i64 may be too large for an f16, which makes an infinity, and no NaN.
    writer.know(Tile(found, source.low, source.high, whole=True) if exact else Tile(found))


def _float_to_integer(writer: Writer) -> None:
    """Convert numbers in range: others are undefined, unless the conversion saturates."""
    source = writer.some(writer.floats)
    target = writer.bits.choice(INTEGERS)
    signed = writer.bits.chance(60)
    bound = 100 if target is I8 else writer.bits.choice((100, 30000))
    low = -bound if signed else 0
    if writer.version >= V13_4 and writer.bits.chance(30):
        number = writer.numeric(source)
        writer.know(Tile(writer.value(ops.FTOI, number, target, _signedness(signed), saturating=True)))
    else:
        inside = writer.clamped(source, float(low), float(bound))
        writer.know(Tile(writer.value(ops.FTOI, inside, target, _signedness(signed)), low, bound))


def _float_to_float(writer: Writer) -> None:
    small = known_in(writer, SMALL_FLOATS)
    source = writer.some([*writer.floats, *small])
    element = source.element
    if element in SMALL_FLOATS:
        # Back to where there is arithmetic; none of these is NaN.
        target = F32 if element is F8E8M0FNU else writer.bits.choice((F32, *writer.floats))
        writer.know(Tile(writer.value(ops.FTOF, source, target)))
        return
    target = writer.bits.choice([kind for kind in (*FLOATS, *small, *small) if kind is not element])
    if tile_error(source.shape, target, writer.version) is not None:
        return
    rounding = None
    if target in SMALL_FLOATS:
        most = _LARGEST.get(target, _LARGEST_SCALE) if element is not F16 or target is not TF32 else 60000.0
        source = writer.clamped(source, 0.25 if target in _UNSIGNED else -most, most)
        if target is F8E8M0FNU:
            rounding = writer.bits.choice(("zero", "positive_inf"))
    elif writer.version >= V13_4 and writer.bits.chance(30):
        rounding = "zero"
    writer.know(Tile(writer.value(ops.FTOF, source, target, rounding_mode=rounding), numeric=source.numeric))


def _bitcast(writer: Writer) -> None:
    """The bits of a NaN are not specified, so there is none; bits may become one."""
    source = writer.numeric(writer.some([*writer.integers, *writer.floats]))
    width = width_of(source.element)
    targets = [kind for kind in (*INTEGERS, *FLOATS) if width_of(kind) == width and kind is not source.element]
    if targets:
        writer.know(writer.apply(ops.BITCAST, source, writer.bits.choice(targets)))


def _pack(writer: Writer) -> None:
    kinds = [*writer.integers, *writer.floats, *known_in(writer, (I1, I4, F4E2M1FN, TF32))]
    source = writer.numeric(writer.some(kinds))
    width = 32 if source.element is TF32 else width_of(source.element)
    count = prod(source.shape)
    if width != 8 and width * count % 8 == 0:
        writer.know(Tile(writer.value(ops.PACK, writer.reshaped(source, (count,)))))


def _unpack(writer: Writer) -> None:
    source = writer.some([I8], least_rank=1)
    count = prod(source.shape)
    kinds = [*writer.integers, *writer.floats, *known_in(writer, (I1, I4, F4E2M1FN, I16))]
    fitting = [kind for kind in kinds if width_of(kind) != 8 and count * 8 % width_of(kind) == 0]
    if not fitting:
        return
    target = writer.bits.choice(fitting)
    flat = writer.reshaped(source, (count,))
    type = tile_type((count * 8 // width_of(target),), target)
    if tile_error(type.shape, target, writer.version) is None:
        writer.know(Tile(writer.value(ops.UNPACK, flat, type), numeric=target is F4E2M1FN))


CONVERSIONS = (
    Statement(ops.EXTI, _extend), Statement(ops.TRUNCI, _truncate), Statement(ops.ITOF, _integer_to_float),
    Statement(ops.FTOI, _float_to_integer), Statement(ops.FTOF, _float_to_float), Statement(ops.BITCAST, _bitcast),
    Statement(ops.PACK, _pack), Statement(ops.UNPACK, _unpack),
)  # fmt: skip

# --- other shapes, orders, parts and repetitions of tiles ---

_MOST_ELEMENTS = 256
"""Elements of a tile that grows."""


def _any_tile(writer: Writer, least_rank: int = 0) -> Tile:
    return writer.some([*writer.integers, *writer.floats, I1, I32], least_rank, _MOST_ELEMENTS)


def _iota(writer: Writer) -> None:
    element = writer.bits.choice(writer.integers)
    count = min(writer.bits.choice((1, 2, 4, 8, 16, 32, 64, 128)), 64)
    # `Writer.lanes` reuses earlier ones; this statement always adds the operation.
    writer.know(Tile(writer.value(ops.IOTA, tile_type((count,), element)), 0, count - 1))


def _constant(writer: Writer) -> None:
    writer.know(writer.random_constant(writer.some_shape(), writer.bits.choice([*writer.integers, *writer.floats, I1])))


def _broadcast(writer: Writer) -> None:
    source = _any_tile(writer)
    if 1 not in source.shape:
        ones = tuple([1 if writer.bits.chance(50) else extent for extent in source.shape])
        source = writer.want(ones, source.element)
    shape = tuple([extent if extent > 1 else writer.bits.choice((1, 2, 4, 8)) for extent in source.shape])
    if prod(shape) <= _MOST_ELEMENTS:
        writer.know(source.moved(writer.value(ops.BROADCAST, source, shape)))


def _reshape(writer: Writer) -> None:
    source = _any_tile(writer)
    count = prod(source.shape)
    fitting = [shape for shape in [*SHAPES, ()] if prod(shape) == count and shape != source.shape]
    if fitting:
        writer.know(writer.reshaped(source, writer.bits.choice(fitting)))


def _permute(writer: Writer) -> None:
    source = _any_tile(writer, 2)
    writer.know(source.moved(writer.value(ops.PERMUTE, source, writer.bits.order(len(source.shape)))))


def _cat(writer: Writer) -> None:
    left = _any_tile(writer, 1)
    if prod(left.shape) * 2 > _MOST_ELEMENTS:
        return
    right = writer.want(left.shape, left.element)
    writer.know(either(left, right, writer.value(ops.CAT, left, right, writer.bits.below(len(left.shape)))))


def _part(writer: Writer, shape: Shape) -> tuple[Shape, list[Tile]]:
    """The shape of a part, and indices that are inside."""
    part = tuple([max(1, extent >> writer.bits.below(3)) for extent in shape])
    pairs = zip(shape, part, strict=True)
    return part, [writer.below(writer.want((), I32), extent // size) for extent, size in pairs]


def _extract(writer: Writer) -> None:
    source = _any_tile(writer, 1)
    part, indices = _part(writer, source.shape)
    if tile_error(part, source.element, writer.version) is None:
        writer.know(source.moved(writer.value(ops.EXTRACT, source, indices, part)))


def _insert(writer: Writer) -> None:
    target = _any_tile(writer, 1)
    part, indices = _part(writer, target.shape)
    source = writer.want(part, target.element)
    writer.know(either(source, target, writer.value(ops.INSERT, source, target, indices)))


MOVES = (
    Statement(ops.IOTA, _iota), Statement(ops.CONSTANT, _constant), Statement(ops.BROADCAST, _broadcast),
    Statement(ops.RESHAPE, _reshape), Statement(ops.PERMUTE, _permute), Statement(ops.CAT, _cat),
    Statement(ops.EXTRACT, _extract), Statement(ops.INSERT, _insert),
)  # fmt: skip
