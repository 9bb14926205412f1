"""How far off the estimates of `tileir.cost` are: beside measured times, on this processor and on an H200.

    python benchmarks/cost_accuracy.py              this processor, and the H200 of docs/internals/measurements.md
    python benchmarks/cost_accuracy.py --gpu        on a machine with a GPU and torch: measured there, for that GPU
    python benchmarks/cost_accuracy.py --only cpu   or h200: one of the tables

The times of this processor are of one thread by the clock of the process, which a busy machine leaves alone, and of all
by the clock on the wall, which needs a quiet one; the best of some launches counts.  The constants of the model for
GPUs were chosen with the five kernels of the table of the H200 (docs/tools/cost.md): it shows how well they fit, and
other kernels may be further off.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

import cpu_programs
import tileir
from gpu_cases import Case, cases
from measure import machine, table, tileir_build
from tileir.analyze.cost.processor import estimate_on_processor, is_busy, processor

PAGE = Path(__file__).parents[1] / "docs" / "internals" / "measurements.md"
ROUNDS = 7

Row = tuple[str, ...]


# --- this processor ---


def best(run: Callable[[], object], clock: Callable[[], float]) -> float:
    run()
    found = []
    for _ in range(ROUNDS):
        begin = clock()
        run()
        found.append(clock() - begin)
    return min(found)


def launches() -> list[tuple[str, str, Any, list[Any]]]:
    """Kernels of `cpu_speed.py`: a name, the program, the grid, the arguments."""
    random = numpy.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return random.standard_normal(shape, numpy.float32)

    size, part, side, edge = 1 << 24, 1 << 18, 4096, 1024
    a, b, c = normal(size), normal(size), normal(size)
    x, y = normal(side, side), normal(side, side)
    left, right, out = normal(edge, edge), normal(edge, edge), normal(edge, edge)
    q, k, v, o = [normal(8, 1024, 64) for _ in range(4)]
    chain = cpu_programs.elementwise_chain(4096)
    return [
        ("vector add f32, 16M", cpu_programs.vector_add(4096), size // 4096, [a, b, c, size]),
        ("seven elementwise, 16M", chain, size // 4096, [a, b, c, size]),
        ("seven elementwise, 256K", chain, part // 4096, [a[:part], b[:part], c[:part], part]),
        ("softmax f32 4096^2", cpu_programs.softmax(side), side, [x, y]),
        ("layer norm f32 4096^2", cpu_programs.layer_norm(side), side, [x, y]),
        ("matmul f32 1024^3", cpu_programs.matmul((64, 128, 64)), (16, 8), [left, right, out, *[edge] * 5]),
        ("attention f32 8x1024x64", cpu_programs.attention(8, 1024, 64, 64, 64), (16, 8), [q, k, v, o]),
    ]


def on_processor() -> list[Row]:
    here = processor(again=True)
    rows: list[Row] = []
    for name, text, grid, arguments in launches():
        kernel = tileir.compile(tileir.parse(text), backend="cpu")
        work = kernel.work(grid, arguments)
        cells: list[str] = [name]
        for cores, clock in ((1, time.process_time), (here.cores, time.perf_counter)):
            estimated, _ = estimate_on_processor(work, here, cores)
            measured = best(kernel.bind(grid, arguments, threads=cores), clock)
            cells += [f"{estimated * 1e3:.2f}", f"{measured * 1e3:.2f}", f"{estimated / measured:.2f}"]
        rows.append(tuple(cells))
    return rows


# --- GPUs ---


class Bytes:
    """As large as an array, which is not made."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


SIZES = {
    "vector": [1 << 29] * 3,
    "matmul": [1 << 25] * 3,
    "softmax": [1 << 28] * 2,
    "layer": [1 << 28, 8192, 8192, 1 << 28],
    "attention": [1 << 25] * 4,
}
"""Bytes of the arrays of `gpu_cases.py`, by the first word of the name."""


def written_down() -> dict[str, float]:
    """The times that stand in docs/internals/measurements.md, in seconds, by the name of the kernel."""
    found: dict[str, float] = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 8 and re.fullmatch(r"[\d.]+", cells[2]):
            found[cells[0]] = float(cells[2]) * 1e-6
    return found


def measured_here(case: Case, torch: Any) -> float:
    arrays = case.arrays(torch)
    kernel = tileir.compile(case.module(), backend="tileiras")
    return kernel.time(case.grid, arrays, repeat=30, flush_cache=True).median


def on_gpu(target: str, torch: Any) -> list[Row]:
    known = written_down()
    rows: list[Row] = []
    for case in cases(torch):
        arrays = [Bytes(size) for size in SIZES[case.name.split()[0]]]
        measured = known[case.name] if torch is None else measured_here(case, torch)
        cost = tileir.cost(case.module(), case.grid, arrays, target=target)
        decides = next((each for each in cost.reasons if each.endswith(" decides")), "").removesuffix(" decides")
        roofline = max(cost.footprint / cost.roofline.memory, cost.flops / (cost.roofline.attainable or 1e30))
        numbers = (cost.seconds * 1e6, measured * 1e6)
        ratios = (cost.seconds / measured, roofline / measured)
        rows.append((case.name, *[f"{each:.1f}" for each in numbers], *[f"{each:.2f}" for each in ratios], decides))
    return rows


def gpu_here() -> tuple[str, Any]:
    """The target that is the GPU of this machine."""
    import torch

    from tileir.analyze.cost.targets import target_names

    name = torch.cuda.get_device_name(0)
    return next(key for key, title in target_names().items() if title == name), torch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", action="store_true", help="measure on the GPU of this machine")
    parser.add_argument("--only", choices=("cpu", "h200"))
    given = parser.parse_args()
    print(f"{tileir_build()}\n{machine()}")
    if given.only != "h200" and not given.gpu:
        busy = "; the machine is busy: the times of all threads mean little" if is_busy() else ""
        print(f"\nthis processor, ms{busy}")
        names = ("estimate", "measured", "ratio")
        header = ("kernel", *[f"{each}, one" for each in names], *[f"{each}, all" for each in names])
        print(table(header, on_processor()))
    if given.only != "cpu":
        target, torch = gpu_here() if given.gpu else ("h200", None)
        print(f"\n{target}, us{'' if given.gpu else ', measured as docs/internals/measurements.md says'}")
        print(table(("kernel", "estimate", "measured", "ratio", "roofline alone", "decides"), on_gpu(target, torch)))


if __name__ == "__main__":
    main()
