"""How long `tileir check small.mlir` takes from the shell, against starting the same Python to do nothing.

Both commands run many times in turns, each as a new process; the best and the median of each are shown. The command is
the installed `tileir` script beside the interpreter, that is, what a user types.

    python benchmarks/startup.py
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from measure import machine, table, tileir_build

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "vector_add.mlir"
BAR = 4.0


def tileir_command() -> list[str]:
    """The installed script, or the module when this interpreter has none."""
    script = Path(sys.executable).with_name("tileir")
    return [str(script)] if script.exists() else [sys.executable, "-m", "tileir.tools.main"]


def seconds_of(command: list[str]) -> float:
    start = time.perf_counter()
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    elapsed = time.perf_counter() - start
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with status {process.returncode}:\n{process.stdout.decode()}")
    return elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description="Start-up of the command line, against bare Python.")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--file", type=Path, default=EXAMPLE)
    parser.add_argument("--strict", action="store_true", help="exit with status 1 when the bar is missed")
    options = parser.parse_args()

    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        f"tileir check {options.file.name}": [*tileir_command(), "check", str(options.file)],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for command in commands.values():
        seconds_of(command)  # Compiles the modules to bytecode and fills the file cache.
    for _ in range(options.runs):
        for name, command in commands.items():
            times[name].append(seconds_of(command))

    print(tileir_build())
    print(machine())
    print(f"{options.runs} runs of each, in turns\n")
    rows = [(name, f"{min(taken) * 1e3:.1f}", f"{median(taken) * 1e3:.1f}") for name, taken in times.items()]
    bare, ours = times.values()
    best, middle = min(ours) / min(bare), median(ours) / median(bare)
    rows.append(("ratio", f"{best:.2f}x", f"{middle:.2f}x"))
    print(table(("command", "best ms", "median ms"), rows))
    met = middle <= BAR
    print(f"\nmedian ratio {middle:.2f}, bar <= {BAR:.0f}: {'met' if met else 'MISSED'}")
    if options.strict and not met:
        sys.exit(1)


if __name__ == "__main__":
    main()
