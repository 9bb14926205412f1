"""How fast a sweep is: two cores against one, what it costs beyond the work, and Dask on the same machine.

    python benchmarks/sweep_speed.py [--count 10000] [--plain 500] [--candidates 200] [--no-dask]

Small programs, each of its own, are checked and run on the interpreter and the CPU engine.  The same sweep runs on one
core with one job and on two cores with two; cores that share a physical one are not taken for two.  The work itself is
the same steps in a loop in one process, after a first program, which is what a child of the sweep does.  For Dask a
scheduler and two workers, each a process, are started on the same two cores.  Each measurement is a process of its own,
from its first program to its last, with the start of servers in it.  Dask's own profiler of its workers, which looks at
them a hundred times a second, is off, as docs/tools/sweep.md advises: it takes processor time from those who judge.

Candidates are modules with small kernels, judged for one task with all checks of a sweep.  Their own work is to compile
each kernel, to launch it for each set of inputs and twice for the first, and to launch it sanitized.  Each has to be in
a process of its own: what a fork takes of the same work is shown beside it, as is what cuTile takes to compile.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy

import tileir
from measure import Line, add_line_options, finish, line_table, machine, table, tileir_build
from tileir.bridge.launch import export
from tileir.judging.model import JudgePlan, SweepInput
from tileir.judging.tasks.plans import plan_for
from tileir.judging.tasks.settings import read_task
from tileir.judging.verdicts.programs import parts_of
from tileir.judging.verdicts.work import Work

SPEED_UP_BAR = 1.8
OVERHEAD_BAR = 8.0
DASK_BAR = 10.0
CANDIDATE_BAR = 40.0
PLAN = JudgePlan(backends=("interpreter", "cpu"))
PROGRAM = """\
// tileir: --arg iota:f32:64 --arg zeros:f32:64
cuda_tile.module @m {{
  entry @add(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>) {{
    %offsets = iota : tile<64xi32>
    %shaped = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
    %first = broadcast %shaped : tile<1xptr<f32>> -> tile<64xptr<f32>>
    %from = offset %first, %offsets : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
    %x, %t = load_ptr_tko weak %from : tile<64xptr<f32>> -> tile<64xf32>, token
    %number = constant <f32: {number}.0> : tile<64xf32>
    %sum = addf %x, %number rounding<nearest_even> : tile<64xf32>
    %result = reshape %b : tile<ptr<f32>> -> tile<1xptr<f32>>
    %base = broadcast %result : tile<1xptr<f32>> -> tile<64xptr<f32>>
    %to = offset %base, %offsets : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
    %u = store_ptr_tko weak %to, %sum : tile<64xptr<f32>>, tile<64xf32> -> token
    return
  }}
}}
"""


def items(count: int) -> list[SweepInput]:
    return [SweepInput(f"{number}.mlir", "program", PROGRAM.format(number=number).encode()) for number in range(count)]


REFERENCE = """
import numpy

def inputs(seed, n):
    draw = numpy.random.default_rng(seed)
    return draw.standard_normal(n, dtype="f4"), draw.standard_normal(n, dtype="f4")

def reference(x, y):
    return x + y
"""
CANDIDATE = """
import cuda.tile as ct
import numpy

@ct.kernel
def add(x, y, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (128,)) + ct.load(y, (i,), (128,)))

def run(x, y):
    out = numpy.empty_like(x)
    ct.launch(None, (2,), add, (x, y, out))
    return out
"""
SETS = 11
"""Of inputs: two seeds, contents of which one or the other is left out, and three with NaN and infinity."""


# --- what is measured, each in a process of its own ---


class Clock:
    """Seconds that have passed, and that processors have worked for this process and those it has waited for."""

    def __init__(self) -> None:
        self._start = (time.perf_counter(), sum(os.times()[:4]))

    def read(self) -> tuple[float, float]:
        return time.perf_counter() - self._start[0], sum(os.times()[:4]) - self._start[1]


def sweep_seconds(count: int, jobs: int, dask: str) -> tuple[float, float]:
    """Seconds that a sweep of so many programs takes."""
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock()
        found = tileir.sweep(items(count), Path(folder) / "r.sqlite", plan=PLAN, jobs=jobs or None, dask=dask or None)
        seconds = clock.read()
        assert found.outcomes == {"passed": count}, found
        return seconds


def plain_seconds(count: int) -> tuple[float, float]:
    """Seconds that the same work takes in a loop."""
    first, *others = items(count + 1)
    _judge(first)
    clock = Clock()
    for item in others:
        _judge(item)
    return clock.read()


def candidate_seconds(count: int) -> tuple[float, float]:
    """Seconds that a sweep of so many candidates for a task takes on one core."""
    with tempfile.TemporaryDirectory() as folder:
        task, candidates = Path(folder) / "task", Path(folder) / "candidates"
        task.mkdir()
        candidates.mkdir()
        (task / "reference.py").write_text(REFERENCE)
        (task / "task.json").write_text('{"shapes": [{"n": 256}]}')
        for number in range(count):
            (candidates / f"{number}.py").write_text(f"{CANDIDATE}# {number}\n")
        plan = plan_for(read_task(task).settings, backend="interpreter")
        clock = Clock()
        found = tileir.sweep(candidates, Path(folder) / "r.sqlite", task=task, plan=plan, jobs=1)
        seconds = clock.read()
        assert found.outcomes == {"passed": count}, found
        return seconds


def kernel_seconds(count: int, launches: int = SETS + 2, in_fork: bool = False) -> tuple[float, float]:
    """Seconds that their kernels take in a loop: compiled, and launched as often as a sweep does, or only compiled;
    `in_fork`, each in a child, as candidates must be."""
    with tempfile.TemporaryDirectory() as folder:
        x, clock = numpy.ones(256, numpy.float32), Clock()
        for number in range(count + 1):
            if number == 1:
                gc.collect()
                gc.freeze()
                clock = Clock()
            # cuTile reads the source of kernels, so it has to be in a file.
            file = Path(folder) / f"{number}.py"
            file.write_text(CANDIDATE)
            names: dict[str, Any] = {}
            exec(compile(CANDIDATE, str(file), "exec"), names)
            child = os.fork() if in_fork and number else 0
            if child:
                os.waitpid(child, 0)
                continue
            if not launches:
                export(names["add"], (x, x, x))
            for launch in range(launches):
                sanitize = launch == 0
                tileir.launch(names["add"], 2, (x, x, x.copy()), backend="interpreter", sanitize=sanitize)
            if in_fork and number:
                os._exit(0)
        return clock.read()


def _judge(item: SweepInput) -> None:
    for part in parts_of(PLAN):
        part.task(Work(item, PLAN, os.getcwd(), lambda message: None))


def measured(cores: list[int], what: str, *words: object) -> tuple[float, float]:
    """The seconds that another process of this script finds, on some cores alone."""
    passed, worked = _process(cores, [__file__, "--measure", what, *map(str, words)]).split()
    return float(passed), float(worked)


def _process(cores: list[int], words: list[str]) -> str:
    done = subprocess.run(_pinned(cores, words), env=_environment(), stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed with status {done.returncode}")
    return done.stdout.splitlines()[-1]


def _pinned(cores: list[int], words: list[str]) -> list[str]:
    pin = f"import os; hasattr(os, 'sched_setaffinity') and os.sched_setaffinity(0, {cores}); "
    run = "import runpy, sys; sys.argv = sys.argv[1:]; "
    what = (
        "runpy.run_module(sys.argv[0], run_name='__main__')"
        if words[0] != __file__
        else "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    return [sys.executable, "-c", pin + run + what, *words]


def _environment() -> dict[str, str]:
    # As children of a sweep have it: nothing is taken from a cache, and one program has one processor.
    fixed = {"TILEIR_CACHE": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, **fixed, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])}


@contextmanager
def cluster(cores: list[int]) -> Iterator[str]:
    """The address of a scheduler with a worker for each core."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        common = ["--scheduler-file", str(file), "--no-dashboard"]
        commands = [["distributed.cli.dask_scheduler", *common, "--host", "127.0.0.1", "--port", "0"]]
        for _ in cores:
            commands.append(
                ["distributed.cli.dask_worker", *common, "--nthreads", "1", "--no-nanny", "--memory-limit", "0"]
            )
        nothing = subprocess.DEVNULL
        environment = {**_environment(), "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
        processes = [
            subprocess.Popen(_pinned(cores, words), env=environment, stdout=nothing, stderr=nothing, cwd=folder)
            for words in commands
        ]
        try:
            while not file.exists():
                time.sleep(0.1)
            address = str(json.loads(file.read_text())["address"])
            from distributed import Client

            with Client(address, set_as_default=False) as client:
                client.wait_for_workers(len(cores), timeout=60)
            yield address
        finally:
            for process in processes:
                process.kill()
                process.wait()


def cores_of_this_machine() -> list[int]:
    """Processors that do not share a physical core."""
    available = (
        sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    )
    found: dict[str, int] = {}
    for number in available:
        siblings = Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list")
        try:
            key = siblings.read_text()
        except OSError:
            key = str(number)
        found.setdefault(key, number)
    return list(found.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="programs in each sweep")
    parser.add_argument("--plain", type=int, default=500, help="programs in the loop")
    parser.add_argument("--candidates", type=int, default=200, help="candidates for a task")
    parser.add_argument("--no-dask", action="store_true")
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    add_line_options(parser)
    options = parser.parse_args()
    if options.measure:
        what, *words = options.measure
        count = int(words[0])
        if what == "sweep":
            print(*sweep_seconds(count, int(words[1]), (words[2:] or [""])[0]))
        else:
            loops: dict[str, Callable[[int], tuple[float, float]]] = {
                "plain": plain_seconds,
                "candidates": candidate_seconds,
                "kernels": kernel_seconds,
                "compiled": partial(kernel_seconds, launches=0),
                "forked": partial(kernel_seconds, in_fork=True),
            }
            print(*loops[what](count))
        return 0
    print(f"{machine()}, {tileir_build()}; {options.count:,} programs\n")
    cores = cores_of_this_machine()
    count = options.count
    rows: list[tuple[Any, ...]] = []
    lines: list[Line] = []

    def add(name: str, found: tuple[float, float], of: int = count, foreign: bool = False) -> tuple[float, float]:
        passed, worked = (1000 * seconds / of for seconds in found)
        rows.append((name, f"{found[0]:.1f}", f"{passed:.1f}", "" if foreign else f"{worked:.1f}"))
        return passed, worked

    _, plain = add("the work itself, a loop on one core", measured(cores[:1], "plain", options.plain), options.plain)
    one, worked = add("sweep, one core", measured(cores[:1], "sweep", count, 1))
    # What a processor worked is, on one core, what has passed, unless others want the core too.
    lines.append(Line("sweep: overhead per program", "the work itself", worked - plain, OVERHEAD_BAR, True, " ms"))
    if len(cores) > 1:
        two, _ = add("sweep, two cores", measured(cores[:2], "sweep", count, 2))
        lines.append(Line("sweep: two cores", "one core", one / two, SPEED_UP_BAR))
    else:
        print("there is one core only: no comparison with two")
    if options.no_dask or find_spec("distributed") is None or len(cores) < 2:
        print("Dask is left out: 'distributed' is not installed, or there is one core only, or --no-dask\n")
    else:
        with cluster(cores[:2]) as address:
            found = measured(cores[:2], "sweep", count, 2, address)
            dask, _ = add("sweep on Dask, two workers on the two cores", found, foreign=True)
        lines.append(Line("sweep: more time by way of Dask", "two cores", 100 * (dask / two - 1), DASK_BAR, True, " %"))
    if options.candidates and find_spec("cuda.tile") is not None:
        number = options.candidates
        add("kernels of candidates, compiled by cuTile", measured(cores[:1], "compiled", number), number)
        _, kernels = add("kernels of candidates, a loop", measured(cores[:1], "kernels", number), number)
        add("the same, each in a fork", measured(cores[:1], "forked", number), number)
        # Servers import torch and cuTile once, whatever the number of candidates.
        (first, worked), whole = [measured(cores[:1], "candidates", count) for count in (1, number + 1)]
        _, judged = add("candidates for a task, one core", (whole[0] - first, whole[1] - worked), number)
        over = judged - kernels
        lines.append(Line("sweep: overhead per candidate", "its kernel", over, CANDIDATE_BAR, True, " ms"))
    print(table(("", "seconds", "ms a program", "of a processor"), rows))
    print()
    print(line_table(lines))
    return finish(lines, options)


if __name__ == "__main__":
    sys.exit(main())
