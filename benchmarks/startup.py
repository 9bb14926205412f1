"""How long processes take that do little: start-up of the command line, and the first launch of a process.

    python benchmarks/startup.py

`tileir dis` of a small file, and `check`, `opt` and `as`, against starting the same Python to do nothing; the command
is the installed `tileir` script beside the interpreter, that is, what a user types.  And a program that imports NumPy
and tileir, reads a module, compiles it for the CPU and launches it once, with the code in the cache, against the same
Python that only imports the two; where cuTile is installed, a cuTile kernel against the import of both and of cuTile
and its compiler (and, with it, torch).

All commands run many times in turns, each as a new process.  The bars are about processor time, which other work on the
machine does not change; the time on the clock stands beside it.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import NamedTuple

from measure import Line, add_line_options, finish, line_table, machine, table, tileir_build

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "vector_add.mlir"
BARS = {"dis": 2.5, "check": 4.0, "opt": 4.0, "as": 4.0}
LAUNCH_BAR = 0.150

PLAIN_LAUNCH = """\
import numpy, tileir
kernel = tileir.compile(tileir.load({path!r}), backend="cpu")
a, b, c = numpy.ones(1000, "f4"), numpy.ones(1000, "f4"), numpy.zeros(1000, "f4")
kernel.launch(8, (a, b, c, 1000))
assert (c == 2).all()
"""
CUTILE_LAUNCH = """\
import numpy, tileir
import cuda.tile as ct

@ct.kernel
def add(a, b, c):
    place = ct.bid(0)
    left, right = ct.load(a, index=(place,), shape=(128,)), ct.load(b, index=(place,), shape=(128,))
    ct.store(c, index=(place,), tile=left + right)

a, b, c = numpy.ones(1024, "f4"), numpy.ones(1024, "f4"), numpy.zeros(1024, "f4")
tileir.launch(add, (8,), (a, b, c), backend="cpu")
assert (c == 2).all()
"""


IMPORTS = "import numpy, tileir"
CUTILE_COMPILER = "the same and cuTile's compiler"
"""It is imported for the first kernel, and imports torch where that is installed; it then compiles the kernel."""


class Seconds(NamedTuple):
    clock: float
    processor: float


class Times(NamedTuple):
    """What many processes of one kind took."""

    runs: list[Seconds]

    @property
    def processor(self) -> float:
        return median([run.processor for run in self.runs])

    def row(self, name: str) -> tuple[str, ...]:
        clock = [run.clock for run in self.runs]
        return name, *[f"{seconds * 1e3:.1f}" for seconds in (min(clock), median(clock), self.processor)]


def tileir_command() -> list[str]:
    """The installed script, or the module when this interpreter has none."""
    script = Path(sys.executable).with_name("tileir")
    return [str(script)] if script.exists() else [sys.executable, "-m", "tileir"]


def seconds_of(command: Sequence[str], environment: dict[str, str]) -> Seconds:
    before, start = _used_by_children(), time.perf_counter()
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, env=environment)
    elapsed = time.perf_counter() - start
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with status {process.returncode}:\n{process.stdout.decode()}")
    return Seconds(elapsed, _used_by_children() - before)


def _used_by_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def taken(commands: Mapping[str, Sequence[str]], runs: int, environment: dict[str, str]) -> dict[str, Times]:
    for command in commands.values():
        seconds_of(command, environment)  # Compiles the modules to bytecode, fills the caches of files and of kernels.
    found: dict[str, Times] = {name: Times([]) for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            found[name].runs.append(seconds_of(command, environment))
    return found


HEAD = ("command", "best ms", "median ms", "processor ms")


def environment(**more: str) -> dict[str, str]:
    """That of this process, in which Python keeps the bytecode of modules: who starts a tool twice has it."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | more


def measure_tools(file: Path, runs: int, folder: Path) -> list[Line]:
    bytecode = folder / "small.tileirbc"
    subprocess.run([*tileir_command(), "as", str(file), "-o", str(bytecode)], check=True)
    with_argparse = (
        f"import argparse, sys; from tileir.tools.main import command; sys.argv[1:] = 'dis', {str(bytecode)!r}"
    )
    commands = {
        "python -c pass": (sys.executable, "-c", "pass"),
        "dis": (*tileir_command(), "dis", str(bytecode)),
        "dis, with argparse": (sys.executable, "-c", f"{with_argparse}; command()"),
        "check": (*tileir_command(), "check", str(file)),
        "opt": (*tileir_command(), "opt", str(file)),
        "as": (*tileir_command(), "as", str(file), "-o", os.devnull),
    }
    times = taken(commands, runs, environment())
    bare = times["python -c pass"].processor
    print(table(HEAD, [each.row(name) for name, each in times.items()]))
    return [
        Line(f"start of tileir {name}, small file", "bare Python", times[name].processor / bare, bar, True)
        for name, bar in BARS.items()
    ]


def measure_launches(runs: int, folder: Path) -> list[Line]:
    bytecode = folder / "vector_add.tileirbc"
    subprocess.run([*tileir_command(), "as", str(EXAMPLE), "-o", str(bytecode)], check=True)
    commands: dict[str, Sequence[str]] = {
        "python -c pass": (sys.executable, "-c", "pass"),
        IMPORTS: (sys.executable, "-c", "import numpy, tileir; tileir.compile, tileir.load"),
        "a text, cached, launched": (sys.executable, "-c", PLAIN_LAUNCH.format(path=str(EXAMPLE))),
        "bytecode, cached, launched": (sys.executable, "-c", PLAIN_LAUNCH.format(path=str(bytecode))),
    }
    if find_spec("cuda") is not None and find_spec("cuda.tile") is not None:
        script = folder / "kernel.py"  # cuTile reads the source of a kernel.
        script.write_text(CUTILE_LAUNCH)
        commands["import numpy, cuda.tile"] = (sys.executable, "-c", "import numpy, cuda.tile")
        commands[CUTILE_COMPILER] = (sys.executable, "-c", "import numpy, tileir, cuda.tile._compile; tileir.launch")
        commands["a cuTile kernel, cached, launched"] = (sys.executable, str(script))
    times = taken(commands, runs, environment(TILEIR_CACHE_DIR=str(folder / "cache")))
    print(table(HEAD, [each.row(name) for name, each in times.items()]))
    lines: list[Line] = []
    for name, beside in (
        ("a text, cached, launched", IMPORTS),
        ("bytecode, cached, launched", IMPORTS),
        ("a cuTile kernel, cached, launched", CUTILE_COMPILER),
    ):
        if name in times:
            own = (times[name].processor - times[beside].processor) * 1e3
            lines.append(Line(f"first launch: {name}", f"beside '{beside}'", own, LAUNCH_BAR * 1e3, True, " ms"))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Start-up of the command line, and the first launch of a process.")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--file", type=Path, default=EXAMPLE)
    parser.add_argument("--only-tools", action="store_true", help="leave out the first launch of a process")
    add_line_options(parser)
    options = parser.parse_args()

    print(tileir_build())
    print(machine())
    # A first launch of cuTile takes seconds, most of them its compiler's.
    launches = max(1, options.runs // 3)
    print(f"{options.runs} runs of each tool and {launches} of each launch, in turns\n")
    with tempfile.TemporaryDirectory() as folder:
        lines = measure_tools(options.file, options.runs, Path(folder))
        if not options.only_tools and all(find_spec(name) is not None for name in ("numpy", "ml_dtypes", "llvmlite")):
            print()
            lines += measure_launches(launches, Path(folder))
    print("\n" + line_table(lines))
    sys.exit(finish(lines, options))


if __name__ == "__main__":
    main()
