"""A Python module with kernels judged in child processes of this one, which is the server.

Unlike a program it takes several children that leave files to each other, in directories of one scratch directory: each
child may write to its own.
"""

from __future__ import annotations

import json
import os
import time
from functools import partial
from typing import Final

from tileir.judge.child_processes import Told, tell_parent
from tileir.judge.children import run_part
from tileir.judge.deaths import ended_step
from tileir.judge.ended import Ended, Task
from tileir.judge.items import Item
from tileir.judge.judging.parts import Part
from tileir.judge.judging.work import Work
from tileir.judge.kernels.judging import judge_module, launched_programs
from tileir.judge.plans import Plan
from tileir.judge.requests import Request
from tileir.judge.scratch import Scratch
from tileir.judge.verdicts import Step, Verdict, verdict_of

_MOST_TOLD: Final = 1 << 20
"""Bytes of JSON that a task gives: a hundred times as much of memory is needed to read some."""


def judge_kernels_in_children(request: Request, root: str, owner: int | None = None) -> Verdict:
    """The verdict on a module; `root` and `owner` are those of `judge_in_children`."""
    item, plan = request.item, request.plan
    begun = time.perf_counter()
    with Scratch(root) as scratch:
        children = _Children(item, plan, root, begun + plan.limits.seconds, owner)
        judge = launched_programs if item.kind == "launches" else judge_module
        steps = judge(item, plan, scratch.path, children.in_child, request.reference)
    seconds = time.perf_counter() - begun
    measured = {
        "seconds": seconds,
        "peak_bytes": float(children.peak),
        "overhead_seconds": max(seconds - children.work_seconds, 0.0),
    }
    return verdict_of(item, steps, children.output.decode("utf-8", "replace"), measured)


class _Children:
    """The children of one item, one after the other."""

    def __init__(self, item: Item, plan: Plan, root: str, deadline: float, owner: int | None) -> None:
        self._item: Item = item
        self._plan: Plan = plan
        self._root: str = root
        self._deadline: float = deadline
        self._owner: int | None = owner
        self.output: bytearray = bytearray()
        self.peak: int = 0
        self.work_seconds: float = 0.0

    def in_child(self, task: Task, *, scratch: str, is_foreign: bool) -> Ended:
        """Do a task in a child that may write to `scratch`."""
        told = Told([], [], [], [], self.output)
        work = Work(self._item, self._plan, scratch, b"", tell_parent)
        part = Part(partial(_do, task), processes=not is_foreign)
        ending = run_part(part, work, told, Scratch.at(scratch), self._deadline, self._owner)
        self.peak = max(self.peak, ending.peak)
        self.work_seconds += sum(told.seconds)
        last = told.begun[-1] if told.begun else ""
        if not ending.is_orderly:
            step = ended_step(last, ending, bytes(self.output), self._plan.limits)
        elif told.handed:
            return _told(told.handed[-1], last)
        else:
            # What the task itself could not help: a limit, or a defect.
            step = told.steps[-1] if told.steps else Step(last, "skipped")
        if step.outcome in ("passed", "skipped"):
            return _forged("it says that it is over, and not what it did", last)
        return Ended(None, step.outcome, step.message, step.cause, last)


def _told(content: bytes, last: str) -> Ended:
    """What a task gave, as its child tells it."""
    if len(content) > _MOST_TOLD:
        return _forged(f"it tells more than {_MOST_TOLD >> 20} MiB", last)
    try:
        return Ended(json.loads(content), "passed", step=last)
    except (ValueError, RecursionError):
        return _forged("what it wrote is no JSON", last)


def _forged(words: str, last: str) -> Ended:
    """Of a child in which foreign code told something in the place of the task."""
    return Ended(None, "forbidden", words, words, last)


def _do(task: Task, work: Work) -> None:
    os.environ.pop("TILEIR_EMULATE", None)
    work.hand_over(json.dumps(task(work.begin)).encode())
