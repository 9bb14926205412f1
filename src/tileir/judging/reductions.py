"""Each kind of failure of a sweep with a small program that shows it.

The smallest program of a kind is reduced while it fails in the same step, in the same way, for the same reason; every
candidate is judged as the programs of the sweep are, in a confined child process.  Of a Python module, a kernel that it
launched is reduced, where it fails in one.  What is found is written to the file of results when the kind is done: a
reduction that is interrupted goes on with the next one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from tileir.analyze.random_arguments import random_launch
from tileir.analyze.reducing.contents import CONTENTS, reduce_contents
from tileir.analyze.reducing.program import Program, ProgramFile, stated_launches, text_of_cpp
from tileir.analyze.reducing.reduce import program_kind, reduce_program
from tileir.analyze.reducing.search import NotInterestingError, Search, Verdicts
from tileir.bytecode import is_bytecode
from tileir.execute.arguments.argument_text import LaunchDescription
from tileir.execute.launching.entries import entries_of
from tileir.interface import load
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError
from tileir.judging.executor.executors import Judge, ThreadExecutor
from tileir.judging.kernels.runs import backend_of
from tileir.judging.model import JudgePlan, JudgeStage, SweepInput, Verdict, content_of
from tileir.judging.report.contents import Contents, FailureKind, StepFailure, SweepEntry, failure_in, of_module
from tileir.judging.results.results import Results
from tileir.judging.results.store import Store
from tileir.judging.server_pool.pool import judge_chunk
from tileir.judging.verdicts.causes import reason_of
from tileir.judging.verdicts.launches import subject_of

SECONDS: Final = 60.0
"""How long one kind of failure is reduced, by default."""
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


class Reduced(NamedTuple):
    """What came of the reduction of one kind of failure."""

    cluster: FailureKind
    name: str
    content: bytes | None
    """The reproducer; None if there is none, and `note` states why."""
    note: str


def reduce_failures(
    path: str,
    plan: JudgePlan,
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
        with Store(path) as store:
            store.begin(plan)
            with Results(path, plan.digest) as results:
                kinds = Contents(results).kinds
                waiting = [k for k in kinds if not (k.reproducer or k.note) or k.note.endswith(_UNFINISHED)]
                for number, kind in enumerate(waiting, 1):
                    # The smallest program whose reproducer would show this kind; the one that was begun, if there is.
                    showing = [entry for entry in kind.entries if entry.reproduced is failure_in(kind, entry)]
                    entry = min(showing, key=lambda entry: entry.digest != kind.reproducer, default=None)
                    if entry is None:
                        # All of its programs fail before, in another way: what shows that is a reproducer already.
                        continue
                    state = ReductionProgress(number, len(waiting), entry.name, 0, 0, 0)
                    reduction = _Reduction(executor, seconds, jobs, state, progress)
                    reduced = Reduced(kind, entry.name, *reduction.reproducer(results, kind, entry, plan))
                    store.add_reproducer(entry.digest, reduced.content, reduced.note)
                    found.append(reduced)
                    if finished is not None:
                        finished(reduced)
        is_done = True
    finally:
        executor.close(is_done)
    return found


class NotReduced(Exception):
    """Why a failure has no reproducer."""


class _Enough(KeyboardInterrupt):
    """The time is over: a search ends so with what it has."""


@dataclass(slots=True)
class _Reduction:
    """One program made smaller."""

    executor: ThreadExecutor
    seconds: float
    jobs: int
    state: ReductionProgress
    progress: Callable[[ReductionProgress], None] | None
    deadline: float = math.inf
    is_over: bool = False
    is_sound: bool = False
    """Whether candidates must be without findings of the sanitizer, as the original is."""
    failure: StepFailure = field(init=False)
    plan: JudgePlan = field(init=False)

    def reproducer(
        self, results: Results, kind: FailureKind, entry: SweepEntry, plan: JudgePlan
    ) -> tuple[bytes | None, str]:
        """A smaller program, if there is one, and a note about it."""
        item, failure = results.item(entry.digest), failure_in(kind, entry)
        known, _ = results.reproducer(entry.digest) or (None, "")
        deadline = time.monotonic() + self.seconds
        try:
            if item.kind == "unreadable":
                raise NotReduced("not reduced: it cannot be read")
            if item.kind == "kernels":
                start, failure, plan = failing_launch(item, failure, plan, self.judge, deadline, known)
            else:
                start = _program_of(item) if known is None else known
            # From now on, what fails so under a plan is reduced.
            self.failure, self.plan = failure, narrowed(plan, failure.step)
            self.deadline = time.monotonic() + self.seconds
            return self._contents(start) if kind.verb == "check" else self._program(start)
        except NotReduced as error:
            return None, str(error)
        except NotInterestingError:
            return None, "not reduced: it does not fail so when it is judged again"
        except (TileIRError, ValueError, TypeError) as error:
            return None, f"not reduced: {error}".partition("\n")[0]

    def judge(self, item: SweepInput, plan: JudgePlan) -> Verdict:
        (verdict,) = self.executor.submit([item], plan).result().verdicts
        return verdict

    def _program(self, data: bytes) -> tuple[bytes, str]:
        """A program that can be read: it stays valid."""
        module = load(data)
        program = Program.original(module)
        text = "" if is_bytecode(data) else data.decode("utf-8", "replace")
        form = ProgramFile(None, stated_launches(text, program) or self._random_launches(module))
        original = len(program.operations)
        self.is_sound = self.plan.sanitize and _is_sound(self._judged(form.data(program) or data))
        # With one tile block, nothing has to depend on its number.
        single = ProgramFile(None, [LaunchDescription((1,), each.arguments, each.entry) for each in form.launches])
        if self._fails_so(single.data(program) or data):
            form = single

        def test(candidate: Program) -> bool:
            written = form.data(candidate)
            return written is not None and self._fails_so(written)

        def show(search: Search[Program]) -> None:
            self._show(len(search.best.operations), original, search.tests)

        found = Search(program, program_kind(True, form), test, Verdicts(), self.jobs, show).run(reduce_program)
        counts = f"{len(found.best.operations):,} of {original:,} operations"
        return form.data(found.best) or data, self._note(counts, found.tests, found.complete)

    def _contents(self, data: bytes) -> tuple[bytes, str]:
        """What is no valid program: lines, words and bytes."""

        def show(search: Search[bytes]) -> None:
            self._show(len(search.best), len(data), search.tests)

        found = Search(data, CONTENTS, self._fails_so, Verdicts(), self.jobs, show).run(reduce_contents)
        counts = f"{len(found.best):,} of {len(data):,} bytes"
        return found.best, self._note(counts, found.tests, found.complete)

    def _show(self, size: int, original: int, tests: int) -> None:
        if self.progress is not None:
            self.progress(replace(self.state, size=size, original=original, tests=tests))
        if time.monotonic() > self.deadline:
            self.is_over = True
            raise _Enough

    def _note(self, counts: str, tests: int, is_complete: bool) -> str:
        if not is_complete and not self.is_over:
            # It was the user who has had enough.
            raise KeyboardInterrupt
        return f"reduced to {counts} in {tests:,} tests" + ("" if is_complete else f", {_UNFINISHED}")

    def _random_launches(self, module: Operation) -> list[LaunchDescription]:
        """The launches that the program was judged with, stated, so that they stay what they are."""
        if not self.plan.backends and not self.plan.sanitize:
            return []
        entries = entries_of(module)
        try:
            found = {name: random_launch(entry, self.plan.seed).words for name, entry in entries.items()}
        except TileIRError:
            # That is the failure.
            return []
        several = len(entries) > 1
        return [
            LaunchDescription(words.grid, words.arguments, name if several else None) for name, words in found.items()
        ]

    def _fails_so(self, data: bytes) -> bool:
        verdict, failure = self._judged(data), self.failure
        same = any(step.name == failure.step and _way(step) == _way(failure) for step in verdict.steps)
        return same and (not self.is_sound or _is_sound(verdict))

    def _judged(self, data: bytes) -> Verdict:
        return self.judge(SweepInput("candidate", "program", data), self.plan)


def _program_of(item: SweepInput) -> bytes:
    if item.kind == "cpp":
        subject = subject_of(item)
        return text_of_cpp(subject.text, subject.module)
    return content_of(item)[0]


def _is_sound(verdict: Verdict) -> bool:
    return any(step.name == "sanitize" and step.outcome == "passed" for step in verdict.steps)


def narrowed(plan: JudgePlan, step: str) -> JudgePlan:
    """As much of a plan as shows what a step shows, with the sanitizer for programs that read what nobody wrote."""
    verb, _, about = step.partition(" ")
    engines = (*plan.backends[:1], *([about] if about in plan.backends else []))
    chosen: dict[str, Any] = {
        "compare": {"optimize": plan.optimize if about == "optimized" else None, "backends": engines, "sanitize": True},
        "optimize": {"optimize": plan.optimize},
        "run": {"backends": (about,)},
        "sanitize": {"sanitize": True},
        "compile": {"targets": (about,)},
        "cost": {"cost": (about,)},
    }
    return _only(plan, **chosen.get(verb, {}))


def _only(plan: JudgePlan, **chosen: Any) -> JudgePlan:
    """A plan with no steps but those that are chosen."""
    bare = replace(plan, optimize=None, backends=(), sanitize=False, targets=(), cost=(), time=False)
    return replace(bare, **chosen)


JudgeOne = Callable[[SweepInput, JudgePlan], Verdict]


class FailingLaunch(NamedTuple):
    """A program that fails as a module did."""

    content: bytes
    failure: StepFailure
    """In the step that a program has for it."""
    plan: JudgePlan


def shown_by_programs(plan: JudgePlan, failure: StepFailure) -> tuple[JudgePlan, tuple[str, ...]]:
    """The plan under which a program fails as a launched kernel did, and the steps in which it may."""
    verb, _, about = failure.step.partition(" ")
    first = backend_of(plan)
    if first == "auto":
        # All engines that this may be give the same bits.
        first = "interpreter"
    if verb == "optimize":
        return _only(plan, optimize=plan.optimize, backends=(first,)), ("optimize", "compare optimized")
    if verb == "compare":
        return _only(plan, backends=(first, about)), (failure.step, f"run {about}", f"run {first}")
    return narrowed(plan, failure.step), (failure.step,)


def failing_launch(
    item: SweepInput,
    failure: StepFailure,
    plan: JudgePlan,
    judge: JudgeOne,
    deadline: float,
    known: bytes | None = None,
) -> FailingLaunch:
    """A program that fails as a module did: the one that is `known`, or the first of its launches that does."""
    shown_by, steps = shown_by_programs(plan, failure)

    def tried(content: bytes) -> FailingLaunch | None:
        verdict = judge(SweepInput("candidate", "program", content), shown_by)
        found = [step.name for step in verdict.steps if step.name in steps and _way(step) == _way(failure)]
        return FailingLaunch(content, replace(failure, step=found[0]), shown_by) if found else None

    found = tried(known) if known is not None else None
    if found is not None:
        return found
    if not failure.is_of_launch:
        raise NotReduced(of_module(failure.step))
    # Launches are kept in the first run, so one is enough.
    verdict = judge(
        SweepInput(item.name, "launches", item.content, item.reference), replace(plan, trials=1, time=False)
    )
    made = next((step for step in verdict.steps if step.name == "programs" and step.outcome == "passed"), None)
    if made is None:
        raise NotReduced("not reduced: it does not come as far when it is run again")
    launches = [each for each in made.details["programs"] if "program" in each]
    # The one that the message is about first.
    launches.sort(key=lambda each: not failure.message.startswith(f"{each['kernel']}: "))
    for each in launches:
        for comment in each["launches"]:
            found = tried(f"{comment}\n{each['program']}\n".encode("utf-8", "surrogateescape"))
            if found is not None:
                return found
            if time.monotonic() > deadline:
                raise NotReduced(f"not reduced: none of its launches was found to fail so, {_UNFINISHED}")
    why = next((f" ({each['why']})" for each in made.details["programs"] if "why" in each), "")
    if not launches:
        raise NotReduced(f"not reduced: no launch can be written as a program{why}")
    raise NotReduced(f"not reduced: none of its launches fails so as a program{why}")


def _way(failure: JudgeStage | StepFailure) -> tuple[str, str]:
    """How something fails, whatever the step is called."""
    return failure.outcome, reason_of(failure.cause)
