"""Launches that a search tries in a process of their own.

Code with warps that wait for each other may wait forever, and take the GPU along.  The process gets the program and
copies of the arrays as files, and is ended when it takes too long.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from typing import Any, Final

import numpy

from tileir.execute.gpu.arrays import synchronize
from tileir.execute.gpu.driver.devices import copy_from_gpu
from tileir.execute.gpu.loading import Launching
from tileir.execute.gpu.triton.code import Schedule, Specialization
from tileir.execute.gpu.triton.stored_code import packed_specialization
from tileir.ir.core import Operation

SECONDS: Final = 60.0
"""That the process may take; most of them it needs to begin."""
_MOST_BYTES: Final = 2 << 30
PROGRAM: Final = "program.tileirbc"
LAUNCH: Final = "launch.json"
_PROCESS: Final = "tileir.execute.gpu.triton.schedule.trial_process"


def trial_words(
    entry: Operation, fast: bool, schedule: Schedule, kind: Specialization, launching: Launching, limit: float = SECONDS
) -> str:
    """Why code with a schedule is not to be launched here; empty where a launch of it has come to an end."""
    assert launching.bound is not None, "the arguments were looked at"
    buffers = sorted([(buffer.low, buffer.high) for buffer, _ in launching.bound.buffers if buffer.low < buffer.high])
    shared = any(high > low for (_, high), (low, _) in pairwise(buffers))
    if shared or sum([high - low for low, high in buffers]) > _MOST_BYTES:
        return "not tried: its arrays share memory, or are too large for a process of its own"
    with tempfile.TemporaryDirectory(prefix="tileir-trial-") as folder:
        _write(folder, entry, fast, schedule, kind, launching)
        root = os.path.dirname(os.path.dirname(sys.modules["tileir"].__file__ or ""))
        code = f"import sys; sys.path.insert(0, {root!r}); from {_PROCESS} import main; main({folder!r})"
        try:
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return f"a launch did not end within {limit:.0f} seconds"
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        return f"a launch failed: {said[-1] if said else f'exit status {done.returncode}'}"
    return ""


def _write(
    folder: str, entry: Operation, fast: bool, schedule: Schedule, kind: Specialization, launching: Launching
) -> None:
    """All that a launch needs, as files."""
    from tileir.interface import to_bytecode

    assert launching.bound is not None and entry.parent_operation is not None
    with open(os.path.join(folder, PROGRAM), "wb") as file:
        file.write(to_bytecode(entry.parent_operation))
    given: list[Any] = [value.item() if isinstance(value, numpy.generic) else value for value in launching.values]
    for buffer, label in launching.bound.buffers:
        size = buffer.high - buffer.low
        array = numpy.empty(size, numpy.uint8)
        if size:
            low = int(launching.values[label.number]) - (buffer.address - buffer.low)
            copy_from_gpu(array.ctypes.data, low, size, launching.stream)
        synchronize(launching.stream, "copying arrays for a trial")
        name = f"array{label.number}.npy"
        numpy.save(os.path.join(folder, name), array)
        given[label.number] = {"file": name, "offset": buffer.address - buffer.low}
    described = {
        "entry": entry.symbol_name,
        "fast": fast,
        "schedule": list(schedule),
        "kind": packed_specialization(kind),
        "grid": list(launching.grid),
        "arguments": given,
    }
    with open(os.path.join(folder, LAUNCH), "w", encoding="utf-8") as file:
        json.dump(described, file)
