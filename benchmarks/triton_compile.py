"""How long kernels take to become cubins: by Triton, beside NVIDIA's assembler.

    python benchmarks/triton_compile.py [--target sm_90] [--seconds 2] [--turns 3] [--json FILE]

All kernels of examples/*.mlir, without the cache, in turns.  Warm: in a process that has compiled before, which for
Triton means that the process that runs it is there.  Cold: by `tileir compile` as a new process, which imports what
it needs, and starts what it needs.  The bar is on the medians over the kernels in the first case: at most the
assembler's.  No GPU is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from measure import machine, race, table, tileir_build

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
BAR = 1.0


class Row(NamedTuple):
    """What a kernel takes, in seconds."""

    kernel: str
    assembler: float
    triton: float
    cold_assembler: float
    cold_triton: float


def measured(path: Path, given: argparse.Namespace, directory: str) -> Row | None:
    """The times of the kernel of a file; None if it is wrong on purpose."""
    import tileir
    from tileir.execute.gpu.tileiras.assembly import assemble
    from tileir.execute.gpu.triton.compiler import make
    from tileir.execute.gpu.triton.toolchain import triton_target
    from tileir.execute.launching.entries import select_entry

    try:
        entry = select_entry(tileir.load(path), None)
    except tileir.TileIRError:
        return None
    target = given.target
    gpu = triton_target(target)
    # The first one of each has more to do.
    assemble(entry, target)
    make(entry, gpu)
    warm = race(given.seconds, lambda: assemble(entry, target), lambda: make(entry, gpu))
    cold = [min(each) for each in zip(*[_processes(path, target, directory) for _ in range(given.turns)], strict=True)]
    return Row(path.stem, warm.typical(0), warm.typical(1), *cold)


def _processes(path: Path, target: str, directory: str) -> list[float]:
    """What new processes take: Python has compiled all modules before, as it has those that are installed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = directory
    found = []
    for backend in ("tileiras", "triton"):
        command = [sys.executable, "-m", "tileir", "compile", str(path), "--backend", backend, "--target", target]
        start = time.perf_counter()
        subprocess.run([*command, "-o", os.path.join(directory, "k.cubin")], check=True, env=environment)
        found.append(time.perf_counter() - start)
    return found


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--target", default="sm_90")
    arguments.add_argument("--seconds", type=float, default=2.0, help="for each kernel")
    arguments.add_argument("--turns", type=int, default=3, help="new processes for each kernel and compiler")
    arguments.add_argument("--json", help="write the figures to a file")
    given = arguments.parse_args()
    os.environ["TILEIR_CACHE"] = "0"

    from tileir.execute.gpu.tileiras.tool import find_assembler
    from tileir.execute.gpu.triton.toolchain import find_triton

    print(machine())
    print(tileir_build())
    print(f"tileiras {find_assembler().version}, Triton {find_triton().version}, {given.target}\n")
    with tempfile.TemporaryDirectory() as directory:
        _processes(EXAMPLES / "vector_add.mlir", given.target, directory)
        found = [measured(path, given, directory) for path in sorted(EXAMPLES.glob("*.mlir"))]
    rows = [row for row in found if row is not None]
    medians = Row("median", *[median(column) for column in list(zip(*rows, strict=True))[1:]])
    cells = [
        (
            row.kernel,
            f"{row.assembler * 1e3:.0f} ms",
            f"{row.triton * 1e3:.0f} ms",
            f"{row.triton / row.assembler:.2f}",
            f"{row.cold_assembler * 1e3:.0f} ms",
            f"{row.cold_triton * 1e3:.0f} ms",
            f"{row.cold_triton / row.cold_assembler:.2f}",
        )
        for row in (*rows, medians)
    ]
    print(table(("kernel", "tileiras", "Triton", "ratio", "cold tileiras", "cold Triton", "ratio"), cells))
    ratio = medians.triton / medians.assembler
    is_met = ratio <= BAR
    print(f"\nmedian of Triton {ratio:.2f} of the assembler's, at most {BAR}: {'met' if is_met else 'MISSED'}")
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump([row._asdict() for row in (*rows, medians)], file, indent=1)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
