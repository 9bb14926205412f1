"""An item judged in child processes of this one, which is the server.

A child that has judged a program is used for the next one, as forks take longer than small programs do; but only as
long as all is well.  What does not pass where others were judged before is judged again in a process of its own, and
that verdict counts.  A Python module with kernels takes several children that leave files to each other, in directories
of one scratch directory: each child may write to its own.
"""

from __future__ import annotations

import math
import pickle
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from tileir.judge.kernels.module import TaskResult, judge_module
from tileir.judge.model import FINE, MODULES, Item, Plan, Step, Verdict, verdict_of
from tileir.judge.server_pool.pool import Request, python_command
from tileir.judge.verdicts.programs import parts_of, planned_steps, uses_gpu
from tileir.judge.verdicts.work import Part, Task, Work, step_of_exit
from tileir.processes.child import CAN_FORK, Child, requests
from tileir.processes.command import run_spawned
from tileir.processes.exit_status import ExitStatus
from tileir.processes.messages import BadMessage, checked, parsed
from tileir.processes.sandbox import Sandbox, scratch_directory

_MOST_VALUE: Final = 1 << 20
"""Bytes of JSON of a task's value: a hundred times as much of memory is needed to read some."""
_LONGEST_NAME: Final = 200


@dataclass(slots=True)
class ChildMessage:
    """What a child writes: the name of a step that begins, one that is over, what a task gave, or its seconds."""

    begin: str = ""
    step: Step | None = None
    value: Any = None
    end: float | None = None


@dataclass(slots=True)
class ChildReport:
    """What a child reported of one task; nothing is believed."""

    steps: list[Step] = field(default_factory=list)
    last: str = ""
    """The last step that began."""
    value: Any = None
    seconds: float = 0.0
    output: bytes = b""
    status: ExitStatus = field(default=ExitStatus("", 0))

    def handle(self, content: bytes) -> bool:
        """Take a message; True if it is the last of the task."""
        message: ChildMessage = checked(ChildMessage, parsed(content))
        self.last = message.begin[:_LONGEST_NAME] or self.last
        if message.step is not None:
            self.steps.append(message.step)
        if message.value is not None:
            if len(content) > _MOST_VALUE:
                raise BadMessage(f"it reports more than {_MOST_VALUE >> 20} MiB")
            self.value = message.value
        if message.end is not None and math.isfinite(message.end):
            self.seconds = message.end
        return message.end is not None


class Children:
    """Judges items, one after the other, with one child at a time."""

    def __init__(self, root: str, owner: int | None = None) -> None:
        """`root` is where scratch directories are made; `owner` is a pipe that closes when nobody wants verdicts."""
        self._root: Final = root
        self._owner: Final = owner
        self._kept: _KeptChild | None = None

    def judge(self, request: Request) -> Verdict:
        item, plan = request.item, request.plan
        if item.kind in MODULES:
            # Only one child at a time: when it is over, nobody else may be there.
            self.end()
            return self._judge_kernels(request)
        parts = parts_of(plan)
        if len(parts) > 1 or plan.limits.programs_per_child < 2 or not CAN_FORK:
            self.end()
            return self._judge_apart(item, plan, parts)
        kept = self._kept
        if kept is not None and (kept.plan != plan or kept.count >= plan.limits.programs_per_child):
            self.end()
        verdict, is_first = self._judge_kept(item, plan, parts[0])
        if not is_first and _is_doubtful(verdict):
            self.end()
            verdict, _ = self._judge_kept(item, plan, parts[0])
        return verdict

    def end(self) -> None:
        """End the child that is kept, if there is one."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.end("")

    def run(self, part: Part, work: Work, deadline: float) -> ChildReport:
        """Start a child for one task and wait for its end."""
        report = ChildReport()
        sandbox = _sandbox(work.plan, work.scratch, part)
        main = partial(work.do, part.task)
        if not CAN_FORK:
            command = python_command("tileir.processes.child", "be_spawned", "")
            report.status, report.output = run_spawned(command, main, report.handle, deadline, sandbox)
            return report
        child = Child(main, sandbox)
        reason = ""
        try:
            reason = child.wait(report.handle, deadline, self._owner)
        finally:
            report.status = child.end(reason)
            report.output = bytes(child.output)
        return report

    def _judge_kept(self, item: Item, plan: Plan, part: Part) -> tuple[Verdict, bool]:
        """A verdict by the child that is kept, or a new one; and whether it had judged nothing before."""
        begun = time.perf_counter()
        kept = self._kept = self._kept or _KeptChild(plan, part, self._root)
        is_first = kept.count == 0
        try:
            report = kept.judge(item, begun + plan.limits.seconds, self._owner)
        except BaseException:
            self.end()
            raise
        if not report.status.is_finished:
            self._kept = None
            report.status = kept.end(report.status.reason)
            report.output = bytes(kept.child.output)
        return _program_verdict(item, plan, [report], begun), is_first

    def _judge_apart(self, item: Item, plan: Plan, parts: list[Part]) -> Verdict:
        """The verdict on a program by children that judge nothing else."""
        begun = time.perf_counter()
        reports: list[ChildReport] = []
        for part in parts:
            passed = {step.name for report in reports for step in report.steps if step.outcome == "passed"}
            if passed.issuperset(part.needs):
                with scratch_directory(self._root) as scratch:
                    reports.append(self.run(part, Work(item, plan, scratch), begun + plan.limits.seconds))
        return _program_verdict(item, plan, reports, begun)

    def _judge_kernels(self, request: Request) -> Verdict:
        item, plan = request.item, request.plan
        begun = time.perf_counter()
        reports: list[ChildReport] = []

        def run_task(task: Task, scratch: str, is_foreign: bool) -> TaskResult:
            part = Part(task, processes=not is_foreign)
            reports.append(self.run(part, Work(item, plan, scratch), begun + plan.limits.seconds))
            return _task_result(reports, plan)

        with scratch_directory(self._root) as scratch:
            steps = judge_module(item, plan, scratch, run_task, request.reference)
        return _verdict(item, plan, steps, reports, begun)


class _KeptChild:
    """A child that judges one program after the other."""

    def __init__(self, plan: Plan, part: Part, root: str) -> None:
        self.plan: Final = plan
        self.count: int = 0
        self._context: Final = ExitStack()
        scratch = self._context.enter_context(scratch_directory(root))
        sandbox = _sandbox(plan, scratch, part, plan.limits.programs_per_child)
        self.child: Final = Child(partial(_judge_requests, part, plan, scratch), sandbox, takes_requests=True)

    def judge(self, item: Item, deadline: float, owner: int | None) -> ChildReport:
        self.count += 1
        self.child.output.clear()
        report = ChildReport()
        if not self.child.request(pickle.dumps(item), deadline):
            # It is dead, or does not listen: waiting shows which.
            deadline = min(deadline, time.perf_counter() + 1.0)
        reason = self.child.wait(report.handle, deadline, owner)
        report.status = ExitStatus(reason, 0, self.child.peak_bytes())
        report.output = bytes(self.child.output)
        return report

    def end(self, reason: str) -> ExitStatus:
        with self._context:
            return self.child.end(reason)


def _is_doubtful(verdict: Verdict) -> bool:
    """Whether the programs that a child has judged before may be the reason for a verdict.

    Reading and checking is done by code that keeps nothing, and a limit of time is reached with or without them.
    """
    return verdict.outcome not in ("passed", "timeout") and verdict.steps[0].outcome != "failed"


def _sandbox(plan: Plan, scratch: str, part: Part, programs: int = 1) -> Sandbox:
    limits, gpu = plan.limits, uses_gpu(plan)
    cpu_seconds = limits.seconds * max(limits.threads, 1) * programs
    memory = None if gpu else limits.memory
    return Sandbox(
        scratch, cpu_seconds, memory, limits.file_bytes, limits.output_bytes, limits.threads, part.processes, gpu
    )


def _program_verdict(item: Item, plan: Plan, reports: list[ChildReport], begun: float) -> Verdict:
    """The verdict on a program from what its children reported, one after the other."""
    done: dict[str, Step] = {}
    ended_in = ""
    for report in reports:
        done.update({step.name: step for step in report.steps})
        if not report.status.is_finished:
            last = report.last or "start"
            ended_in = ended_in or last
            done[last] = step_of_exit(last, report.status, report.output, plan.limits.seconds)
    message = f"'{ended_in}' ended the process" if ended_in else "'check' did not pass"
    # In the order of the plan, whichever child did them.
    planned = {name: Step(name, "skipped", message) for name in planned_steps(plan)}
    return _verdict(item, plan, list({**planned, **done}.values()), reports, begun)


def _verdict(item: Item, plan: Plan, steps: list[Step], reports: list[ChildReport], begun: float) -> Verdict:
    output = b"".join([report.output for report in reports]).decode("utf-8", "replace")
    seconds = time.perf_counter() - begun
    peak = max([report.status.peak_bytes for report in reports], default=0)
    overhead = max(seconds - sum([report.seconds for report in reports]), 0.0)
    measured = {"seconds": seconds, "peak_bytes": float(peak), "overhead_seconds": overhead}
    return verdict_of(item, steps, output[: plan.limits.output_bytes], measured)


def _task_result(reports: list[ChildReport], plan: Plan) -> TaskResult:
    """What came of the task of the last child."""
    report = reports[-1]
    if not report.status.is_finished:
        output = b"".join([each.output for each in reports])
        return TaskResult(None, step_of_exit(report.last, report.status, output, plan.limits.seconds))
    # Foreign code reported something in the place of the task.
    message = "it says that it is over, and not what it did"
    step = Step(report.last, "forbidden", message, message)
    if report.value is not None:
        step = Step(report.last, "passed")
    elif report.steps and report.steps[-1].outcome not in FINE:
        # What the task itself could not help: a limit, or a defect.
        last = report.steps[-1]
        step = Step(report.last, last.outcome, last.message, last.cause)
    return TaskResult(report.value, step)


# --- in the child ---


def _judge_requests(part: Part, plan: Plan, scratch: str) -> None:
    """Judge what comes, until nothing does."""
    for request in requests():
        # The parent is trusted.
        Work(pickle.loads(request), plan, scratch).do(part.task)
