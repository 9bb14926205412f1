"""The engine of Triton on a GPU, beside torch and beside NVIDIA's assembler on the same programs.

    python benchmarks/triton_speed.py --build DIR    anywhere with Triton and the assembler: compiles into DIR
    python benchmarks/triton_speed.py --run DIR      on a machine with a GPU, torch and NumPy: runs the kernels

The second needs no compiler (`PYTHONPATH=src`): the code comes from the cache in DIR, which `--build` made for
`--target sm_90` and `--host x86_64`, the defaults, in `-n` processes.  `--only WORDS` takes the works whose names have
one of the words, `--json FILE` writes all figures, `--each` prints every program's and not only the fastest.

Every result is compared with torch's before anything is timed.  Times are CUDA events with the level-2 cache emptied
before each launch, medians of launches that take turns; a ratio is of two medians of one run, above 1 where Triton's
code is faster.  Exit status 1 with `--strict`: a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import tileir
from gpu_timing import Flusher, difference, event_times, private_copy, verdict, versions
from measure import table
from tileir.execute.gpu.triton.kernel import compile_ahead
from tileir.execute.gpu.triton.toolchain import VARIABLE, find_triton
from triton_cases import ASSEMBLER, TRITON, Candidate, Work, works

NOISE = 0.03
"""A program is as fast as another if its time is within this part of it: clocks of GPUs wander."""
SECONDS = 0.12
"""For each program, of the GPU's time."""

Row = tuple[str, ...]


def chosen(only: list[str]) -> list[Work]:
    return [work for work in works() if not only or any(word in work.name for word in only)]


# --- building ---


def build(folder: Path, only: list[str], target: str, host: str, processes: int) -> None:
    """Compile all kernels into the cache of a folder."""
    os.environ["TILEIR_CACHE_DIR"] = str(folder / "cache")
    (folder / "cache").mkdir(parents=True, exist_ok=True, mode=0o700)
    named = folder / "triton" / "triton"
    named.mkdir(parents=True, exist_ok=True)
    (named / "__init__.py").write_text(f"__version__ = {find_triton().version!r}\n")
    wanted = [
        (work.name, candidate.name, engine)
        for work in chosen(only)
        for candidate in work.candidates
        for engine in work.backends
    ]
    with ProcessPoolExecutor(processes) as pool:
        for line in pool.map(built, wanted, [target] * len(wanted), [host] * len(wanted)):
            print(line, flush=True)


def built(which: tuple[str, str, str], target: str, host: str) -> str:
    """Compile one kernel; in words, what came of it."""
    work_name, name, engine = which
    work = next(work for work in works() if work.name == work_name)
    candidate = next(candidate for candidate in work.candidates if candidate.name == name)
    begin = time.perf_counter()
    try:
        kernel = tileir.compile(candidate.module(), backend=engine)
        if engine == ASSEMBLER:
            used = kernel.cubin(target, host=host).resources
        else:
            # All arguments are arrays, which are aligned.
            count = len(kernel.entry.regions[0].blocks[0].arguments)
            used = compile_ahead(kernel.entry, target, [(number + 1) << 40 for number in range(count)]).cubin.resources
    except tileir.TileIRError as error:
        return f"{work_name}, {name}, {engine}: {str(error).splitlines()[0]}"
    spills = "spills" if used.spills else "no spills"
    seconds = time.perf_counter() - begin
    return f"{work_name}, {name}, {engine}: {used.registers} registers, {spills}, {seconds:.1f} s"


# --- running ---


class Measured:
    """How long a work takes in each way: torch's, and each program by each engine."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.seconds: dict[str, dict[str, float]] = {}
        """By engine or "torch", by program or way: the median."""
        self.failures: dict[str, str] = {}

    def fastest(self, who: str) -> tuple[str, float] | None:
        found = self.seconds.get(who)
        return min(found.items(), key=lambda pair: pair[1]) if found else None

    def rate(self, seconds: float) -> str:
        digits = 2 if self.work.unit == "TB/s" else 0
        return f"{self.work.amount / seconds / 1e12:.{digits}f}"


def measure(torch: Any, work: Work) -> Measured:
    torch.manual_seed(7)
    found = Measured(work)
    arrays = work.arrays(torch)
    ways = work.torch_ways(torch, *arrays)
    actions: dict[tuple[str, str], Callable[[], Any]] = {("torch", name): way for name, way in ways.items()}
    expected = next(iter(ways.values()))().clone()
    for candidate in work.candidates:
        for engine in work.backends:
            try:
                actions[engine, candidate.name] = launch_of(torch, candidate, engine, arrays, expected, work.tolerance)
            except (tileir.TileIRError, ValueError) as error:
                found.failures[f"{engine} {candidate.name}"] = str(error).splitlines()[0]
    del expected
    flush = Flusher(torch)
    counts: dict[tuple[str, str], int] = {}
    times: dict[tuple[str, str], list[float]] = {key: [] for key in actions}
    for key, action in actions.items():
        typical = statistics.median(event_times(torch, action, flush, 3))
        counts[key] = max(1, min(8, int(SECONDS / ROUNDS / typical)))
    for _ in range(ROUNDS):
        for key, action in actions.items():
            times[key] += event_times(torch, action, flush, counts[key])
    for (who, name), each in times.items():
        found.seconds.setdefault(who, {})[name] = statistics.median(each)
    return found


ROUNDS = 5


def launch_of(
    torch: Any, candidate: Candidate, engine: str, arrays: list[Any], expected: Any, tolerance: float
) -> Callable[[], Any]:
    """A launch whose result is torch's."""
    arrays[-1].zero_()
    launch = tileir.compile(candidate.module(), backend=engine).bind(candidate.grid, arrays)
    launch()
    torch.cuda.synchronize()
    off = difference(torch, arrays[-1], expected)
    if not off <= tolerance:
        raise ValueError(f"WRONG: differs from torch's result by {off:.2g}")
    return launch


def bar_rows(found: Measured, bandwidth: float | None) -> list[Row]:
    """The figures that have bars, and each bar."""
    work, bars = found.work, found.work.bars
    ours, theirs, torchs = found.fastest(TRITON), found.fastest(ASSEMBLER), found.fastest("torch")
    if ours is None:
        return [(work.name, "no program ran", "", "", "MISSED")]
    name, seconds = ours
    rows: list[Row] = []

    def row(what: str, ratio: float, bar: float, noise: float = NOISE) -> None:
        rows.append(
            (f"{work.name}: {what}", found.rate(seconds), f"{ratio:.2f}", f">= {bar:g}", verdict(ratio >= bar - noise))
        )

    if bars.of_torch is not None and torchs is not None:
        row(f"{name} beside {torchs[0]}", torchs[1] / seconds, bars.of_torch, 0.0)
    if bars.of_assembler is not None and theirs is not None:
        row(f"{name} beside the assembler's {theirs[0]}", theirs[1] / seconds, bars.of_assembler)
    if bars.of_assembler_each is not None:
        both = {
            each: found.seconds[ASSEMBLER][each] / taken
            for each, taken in found.seconds[TRITON].items()
            if each in found.seconds.get(ASSEMBLER, {})
        }
        if both:
            least = min(both, key=lambda each: both[each])
            row(f"{least}, the least beside the assembler's of the same", both[least], bars.of_assembler_each)
    if bars.slowest is not None:
        slow, taken = max(found.seconds[TRITON].items(), key=lambda pair: pair[1])
        ratio = taken / seconds
        met = ratio <= bars.slowest and not any(each.startswith(TRITON) for each in found.failures)
        rows.append(
            (
                f"{work.name}: {slow}, the slowest, against {name}",
                found.rate(taken),
                f"{ratio:.2f}",
                f"<= {bars.slowest:g}",
                verdict(met),
            )
        )
    if bars.of_bandwidth is not None and bandwidth is not None:
        row(f"{name} beside the memory's bandwidth", work.amount / seconds / bandwidth, bars.of_bandwidth, 0.0)
    return rows


def each_rows(found: Measured) -> list[Row]:
    rows: list[Row] = []
    names = dict.fromkeys([name for each in found.seconds.values() for name in each])
    for name in names:
        cells = [found.seconds.get(who, {}).get(name) for who in ("torch", TRITON, ASSEMBLER)]
        ours, theirs = cells[1], cells[2]
        ratio = "" if ours is None or theirs is None else f"{theirs / ours:.2f}"
        rows.append(
            (f"{found.work.name}: {name}", *["" if cell is None else found.rate(cell) for cell in cells], ratio)
        )
    return rows


def run(folder: Path, only: list[str], output: str | None, each: bool) -> bool:
    """Measure; whether all bars are met."""
    import torch

    from tileir.execute.gpu.peaks import peaks_of

    cache = private_copy(folder)
    os.environ["TILEIR_CACHE_DIR"] = cache
    # The version that made the code, so that no other makes it again.
    os.environ[VARIABLE] = str(folder / "triton")
    told = {**versions(torch), "Triton": find_triton().version}
    print(", ".join([f"{name} {what}" for name, what in told.items()]) + "\n")
    peaks = peaks_of(torch.cuda.get_device_name(0))
    bandwidth = None if peaks is None else peaks.memory * 1e12
    rows: list[Row] = []
    details: list[Row] = []
    figures: dict[str, Any] = {}
    try:
        for work in chosen(only):
            begin = time.perf_counter()
            found = measure(torch, work)
            rows += bar_rows(found, bandwidth)
            details += each_rows(found)
            figures[work.name] = {"seconds": found.seconds, "failures": found.failures, "amount": work.amount}
            for what, words in found.failures.items():
                print(f"{work.name}: {what}: {words}", flush=True)
            print(f"  {work.name}: {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
            torch.cuda.empty_cache()
    finally:
        shutil.rmtree(cache, ignore_errors=True)
        if output is not None:
            Path(output).write_text(json.dumps({"versions": told, "works": figures, "rows": rows}, indent=1))
    if each:
        print(table(("TFLOP/s or TB/s", "torch", TRITON, ASSEMBLER, "ratio"), details) + "\n")
    print(table(("work", "TFLOP/s, TB/s", "ratio", "bar", ""), rows))
    return all(row[-1] != "MISSED" for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", metavar="DIR", type=Path)
    parser.add_argument("--run", metavar="DIR", type=Path)
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--host", default="x86_64")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--only", metavar="WORDS", nargs="*", default=[])
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("-n", "--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    if given.build is None and given.run is None:
        parser.error("give --build DIR or --run DIR")
    if given.build is not None:
        build(given.build, given.only, given.target, given.host, given.processes)
    met = given.run is None or run(given.run, given.only, given.json, given.each)
    return 0 if met or not given.strict else 1


if __name__ == "__main__":
    sys.exit(main())
