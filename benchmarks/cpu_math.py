"""The CPU engine's functions beside NumPy's.

    python benchmarks/cpu_math.py [FUNCTION ..]

Nanoseconds for an element of f32, with one thread, on arrays that stay in the cache: the exact functions, which have
the interpreter's bits, the fast ones and NumPy's own with `out=`.  The three take turns; medians count.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

import tileir
from measure import Line, add_line_options, finish, machine, race, table, tileir_build

COUNT = 1 << 17
TILE = 4096


def _sigmoid(value: Any, out: Any) -> Any:
    numpy.negative(value, out=out)
    numpy.exp(out, out=out)
    numpy.add(out, 1.0, out=out)
    return numpy.divide(1.0, out, out=out)


def _reciprocal_root(value: Any, out: Any) -> Any:
    numpy.sqrt(value, out=out)
    return numpy.divide(1.0, out, out=out)


PEERS: dict[str, Callable[..., Any]] = {
    "exp": numpy.exp,
    "exp2": numpy.exp2,
    "log": numpy.log,
    "log2": numpy.log2,
    "log10": numpy.log10,
    "log1p": numpy.log1p,
    "sin": numpy.sin,
    "cos": numpy.cos,
    "tan": numpy.tan,
    "sinh": numpy.sinh,
    "cosh": numpy.cosh,
    "tanh": numpy.tanh,
    "sigmoid": _sigmoid,
    "rsqrt": _reciprocal_root,
    "pow": numpy.power,
    "atan2": numpy.arctan2,
}
POSITIVE = ("log", "log2", "log10", "log1p", "rsqrt", "pow")
BINARY = ("pow", "atan2")


def program(name: str) -> str:
    tensor = f"tensor_view<{COUNT}xf32, strides=[1]>"
    view = f"partition_view<tile=({TILE}), {tensor}>"
    part = f"tile<{TILE}xf32>"
    views = "".join(
        f"%t{x} = make_tensor_view %p{x}, shape = [{COUNT}], strides = [1] : {tensor}\n"
        f"%v{x} = make_partition_view %t{x} : {view}\n"
        for x in "abc"
    )
    operands = "%a, %b" if name in BINARY else "%a"
    pointers = ", ".join([f"%p{x}: tile<ptr<f32>>" for x in "abc"])
    return f"""cuda_tile.module @functions {{ entry @kernel({pointers}) {{
        %x, %y, %z = get_tile_block_id : tile<i32>
        {views}
        %a, %first = load_view_tko weak %va[%x] : {view}, tile<i32> -> {part}, token
        %b, %second = load_view_tko weak %vb[%x] : {view}, tile<i32> -> {part}, token
        %r = {name} {operands} : {part}
        %stored = store_view_tko weak %r, %vc[%x] : {part}, {view}, tile<i32> -> token
        return }} }}"""


def measure(name: str, seconds: float) -> tuple[tuple[str, ...], list[Line]]:
    rng = numpy.random.default_rng(0)
    first, second = (rng.standard_normal(COUNT).astype(numpy.float32) for _ in range(2))
    if name in POSITIVE:
        first = numpy.abs(first) + numpy.float32(1e-3)
    result = numpy.empty_like(first)
    module = tileir.parse(program(name))
    exact, fast = (tileir.compile(module, backend="cpu", exact=not fast, fast=fast) for fast in (False, True))
    operands = (first, second) if name in BINARY else (first,)
    launches = [partial(kernel.launch, COUNT // TILE, (first, second, result), threads=1) for kernel in (exact, fast)]
    rounds = race(seconds, *launches, partial(PEERS[name], *operands, out=result))
    times = [rounds.typical(number) / COUNT * 1e9 for number in range(3)]
    lines = [
        Line(f"function: {name}, {mode}", "NumPy", rounds.ratio(number, 2))
        for number, mode in enumerate(("exact", "fast"))
    ]
    return (name, *[f"{time:.2f}" for time in times], *[f"{line.ratio:.2f}x" for line in lines]), lines


def main() -> None:
    parser = argparse.ArgumentParser(description="The CPU engine's functions beside NumPy's.")
    parser.add_argument("functions", nargs="*", help=f"which: {', '.join(PEERS)} (default: all)")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each comparison takes (default: 1)")
    add_line_options(parser)
    options = parser.parse_args()
    unknown = sorted(set(options.functions) - set(PEERS))
    if unknown:
        parser.error(f"no function {', '.join(unknown)}: choose among {', '.join(PEERS)}")
    print(f"{tileir_build()}\n{machine()}, NumPy {numpy.__version__}\n")
    found = [measure(name, options.seconds) for name in options.functions or PEERS]
    rows = [row for row, _ in found]
    print(table(("ns per element", "exact", "fast", "NumPy", "exact: speed", "fast: speed"), rows))
    sys.exit(finish([line for _, lines in found for line in lines], options))


if __name__ == "__main__":
    main()
