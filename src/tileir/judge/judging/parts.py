"""Which children judge an item, and what each of them does.

Most items are judged in one child.  Where some of the work needs other processes, or must not be done where foreign
code has run, it is done in a child of its own, which gets what the one before handed over.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.execute.engine.registry import find_engine
from tileir.execute.errors import LaunchError
from tileir.judge.items import Item
from tileir.judge.judging.programs import judge_program, program_steps
from tileir.judge.judging.targets import judge_on_targets, target_steps
from tileir.judge.judging.work import Work
from tileir.judge.plans import Plan


class Part:
    """What one child does."""

    def __init__(self, judge: Callable[[Work], None], *, processes: bool = False, needs: tuple[str, ...] = ()) -> None:
        self.judge: Callable[[Work], None] = judge
        self.processes: bool = processes
        """Whether it may start other processes: NVIDIA's assembler is one."""
        self.needs: tuple[str, ...] = needs
        """Steps of children before without which there is nothing to do for it."""


def parts_of(item: Item, plan: Plan) -> list[Part]:
    """The children that judge a program, in their order."""
    # An engine on a GPU starts a compiler.  The server that children are forked from judges no part that starts
    # processes: it must not use CUDA, which does not survive a fork.
    found = [Part(judge_program, processes=uses_gpu(plan))]
    if plan.targets or plan.cost:
        found.append(Part(judge_on_targets, processes=True, needs=("check",)))
    return found


def uses_gpu(plan: Plan) -> bool:
    """Whether an engine of a plan runs kernels on a GPU; a name without an engine is reported where it is used."""
    for name in plan.engines:
        try:
            if find_engine(name).on_gpu:
                return True
        except LaunchError:
            pass
    return False


def planned_steps(item: Item, plan: Plan) -> list[str]:
    """The names of the steps that a plan has for a program, in their order."""
    return [*program_steps(plan), *target_steps(plan)]
