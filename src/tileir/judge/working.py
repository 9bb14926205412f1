"""What a worker does: it judges a chunk of items and says how long that took, and who it is.

This is what is handed to executors, so it is a plain function, known by its name.  Items and plan are bytes until the
worker has found that it has the same tileir: one with another may know other fields of them."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from typing import NamedTuple

from tileir.judge.identity import machine, sources
from tileir.judge.items import Item
from tileir.judge.plans import Plan
from tileir.judge.verdicts import Verdict

Judge = Callable[[list[Item], Plan], list[Verdict]]


class Worked(NamedTuple):
    """A chunk that was judged; or, with words in `mismatch`, one that was not, since the worker has another tileir."""

    verdicts: list[Verdict]
    seconds: float
    """Of this chunk, in the worker."""
    machine: str
    mismatch: str = ""


def work(judge: Judge, items: list[Item], plan: Plan) -> Worked:
    """Judge a chunk."""
    begin = time.perf_counter()
    verdicts = judge(items, plan)
    return Worked(verdicts, time.perf_counter() - begin, machine())


def packed(items: list[Item], plan: Plan) -> bytes:
    return pickle.dumps((items, plan))


def work_elsewhere(judge: Judge, chunk: bytes, expected: str) -> Worked:
    """Judge a chunk that came `packed`; `expected` is the digest of the sources that it must be done with."""
    if expected != sources():
        return Worked([], 0.0, machine(), sources())
    items, plan = pickle.loads(chunk)
    return work(judge, items, plan)
