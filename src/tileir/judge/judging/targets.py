"""The steps for a program in which NVIDIA's assembler takes part, which is another process: compile, cost."""

from __future__ import annotations

from functools import partial

from tileir.analyze.cost.costs import cost
from tileir.analyze.cost.targets import ProcessorTarget, target_named
from tileir.execute.gpu.cubin import Resources
from tileir.execute.gpu.tileiras.assembly import assemble
from tileir.execute.gpu.tileiras.tool import AssemblyOptions
from tileir.judge.judging.subjects import Subject, subject_of
from tileir.judge.judging.work import Work
from tileir.judge.plans import Plan
from tileir.judge.verdicts import Step


def judge_on_targets(work: Work) -> None:
    """All steps of the plan that may start the assembler, of a program that was checked."""
    subject = subject_of(work.item)
    for target in work.plan.targets:
        work.attempt(f"compile {target}", partial(_compile, work, subject, target))
    for target in work.plan.cost:
        work.attempt(f"cost {target}", partial(_cost, work, subject, target))


def target_steps(plan: Plan) -> list[str]:
    """The names of these steps, in their order."""
    return [*[f"compile {target}" for target in plan.targets], *[f"cost {target}" for target in plan.cost]]


def _compile(work: Work, subject: Subject, target: str, step: Step) -> None:
    limits = work.plan.limits
    # Ended here where the limit is: how long it took is told, and who waits for this process has not lost patience.
    options = AssemblyOptions(time_limit=limits.seconds, memory_limit=limits.memory)
    made = assemble(subject.module, target, options)
    step.details["assembler"] = made.cubin.version
    step.details["kernels"] = described_resources(made.resources)


def described_resources(resources: dict[str, Resources]) -> dict[str, object]:
    """What each kernel takes of a GPU, for the table."""
    return {
        name: {
            "registers": taken.registers,
            "shared": taken.shared,
            "stack": taken.stack,
            "threads": taken.threads,
            "code": taken.code,
            "spills": taken.spills,
        }
        for name, taken in resources.items()
    }


def _cost(work: Work, subject: Subject, target: str, step: Step) -> None:
    kernels: dict[str, object] = {}
    for launch in subject.launches(work.plan.seed):
        found = cost(subject.module, launch.grid, *launch.arguments, target=target, entry=launch.entry)
        about: dict[str, object] = {
            "bytes": found.bytes_moved,
            "footprint": found.footprint,
            "flops": found.flops,
        }
        if isinstance(target_named(target), ProcessorTarget):
            # What this processor can do is measured.
            step.measured[f"estimated_seconds {launch.entry}"] = found.seconds
        else:
            about.update(seconds=found.seconds, notes=found.notes)
        kernels[launch.entry] = about
    step.details["kernels"] = kernels
