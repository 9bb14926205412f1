"""How work grows with a program: by steps of Python, which are the same every time, or by time.

Steps are the lines that the interpreter goes through in the package's own modules, each turn of a loop counted.  They
grow by the same number for each step along a dimension, so small programs tell: between n, 2n and 4n the second
difference is twice the first for work in proportion, four times for its square.  Work inside of C (a search in a list,
a copy of a dictionary) takes no steps; time on large programs shows it.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import Any

# Twice would be in proportion; n log n between the sizes used here is below 2.35, the square is 4.
STEPS_BOUND = 2.5

# Four times the program in four times the time, and room for caches and noise; its square takes sixteen.
TIME_BOUND = 7.0

# What LLVM does while it chooses registers grows somewhat faster.
LLVM_TIME_BOUND = 9.0


def steps(work: Callable[[Any], object], prepared: Any) -> int:
    """How many lines of the package run, without sweeps of interned objects, which come once for many programs."""
    count = 0

    def line(frame: Any, event: str, argument: object) -> Any:
        nonlocal count
        count += 1
        return line

    def call(frame: Any, event: str, argument: object) -> Any:
        file = frame.f_code.co_filename
        return line if "tileir" in file and not file.endswith("interning.py") else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        work(prepared)
    finally:
        sys.settrace(before)
    return count


def step_growth(measured: Callable[[int], int], n: int) -> float:
    """The second difference of the steps at n, 2n and 4n against twice n; 2 is in proportion."""
    first, second, third = measured(n), measured(2 * n), measured(4 * n)
    # What grows by less than a step in two for each step along the dimension is no growth worth a look.
    return (third - second) / max(second - first, n)


def seconds(work: Callable[[Any], object], prepare: Callable[[], Any], rounds: int) -> float:
    """The least processor time of some rounds, without the garbage collector."""
    best = float("inf")
    for _ in range(rounds):
        prepared = prepare()
        gc.collect()
        gc.disable()
        try:
            start = time.process_time()
            work(prepared)
            best = min(best, time.process_time() - start)
        finally:
            gc.enable()
    return best
