"""A recorded launch beside a plain one in the interpreter, and questions about it.

    python benchmarks/recording.py

vector_add of 4,096 tile blocks over 16,777,216 elements.  CPU time counts, each of the best of three.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy

import tileir
from measure import Line, add_line_options, finish, machine, table, tileir_build
from tileir.serve.explorer.recording_answers import accesses_answer, array_answer, summary_answer, values_answer

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
BLOCKS, TILE = 4096, 4096
ROUNDS = 3


def best(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_line_options(parser)
    options = parser.parse_args()
    text = (EXAMPLES / "vector_add.mlir").read_text().replace("128", str(TILE))
    kernel = tileir.compile(tileir.parse(text), backend="interpreter")
    count = BLOCKS * TILE
    rng = numpy.random.default_rng(0)
    arguments = (*rng.random((2, count), numpy.float32), numpy.zeros(count, numpy.float32), count)
    print(machine(), tileir_build(), sep="\n")
    plain = best(lambda: kernel.launch(BLOCKS, arguments))
    rows = [("launch", f"{plain:.2f}", "")]
    lines: list[Line] = []
    sanitized = best(lambda: kernel.launch(BLOCKS, arguments, sanitize=True))
    rows.append(("launch, sanitized", f"{sanitized:.2f}", f"{sanitized / plain:.1f}"))
    for name, sanitize in (("recorded, not sanitized", False), ("recorded", True)):
        taken = best(partial(tileir.record, kernel, BLOCKS, arguments, sanitize=sanitize))
        rows.append((name, f"{taken:.2f}", f"{taken / plain:.1f}"))
        lines.append(Line(f"a launch {name}", "the plain launch", taken / plain, at_most=True))
    recording = tileir.record(kernel, BLOCKS, arguments)
    questions: dict[str, Callable[[], Any]] = {
        "summary": lambda: summary_answer(recording),
        "all accesses": lambda: accesses_answer(recording, 0, len(recording.accesses)),
        "values of another tile block": lambda: values_answer(recording, int(rng.integers(BLOCKS)), 25),
        "an array, 1,000 tile blocks before or behind": lambda: array_answer(
            recording, 2, 1000 + 1000 * int(rng.integers(2)), 25
        ),
    }
    for name, question in questions.items():
        rows.append((name, f"{best(question):.2f}", ""))
    print(table(("", "seconds", "launches"), rows))
    print(f"{recording.bytes / 2**20:.0f} MiB, of which arrays {3 * 4 * count / 2**20:.0f}")
    return finish(lines, options)


if __name__ == "__main__":
    sys.exit(main())
