"""The steps for a program that need no other process: check, optimize, run and compare, sanitize."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tileir.execute.sanitizer.report import SanitizerError
from tileir.ir.core import Operation
from tileir.ir.traversal import clone
from tileir.judge.causes import cause_of
from tileir.judge.judging.agreement import compare_results, open_operations
from tileir.judge.judging.launches import Results, copies, ready, run, time_launches
from tileir.judge.judging.subjects import Subject, subject_of
from tileir.judge.judging.work import Work
from tileir.judge.plans import Plan
from tileir.judge.verdicts import Step
from tileir.passes.pipeline import optimize

_DEFINITION = "interpreter"
"""The engine that leaves nothing open, and sees most mistakes."""


def judge_program(work: Work) -> None:
    """All steps of the plan that need no other process."""
    _Judging(work).judge()


def program_steps(plan: Plan) -> list[str]:
    """The names of these steps, in their order."""
    found = ["check"]
    if plan.optimize is not None:
        found.append("optimize")
    for number, engine in enumerate(plan.engines):
        found.append(f"run {engine}")
        if number:
            found.append(f"compare {engine}")
        elif plan.optimize is not None:
            found.append("compare optimized")
    if plan.sanitize:
        found.append("sanitize")
    return found


class _Judging:
    def __init__(self, work: Work) -> None:
        self._work: Work = work
        self._plan: Plan = work.plan
        self._subject: Subject | None = None
        self._optimized: Operation | None = None
        self._results: dict[str, list[Results]] = {}

    def judge(self) -> None:
        first = self._plan.engines[0] if self._plan.engines else ""
        for name in program_steps(self._plan):
            kind, _, about = name.partition(" ")
            needs: tuple[str, ...] = ("check",)
            if kind == "check":
                needs = ()
            elif kind == "compare":
                needs = (f"run {first}", "optimize" if about == "optimized" else f"run {about}")
            function: Callable[[Step], None] = getattr(self, f"_{kind}") if not about else partial(
                getattr(self, f"_{kind}"), about
            )  # fmt: skip
            self._work.attempt(name, function, needs)

    @property
    def _program(self) -> Subject:
        assert self._subject is not None, "it was checked"
        return self._subject

    def _check(self, step: Step) -> None:
        self._subject = subject_of(self._work.item)
        step.details["operations"] = sum(1 for _ in self._subject.module.walk())

    def _optimize(self, step: Step) -> None:
        level = self._plan.optimize
        assert level is not None, "the plan says so"
        self._optimized = optimize(clone(self._program.module), level)
        step.details["operations"] = sum(1 for _ in self._optimized.walk())

    def _run(self, engine: str, step: Step) -> None:
        module, launches, threads = self._program.module, self._program.launches(self._plan.seed), self._threads
        self._results[engine] = run(module, launches, engine, threads)
        if engine == _DEFINITION or not open_operations(module, engine):
            # They are the same on every machine.
            step.details["results"] = {each.entry: each.digest for each in self._results[engine]}
        if self._plan.time:
            step.measured["launch_seconds"] = time_launches(module, launches, engine, threads)

    def _compare(self, about: str, step: Step) -> None:
        first = self._plan.engines[0]
        if about == "optimized":
            assert self._optimized is not None, "it was optimized"
            found = run(self._optimized, self._program.launches(self._plan.seed), first, self._threads)
            compare_results(step, self._results[first], found, ("before, it", "optimized, it"), [])
        else:
            open_bits = open_operations(self._program.module, about)
            compare_results(step, self._results[first], self._results[about], (first, about), open_bits)

    def _sanitize(self, step: Step) -> None:
        told: list[str] = []
        findings: list[dict[str, object]] = []
        for launch in self._program.launches(self._plan.seed):
            try:
                kernel = ready(self._program.module, launch, _DEFINITION)
                kernel.launch(launch.grid, *copies(launch.arguments), sanitize=True)
            except SanitizerError as error:
                report = error.report
                told.append(report.render("tile"))
                for each in report.findings:
                    findings.append({"kind": each.kind, "title": each.title, "count": each.count})
                    step.cause = step.cause or cause_of(f"{each.kind}: {each.title}")
        if findings:
            step.outcome, step.message, step.details["findings"] = "failed", "\n\n".join(told), findings

    @property
    def _threads(self) -> int:
        return self._plan.limits.threads
