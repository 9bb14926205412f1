"""A module's function computes with inputs: its results, and the inputs that it changed, are written to a file."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tileir.judge.kernels.carried import dump
from tileir.judge.kernels.protocol import results_of

# Bound before foreign code can put its own in the place of these.
_CLOCK = time.perf_counter


def compute(function: Callable[[Any], Any], inputs: Any, file: str) -> float:
    """Call it, and write what came of it; gives seconds."""
    flat = results_of(inputs)
    before = [dump(value) for value in flat]
    begin = _CLOCK()
    found = function(inputs)
    seconds = _CLOCK() - begin
    changed = {}
    for number, value in enumerate(flat):
        if dump(value) != before[number]:
            changed[str(number)] = value
    results = {str(number): value for number, value in enumerate(results_of(found))}
    data = dump({"results": list(results.values()), "changed": changed}, "what it returns")
    with open(file, "wb") as written:
        written.write(data)
    return seconds
