"""The steps of a plan for a program, and which children do them.

Most programs are judged in one child.  Compiling and estimating the cost may start NVIDIA's assembler, which is another
process: that is done in a second child.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Final

from tileir.analyze.cost.costs import cost
from tileir.analyze.cost.targets import ProcessorTarget, target_named
from tileir.execute.engine.registry import find_engine
from tileir.execute.errors import LaunchError
from tileir.execute.gpu.tileiras.assembly import assemble
from tileir.execute.gpu.tileiras.tool import AssemblyOptions
from tileir.execute.launching.kernel import Kernel
from tileir.execute.sanitizer.report import Names, SanitizerError
from tileir.ir.core import Operation
from tileir.ir.traversal import clone
from tileir.judging.model import JudgePlan, JudgeStage
from tileir.judging.verdicts.causes import cause_of
from tileir.judging.verdicts.launches import (
    Launch,
    Results,
    Subject,
    compare_results,
    open_operations,
    ready,
    run,
    subject_of,
    time_launches,
)
from tileir.judging.verdicts.work import Part, Work
from tileir.passes.pipeline import optimize

_DEFINITION: Final = "interpreter"
"""The engine that leaves nothing open, and finds most errors."""


def parts_of(plan: JudgePlan) -> list[Part]:
    """The children that judge a program, in their order."""
    # An engine on a GPU starts a compiler.  The server that children are forked from judges no part that starts
    # processes: it must not use CUDA, which does not survive a fork.
    found = [Part(judge_program, processes=uses_gpu(plan))]
    if plan.targets or plan.cost:
        found.append(Part(judge_on_targets, processes=True, needs=("check",)))
    return found


def uses_gpu(plan: JudgePlan) -> bool:
    """Whether an engine of a plan runs kernels on a GPU; a name without an engine is reported where it is used."""
    for name in plan.backends:
        with suppress(LaunchError):
            if find_engine(name).on_gpu:
                return True
    return False


def planned_steps(plan: JudgePlan) -> list[str]:
    """The names of the steps that a plan has for a program, in their order."""
    compiled = [f"compile {target}" for target in plan.targets]
    return [*_steps_needed(plan), *compiled, *[f"cost {target}" for target in plan.cost]]


def _steps_needed(plan: JudgePlan) -> dict[str, tuple[str, ...]]:
    """The steps that need no other process, in their order, and the steps that each needs."""
    found: dict[str, tuple[str, ...]] = {"check": ()}
    if plan.optimize is not None:
        found["optimize"] = ("check",)
    first = f"run {plan.backends[0]}" if plan.backends else ""
    for number, engine in enumerate(plan.backends):
        found[f"run {engine}"] = ("check",)
        if number:
            found[f"compare {engine}"] = (first, f"run {engine}")
        elif plan.optimize is not None:
            found["compare optimized"] = (first, "optimize")
    if plan.sanitize:
        found["sanitize"] = ("check",)
    return found


def judge_program(work: Work) -> None:
    """Do all steps of the plan that need no other process."""
    steps = _ProgramSteps(work)
    for name, needs in _steps_needed(work.plan).items():
        kind, _, about = name.partition(" ")
        function = getattr(steps, kind)
        work.attempt(name, partial(function, about) if about else function, needs)


class _ProgramSteps:
    """A method for each kind of step; `check` and `optimize` come before those that need their programs."""

    _subject: Subject
    _optimized: Operation

    def __init__(self, work: Work) -> None:
        self._item, self._plan, self._threads = work.item, work.plan, work.plan.limits.threads
        self._results: dict[str, list[Results]] = {}

    def check(self, step: JudgeStage) -> None:
        self._subject = subject_of(self._item)
        step.details["operations"] = sum(1 for _ in self._subject.module.walk())

    def optimize(self, step: JudgeStage) -> None:
        level = self._plan.optimize
        assert level is not None, "the plan states it"
        self._optimized = optimize(clone(self._subject.module), level)
        step.details["operations"] = sum(1 for _ in self._optimized.walk())

    def run(self, engine: str, step: JudgeStage) -> None:
        module, launches, threads = self._subject.module, self._subject.launches(self._plan.seed), self._threads
        self._results[engine] = run(module, launches, engine, threads)
        if engine == _DEFINITION or not open_operations(module, engine):
            # They are the same on every machine.
            step.details["results"] = {each.entry: each.digest for each in self._results[engine]}
        if self._plan.time:
            step.measured["launch_seconds"] = time_launches(module, launches, engine, threads)

    def compare(self, about: str, step: JudgeStage) -> None:
        first = self._plan.backends[0]
        if about == "optimized":
            found = run(self._optimized, self._subject.launches(self._plan.seed), first, self._threads)
            compare_results(step, self._results[first], found, ("before, it", "optimized, it"), [])
        else:
            open_bits = open_operations(self._subject.module, about)
            compare_results(step, self._results[first], self._results[about], (first, about), open_bits)

    def sanitize(self, step: JudgeStage) -> None:
        for launch in self._subject.launches(self._plan.seed):
            sanitize(step, ready(self._subject.module, launch, _DEFINITION), launch, "tile")


def sanitize(
    step: JudgeStage,
    kernel: Kernel,
    launch: Launch,
    names: Names | None = None,
    *,
    is_complete: bool = False,
) -> None:
    """Launch with the sanitizer, and fail the step if it finds something; `is_complete` also finds what is not
    written."""
    try:
        kernel.launch(launch.grid, launch.arguments(), sanitize="all" if is_complete else True)
    except SanitizerError as error:
        message, findings = error.report.render(names), error.report.findings
        step.outcome = "failed"
        step.message = f"{step.message}\n\n{message}" if step.message else message
        step.cause = step.cause or cause_of(f"{findings[0].kind}: {findings[0].title}")
        found = [{"kind": each.kind, "title": each.title, "count": each.count} for each in findings]
        step.details.setdefault("findings", []).extend(found)


def judge_on_targets(work: Work) -> None:
    """Do all steps of the plan that may start the assembler, of a program that was checked."""
    subject = subject_of(work.item)
    for target in work.plan.targets:
        work.attempt(f"compile {target}", partial(compile_for, subject.module, target, work.plan))
    for target in work.plan.cost:
        work.attempt(f"cost {target}", partial(_cost, work, subject, target))


def compile_for(module: Operation, target: str, plan: JudgePlan, step: JudgeStage) -> None:
    # Ended here where the limit is: how long it took is known, and who waits for this process has not lost patience.
    made = assemble(module, target, AssemblyOptions(time_limit=plan.limits.seconds, memory_limit=plan.limits.memory))
    step.details["assembler"] = made.cubin.version
    kernels = step.details.setdefault("kernels", {})
    for name, taken in made.resources.items():
        figures = ("registers", "shared", "stack", "threads", "code", "spills")
        kernels[name] = {each: getattr(taken, each) for each in figures}


def _cost(work: Work, subject: Subject, target: str, step: JudgeStage) -> None:
    kernels: dict[str, object] = {}
    for launch in subject.launches(work.plan.seed):
        found = cost(subject.module, launch.grid, launch.arguments(), target=target, entry=launch.entry)
        about: dict[str, object] = {"bytes": found.bytes_moved, "footprint": found.footprint, "flops": found.flops}
        if isinstance(target_named(target), ProcessorTarget):
            # What this processor can do is measured.
            step.measured[f"estimated_seconds {launch.entry}"] = found.seconds
        else:
            about.update(seconds=found.seconds, notes=found.notes)
        kernels[launch.entry] = about
    step.details["kernels"] = kernels
