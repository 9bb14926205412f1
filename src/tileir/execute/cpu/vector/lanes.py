"""Vectors taken apart, put together and transposed; and bf16 by the instruction of AVX512_BF16, for whole registers.

That instruction takes the time of two additions where rounding by hand takes nine, but flushes subnormal float32 to
zero.  So vectors with a subnormal number are rounded by hand, after a test where there may be one (`Register.normal`),
in an LLVM function that is always inlined: there it may branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tileir.execute.cpu.vector.builder import Builder, define_once
from tileir.execute.cpu.vector.llvm import Register, value_type
from tileir.execute.cpu.vector.module import Module
from tileir.execute.dtypes import DType


def shuffled(builder: Builder, first: Register, second: Register | None, lanes: Sequence[int]) -> Register:
    """Lanes of one vector, or of two, whose lanes count on."""
    other = second.typed if second is not None else f"{first.type} poison"
    numbers = ", ".join([f"i32 {lane}" for lane in lanes])
    text = f"shufflevector {first.typed}, {other}, <{len(lanes)} x i32> <{numbers}>"
    return builder.value(text, first.dtype, len(lanes))


def in_parts(
    builder: Builder, vectors: list[Register], lanes: int, emit: Callable[[list[Register]], Register]
) -> Register:
    """The result of an instruction for vectors of at most so many lanes, for wider ones."""
    width = vectors[0].width
    if width <= lanes:
        return emit(vectors)
    found = []
    for start in range(0, width, lanes):
        part = range(start, start + lanes)
        found.append(emit([shuffled(builder, vector, None, part) for vector in vectors]))
    return joined(builder, found)


def joined(builder: Builder, parts: list[Register]) -> Register:
    """Vectors of one width, one after the other; their number is a power of two."""
    while len(parts) > 1:
        every = range(2 * parts[0].width)
        parts = [shuffled(builder, *pair, every) for pair in zip(parts[0::2], parts[1::2], strict=True)]
    return parts[0]


def interleaved(builder: Builder, parts: list[Register]) -> Register:
    """The lanes of several vectors, or scalars, in turn; their number is a power of two."""
    while len(parts) > 1:
        half, width = len(parts) // 2, max(parts[0].width, 1)
        vectors = [builder.splat(part, width) for part in parts]
        lanes = [number for lane in range(width) for number in (lane, lane + width)]
        parts = [shuffled(builder, *pair, lanes) for pair in zip(vectors[:half], vectors[half:], strict=True)]
    return parts[0]


def transposed(builder: Builder, rows: list[Register]) -> list[Register]:
    """The columns of a square of vectors."""
    side, half = len(rows), len(rows) // 2
    # The elements of two rows in turn, until those of a column are together.
    orders = [[number for lane in range(start, start + half) for number in (lane, lane + side)] for start in (0, half)]
    for _ in range(side.bit_length() - 1):
        pairs = zip(rows[:half], rows[half:], strict=True)
        rows = [shuffled(builder, *pair, order) for pair in pairs for order in orders]
    return rows


ByHand = Callable[[Builder, Register], Register]  # f32 to patterns of bf16

_LANES: Final = 16
_MASK: Final = f"<{_LANES} x i1>"
_SUBNORMAL: Final = 32  # The bit that selects this class of numbers.


def has_bf16_instruction(module: Module, width: int) -> bool:
    """Whether the machine has the instruction, and a vector fills a register or several."""
    return module.native_bf16 and width in (_LANES, 2 * _LANES, 4 * _LANES)


def rounded_to_bf16(builder: Builder, value: Register, pattern: DType, by_hand: ByHand) -> Register:
    """The patterns of bf16, of the dtype given, nearest to float32 numbers; where there is the instruction."""
    symbol, kind = f"bf16.{value.width}", value_type(pattern, value.width)
    parameter = Register("%value", value.dtype, value.width)
    define_once(
        builder.module,
        symbol,
        kind,
        f"{parameter.typed}, i1 %normal",
        "alwaysinline",
        lambda inner: _rounded(inner, parameter, pattern, by_hand),
    )
    return builder.value(f"call {kind} @{symbol}({value.typed}, i1 {value.normal})", pattern, value.width)


def _rounded(inner: Builder, value: Register, pattern: DType, by_hand: ByHand) -> str:
    kind = value_type(pattern, value.width)
    parts = [value]
    if value.width > _LANES:
        starts = range(0, value.width, _LANES)
        parts = [shuffled(inner, value, None, range(start, start + _LANES)) for start in starts]

    def shortened() -> list[str]:
        # Two registers become one; alone, a register becomes half of one.
        if len(parts) == 1:
            return [_shortened(inner, "cvtneps2bf16", parts, pattern).typed]
        pairs = zip(parts[0::2], parts[1::2], strict=True)
        found = [_shortened(inner, "cvtne2ps2bf16", [upper, lower], pattern) for lower, upper in pairs]
        return [joined(inner, found).typed]

    def looked() -> list[str]:
        # One question for all parts of a wide vector.
        found = ""
        for part in parts:
            here = inner.call(_MASK, "llvm.x86.avx512.fpclass.ps.512", [part.typed, f"i32 {_SUBNORMAL}"])
            found = inner.emit(f"or {_MASK} {found}, {here}") if found else here
        none = inner.emit(f"icmp eq i{_LANES} {inner.emit(f'bitcast {_MASK} {found} to i{_LANES}')}, 0")
        (result,) = inner.branch(none, shortened, lambda: [by_hand(inner, value).typed], likely=True)
        return [f"{kind} {result}"]

    (result,) = inner.branch("%normal", shortened, looked)
    return result


def _shortened(builder: Builder, instruction: str, parts: list[Register], pattern: DType) -> Register:
    width = _LANES * len(parts)
    name = f"llvm.x86.avx512bf16.{instruction}.512"
    found = builder.call(f"<{width} x bfloat>", name, [part.typed for part in parts])
    return builder.value(f"bitcast <{width} x bfloat> {found} to {value_type(pattern, width)}", pattern, width)
