"""Launches and kernels on a GPU: what a launch costs, how long kernels take, and how long the first launch takes.

    python benchmarks/gpu_speed.py --build DIR      anywhere with NVIDIA's assembler: compiles the kernels into DIR
    python benchmarks/gpu_speed.py --run DIR        on a machine with a GPU, torch and NumPy: runs them

The second needs neither the assembler nor an installed tileir (`PYTHONPATH=src`): the cubins come from the cache in
DIR, which `--build` made for `--target sm_90` and `--host x86_64`, the defaults.  `--json FILE` writes all figures too,
`--only WORDS` runs the parts and kernels whose names have one of the words, `--quick` repeats less.

Every result is compared with torch's before anything is timed.  Times of kernels are CUDA events with the level-2 cache
emptied before each launch, medians of launches that take turns; costs of launches are the host's clock while the GPU's
queue has room, best of many rounds.  "bare" is the same cubin launched by calls of the driver through ctypes with
everything prepared, which no launcher can beat.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gpu_programs
import tileir
from gpu_bare_launch import BareLaunch
from gpu_cases import Case, cases
from gpu_timing import Flusher, difference, event_times, private_copy, verdict, versions
from measure import table

TARGET, HOST = "sm_90", "x86_64"
LAUNCH_BAR = 6.0
RATIO_BAR = 1.0
FIRST_BAR = 5.0
TOLERANCE = 0.02
"""A kernel is as fast as another if its time is within this part of it: clocks of GPUs wander."""

Row = tuple[str, ...]


def compiled(module: tileir.Operation) -> tileir.Kernel:
    return tileir.compile(module, backend="tileiras")


# --- building ---


def build(folder: Path, target: str, host: str) -> None:
    """Compile all kernels into the cache of a folder."""
    os.environ["TILEIR_CACHE_DIR"] = str(folder / "cache")
    (folder / "cache").mkdir(parents=True, exist_ok=True, mode=0o700)
    small = gpu_programs.small_add()
    (folder / "small_add.tileirbc").write_bytes(tileir.to_bytecode(small))
    for name, module in [("small add", small), *[(case.name, case.module()) for case in cases(None)]]:
        cubin = compiled(module).cubin(target, host=host)
        found = cubin.resources
        print(
            f"{name}: {len(cubin.data)} bytes, {found.registers} registers, {'spills' if found.spills else 'no spills'}"
        )
    build_cutile(folder, target, host)


def build_cutile(folder: Path, target: str, host: str) -> None:
    try:
        import torch

        from cutile_launches import three_arrays
    except ImportError as missing:
        print(f"cuTile's kernel is left out: {missing}")
        return
    arrays = [torch.zeros(1024) for _ in range(3)]
    kernel = tileir.compile(three_arrays, (*arrays, 2.0, 128), backend="tileiras")
    cubin = kernel.kernel.cubin(target, host=host)
    print(f"cuTile's kernel of {cubin.kernel}: {len(cubin.data)} bytes")


# --- what a launch costs ---


def host_costs(
    ways: dict[str, Callable[[], object]], wait: Callable[[], object], rounds: int, count: int = 200
) -> dict[str, float]:
    """Microseconds of the host for a launch in each way, while the queue of the GPU has room.

    The ways take turns: in the first second both host and GPU are slower, by a quarter.
    """
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, launch in ways.items():
            wait()
            begin = time.perf_counter()
            for _ in range(count):
                launch()
            best[name] = min(best[name], (time.perf_counter() - begin) / count * 1e6)
    wait()
    return best


def launch_rows(torch: Any, rounds: int) -> tuple[list[Row], dict[str, float]]:
    arrays = [torch.ones(1024, device="cuda") for _ in range(2)] + [torch.zeros(1024, device="cuda")]
    kernel = compiled(gpu_programs.small_add())
    grid = (8,)
    arguments = (*arrays, 1024)
    kernel.launch(grid, arguments)
    torch.cuda.synchronize()
    assert (arrays[2] == 2).all()
    stream = torch.cuda.current_stream()
    code = kernel.cubin()
    bare = BareLaunch(code.data, code.kernel, grid, arguments, stream.cuda_stream)
    automatic = tileir.compile(gpu_programs.small_add())
    bound, bound_automatic = kernel.bind(grid, arguments), automatic.bind(grid, arguments)
    ways: list[tuple[str, Callable[[], object] | str, float | None]] = [
        ("bare driver call", bare.call, None),
        ("bound launch", bound, LAUNCH_BAR),
        ("bound launch, auto", bound_automatic, LAUNCH_BAR),
        ("kernel.launch", lambda: kernel.launch(grid, arguments), None),
        ("kernel.launch, auto", lambda: automatic.launch(grid, arguments), None),
        ("torch.add(out=)", lambda: torch.add(arrays[0], arrays[1], out=arrays[2]), None),
        ("CuPy's RawKernel", cupy_launch(arrays), None),
        *cutile_launches(torch, arrays, stream),
        *triton_launches(torch, arrays),
    ]
    rows: list[Row] = []
    figures = host_costs(
        {name: way for name, way, _ in ways if not isinstance(way, str)}, torch.cuda.synchronize, rounds
    )
    for name, way, bar in ways:
        if isinstance(way, str):
            rows.append((name, "not here", "", ""))
            print(f"{name}: {way}")
            continue
        cost = figures[name]
        rows.append(
            (name, f"{cost:.2f}", "" if bar is None else f"<= {bar:g}", "" if bar is None else verdict(cost <= bar))
        )
    bound_cost, theirs = figures["bound launch"], figures.get("cuda.tile.launch")
    own = figures.get("tileir.launch of a cuTile kernel")
    if own is not None and theirs is not None:
        rows.append(("bound / cuda.tile.launch", f"{bound_cost / theirs:.2f}", "<= 1", verdict(bound_cost <= theirs)))
        rows.append(("tileir.launch / cuda.tile.launch", f"{own / theirs:.2f}", "", ""))
    return rows, figures


def triton_launches(torch: Any, arrays: Sequence[Any]) -> list[tuple[str, Callable[[], object] | str, float | None]]:
    """Launches of the engine of Triton: of the same kernel, and of one that takes three descriptors."""

    def small() -> tuple[tileir.Kernel, tuple[object, ...]]:
        return tileir.compile(gpu_programs.small_add(), backend="triton"), ((8,), (*arrays, 1024))

    def matmul() -> tuple[tileir.Kernel, tuple[object, ...]]:
        examples = Path(__file__).parents[1] / "examples"
        a, b = torch.zeros(64, 64, device="cuda").half(), torch.zeros(64, 64, device="cuda").half()
        kernel = tileir.compile(tileir.load(examples / "matmul.mlir"), backend="triton")
        return kernel, ((1, 1), (a, b, torch.zeros(64, 64, device="cuda"), 64, 64, 64))

    def bound(made: Callable[[], tuple[tileir.Kernel, tuple[Any, ...]]]) -> Callable[[], object]:
        kernel, given = made()
        return kernel.bind(*given)

    def launched(made: Callable[[], tuple[tileir.Kernel, tuple[Any, ...]]]) -> Callable[[], object]:
        kernel, given = made()
        kernel.launch(*given)
        return lambda: kernel.launch(*given)

    return [
        ("bound launch, triton", attempted(lambda: bound(small)), None),
        ("kernel.launch, triton", attempted(lambda: launched(small)), None),
        ("bound launch, triton, 3 descriptors", attempted(lambda: bound(matmul)), None),
        ("kernel.launch, triton, 3 descriptors", attempted(lambda: launched(matmul)), None),
    ]


def attempted(make: Callable[[], Callable[[], object]]) -> Callable[[], object] | str:
    """A way to launch, tried once; or why it cannot be had."""
    try:
        launch = make()
        launch()
    except Exception as error:
        return f"not here: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    return launch


def cupy_launch(arrays: Sequence[Any]) -> Callable[[], object] | str:
    def make() -> Callable[[], object]:
        cupy: Any = __import__("cupy")
        code = 'extern "C" __global__ void add(const float *a, const float *b, float *c, int n)'
        code += "{ int i = blockIdx.x * 128 + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }"
        kernel = cupy.RawKernel(code, "add")
        given = (*[cupy.asarray(array) for array in arrays], 1024)
        return lambda: kernel((8,), (128,), given)

    return attempted(make)


def cutile_launches(
    torch: Any, arrays: Sequence[Any], stream: Any
) -> list[tuple[str, Callable[[], object] | str, float | None]]:
    arguments = (*arrays, 2.0, 128)

    def own() -> Callable[[], object]:
        from cutile_launches import three_arrays

        tileir.launch(three_arrays, (8,), arguments, backend="tileiras")
        torch.cuda.synchronize()
        assert (arrays[2] == 3).all()
        tileir.launch(three_arrays, (8,), arguments, backend="tileiras")
        return lambda: tileir.launch(three_arrays, (8,), arguments, backend="tileiras")

    def theirs() -> Callable[[], object]:
        import cuda.tile as ct

        from cutile_launches import three_arrays

        return lambda: ct.launch(stream, (8,), three_arrays, arguments)

    return [
        ("tileir.launch of a cuTile kernel", attempted(own), None),
        ("cuda.tile.launch", attempted(theirs), None),
    ]


# --- how long kernels take ---


def kernel_row(torch: Any, case: Case, rounds: int) -> tuple[Row, dict[str, Any]]:
    torch.manual_seed(7)
    arrays = case.arrays(torch)
    kernel = compiled(case.module())
    expected = case.torch_does(*arrays).clone()
    arrays[-1].zero_()
    bound = kernel.bind(case.grid, arrays)
    bound()
    torch.cuda.synchronize()
    off = difference(torch, arrays[-1], expected)
    del expected
    if off > case.tolerance:
        return (case.name, f"WRONG: differs by {off:.2g}", *[""] * 8), {"difference": off}
    cubin = kernel.cubin()
    bare = BareLaunch(cubin.data, cubin.kernel, case.grid, arrays, torch.cuda.current_stream().cuda_stream)
    flush = Flusher(torch)
    ways: dict[str, Callable[[], object]] = {
        "torch": lambda: case.torch_does(*arrays),
        "tileir": bound,
        "bare": bare.call,
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    for action in ways.values():
        event_times(torch, action, flush, 3)
    for _ in range(rounds):
        for name, action in ways.items():
            found[name] += event_times(torch, action, flush, 10)
    medians = {name: statistics.median(times) for name, times in found.items()}
    timing = kernel.time(case.grid, arrays, repeat=30, flush_cache=True)
    ratio = medians["bare"] / medians["tileir"]
    memory, compute = timing.memory_share or 0.0, timing.compute_share or 0.0
    seconds = medians["tileir"]
    row = (
        case.name,
        f"{medians['torch'] * 1e6:.1f}",
        f"{seconds * 1e6:.1f}",
        f"{medians['bare'] * 1e6:.1f}",
        f"{ratio:.3f}",
        verdict(ratio >= RATIO_BAR - TOLERANCE),
        f"{timing.work.footprint / seconds / 1e12:.2f}",
        f"{timing.work.total_flops / seconds / 1e12:.1f}",
        f"{max(memory, compute) * timing.median / seconds:.0%} {'memory' if memory > compute else 'arithmetic'}",
        f"{medians['torch'] / seconds:.2f}",
    )
    return row, {
        "difference": off,
        "seconds": medians,
        "kernel.time": timing.to_dict() | {"work": timing.work.to_dict()},
        "assembler": cubin.version,
        "registers": cubin.resources.registers,
        "spills": cubin.resources.spills,
    }


# --- the first launch of a process ---

CHILD = """
import json, sys, time
sys.path.insert(0, sys.argv[2])
import torch
arrays = [torch.ones(1024, device="cuda") for _ in range(2)] + [torch.zeros(1024, device="cuda")]
torch.cuda.synchronize()
begin = time.perf_counter()
import tileir
import tileir.execute.launching.kernel
import tileir.execute.gpu.tileiras.kernel
imported = time.perf_counter()
kernel = tileir.compile(tileir.load(sys.argv[1]), backend="tileiras")
calls = None
if len(sys.argv) > 3:
    sys.path.insert(0, sys.argv[3])
    from gpu_driver_calls import DriverCalls
    calls = DriverCalls()
compiled = time.perf_counter()
kernel.launch((8,), (*arrays, 1024))
launched = time.perf_counter()
if calls is not None:
    calls.stop()
    print(json.dumps(calls.milliseconds()))
    sys.exit()
torch.cuda.synchronize()
done = time.perf_counter()
assert (arrays[2] == 2).all()
kernel.launch((8,), (*arrays, 1024))
torch.cuda.synchronize()
print(json.dumps({"import": imported - begin, "load": compiled - imported, "launch": launched - compiled,
                  "done": done - imported}))
"""


# The same without tileir, and without a line that is not needed: what the driver takes whoever calls it.
BARE_CHILD = """
import ctypes, json, sys, time
sys.path.insert(0, sys.argv[3])
import torch
from gpu_bare_launch import BareLaunch
arrays = [torch.ones(1024, device="cuda") for _ in range(2)] + [torch.zeros(1024, device="cuda")]
torch.cuda.synchronize()
data = open(sys.argv[1], "rb").read()
begin = time.perf_counter()
launch = BareLaunch(data, sys.argv[2], (8,), [*arrays, 1024], 0)
launch.call()
print(json.dumps({"launch": time.perf_counter() - begin}))
"""


def first_launches(folder: Path, count: int) -> tuple[list[Row], dict[str, Any]]:
    source, here = str(Path(tileir.__file__).parents[1]), str(Path(__file__).parent)
    cubin = compiled(gpu_programs.small_add()).cubin()
    code = folder / "small_add.cubin"
    cubin.save(str(code))
    ours = [sys.executable, "-c", CHILD, str(folder / "small_add.tileirbc"), source]
    bare = [sys.executable, "-c", BARE_CHILD, str(code), cubin.kernel, here]
    found: list[dict[str, float]] = []
    least: list[float] = []
    for _ in range(count):
        for command in (ours, bare):
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if done.returncode:
                reason = (done.stderr.strip().splitlines() or ["no words"])[-1]
                return [("first launch", f"failed: {reason[:100]}", "", "")], {"failed": done.stderr[-2000:]}
            figures = json.loads(done.stdout.splitlines()[-1])
            if command is ours:
                found.append(figures)
            else:
                least.append(figures["launch"] * 1e3)
    best = {name: min(each[name] for each in found) * 1e3 for name in found[0]}
    calls = _driver_calls(folder, source)
    rows: list[Row] = [
        ("importing tileir's launcher", f"{best['import']:.1f}", "", ""),
        ("reading and verifying the program", f"{best['load']:.2f}", "", ""),
        (
            "first launch, cubin from the cache",
            f"{best['launch']:.2f}",
            f"<= {FIRST_BAR:g}",
            verdict(best["launch"] <= FIRST_BAR),
        ),
        ("the same by bare driver calls", f"{min(least):.2f}", "", ""),
        ("both, and the kernel is done", f"{best['done']:.2f}", "", ""),
        *[(f"in the driver: {name}", f"{taken:.2f}", "", "") for name, taken in list(calls.items())[:_SHOWN_CALLS]],
    ]
    return rows, {"milliseconds": best, "all": found, "bare": least, "driver": calls}


_SHOWN_CALLS = 4


def _driver_calls(folder: Path, source: str) -> dict[str, float]:
    """Milliseconds of a first launch that are the driver's, by call; in a process of its own, as timing takes time."""
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", CHILD, str(folder / "small_add.tileirbc"), source, here]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return {} if done.returncode else dict(json.loads(done.stdout.splitlines()[-1]))


# --- all of it ---


def run(folder: Path, only: list[str], quick: bool, output: str | None) -> int:
    import torch

    cache = private_copy(folder)
    os.environ["TILEIR_CACHE_DIR"] = cache
    found: dict[str, Any] = {"versions": versions(torch)}
    print(", ".join([f"{name} {what}" for name, what in found["versions"].items()]) + "\n")

    def wanted(name: str) -> bool:
        return not only or any(word in name for word in only)

    try:
        if wanted("launch"):
            rows, found["launches"] = launch_rows(torch, 5 if quick else 30)
            print(table(("launch of a small kernel", "us", "bar", ""), rows) + "\n", flush=True)
        if wanted("first"):
            rows, found["first launch"] = first_launches(folder, 2 if quick else 8)
            print(table(("in a fresh process", "ms", "bar", ""), rows) + "\n", flush=True)
        rows = []
        found["kernels"] = {}
        for case in cases(torch):
            if not wanted(case.name):
                continue
            try:
                row, found["kernels"][case.name] = kernel_row(torch, case, 2 if quick else 5)
            except Exception as error:
                row = (case.name, f"failed: {type(error).__name__}: {str(error).splitlines()[0][:80]}", *[""] * 8)
            rows.append(row)
            print(f"  {' '.join(row)}", file=sys.stderr, flush=True)
            torch.cuda.empty_cache()
        if rows:
            header = ("kernel", "torch us", "tileir us", "bare us", "bare / tileir", f">= {RATIO_BAR:g}", "TB/s")
            print(table((*header, "TFLOP/s", "of the peak", "torch / tileir"), rows))
    finally:
        shutil.rmtree(cache, ignore_errors=True)
        if output is not None:
            Path(output).write_text(json.dumps(found, indent=1))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", metavar="DIR", type=Path)
    parser.add_argument("--run", metavar="DIR", type=Path)
    parser.add_argument("--target", default=TARGET)
    parser.add_argument("--host", default=HOST)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--only", metavar="WORDS", nargs="*", default=[])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.build is None and given.run is None:
        parser.error("give --build DIR or --run DIR")
    if given.build is not None:
        build(given.build, given.target, given.host)
    return 0 if given.run is None else run(given.run, given.only, given.quick, given.json)


if __name__ == "__main__":
    sys.exit(main())
