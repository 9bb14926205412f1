"""`judge`: one candidate for one task, by the steps of a sweep."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Final

from tileir.ir.diagnostics import OptionError
from tileir.judging.errors import message_of
from tileir.judging.executor.sweep import Source, source_of
from tileir.judging.model import SweepInput
from tileir.judging.server_pool.pool import judge_chunk
from tileir.judging.tasks.judgment import Judgment, judgment_of
from tileir.judging.tasks.plans import plan_for
from tileir.judging.tasks.settings import TaskError, read_task

_OF_TASK: Final = ("inputs", "reference")
"""Steps that only the task can fail."""


def judge(
    task: str | os.PathLike[str],
    candidate: Source,
    *,
    seed: int | None = None,
    target: str | None = None,
    backend: str | None = None,
    timeout: float | None = None,
    memory_limit: int | None = None,
) -> Judgment:
    """Judge a kernel that may be wrong or dishonest: a candidate for a task (docs/tools/judge.md).

    `task` is a folder with `reference.py` and `task.json`, or a module that is a reference; `candidate` is the path of
    a Python module with kernels of cuTile or Triton, or its bytes.  It runs in confined child processes.  The `seed` of
    inputs is drawn from the system unless it is given.  `backend` runs kernels, `target` is the GPU whose time is
    estimated.  Limits are those of the task, or else `timeout` seconds and `memory_limit` bytes for all of it.

    >>> tileir.judge("examples/judged/softmax", "examples/judged/softmax_broken.py").reason
    'compile-error'
    """
    # Judging needs NumPy: without it, this import raises an error with the command that installs it.
    import_module("tileir.execute.launching.kernel")
    files = read_task(task)
    seed = int.from_bytes(os.urandom(4), "little") if seed is None else seed
    if not isinstance(seed, int) or not 0 <= seed < 1 << 32:
        raise OptionError(f"seed is a whole number from 0 to {(1 << 32) - 1}, not {seed!r}")
    plan = plan_for(files.settings, target, backend, timeout, memory_limit, prove=True)
    name = "candidate.py" if isinstance(candidate, bytes) else os.fspath(candidate)
    try:
        content = source_of(candidate)
    except OSError as error:
        raise OptionError(f"cannot read the candidate '{name}': {message_of(error)}") from None
    item = SweepInput(name, "kernels", content, files.with_seed(seed))
    verdict = judge_chunk([item], plan)[0]
    for step in verdict.steps:
        if step.name in _OF_TASK and step.outcome not in ("passed", "skipped"):
            raise TaskError(f"the task '{files.path}' cannot be judged: {step.name}: {step.message}")
    return judgment_of(files.settings.name, name, verdict, seed)
