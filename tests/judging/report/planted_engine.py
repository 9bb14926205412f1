"""An engine with planted bugs, and programs judged with it in this process.

The engine is the interpreter, given a program in which the bugs have done their work.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import tileir
from tileir.dialect import ops
from tileir.execute.engine.interface import Backend, KernelSettings, PreparedKernel
from tileir.execute.interpreter.engine import Interpreter
from tileir.execute.launching.entries import entries_of
from tileir.ir.core import Operation
from tileir.ir.traversal import clone, pre_order
from tileir.judging.model import JudgePlan, SweepInput, Verdict, verdict_of
from tileir.judging.results.store import Finished
from tileir.judging.verdicts.programs import judge_program
from tileir.judging.verdicts.work import Work

PLAN = JudgePlan(backends=("interpreter", "planted"))

Bug = Callable[[Operation], None]


class PlantedCrash(Exception):
    """What the engine ends in where a crash is planted."""


def mistaken(wrong: Any, right: Any) -> Bug:
    """A bug that takes one operation for another with the same operands and attributes."""

    def bug(operation: Operation) -> None:
        if operation.declaration is right:
            operation.declaration = wrong

    return bug


def crashing(declaration: Any) -> Bug:
    def bug(operation: Operation) -> None:
        if operation.declaration is declaration:
            raise PlantedCrash(f"no registers for {operation.name} of {operation.results[0].type}")

    return bug


WRONG_XOR = mistaken(ops.ORI, ops.XORI)
WRONG_PRODUCT = mistaken(ops.ADDF, ops.MULF)
CRASHING_MINIMUM = crashing(ops.MINF)


class Planted(Backend):
    name = "planted"
    summary = "the interpreter with planted bugs"

    def __init__(self, bugs: Iterable[Bug]) -> None:
        self._bugs = list(bugs)

    def prepare(self, entry: Operation, globals: Any, settings: KernelSettings) -> PreparedKernel:
        module = clone(entry.parent_operation)
        for operation in pre_order(module):
            for bug in self._bugs:
                bug(operation)
        return Interpreter().prepare(entries_of(module)[entry.symbol_name], globals, settings)


@contextmanager
def planted(*bugs: Bug) -> Iterator[None]:
    tileir.backends.register_backend(Planted(bugs))
    try:
        yield
    finally:
        tileir.backends.unregister_backend("planted")


OPERATIONS = ("xori", "mulf", "minf", "addi", "subi", "andi", "addf", "subf", "maxf", "absf", "muli", "maxi")


def seed(number: int, size: int = 16) -> SweepInput:
    words = {"seed": number, "family": "arithmetic", "size": size, "operations": OPERATIONS}
    return SweepInput(f"smith:{number}", "seed", json.dumps(words).encode())


def judge_here(items: list[SweepInput], plan: JudgePlan) -> list[Verdict]:
    """As `judge_chunk`, without other processes: the bugs are in this one."""
    found = []
    for item in items:
        work = Work(item, plan, "/nowhere", lambda message: None)
        judge_program(work)
        found.append(verdict_of(item, list(work.steps.values())))
    return found


def swept(items: list[SweepInput], plan: JudgePlan = PLAN) -> list[Finished]:
    return [Finished(item, verdict) for item, verdict in zip(items, judge_here(items, plan), strict=True)]
