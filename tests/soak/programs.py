"""Programs for the soak, with what they compute in NumPy."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy
import numpy.random

LANES = 64

_INTEGER = {"addi": numpy.add, "subi": numpy.subtract, "muli": numpy.multiply, "xori": numpy.bitwise_xor}
_FLOAT = {"addf": numpy.add, "subf": numpy.subtract, "mulf": numpy.multiply}

_HEAD = """cuda_tile.module @m {{ entry @k(%a: tile<ptr<{type}>>, %b: tile<ptr<{type}>>) {{
  %lane = iota : tile<64xi32>
  %block, %y, %z = get_tile_block_id : tile<i32>
  %lanes = constant <i32: 64> : tile<i32>
  %first = muli %block, %lanes : tile<i32>
  %first.1 = reshape %first : tile<i32> -> tile<1xi32>
  %first.64 = broadcast %first.1 : tile<1xi32> -> tile<64xi32>
  %index = addi %lane, %first.64 : tile<64xi32>
  %a.1 = reshape %a : tile<ptr<{type}>> -> tile<1xptr<{type}>>
  %a.64 = broadcast %a.1 : tile<1xptr<{type}>> -> tile<64xptr<{type}>>
  %a.p = offset %a.64, %index : tile<64xptr<{type}>>, tile<64xi32> -> tile<64xptr<{type}>>
  %b.1 = reshape %b : tile<ptr<{type}>> -> tile<1xptr<{type}>>
  %b.64 = broadcast %b.1 : tile<1xptr<{type}>> -> tile<64xptr<{type}>>
  %b.p = offset %b.64, %index : tile<64xptr<{type}>>, tile<64xi32> -> tile<64xptr<{type}>>
  %v0, %t = load_ptr_tko weak %a.p : tile<64xptr<{type}>> -> tile<64x{type}>, token
"""


class Elementwise:
    """A chain of operations on each element of an array: `b` becomes what the chain makes of `a`."""

    def __init__(self, seed: int) -> None:
        rng = Random(seed)
        self.is_float = rng.random() < 0.5
        self.type = "f32" if self.is_float else "i32"
        self.dtype: Any = numpy.dtype("f4" if self.is_float else "i4")
        self._steps: list[tuple[str, int, int]] = []
        names = list(_FLOAT if self.is_float else _INTEGER)
        count = rng.randint(2, 12)
        for number in range(count):
            # A constant of a few, or an earlier value.
            self._steps.append((rng.choice(names), rng.randint(1, 9), rng.randint(-1, number)))
        lines = [_HEAD.format(type=self.type)]
        for number, (name, constant, other) in enumerate(self._steps):
            right = f"%v{other}"
            if other < 0:
                right = f"%c{number}"
                literal = f"{constant}.0" if self.is_float else str(constant)
                lines.append(f"  {right} = constant <{self.type}: {literal}> : tile<64x{self.type}>\n")
            lines.append(f"  %v{number + 1} = {name} %v{number}, {right} : tile<64x{self.type}>\n")
        lines.append(
            f"  %s = store_ptr_tko weak %b.p, %v{count} : tile<64xptr<{self.type}>>, tile<64x{self.type}> -> token\n"
            "  return } }\n"
        )
        self.text = "".join(lines)

    def expected(self, array: Any) -> Any:
        values = [array]
        functions: dict[str, Any] = {**_INTEGER, **_FLOAT}
        with numpy.errstate(all="ignore"):
            for name, constant, other in self._steps:
                right = values[other] if other >= 0 else self.dtype.type(constant)
                values.append(functions[name](values[-1], right).astype(self.dtype))
        return values[-1]

    def arrays(self, rng: Random, blocks: int) -> tuple[Any, Any]:
        generator = numpy.random.default_rng(rng.getrandbits(32))
        source = generator.integers(-1000, 1000, LANES * blocks).astype(self.dtype)
        return source, numpy.zeros(LANES * blocks, self.dtype)


SUM = """cuda_tile.module @m { entry @sum(%a: tile<ptr<i32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %block, %y, %z = get_tile_block_id : tile<i32>
  %p = offset %a, %block : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %block) -> (tile<i32>) {
    %v = muli %s, %i : tile<i32>
    %w = addi %v, %i : tile<i32>
    continue %w : tile<i32> }
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return } }"""
"""A loop as long as an argument says."""


def expected_sum(blocks: int, turns: int) -> Any:
    values = numpy.arange(blocks, dtype=numpy.int32)
    with numpy.errstate(all="ignore"):
        for turn in range(turns):
            values = values * numpy.int32(turn) + numpy.int32(turn)
    return values


ENDLESS = """cuda_tile.module @m { entry @wait(%a: tile<ptr<i32>>) {
  %zero = constant <i32: 0> : tile<i32>
  loop {
    %v, %t = load_ptr_tko relaxed device %a : tile<ptr<i32>> -> tile<i32>, token
    %go = cmpi not_equal %v, %zero, signed : tile<i32> -> tile<i1>
    if %go { break }
    continue }
  return } }"""
"""Ends when memory says so: at once where it is not zero, else when it is interrupted."""

PRINTING = """cuda_tile.module @m { entry @print(%a: tile<ptr<i32>>) {
  %block, %y, %z = get_tile_block_id : tile<i32>
  %t = print_tko "%i,", %block : tile<i32> -> token
  %p = offset %a, %block : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %s = store_ptr_tko weak %p, %block : tile<ptr<i32>>, tile<i32> -> token
  return } }"""

ASSERTING = """cuda_tile.module @m { entry @check(%a: tile<ptr<i32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %block, %y, %z = get_tile_block_id : tile<i32>
  %p = offset %a, %block : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
  %c = cmpi not_equal %v, %zero, signed : tile<i32> -> tile<i1>
  assert %c, "zero" : tile<i1>
  return } }"""

WRONG = (
    ("cuda_tile.module @m { entry @k( }", "parse"),
    ("cuda_tile.module @m { entry @k() { %0 = addi %1, %1 : tile<i32> return } }", "parse"),
    ("cuda_tile.module @m { entry @k(%a: tile<3xi32>) { return } }", "parse"),
    ("cuda_tile.module @m { entry @k() { return } entry @k() { return } }", "verify"),
)
