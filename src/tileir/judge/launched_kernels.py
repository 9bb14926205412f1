"""How a kernel that a Python module launched fails, as the failure of a program: for a reduction.

The module is run once more, confined as it was, and a child that is trusted makes programs of what it launched
(kernels/reproducing.py).  Which of them fails as the module did, and in which of the steps that programs have, is found
by judging them: nothing of what the module's process says is believed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from tileir.judge.items import Item
from tileir.judge.kernels.runs import backend_of
from tileir.judge.plans import Plan
from tileir.judge.report.clusters import of_module
from tileir.judge.report.entries import StepFailure
from tileir.judge.verdicts.causes import reason_of
from tileir.judge.verdicts.verdict import Verdict

JudgeOne = Callable[[Item, Plan], Verdict]


@dataclass(slots=True)
class FailingLaunch:
    """A program that fails as a module did."""

    content: bytes
    failure: StepFailure
    """In the step that a program has for it."""
    plan: Plan


@dataclass(slots=True)
class NotFound:
    """That there is none, and why."""

    why: str
    is_over: bool = False
    """Whether there may be one, and the time was over."""


def shown_by_programs(plan: Plan, failure: StepFailure) -> tuple[Plan, tuple[str, ...]]:
    """The plan under which a program fails as a launched kernel did, and the steps in which it may."""
    verb, _, about = failure.step.partition(" ")
    first = backend_of(plan)
    if first == "auto":
        # All engines that this may be give the same bits.
        first = "interpreter"
    bare = replace(plan, optimize=None, engines=(), sanitize=False, targets=(), cost=(), time=False)
    if verb == "optimize":
        return replace(bare, optimize=plan.optimize, engines=(first,)), ("optimize", "compare optimized")
    if verb == "compare":
        return replace(bare, engines=(first, about)), (failure.step, f"run {about}", f"run {first}")
    if verb == "sanitize":
        return replace(bare, sanitize=True), ("sanitize",)
    if verb == "compile":
        return replace(bare, targets=(about,)), (failure.step,)
    return replace(bare, cost=(about,)), (failure.step,)


def failing_launch(
    item: Item, failure: StepFailure, plan: Plan, judge: JudgeOne, deadline: float
) -> FailingLaunch | NotFound:
    """The first launch of a module that fails, as a program, as the module did."""
    if not failure.is_of_launch:
        return NotFound(of_module(failure.step))
    shown_by, steps = shown_by_programs(plan, failure)
    # Launches are kept in the first run, so one is enough.
    told = judge(Item(item.name, "launches", item.content, item.reference), replace(plan, trials=1, time=False))
    made = next((step for step in told.steps if step.name == "programs"), None)
    if made is None or made.outcome != "passed":
        return NotFound("not reduced: it does not come as far when it is run again")
    launches, whys = _launches(made.details.get("programs"), failure.message)
    for program, comments in launches:
        for comment in comments:
            content = f"{comment}\n{program}\n".encode("utf-8", "surrogateescape")
            found = _step_of(judge(Item("candidate", "program", content), shown_by), failure, steps)
            if found is not None:
                return FailingLaunch(content, replace(failure, step=found), shown_by)
            if time.monotonic() > deadline:
                return NotFound("not reduced: none of its launches was found to fail so", is_over=True)
    if not launches:
        return NotFound(f"not reduced: no launch can be written as a program{whys}")
    return NotFound(f"not reduced: none of its launches fails so as a program{whys}")


def in_programs(failure: StepFailure, plan: Plan, content: bytes, judge: JudgeOne) -> FailingLaunch | None:
    """How a program, made of a launch before, fails as a module does; None if it does not."""
    shown_by, steps = shown_by_programs(plan, failure)
    found = _step_of(judge(Item("candidate", "program", content), shown_by), failure, steps)
    return None if found is None else FailingLaunch(content, replace(failure, step=found), shown_by)


def _step_of(verdict: Verdict, failure: StepFailure, steps: tuple[str, ...]) -> str | None:
    """The step in which a program fails as a module did."""
    wanted = (failure.outcome, reason_of(failure.cause))
    for step in verdict.steps:
        if step.name in steps and (step.outcome, reason_of(step.cause)) == wanted:
            return step.name
    return None


def _launches(told: object, message: str) -> tuple[list[tuple[str, list[str]]], str]:
    """Programs with comments that state their launches, the one that the message is about first; and why others are
    none."""
    found: list[tuple[str, str, list[str]]] = []
    why = ""
    for each in told if isinstance(told, list) else []:
        if not isinstance(each, dict):
            continue
        kernel, program, comments = each.get("kernel"), each.get("program"), each.get("launches")
        if isinstance(kernel, str) and isinstance(program, str) and isinstance(comments, list):
            found.append((kernel, program, [str(comment) for comment in comments]))
        elif isinstance(each.get("why"), str):
            why = why or f" ({each['why']})"
    found.sort(key=lambda known: not message.startswith(f"{known[0]}: "))
    return [(program, comments) for _, program, comments in found], why
