"""The process that starts children: it has everything imported and warm, so that a child costs no more than a fork.

It is started by `pool`, reads from standard input what to judge, writes verdicts to standard output, and ends when its
owner does.  It has one thread.

A child that has judged a program is used for the next one, as forks take longer than small programs do; but only as
long as all is well.  What does not pass where others were judged before is judged again in a process of its own, and
that verdict counts.  A Python module with kernels takes several children that leave files to each other, in directories
of one scratch directory: each child may write to its own.
"""

from __future__ import annotations

import faulthandler
import gc
import math
import os
import pickle
import shutil
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Final

from tileir.judging.kernels.module import SharedReference, TaskResult, judge_module
from tileir.judging.kernels.tampering import STEP as TAMPERING
from tileir.judging.model import FINE, MODULES, JudgePlan, JudgeStage, SweepInput, Verdict, verdict_of
from tileir.judging.server_pool.helper import Helper
from tileir.judging.server_pool.pool import Request, not_started, python_command
from tileir.judging.server_pool.warm_up import warm_launch, warm_steps, warm_up
from tileir.judging.tasks.judgment import add_judgment
from tileir.judging.verdicts.programs import parts_of, planned_steps, uses_gpu
from tileir.judging.verdicts.work import Part, Task, Work, step_of_exit
from tileir.processes import landlock
from tileir.processes.child import CAN_FORK, Child, OwnerGone, requests
from tileir.processes.command import run_spawned
from tileir.processes.exit_status import ExitStatus
from tileir.processes.linux import adopt_descendants
from tileir.processes.messages import BadMessage, checked, parsed, read_frame, send
from tileir.processes.sandbox import Sandbox, scratch_directory

_MOST_VALUE: Final = 1 << 20
"""Bytes of JSON of a task's value: a hundred times as much of memory is needed to read some."""
_LONGEST_NAME: Final = 200
_MOST_SHARED: Final = 4
"""Tasks whose inputs and expected results are kept."""


@dataclass(slots=True)
class ChildMessage:
    """What a child writes: the name of a step that begins, those that are over, a task's result, or its seconds."""

    begin: str = ""
    steps: list[JudgeStage] = field(default_factory=list)
    step: JudgeStage | None = None
    value: Any = None
    end: float | None = None


@dataclass(slots=True)
class ChildReport:
    """What a child reported of one task; nothing is believed."""

    steps: list[JudgeStage] = field(default_factory=list)
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
        self.steps += [*message.steps, *([message.step] if message.step is not None else [])]
        if message.value is not None:
            if len(content) > _MOST_VALUE:
                raise BadMessage(f"it reports more than {_MOST_VALUE >> 20} MiB")
            self.value = message.value
        if message.end is not None and math.isfinite(message.end):
            self.seconds = message.end
        return message.end is not None


class Children:
    """Judges items, one after the other, with one child at a time."""

    def __init__(self, root: str, owner: int | None = None, helper: Helper | None = None) -> None:
        """`root` is where scratch directories are made; `owner` is a pipe that closes when nobody needs verdicts;
        `helper` starts children without foreign code."""
        self._root: Final = root
        self._owner: Final = owner
        self._helper: Final = helper
        self._kept: _KeptChild | None = None
        self._shared: dict[tuple[str, JudgePlan], SharedReference] = {}

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
        report, main = ChildReport(), partial(work.do, part.task)
        sandbox = _sandbox(work.plan, work.scratch, part)
        if not CAN_FORK:
            command = python_command("tileir.processes.child", "be_spawned", "")
            report.status, report.output = run_spawned(command, main, report.handle, deadline, sandbox)
            return report
        child, reason = Child(main, sandbox), ""
        try:
            reason = child.wait(report.handle, deadline, self._owner)
        finally:
            report.status = child.end(reason)
        report.output = bytes(child.output)
        return report

    def _judge_kept(self, item: SweepInput, plan: JudgePlan, part: Part) -> tuple[Verdict, bool]:
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

    def _judge_apart(self, item: SweepInput, plan: JudgePlan, parts: list[Part]) -> Verdict:
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
        begun, seconds = time.perf_counter(), plan.limits.seconds
        reports: list[ChildReport] = []

        def run_task(task: Task, scratch: str, is_foreign: bool) -> TaskResult:
            part, work, deadline = Part(task, processes=not is_foreign), Work(item, plan, scratch), begun + seconds
            if is_foreign or self._helper is None:
                reports.append(self.run(part, work, deadline))
            else:
                reports.append(self._helper.ask((plan, (part, work, deadline))))
            return _task_result(reports, plan)

        with scratch_directory(self._root) as scratch:
            steps = judge_module(item, plan, scratch, run_task, request.reference, self._shared_reference(request))
        verdict = _verdict(item, plan, steps, reports, begun)
        if request.is_task:
            add_judgment(verdict)
        return verdict

    def _shared_reference(self, request: Request) -> SharedReference | None:
        """What candidates for a task share, where they are kept from reading it."""
        if not request.is_task or not landlock.version():
            return None
        key = request.reference, request.plan
        if key not in self._shared:
            if len(self._shared) == _MOST_SHARED:
                oldest = self._shared.pop(next(iter(self._shared)))
                shutil.rmtree(oldest.directory, ignore_errors=True)
            self._shared[key] = SharedReference(tempfile.mkdtemp(prefix="shared-", dir=self._root))
        return self._shared[key]


class _KeptChild:
    """A child that judges one program after the other."""

    def __init__(self, plan: JudgePlan, part: Part, root: str) -> None:
        self.plan: Final = plan
        self.count: int = 0
        self._context: Final = ExitStack()
        scratch = self._context.enter_context(scratch_directory(root))
        sandbox = _sandbox(plan, scratch, part, plan.limits.programs_per_child)
        self.child: Final = Child(partial(_judge_requests, part, plan, scratch), sandbox, takes_requests=True)

    def judge(self, item: SweepInput, deadline: float, owner: int | None) -> ChildReport:
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
    """Whether earlier programs may be the reason: not where one cannot be read, or its time is over."""
    return verdict.outcome not in ("passed", "timeout") and verdict.steps[0].outcome != "failed"


def _sandbox(plan: JudgePlan, scratch: str, part: Part, programs: int = 1) -> Sandbox:
    limits, gpu = plan.limits, uses_gpu(plan)
    cpu_seconds, memory = limits.seconds * limits.threads * programs, None if gpu else limits.memory
    sizes = (limits.file_bytes, limits.output_bytes, limits.threads)
    return Sandbox(scratch, cpu_seconds, memory, *sizes, part.processes, gpu)


def _program_verdict(item: SweepInput, plan: JudgePlan, reports: list[ChildReport], begun: float) -> Verdict:
    """The verdict on a program from what its children reported, one after the other."""
    done: dict[str, JudgeStage] = {}
    ended_in = ""
    for report in reports:
        done.update({step.name: step for step in report.steps})
        if not report.status.is_finished:
            last = report.last or "start"
            ended_in = ended_in or last
            done[last] = step_of_exit(last, report.status, report.output, plan.limits.seconds)
    message = f"'{ended_in}' ended the process" if ended_in else "'check' did not pass"
    # In the order of the plan, whichever child did them.
    planned = {name: JudgeStage(name, "skipped", message) for name in planned_steps(plan)}
    return _verdict(item, plan, list({**planned, **done}.values()), reports, begun)


def _verdict(
    item: SweepInput, plan: JudgePlan, steps: list[JudgeStage], reports: list[ChildReport], begun: float
) -> Verdict:
    output = b"".join([report.output for report in reports]).decode("utf-8", "replace")
    seconds = time.perf_counter() - begun
    peak = float(max([report.status.peak_bytes for report in reports], default=0))
    overhead = max(seconds - sum([report.seconds for report in reports]), 0.0)
    measured = {"seconds": seconds, "peak_bytes": peak, "overhead_seconds": overhead}
    return verdict_of(item, steps, output[: plan.limits.output_bytes], measured)


def _task_result(reports: list[ChildReport], plan: JudgePlan) -> TaskResult:
    report = reports[-1]
    if not report.status.is_finished:
        output = b"".join([each.output for each in reports])
        ended = step_of_exit(report.last, report.status, output, plan.limits.seconds)
        return TaskResult(None, ended, report.steps)
    if report.value is not None:
        return TaskResult(report.value, JudgeStage(report.last, "passed"), report.steps)
    steps = [step for step in report.steps if step.name != TAMPERING]
    if steps and steps[-1].outcome not in FINE:
        # What the task itself could not help: a limit, or a defect.
        last = steps[-1]
        return TaskResult(None, JudgeStage(report.last, last.outcome, last.message, last.cause), report.steps)
    # Foreign code sent a report instead of the task.
    message = "it reports its end, and not what it did"
    return TaskResult(None, JudgeStage(report.last, "forbidden", message, message))


def _judge_requests(part: Part, plan: JudgePlan, scratch: str) -> None:
    """Judge what comes, until nothing does."""
    for request in requests():
        # The parent is trusted.
        Work(pickle.loads(request), plan, scratch).do(part.task)


def main(root: str) -> None:
    """Serve until the owner is gone; scratch directories are made below `root`."""
    owner, verdicts = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    # Nothing that is printed here by accident goes among the verdicts.
    os.dup2(2, 1)
    os.close(nothing)
    adopt_descendants()
    # What a child was in the middle of when it crashed is a part of its output.
    faulthandler.enable(all_threads=False)
    known: set[tuple[str, JudgePlan]] = set()
    children, helper = Children(root, owner), None
    try:
        while (content := read_frame(owner)) is not None:
            # The owner is trusted, as it started this process.
            request: Request = pickle.loads(content)
            if CAN_FORK and helper is None and request.item.kind in MODULES:
                children.end()
                helper = Helper(partial(_answer, root, set()), owner)
                # It gets ready while this process imports what candidates need.
                helper.send((request.plan, None))
                children = Children(root, owner, helper)
            if CAN_FORK and warm_up(request, known):
                # Children that collect garbage would write to, and so copy, what they share with this process.
                gc.collect()
                gc.freeze()
            try:
                verdict = children.judge(request)
            except (OwnerGone, BrokenPipeError):
                raise
            except Exception as error:
                # A full disk, or a defect: of this item, and not of those that come after it.
                verdict = not_started(request.item, f"it cannot be judged: {type(error).__name__}: {error}")
            send(verdicts, asdict(verdict))
    except (OwnerGone, BrokenPipeError, KeyboardInterrupt):
        return
    finally:
        children.end()
        if helper is not None:
            helper.close()
        # Also if the owner was killed, and cannot do it.
        shutil.rmtree(root, ignore_errors=True)


def _answer(root: str, known: set[JudgePlan], owner: int, request: tuple[JudgePlan, Any]) -> ChildReport | None:
    """What the helper does: get ready for a plan, and run a child."""
    plan, run = request
    if plan not in known:
        if not known:
            adopt_descendants()
        known.add(plan)
        warm_steps(plan)
        warm_launch()
        gc.collect()
        gc.freeze()
    return Children(root, owner).run(*run) if run is not None else None
