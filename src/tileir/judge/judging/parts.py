"""Which children judge an item, and what each of them does.

Most items are judged in one child.  Where some of the work needs other processes, or must not be done where foreign
code has run, it is done in a child of its own, which gets what the one before handed over.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.judge.items import Item
from tileir.judge.judging.programs import judge_program
from tileir.judge.judging.work import Work
from tileir.judge.plans import Plan


class Part:
    """What one child does."""

    def __init__(self, judge: Callable[[Work], None], *, processes: bool = False, needs_before: bool = True) -> None:
        self.judge: Callable[[Work], None] = judge
        self.processes: bool = processes
        """Whether it may start other processes: NVIDIA's assembler is one."""
        self.needs_before: bool = needs_before
        """Whether there is nothing to do for it if the child before has died."""


def parts_of(item: Item, plan: Plan) -> list[Part]:
    """The children that judge an item, in their order."""
    return [Part(judge_program)]


def planned_steps(item: Item, plan: Plan) -> list[str]:
    """The names of the steps that a plan has for an item, in their order."""
    found = ["check"]
    for number, engine in enumerate(plan.engines):
        found += [f"run {engine}", f"compare {engine}"] if number else [f"run {engine}"]
    return found
