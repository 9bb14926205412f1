"""bf16 by the instruction of AVX512_BF16, which takes the time of two additions where rounding by hand takes nine.

It rounds as it should, but for float32 numbers that are subnormal: they become zero.  So there is a test for them, and
vectors that have one, which hardly any has, are rounded by hand.  As with the fast functions, this is an LLVM function
of its own, which is always inlined: there it may branch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tileir.execute.cpu.vector.builder import Builder, Module
from tileir.execute.cpu.vector.llvm import Register, value_type
from tileir.execute.cpu.vector.parts import in_parts, shuffled
from tileir.execute.dtypes import DType

ByHand = Callable[[Builder, Register], Register]
"""Patterns of bf16 from float32, by instructions that every machine has."""

_LANES: Final = 16
_MASK: Final = f"<{_LANES} x i1>"
_SUBNORMAL: Final = 32
"""The bit that asks for this class of numbers."""


def is_native(module: Module, width: int) -> bool:
    """Whether the machine has the instruction, and a vector fills a register or several."""
    return module.native_brain and width in (_LANES, 2 * _LANES, 4 * _LANES)


def rounded(builder: Builder, value: Register, pattern: DType, by_hand: ByHand) -> Register:
    """The patterns of bf16, of the dtype given, nearest to float32 numbers; where that `is_native`."""
    module, width = builder.module, value.width
    symbol = f"brain.{width}"
    if symbol not in module.symbols:
        module.symbols.add(symbol)
        _define(module, symbol, Register("%value", value.dtype, width), pattern, by_hand)
    return builder.value(f"call {value_type(pattern, width)} @{symbol}({value.typed})", pattern, width)


def _define(module: Module, symbol: str, value: Register, pattern: DType, by_hand: ByHand) -> None:
    inner = Builder(module)
    kind = value_type(pattern, value.width)

    def shortened(parts: list[Register]) -> Register:
        brain = inner.call(f"<{_LANES} x bfloat>", "llvm.x86.avx512bf16.cvtneps2bf16.512", [parts[0].typed])
        return inner.value(f"bitcast <{_LANES} x bfloat> {brain} to {value_type(pattern, _LANES)}", pattern, _LANES)

    # One question for all parts of a wide vector.
    found = ""
    for start in range(0, value.width, _LANES):
        part = value if value.width == _LANES else shuffled(inner, value, None, range(start, start + _LANES))
        here = inner.call(_MASK, "llvm.x86.avx512.fpclass.ps.512", [part.typed, f"i32 {_SUBNORMAL}"])
        found = inner.emit(f"or {_MASK} {found}, {here}") if found else here
    none = inner.emit(f"icmp eq i{_LANES} {inner.emit(f'bitcast {_MASK} {found} to i{_LANES}')}, 0")
    (result,) = inner.branch(
        none,
        lambda: [in_parts(inner, [value], _LANES, shortened).typed],
        lambda: [by_hand(inner, value).typed],
        likely=True,
    )
    inner.do(f"ret {kind} {result}")
    module.define(f"define internal {kind} @{symbol}({value.typed}) alwaysinline nounwind", inner.lines)


__all__ = ["is_native", "rounded"]
