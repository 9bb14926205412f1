"""The steps for a program: read it and check it, run it on engines and compare."""

from __future__ import annotations

from functools import partial

import tileir.interface
from tileir.ir.core import Operation
from tileir.judge.judging.agreement import compare_results
from tileir.judge.judging.launches import Launch, Results, launches_of, run
from tileir.judge.judging.work import Work
from tileir.judge.verdicts import Step

NAME = "program"
"""What messages call the text of a program: its own name may be different on another machine."""


class _Program:
    """What is known of a program when steps are done."""

    def __init__(self) -> None:
        self.module: Operation | None = None
        self.launches: list[Launch] = []
        self.results: dict[str, list[Results]] = {}


def judge_program(work: Work) -> None:
    """All that needs no other process."""
    program = _Program()
    plan = work.plan
    work.attempt("check", partial(_check, work, program))
    for number, engine in enumerate(plan.engines):
        work.attempt(f"run {engine}", partial(_run, work, program, engine), ("check",))
        if number:
            first = plan.engines[0]
            needs = (f"run {first}", f"run {engine}")
            work.attempt(f"compare {engine}", partial(_compare, program, first, engine), needs)


def _check(work: Work, program: _Program, step: Step) -> None:
    module = tileir.interface.load(work.item.content, NAME)
    program.module = module
    step.details["operations"] = sum(1 for _ in module.walk())


def _run(work: Work, program: _Program, engine: str, step: Step) -> None:
    module = program.module
    assert module is not None, "it was checked"
    if not program.launches:
        program.launches = launches_of(module, work.plan.seed)
    results = run(module, program.launches, engine, work.plan.limits.threads)
    program.results[engine] = results
    step.details["results"] = {each.entry: each.digest for each in results}


def _compare(program: _Program, first: str, engine: str, step: Step) -> None:
    compare_results(step, program.results[first], program.results[engine], first, engine)
