"""Triton kernels on the CPU engine: beside Triton's own interpreter, beside views, and the first launch of a process.

    python benchmarks/triton_kernels_speed.py

Five kernels of the kinds that Triton's tutorials 01, 02, 03, 05 and 06 show are launched on CPU tensors within
`tileir.emulate`, and in a process with `TRITON_INTERPRET=1`; the least time on the clock counts.  The matmul, with
tiles of pointers and remainders, is also compared with the same matmul through tile views: `Kernel.launch` on one
thread, in time of the processor.  The first launch is that of a process that finds everything in the cache, in time of
the processor behind the imports of Triton, torch and tileir.  What TTIR costs to translate is in microseconds for each
of its operations, those of the five kernels together.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from measure import Line, add_line_options, finish, line_table, machine, race, table, tileir_build

INTERPRETED_BAR = 200.0
VIEWS_BAR = 0.8
LAUNCH_BAR = 150.0
"""Milliseconds."""
HERE = Path(__file__).resolve().parent
IMPORTS = """\
import contextlib, torch, triton.language, triton.compiler, tileir
tileir.emulate
with contextlib.suppress(ImportError):
    import triton.experimental.gluon.nvidia.hopper, triton.language.extra.libdevice
"""
"""With the modules that Triton itself imports at the first launch."""
FIRST_LAUNCH = """\
import time
begin = time.process_time()
import triton_kernels
x = torch.ones(1000)
out = torch.zeros(1000)
with tileir.emulate():
    triton_kernels.add[(8,)](x, x, out, 1000, BLOCK=128)
assert (out == 2).all()
print((time.process_time() - begin) * 1e3)
"""


class Case(NamedTuple):
    """A launch, and how far its result is from torch's."""

    name: str
    kernel: Any
    grid: tuple[int]
    arguments: tuple[Any, ...]
    difference: Callable[[], float]
    limit: float

    def launch(self) -> None:
        self.kernel[self.grid](*self.arguments)


def cases() -> list[Case]:
    import torch

    import triton_kernels as kernels

    functional = torch.nn.functional
    torch.manual_seed(0)

    def distance(found: Any, expected: Any) -> Callable[[], float]:
        return lambda: float((found.float() - expected.float()).abs().max())

    def case(name: str, kernel: Any, grid: int, arguments: tuple[Any, ...], expected: Any, limit: float) -> Case:
        out = arguments[-1][0] if isinstance(arguments[-1], list) else None
        return Case(name, kernel, (grid,), arguments[:-1], distance(out, expected), limit)

    x, y = torch.rand(98_432), torch.rand(98_432)
    out = torch.empty_like(x)
    found = [case("01 add 98,432", kernels.add, 97, (x, y, out, x.numel(), 1024, [out]), x + y, 0.0)]
    rows = torch.randn(256, 781)
    out = torch.empty_like(rows)
    given = (out, rows, 781, 781, *rows.shape, 1024, [out])
    found.append(case("02 softmax 256x781", kernels.softmax, 64, given, rows.softmax(-1), 1e-6))
    strides = (256, 1) * 3
    for name, dtype, limit in (("f16", torch.float16, 0.1), ("f32", torch.float32, 1e-3)):
        a, b = torch.randn(256, 256, dtype=dtype), torch.randn(256, 256, dtype=dtype)
        out = torch.empty_like(a)
        given = (a, b, out, 256, 256, 256, *strides, 64, 64, 32, 8, "ieee", [out])
        found.append(case(f"03 matmul 256 {name}", kernels.matmul, 16, given, a @ b, limit))
    rows, weight, bias = torch.randn(64, 8192), torch.rand(8192), torch.rand(8192)
    out = torch.empty_like(rows)
    expected = functional.layer_norm(rows, (8192,), weight, bias)
    given = (rows, out, weight, bias, 8192, 8192, 1e-5, 1024, [out])
    found.append(case("05 layer norm 64x8192", kernels.layer_norm, 64, given, expected, 1e-4))
    q, k, v = (torch.randn(512, 64, dtype=torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    expected = functional.scaled_dot_product_attention(*[each.float()[None] for each in (q, k, v)])[0]
    given = (q, k, v, out, 0.125, 512 * 64, 512, 64, 64, 64, False, [out])
    found.append(case("06 attention 512x64 f16", kernels.attention, 8, given, expected, 1e-2))
    return found


def least_times(rounds: int) -> dict[str, float]:
    """The least seconds of each case, after a launch whose result is compared with torch's."""
    found = {}
    for case in cases():
        case.launch()
        if case.difference() > case.limit:
            sys.exit(f"{case.name} differs from torch by {case.difference()}")
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            case.launch()
            times.append(time.perf_counter() - start)
        found[case.name] = min(times)
    return found


def beside_interpreter(rounds: int) -> list[Line]:
    import tileir

    command = [sys.executable, __file__, "--interpreted"]
    told = subprocess.run(command, env=os.environ | {"TRITON_INTERPRET": "1"}, stdout=subprocess.PIPE, check=True)
    interpreted: dict[str, float] = json.loads(told.stdout)
    with tileir.emulate():
        compiled = least_times(rounds)
    rows = [
        (name, f"{seconds * 1e3:.1f}", f"{compiled[name] * 1e3:.3f}", f"{seconds / compiled[name]:,.0f}")
        for name, seconds in interpreted.items()
    ]
    print(table(("kernel", "TRITON_INTERPRET ms", "tileir ms", "times as fast"), rows))
    return [
        Line(f"Triton kernel: {name}", "TRITON_INTERPRET=1", seconds / compiled[name], INTERPRETED_BAR)
        for name, seconds in interpreted.items()
    ]


def beside_views(seconds: float) -> list[Line]:
    import numpy

    import tileir
    import triton_kernels as kernels
    from product_programs import swizzled
    from tileir.bridge.launch import prepared

    tile, lines, rows = (64, 64, 32), [], []
    for element, dtype in (("f16", numpy.float16), ("f32", numpy.float32)):
        views = tileir.compile(tileir.parse(swizzled(tile, element)), backend="cpu")
        for size in (512, 1024):
            random = numpy.random.default_rng(0)
            a, b = random.standard_normal((2, size, size)).astype(dtype)
            c, d = numpy.zeros((2, size, size), dtype)
            grid = (size // 64) ** 2
            given = (a, b, c, *[size] * 3, *(size, 1) * 3, *tile, 8, "ieee")
            pointers, _ = prepared(kernels.matmul, given, "cpu", False, False)

            def through_pointers(
                kernel: Any = pointers, grid: int = grid, values: Any = (a, b, c, *[size] * 6)
            ) -> None:
                kernel.launch(grid, values, threads=1)

            def through_views(kernel: Any = views, grid: int = grid, values: Any = (a, b, d, size, size, size)) -> None:
                kernel.launch(grid, values, threads=1)

            through_pointers()
            through_views()
            numpy.testing.assert_array_equal(c, d)
            found = race(seconds, through_pointers, through_views, clock=time.process_time)
            name, ratio = f"matmul {element} {size}", found.ratio(0, 1)
            rows.append((name, f"{found.best(0) * 1e3:.2f}", f"{found.best(1) * 1e3:.2f}", f"{ratio:.2f}"))
            lines.append(Line(f"Triton kernel: {name}", "the same through views", ratio, VIEWS_BAR))
    print(table(("kernel", "pointers ms", "views ms", "as fast"), rows))
    return lines


def first_launch(runs: int) -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        # In a file: Triton reads the source of kernels, and the cache knows a kernel by it.
        script = Path(folder) / "script.py"
        script.write_text(IMPORTS + FIRST_LAUNCH)
        paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        set_up = {**os.environ, "TILEIR_CACHE_DIR": f"{folder}/cache", "PYTHONPATH": os.pathsep.join(paths)}
        # An installed package has the bytecode of its modules.
        set_up.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, str(script)]
        # The first process fills the cache.
        times = [float(subprocess.check_output(command, env=set_up, text=True)) for _ in range(runs + 1)][1:]
    own = statistics.median(times)
    return [Line("first launch: a Triton kernel, cached", "behind the imports of Triton", own, LAUNCH_BAR, True, " ms")]


def translation(rounds: int) -> list[Line]:
    import tileir
    from tileir.bridge.triton.resolving import resolved

    taken, count = 0.0, 0
    for case in cases():
        text = resolved(case.kernel, case.grid, case.arguments, {})[0].ttir.generic
        count += sum(1 for _ in tileir.parse(text, allow_unregistered=True).walk())
        times = []
        for _ in range(rounds):
            start = time.process_time()
            tileir.from_ttir(text)
            times.append(time.process_time() - start)
        taken += min(times)
    return [Line(f"translation of TTIR: {count} operations", "one operation", taken / count * 1e6, unit=" us")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30, help="launches of each kernel")
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each matmul")
    parser.add_argument("--runs", type=int, default=8, help="processes of each kind")
    parser.add_argument("--interpreted", action="store_true", help="print the times of this process as JSON")
    add_line_options(parser)
    options = parser.parse_args()
    if options.interpreted:
        print(json.dumps(least_times(1)))
        return 0
    try:
        import torch
        import triton
    except ImportError as missing:
        print(f"left out: {missing}; pip install torch triton")
        return 0
    print(f"{tileir_build()}, Triton {triton.__version__}, torch {torch.__version__}; {machine()}\n")
    lines = beside_interpreter(options.rounds)
    print()
    lines += beside_views(options.seconds)
    print()
    lines += first_launch(options.runs)
    lines += translation(options.rounds)
    print("\n" + line_table(lines))
    return finish(lines, options)


if __name__ == "__main__":
    sys.exit(main())
