"""Programs with one planted bug each, and an agent that repairs them by what the tools answer.

The agent knows nothing of the bugs.  It reads the lines that answers name, tries general edits there, and accepts a
program when `sanitize` has no findings and the program prints that its results are right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

_ELEMENTWISE: Final = """
import cuda.tile as ct
import numpy

@ct.kernel
def kernel(x, y, out):
    i = ct.bid(0)
    a = ct.load(x, (i,), (16,))
    b = ct.load(y, (i,), (16,))
    ct.store(out, (i,), a * 2 + b)

x, y = numpy.arange(100, dtype="f4"), numpy.arange(100, dtype="f4") * 3 + 1
out = numpy.zeros(100, "f4")
ct.launch(None, (ct.cdiv(100, 16),), kernel, (x, y, out))
print("results are right" if (out == x * 2 + y).all() else "results are wrong")
"""

_MATMUL: Final = """
import cuda.tile as ct
import numpy

@ct.kernel
def kernel(a, b, out, steps: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((8, 16), ct.float32)
    for step in range(steps):
        left = ct.load(a, (row, step), (8, 32))
        right = ct.load(b, (step, column), (32, 16))
        total = ct.mma(left, right, total)
    ct.store(out, (row, column), total)

rng = numpy.random.default_rng(0)
a, b = rng.integers(0, 8, (16, 96)).astype("f4"), rng.integers(0, 8, (96, 48)).astype("f4")
out = numpy.zeros((16, 48), "f4")
ct.launch(None, (2, 3), kernel, (a, b, out, 3))
print("results are right" if (out == a @ b).all() else "results are wrong")
"""

_SOFTMAX: Final = """
import cuda.tile as ct
import numpy

@ct.kernel
def kernel(x, out):
    row = ct.bid(0)
    tile = ct.load(x, (row, 0), (1, 32), padding_mode=ct.PaddingMode.NEG_INF)
    powers = ct.exp(tile - ct.max(tile, axis=1, keepdims=True))
    ct.store(out, (row, 0), powers / ct.sum(powers, axis=1, keepdims=True))

x = numpy.random.default_rng(0).standard_normal((6, 20)).astype("f4")
out = numpy.zeros_like(x)
ct.launch(None, (6,), kernel, (x, out))
powers = numpy.exp(x - x.max(1, keepdims=True))
right = numpy.allclose(out, powers / powers.sum(1, keepdims=True), atol=1e-5)
print("results are right" if right else "results are wrong")
"""

_SUM: Final = """
import cuda.tile as ct
import numpy

@ct.kernel
def kernel(x, out):
    part = ct.sum(ct.load(x, (ct.bid(0),), (16,), padding_mode=ct.PaddingMode.ZERO))
    ct.atomic_add(out, 0, part)

x = numpy.arange(100, dtype="f4")
out = numpy.zeros(1, "f4")
ct.launch(None, (7,), kernel, (x, out))
print("results are right" if out[0] == x.sum() else "results are wrong")
"""

_GATHER: Final = """
import cuda.tile as ct
import numpy

@ct.kernel
def kernel(table, index, out, rows: ct.Constant[int]):
    lanes = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    found = ct.gather(index, lanes)
    inside = ct.where(found < rows, found, 0)
    ct.scatter(out, lanes, ct.gather(table, inside))

index = numpy.random.default_rng(0).integers(0, 12, 64).astype("i4")
table = numpy.arange(10, dtype="f4") * 7 + 1
out = numpy.zeros(64, "f4")
ct.launch(None, (4,), kernel, (table, index, out, 10))
right = table[numpy.where(index < 10, index, 0)]
print("results are right" if (out == right).all() else "results are wrong")
"""

_TILEIR: Final = """
// tileir: --grid 4 --arg iota:i32:100 --arg zeros:i32:100 --arg 100
cuda_tile.module @kernels {
  entry @kernel(%x: tile<ptr<i32>>, %out: tile<ptr<i32>>, %n: tile<i32>) {
    %block, %y, %z = get_tile_block_id : tile<i32>
    %width = constant <i32: 32> : tile<i32>
    %first = muli %block, %width : tile<i32>
    %lane = iota : tile<32xi32>
    %s0 = reshape %first : tile<i32> -> tile<1xi32>
    %s = broadcast %s0 : tile<1xi32> -> tile<32xi32>
    %i = addi %s, %lane : tile<32xi32>
    %n0 = reshape %n : tile<i32> -> tile<1xi32>
    %ns = broadcast %n0 : tile<1xi32> -> tile<32xi32>
    %mask = cmpi less_than %i, %ns, signed : tile<32xi32> -> tile<32xi1>
    %p0 = reshape %x : tile<ptr<i32>> -> tile<1xptr<i32>>
    %p1 = broadcast %p0 : tile<1xptr<i32>> -> tile<32xptr<i32>>
    %p = offset %p1, %i : tile<32xptr<i32>>, tile<32xi32> -> tile<32xptr<i32>>
    %zero = constant <i32: 0> : tile<32xi32>
    %v, %t = load_ptr_tko weak %p, %mask, %zero : tile<32xptr<i32>>, tile<32xi1>, tile<32xi32> -> tile<32xi32>, token
    %q0 = reshape %out : tile<ptr<i32>> -> tile<1xptr<i32>>
    %q1 = broadcast %q0 : tile<1xptr<i32>> -> tile<32xptr<i32>>
    %q = offset %q1, %i : tile<32xptr<i32>>, tile<32xi32> -> tile<32xptr<i32>>
    %w = addi %v, %v : tile<32xi32>
    %u = store_ptr_tko weak %q, %w, %mask : tile<32xptr<i32>>, tile<32xi32>, tile<32xi1> -> token
    return
  }
}
"""
_TILEIR_RIGHT: Final = "argument 1: int32[100]  min 0, max 198, mean 99"


class Bug(NamedTuple):
    """A program, and the text in it that one planted bug replaces."""

    program: str
    right: str
    wrong: str

    @property
    def source(self) -> str:
        assert self.program.count(self.right) >= 1, self.right
        return self.program.replace(self.right, self.wrong, 1)


BUGS: Final = {
    "too few tile blocks": Bug(_ELEMENTWISE, "(ct.cdiv(100, 16),)", "(100 // 16,)"),
    "wrong sign": Bug(_ELEMENTWISE, "a * 2 + b", "a * 2 - b"),
    "wrong factor": Bug(_ELEMENTWISE, "a * 2 + b", "a * 3 + b"),
    "tile of another size": Bug(_ELEMENTWISE, "b = ct.load(y, (i,), (16,))", "b = ct.load(y, (i,), (8,))"),
    "next tile": Bug(_ELEMENTWISE, "a = ct.load(x, (i,), (16,))", "a = ct.load(x, (i + 1,), (16,))"),
    "wrong axis of the grid": Bug(_ELEMENTWISE, "i = ct.bid(0)", "i = ct.bid(1)"),
    "misspelled function": Bug(_ELEMENTWISE, "ct.store(out", "ct.stor(out"),
    "loop too short": Bug(_MATMUL, "range(steps)", "range(steps - 1)"),
    "loop too long": Bug(_MATMUL, "range(steps)", "range(steps + 1)"),
    "transposed index": Bug(_MATMUL, "(step, column), (32, 16)", "(column, step), (32, 16)"),
    "transposed store": Bug(_MATMUL, "ct.store(out, (row, column), total)", "ct.store(out, (column, row), total)"),
    "accumulator of another shape": Bug(_MATMUL, "ct.zeros((8, 16)", "ct.zeros((16, 16)"),
    "sum over the wrong axis": Bug(_SOFTMAX, "ct.sum(powers, axis=1", "ct.sum(powers, axis=0"),
    "power of the wrong base": Bug(_SOFTMAX, "ct.exp(", "ct.exp2("),
    "padding that counts": Bug(_SOFTMAX, "PaddingMode.NEG_INF", "PaddingMode.ZERO"),
    "sum without atomics": Bug(_SUM, "ct.atomic_add(out, 0, part)", "ct.scatter(out, 0, ct.gather(out, 0) + part)"),
    "index one too large": Bug(_GATHER, "found < rows", "found <= rows"),
    "overlapping lanes": Bug(_GATHER, "ct.bid(0) * 16", "ct.bid(0) * 8"),
    "mask that lets one more in": Bug(_TILEIR, "cmpi less_than %i", "cmpi less_than_or_equal %i"),
    "wrong operation": Bug(_TILEIR, "%w = addi %v, %v", "%w = muli %v, %v"),
    "store without a mask": Bug(
        _TILEIR,
        "%q, %w, %mask : tile<32xptr<i32>>, tile<32xi32>, tile<32xi1> -> token",
        "%q, %w : tile<32xptr<i32>>, tile<32xi32> -> token",
    ),
    "type of another width": Bug(_TILEIR, "%lane = iota : tile<32xi32>", "%lane = iota : tile<64xi32>"),
}

_SWAPS: Final = (
    ("ct.exp2(", "ct.exp("),
    ("axis=0", "axis=1"),
    ("axis=1", "axis=0"),
    ("PaddingMode.ZERO", "PaddingMode.NEG_INF"),
    ("bid(1)", "bid(0)"),
    (" - ", " + "),
    (" <= ", " < "),
    (" - 1", ""),
    (" + 1", ""),
    ("less_than_or_equal", "less_than"),
    ("muli", "addi"),
)
"""Slips that programs are known for, and what was meant."""


def edits(line: str) -> Iterator[str]:
    """What a line could have been, the likeliest first."""
    if found := re.search(r"ct\.scatter\((\w+), (\w+), ct\.gather\(\1, \2\) \+ (\w+)\)", line):
        yield line.replace(found[0], f"ct.atomic_add({found[1]}, {found[2]}, {found[3]})")
    for wrong, right in _SWAPS:
        if wrong in line:
            yield line.replace(wrong, right, 1)
    if found := re.search(r"\((\w+), (\w+)\)", line):
        yield line.replace(found[0], f"({found[2]}, {found[1]})", 1)
    if found := re.search(r"(\w+) // (\w+)", line):
        yield line.replace(found[0], f"ct.cdiv({found[1]}, {found[2]})")
    if "store_ptr_tko" in line and "xi1>" not in line:
        masked = re.sub(
            r"(%\w+), (%\w+) : (tile<(\d+)xptr<\w+>>, tile<[^>]*>)", r"\1, \2, %mask : \3, tile<\4xi1>", line
        )
        yield masked


def other_numbers(line: str) -> Iterator[str]:
    """The line with one number of it changed."""
    for number in re.finditer(r"(?<![\w.])\d+", line):
        value = int(number[0])
        for other in (value * 2, value // 2, value - 1, value + 1):
            yield line[: number.start()] + str(other) + line[number.end() :]
    for number in re.finditer(r"(?<=<)\d+(?=x)", line):
        yield line[: number.start()] + str(int(number[0]) // 2) + line[number.end() :]


def repair(source: str, call: Callable[..., dict[str, Any]]) -> tuple[str, int]:
    """The repaired program, and how many calls that took; `call` calls a tool by name."""
    calls = 0

    def is_right(program: str) -> tuple[bool, str]:
        nonlocal calls
        calls += 1
        answer = call("sanitize", source=program)
        is_fine = answer["status"] == 0 and ("results are right" in answer["text"] or _TILEIR_RIGHT in answer["text"])
        return is_fine, answer["text"]

    is_fine, text = is_right(source)
    if is_fine:
        return source, calls
    lines = source.split("\n")
    if help_line := re.search(r"help: [^\n]*:\n    (.+)\n?", text):
        # The tools know the corrected line.
        number = next(int(found) for found in re.findall(r"program\.py\D{1,12}(\d+)", text)[::-1])
        lines[number - 1] = " " * (len(lines[number - 1]) - len(lines[number - 1].lstrip())) + help_line[1]
        program = "\n".join(lines)
        if is_right(program)[0]:
            return program, calls
        lines = source.split("\n")
    named = [int(number) - 1 for number in re.findall(r"program\.(?:py|mlir):(\d+)", text)]
    kernel = [n for n, line in enumerate(lines) if re.match(r"    +\S", line) or "launch(" in line]
    places = list(dict.fromkeys([*named, *kernel]))
    tries = [(number, line) for number in named for line in (*edits(lines[number]), *other_numbers(lines[number]))]
    tries += [(number, line) for number in places for line in edits(lines[number])]
    tries += [(number, line) for number in places for line in other_numbers(lines[number])]
    for number, line in dict.fromkeys(tries):
        program = "\n".join([*lines[:number], line, *lines[number + 1 :]])
        if line != lines[number] and is_right(program)[0]:
            return program, calls
    raise AssertionError(f"not repaired after {calls} calls:\n{text}")
