"""A program judged in child processes of this one, which is the server.

A child that has judged a program is used for the next one, as forks take longer than small programs do; but only as
long as all is well.  What does not pass where others were judged before is judged again in a process of its own, and
that verdict counts.  A scratch directory goes with its child.
"""

from __future__ import annotations

import pickle
import time
from functools import partial
from typing import Final, NamedTuple

from tileir.judge.child_processes import REQUESTS, Child, Told, tell_parent
from tileir.judge.confinement.confine import Confinement
from tileir.judge.deaths import Ending, ended_step
from tileir.judge.items import Item
from tileir.judge.judging.parts import Part, parts_of, planned_steps, uses_gpu
from tileir.judge.judging.work import Work
from tileir.judge.messages import REQUEST, frame, read_frame
from tileir.judge.plans import Plan
from tileir.judge.scratch import Scratch
from tileir.judge.spawning import CAN_FORK, run_spawned
from tileir.judge.verdicts import Step, Verdict, verdict_of


class Children:
    """Judges programs; keeps a child from one to the next."""

    def __init__(self, root: str, owner: int | None = None) -> None:
        """`root` is where scratch directories are made; `owner` is a pipe that closes when nobody wants verdicts."""
        self._root: Final = root
        self._owner: Final = owner
        self._kept: _Kept | None = None

    def judge(self, item: Item, plan: Plan) -> Verdict:
        """The verdict on a program."""
        parts = parts_of(item, plan)
        if len(parts) > 1 or plan.limits.programs_per_child < 2 or not CAN_FORK:
            # Only one child at a time: when it is over, nobody else may be there.
            self.end()
            return judge_in_children(item, plan, self._root, self._owner)
        kept = self._kept
        if kept is not None and (kept.plan != plan or kept.count >= plan.limits.programs_per_child):
            self.end()
        verdict, is_alone = self._judge_kept(item, plan, parts[0])
        if not is_alone and _is_doubtful(verdict):
            self.end()
            verdict, _ = self._judge_kept(item, plan, parts[0])
        return verdict

    def end(self) -> None:
        """End the child that is kept, if there is one."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.end("")

    def _judge_kept(self, item: Item, plan: Plan, part: Part) -> tuple[Verdict, bool]:
        """A verdict by the child that is kept, or a new one; and whether it had judged nothing before."""
        begun = time.perf_counter()
        kept = self._kept
        if kept is None:
            kept = self._kept = _Kept(plan, part, self._root)
        is_alone = kept.count == 0
        told = Told([], [], [], [], bytearray())
        try:
            how = kept.judge(item, told, begun + plan.limits.seconds, self._owner)
        except BaseException:
            self.end()
            raise
        ending = Ending(how, 0, kept.child.peak())
        if not ending.is_orderly:
            self._kept = None
            ending = kept.end(how, told)
        return _Judged(item, plan, [(told, ending)]).verdict(time.perf_counter() - begun), is_alone


def _is_doubtful(verdict: Verdict) -> bool:
    """Whether the programs that a child has judged before may be the reason for a verdict.

    Reading and checking is done by code that keeps nothing, and a limit of time is reached with or without them.
    """
    return verdict.outcome not in ("passed", "timeout") and verdict.steps[0].outcome != "failed"


class _Kept:
    """A child that judges one program after the other."""

    def __init__(self, plan: Plan, part: Part, root: str) -> None:
        self.plan: Final = plan
        self.count: int = 0
        self._scratch: Final = Scratch(root)
        self._scratch.__enter__()
        main = partial(_judge_requests, part, plan, self._scratch.path)
        wanted = _confinement(plan, self._scratch.path, part, plan.limits.programs_per_child)
        self.child: Final = Child(main, wanted, self._scratch, listens=True)

    def judge(self, item: Item, told: Told, deadline: float, owner: int | None) -> str:
        self.count += 1
        if not self.child.ask(frame(REQUEST, pickle.dumps(item)), deadline):
            # It is dead, or does not listen: waiting tells which.
            deadline = min(deadline, time.perf_counter() + 1.0)
        return self.child.wait(told, deadline, owner)

    def end(self, how: str, told: Told | None = None) -> Ending:
        try:
            return self.child.end(how, told or Told([], [], [], [], bytearray()))
        finally:
            self._scratch.__exit__()


def judge_in_children(item: Item, plan: Plan, root: str, owner: int | None = None) -> Verdict:
    """The verdict on a program by children that judge nothing else."""
    begun = time.perf_counter()
    judged = _Judged(item, plan, [])
    handed = b""
    for part in parts_of(item, plan):
        if not judged.passed.issuperset(part.needs):
            continue
        with Scratch(root) as scratch:
            told = Told([], [], [], [], bytearray())
            work = Work(item, plan, scratch.path, handed, tell_parent)
            ending = run_part(part, work, told, scratch, begun + plan.limits.seconds, owner)
        handed = told.handed[-1] if told.handed else b""
        judged.children.append((told, ending))
    return judged.verdict(time.perf_counter() - begun)


def run_part(part: Part, work: Work, told: Told, scratch: Scratch, deadline: float, owner: int | None) -> Ending:
    """Start a child for one thing and wait for its end."""
    if not CAN_FORK:
        return run_spawned(part, work, told, deadline)
    child = Child(partial(work.do, part.judge), _confinement(work.plan, work.scratch, part), scratch)
    how = ""
    try:
        how = child.wait(told, deadline, owner)
    finally:
        ending = child.end(how, told)
    return ending


def _confinement(plan: Plan, scratch: str, part: Part, programs: int = 1) -> Confinement:
    return Confinement(scratch, plan.limits, part.processes, uses_gpu(plan), programs)


class _Judged(NamedTuple):
    """What children told of a program, one after the other."""

    item: Item
    plan: Plan
    children: list[tuple[Told, Ending]]

    @property
    def passed(self) -> set[str]:
        return {step.name for told, _ in self.children for step in told.steps if step.outcome == "passed"}

    def verdict(self, seconds: float) -> Verdict:
        done: dict[str, Step] = {}
        died = ""
        output = bytearray()
        for told, ending in self.children:
            done.update({step.name: step for step in told.steps})
            output += told.output
            if not ending.is_orderly:
                last = told.begun[-1] if told.begun else "start"
                died = died or last
                done[last] = ended_step(last, ending, bytes(told.output), self.plan.limits)
        words = f"'{died}' ended the process" if died else "'check' did not pass"
        planned = planned_steps(self.item, self.plan)
        # In the order of the plan, whoever did them.
        steps = [done.get(name) or Step(name, "skipped", words) for name in planned]
        steps += [step for name, step in done.items() if name not in planned]
        work = sum([sum(told.seconds) for told, _ in self.children])
        peak = max([ending.peak for _, ending in self.children])
        measured = {"seconds": seconds, "peak_bytes": float(peak), "overhead_seconds": max(seconds - work, 0.0)}
        return verdict_of(self.item, steps, output.decode("utf-8", "replace"), measured)


# --- in the child ---


def _judge_requests(part: Part, plan: Plan, scratch: str) -> None:
    """Judge what comes, until nothing does."""
    while (found := read_frame(REQUESTS)) is not None:
        # The parent is trusted.
        item = pickle.loads(found[1])
        Work(item, plan, scratch, b"", tell_parent).do(part.judge)
