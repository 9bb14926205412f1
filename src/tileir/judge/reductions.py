"""Each kind of failure of a sweep with a small program that shows it.

The smallest program of a kind is reduced while it fails in the same step, in the same way, for the same reason; every
candidate is judged as the programs of the sweep are, in a confined child process.  Of a Python module, a kernel that it
launched is reduced, where it fails in one.  What is found is written to the file of results when the kind is done: a
reduction that is interrupted goes on with the next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final, Generic

from tileir.analyze.reducing.program import Program, ProgramFile, stated_launches
from tileir.analyze.reducing.reduce import ProgramKind, search_contents, search_program
from tileir.analyze.reducing.search import NotInterestingError, Search, Subject
from tileir.analyze.reducing.verdicts import Verdicts
from tileir.bytecode import is_bytecode
from tileir.execute.arguments.argument_text import LaunchWords
from tileir.execute.launching.entries import entries_of
from tileir.interface import load
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError
from tileir.judge.executor.executors import Judge, ThreadExecutor
from tileir.judge.items import Item
from tileir.judge.kernels.runs import backend_of
from tileir.judge.plans import Plan
from tileir.judge.report.clusters import FailureKind, failure_in, of_module
from tileir.judge.report.contents import contents_of
from tileir.judge.report.entries import StepFailure, SweepEntry
from tileir.judge.report.source import content_of
from tileir.judge.results.results import Results
from tileir.judge.results.store import Store
from tileir.judge.server_pool.pool import judge_chunk
from tileir.judge.verdicts.causes import reason_of
from tileir.judge.verdicts.verdict import Verdict

SECONDS: Final = 60.0
"""How long one kind of failure is reduced, unless told otherwise."""
_UNFINISHED: Final = "not finished"


@dataclass(slots=True)
class ReductionProgress:
    """How far reductions are."""

    number: int
    """Of the kind that is reduced now, from 1."""
    total: int
    name: str
    """The program that is reduced."""
    size: int
    """Of the smallest one so far: operations, or bytes of what is no program."""
    original: int
    tests: int


@dataclass(slots=True)
class Reduced:
    """What came of the reduction of one kind of failure."""

    cluster: FailureKind
    name: str
    content: bytes | None
    """The reproducer; None if there is none, and `note` says why."""
    note: str


def reduce_failures(
    path: str,
    plan: Plan,
    *,
    seconds: float = SECONDS,
    jobs: int = 1,
    judge: Judge = judge_chunk,
    progress: Callable[[ReductionProgress], None] | None = None,
    finished: Callable[[Reduced], None] | None = None,
) -> list[Reduced]:
    """Reduce each kind of failure of a file of results that has no reproducer yet, and write it to the file.

    Each is given so many `seconds`; one that was not finished goes on from where it was, when this is called again.
    `progress` is called after every test, `finished` when a kind is done and in the file.
    """
    # The threads and their servers stay from one kind to the next.
    executor = ThreadExecutor(jobs, judge)
    found: list[Reduced] = []
    is_done = False
    try:
        with Store(path) as store, ExitStack() as stack:
            store.begin(plan)
            results = stack.enter_context(Results(path, plan.digest))
            waiting = [each for each in contents_of(results).clusters if _is_waiting(each)]
            for number, cluster in enumerate(waiting, 1):
                entry = _chosen(cluster)
                if entry is None:
                    # All of its programs fail before, in another way: what shows that is a reproducer already.
                    continue
                state = ReductionProgress(number, len(waiting), entry.name, 0, 0, 0)
                reduction = _Reduction(executor, seconds, jobs, state, progress)
                reduced = _reduced(results, cluster, entry, plan, reduction)
                store.add_reproducer(entry.digest, reduced.content, reduced.note)
                found.append(reduced)
                if finished is not None:
                    finished(reduced)
        is_done = True
    finally:
        executor.close(is_done)
    return found


def _is_waiting(cluster: FailureKind) -> bool:
    return (not cluster.reproducer and not cluster.note) or cluster.note.endswith(_UNFINISHED)


def _chosen(cluster: FailureKind) -> SweepEntry | None:
    """The smallest program whose reproducer would show this kind; the one that was begun, if there is one."""
    showing = [entry for entry in cluster.entries if entry.reproduced is failure_in(cluster, entry)]
    begun = [entry for entry in showing if entry.digest == cluster.reproducer]
    return next(iter([*begun, *showing]), None)


def _reduced(results: Results, cluster: FailureKind, entry: SweepEntry, plan: Plan, reduction: _Reduction) -> Reduced:
    item = results.item(entry.digest)
    if item.kind == "unreadable":
        return Reduced(cluster, entry.name, None, "not reduced: it cannot be read")
    failure = failure_in(cluster, entry)
    try:
        before = results.reproducer(entry.digest)
        start = before[0] if before is not None else None
        if item.kind == "kernels":
            # What shows the failure of a Python module: what was made of one of its kernels before, or one it launches.
            known = in_programs(failure, plan, start, reduction.judge) if start is not None else None
            launch = known or failing_launch(item, failure, plan, reduction.judge, reduction.deadline)
            if isinstance(launch, NotFound):
                note = f"{launch.why}, {_UNFINISHED}" if launch.is_over else launch.why
                return Reduced(cluster, entry.name, None, note)
            start, failure, plan = launch.content, launch.failure, launch.plan
        elif start is None:
            start, _ = content_of(item)
        reduction.begin(failure, plan)
        made, note = reduction.contents(start) if cluster.verb == "check" else reduction.program(start)
    except NotInterestingError:
        return Reduced(cluster, entry.name, None, "not reduced: it does not fail so when it is judged again")
    except (TileIRError, ValueError, TypeError) as error:
        return Reduced(cluster, entry.name, None, f"not reduced: {error}".partition("\n")[0])
    return Reduced(cluster, entry.name, made, note)


class _Enough(KeyboardInterrupt):
    """The time is over: a search ends so with what it has."""


class _Reduction:
    """One program made smaller."""

    def __init__(
        self,
        executor: ThreadExecutor,
        seconds: float,
        jobs: int,
        state: ReductionProgress,
        progress: Callable[[ReductionProgress], None] | None,
    ) -> None:
        self._executor: ThreadExecutor = executor
        self._seconds: float = seconds
        self._jobs: int = jobs
        self._state: ReductionProgress = state
        self._progress: Callable[[ReductionProgress], None] | None = progress
        self.deadline: float = time.monotonic() + seconds
        self._is_over: bool = False
        self._is_sound: bool = False
        """Whether candidates must be without findings of the sanitizer, as the original is."""

    def begin(self, failure: StepFailure, plan: Plan) -> None:
        """From now on, reduce what fails so under a plan."""
        self._failure: StepFailure = failure
        self._plan: Plan = narrowed(plan, failure.step)
        self.deadline = time.monotonic() + self._seconds

    def judge(self, item: Item, plan: Plan) -> Verdict:
        (verdict,) = self._executor.submit([item], plan).result().verdicts
        return verdict

    def program(self, data: bytes) -> tuple[bytes, str]:
        """A program that can be read: it stays valid."""
        module = load(data)
        program = Program.original(module)
        text = "" if is_bytecode(data) else data.decode("utf-8", "replace")
        form = ProgramFile(None, stated_launches(text, program) or self._random_launches(module))
        original = len(program.operations)
        self._is_sound = self._plan.sanitize and _is_sound(self._judged(form.data(program) or data))
        # With one tile block, nothing has to tell them apart.
        single = ProgramFile(None, [LaunchWords((1,), each.arguments, each.entry) for each in form.launches])
        if self._fails_so(single.data(program) or data):
            form = single

        def test(candidate: Program) -> bool:
            written = form.data(candidate)
            return written is not None and self._fails_so(written)

        def show(search: Search[Program]) -> None:
            self._show(len(search.best.operations), original, search.tests)

        found = search_program(program, ProgramKind(True, form), _Test(test), self._jobs, Verdicts(), show)
        counts = f"{len(found.best.operations):,} of {original:,} operations"
        return form.data(found.best) or data, self._note(counts, found.tests, found.complete)

    def contents(self, data: bytes) -> tuple[bytes, str]:
        """What is no valid program: lines, words and bytes."""

        def show(search: Search[bytes]) -> None:
            self._show(len(search.best), len(data), search.tests)

        found = search_contents(data, _Test(self._fails_so), self._jobs, Verdicts(), show)
        counts = f"{len(found.best):,} of {len(data):,} bytes"
        return found.best, self._note(counts, found.tests, found.complete)

    def _show(self, size: int, original: int, tests: int) -> None:
        if self._progress is not None:
            self._progress(replace(self._state, size=size, original=original, tests=tests))
        if time.monotonic() > self.deadline:
            self._is_over = True
            raise _Enough

    def _note(self, counts: str, tests: int, is_complete: bool) -> str:
        if not is_complete and not self._is_over:
            # It was the user who has had enough.
            raise KeyboardInterrupt
        return f"reduced to {counts} in {tests:,} tests" + ("" if is_complete else f", {_UNFINISHED}")

    def _random_launches(self, module: Operation) -> list[LaunchWords]:
        """The launches that the program was judged with, stated, so that they stay what they are."""
        if not self._plan.engines and not self._plan.sanitize:
            return []
        # Imported here: it needs NumPy, which checking a program does not.
        from tileir.analyze.random_arguments import random_launch

        found = []
        several = len(entries_of(module)) > 1
        for name, entry in entries_of(module).items():
            try:
                words = random_launch(entry, self._plan.seed).words
            except TileIRError:
                # That is the failure.
                return []
            found.append(LaunchWords(words.grid, words.arguments, name if several else None))
        return found

    def _fails_so(self, data: bytes) -> bool:
        verdict = self._judged(data)
        wanted = (self._failure.step, self._failure.outcome, reason_of(self._failure.cause))
        same = any((step.name, step.outcome, reason_of(step.cause)) == wanted for step in verdict.steps)
        return same and (not self._is_sound or _is_sound(verdict))

    def _judged(self, data: bytes) -> Verdict:
        return self.judge(Item("candidate", "program", data), self._plan)


def _is_sound(verdict: Verdict) -> bool:
    return any(step.name == "sanitize" and step.outcome == "passed" for step in verdict.steps)


def narrowed(plan: Plan, step: str) -> Plan:
    """As much of a plan as shows what a step shows.

    Results may differ where a program reads what nobody wrote: candidates are looked at by the sanitizer.
    """
    verb, _, about = step.partition(" ")
    first = plan.engines[:1]
    engines: tuple[str, ...] = ()
    if verb == "run":
        engines = (about,)
    elif verb == "compare":
        engines = (*first, about) if about in plan.engines else first
    return replace(
        plan,
        optimize=plan.optimize if verb == "optimize" or about == "optimized" else None,
        engines=engines,
        sanitize=verb in ("sanitize", "compare"),
        targets=(about,) if verb == "compile" else (),
        cost=(about,) if verb == "cost" else (),
        time=False,
    )


class _Test(Generic[Subject]):
    """A test that is a function."""

    def __init__(self, function: Callable[[Subject], bool]) -> None:
        self._function: Callable[[Subject], bool] = function

    def __call__(self, candidate: Subject) -> bool:
        return self._function(candidate)

    def cancel(self) -> None:
        """A child that is under way ends by its own limits."""


# --- Python modules: a kernel that one launched, as a program that fails as the module did ---


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
