"""A module with kernels judged: five children one after the other, and the steps that come of them.

Called where children are started: no foreign code runs here, and what comes from a child in which some ran is taken for
what it may be, anything.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePath
from typing import Any, Final, NamedTuple, TypeAlias

from tileir.judging.cheats import cheat_cause, cheat_of
from tileir.judging.kernels.comparison import compare
from tileir.judging.kernels.launches import ModuleReport
from tileir.judging.kernels.programs import KeptLaunches, judge_launches, planned_steps, programs_of_launches
from tileir.judging.kernels.provenance import STEP as PROVENANCE
from tileir.judging.kernels.provenance import Run, judge_provenance
from tileir.judging.kernels.runs import backend_of, compute_expected, make_inputs, run_candidate
from tileir.judging.kernels.tampering import STEP as TAMPERING
from tileir.judging.kernels.values import NotCarried, read_foreign
from tileir.judging.model import JudgePlan, JudgeStage, Outcome, SweepInput
from tileir.judging.tasks.input_sets import HELD_OUT, SHOWN, InputSet
from tileir.judging.verdicts.causes import cause_of
from tileir.judging.verdicts.work import Task, Work
from tileir.processes.messages import BadMessage, checked

STEPS: Final = ("inputs", "import", "compile", "run", "launches", "results", "correct", "unchanged", "deterministic")
"""What is done to every module; those that the plan requests come after."""
_OUTCOMES: Final[tuple[Outcome, ...]] = ("failed", "refused", "memory", "forbidden")
"""What foreign code that fails may come to."""
_DIRECTORIES: Final = ("run", "held_out", "expected")
_LONGEST: Final = 4000
_LONGEST_NAME: Final = 200
_LONGEST_NOTICE: Final = 500
_KEPT: Final = re.compile(r"(?:launch|baseline)_[0-9]{1,3}\.bin", re.ASCII)


class TaskResult(NamedTuple):
    """What a task in a child process returned, None if it came to no end; its last step, and how that ended."""

    value: Any
    step: JudgeStage
    steps: Sequence[JudgeStage] = ()
    """Steps that were over before."""


@dataclass(slots=True)
class SharedReference:
    """What all candidates for a task have in common, made for the first of them: inputs, and then what is expected.

    Later candidates run while it is there, so it lies where their confinement keeps them from reading."""

    directory: str
    made: ModuleReport | None = None
    known: ModuleReport | None = None


RunTask: TypeAlias = Callable[[Task, str, bool], TaskResult]
"""Does a task in a child process: the task, where it may write, and whether foreign code runs in it."""


class _Ended(Exception):
    """A step did not pass without which the others make no sense."""


def judge_module(
    item: SweepInput,
    plan: JudgePlan,
    scratch: str,
    run_task: RunTask,
    reference: str = "",
    shared: SharedReference | None = None,
) -> list[JudgeStage]:
    """All steps of a module with kernels; `reference` is the file of the module it is judged against, itself if none.

    That is not read here, and not in `item`: the candidate's process is a fork of this one.
    Of an item of the kind `launches` it is only run, and what it launched is in the step `programs`, as programs: a
    child in which no foreign code runs makes them of what was kept, whoever wrote that.
    """
    judging = _Judging(item, plan, scratch, run_task, reference, shared)
    with suppress(_Ended):
        judging.judge()
    return judging.steps


@dataclass
class _Judging:
    item: SweepInput
    plan: JudgePlan
    scratch: str
    """Children without foreign code find in it what the others left, each in a directory of its own."""
    run_task: RunTask
    reference: str
    shared: SharedReference | None
    steps: list[JudgeStage] = field(default_factory=list)

    def judge(self) -> None:
        self.file = _file_name(self.item.name)
        plan, shared = self.plan, self.shared
        self.reference_file = f"reference_of_{self.file}" if self.reference else self.file
        self.run, self.held_out, self.expected = [os.path.join(self.scratch, name) for name in _DIRECTORIES]
        if shared is not None:
            self.reference_file, self.expected = "reference.py", shared.directory
        made = self._inputs()
        # Without requirements of a task, only results are judged, and the process is not watched.
        secret = secrets.token_hex(16) if made.required else ""
        task = self._candidate(made, self.run, secret)
        ran = self._foreign(("import", "compile", "run"), task, self.run, secret)
        run = JudgeStage("run", "passed")
        self.steps += [JudgeStage("import", "passed"), JudgeStage("compile", "passed"), run]
        candidate = KeptLaunches(self.run, ran.kept, self.item.content, self.file)
        if self.item.kind == "launches":
            self._trusted("programs", partial(programs_of_launches, candidate, plan))
            return
        self._launches(ran, made.required.get("frameworks", []))
        held_out = self._run_held_out(made, ran)
        known = shared.known if shared is not None else None
        if known is None:
            self._place_reference()
            task = partial(compute_expected, self.reference_file, self.expected, made.inputs, plan)
            known = self._foreign(("reference",), task, self.expected)
            if shared is not None:
                shared.known = known
        if made.required:
            self.steps[0].measured["seed"] = float(known.seed)
        if plan.time:
            run.measured["seconds"] = min(ran.seconds, default=0.0)
            run.measured["baseline_seconds"] = min(known.seconds, default=0.0)
        stated = made.tolerance if plan.tolerance is None else {"": [plan.tolerance, plan.tolerance]}
        places = [self._directory(each) for each in made.inputs]
        is_strict = bool(made.required.get("nonfinite"))
        compared = partial(compare, places, self.expected, made.inputs, stated, plan, nonfinite=is_strict)
        baseline = KeptLaunches(self.expected, known.kept)
        required = {**made.required, "speedup": made.speedup if plan.speedup is None else plan.speedup}
        planned = planned_steps(plan, required)
        runs = self._runs(made, places, ran)
        with_torch = "torch" in made.required.get("frameworks", [])
        followed = partial(judge_provenance, runs, plan, backend_of(plan), with_torch=with_torch)
        tasks: list[tuple[str, Task]] = [("correct", compared)]
        if made.required:
            tasks.append((PROVENANCE, followed))
        if candidate.files:
            tasks += [(name, partial(judge_launches, name, candidate, baseline, required, plan)) for name in planned]
        if self._trusted_all(tasks) and not candidate.files:
            self.steps += [JudgeStage(name, "skipped", "no launch was kept") for name in planned]
        if not with_torch:
            self._distrust(ran)
        if held_out is not None:
            self.steps = [held_out if step.name == HELD_OUT else step for step in self.steps]

    def _inputs(self) -> ModuleReport:
        """What the reference makes, and copies of it for the candidate to do with as it likes."""
        os.mkdir(self.run)
        os.mkdir(self.held_out)
        made = self.shared.made if self.shared is not None else None
        if made is None:
            made = self._make_inputs()
            if self.shared is not None:
                self.shared.made = made
        try:
            for number, each in enumerate(made.inputs):
                name = f"inputs_{number}.bin"
                data = read_foreign(self.expected, name, self.plan.limits.file_bytes)
                with open(os.path.join(self._directory(each), name), "xb") as file:
                    file.write(data)
        except NotCarried as error:
            self.steps.append(JudgeStage("inputs", "failed", str(error), cause_of(str(error))))
            raise _Ended from None
        self.steps.append(JudgeStage("inputs", "passed", details={"sets": len(made.inputs)}))
        return made

    def _make_inputs(self) -> ModuleReport:
        if self.shared is None:
            os.mkdir(self.expected)
        self._place_reference()
        task = partial(make_inputs, self.reference_file, self.expected, self.plan)
        made = self._foreign(("inputs",), task, self.expected)
        # Where nothing else keeps the candidate from reading it.
        self._remove_reference()
        return made

    def _directory(self, inputs: InputSet) -> str:
        """Where the candidate gets inputs, and leaves results."""
        return self.held_out if inputs.group == HELD_OUT else self.run

    def _candidate(self, made: ModuleReport, directory: str, secret: str) -> Task:
        numbers = [number for number, each in enumerate(made.inputs) if self._directory(each) == directory]
        return partial(run_candidate, self.item.content, self.file, directory, numbers, secret, self.plan)

    def _run_held_out(self, made: ModuleReport, ran: ModuleReport) -> JudgeStage | None:
        """Run the candidate on held-out inputs, in a process of its own; the step if that fails, without its
        message, which could reveal their shapes."""
        if not any(each.group == HELD_OUT for each in made.inputs):
            return None
        secret = secrets.token_hex(16)
        ended = self.run_task(self._candidate(made, self.held_out, secret), self.held_out, True)
        if not any(step.name == TAMPERING for step in self.steps):
            self.steps += _tampering(ended, secret)
        found, report = _report(ended, ("run",))
        if found is None:
            ran.recorded |= report.recorded
            return None
        return JudgeStage(HELD_OUT, found.outcome, f"it does not run on held-out shapes ({found.outcome})", found.cause)

    def _remove_reference(self) -> None:
        with suppress(OSError):
            os.unlink(os.path.join(self.expected, self.reference_file))

    def _place_reference(self) -> None:
        """Put the reference where its children read it, without reading it."""
        self._remove_reference()
        path = os.path.join(self.expected, self.reference_file)
        if self.reference:
            shutil.copyfile(self.reference, path)
        else:
            with open(path, "xb") as file:
                file.write(self.item.content)

    def _launches(self, ran: ModuleReport, allowed: list[str]) -> None:
        others = {name: getattr(ran, name) for name in ("not_from_kernels", "torch", "not_kept") if getattr(ran, name)}
        message = "" if sum(ran.launches.values()) else "no kernel of cuTile or Triton was launched"
        outcome: Outcome = "failed" if message else "passed"
        self.steps.append(JudgeStage("launches", outcome, message, message, {"kernels": ran.launches, **others}))
        allowed = [each for each in allowed if each != "torch"]
        wrong = sorted({*ran.frameworks.values()} - {*allowed}) if allowed else []
        if wrong:
            message = f"the task does not allow kernels of {' and '.join(wrong)}: use {' or '.join(allowed)}"
            self.steps.append(JudgeStage("frameworks", "failed", message, "a framework that the task forbids"))

    def _runs(self, made: ModuleReport, places: list[str], ran: ModuleReport) -> list[Run]:
        """The runs whose results are followed: of inputs as the reference makes them, and the first once more."""
        named = [
            (number, f"results_{number}.bin")
            for number, each in enumerate(made.inputs)
            if each.group in (SHOWN, HELD_OUT)
        ]
        found = []
        for number, name in [*named, (0, "again.bin")]:
            files = [os.path.join(self.expected, f"{each}_{number}.bin") for each in ("inputs", "expected", "state")]
            results = os.path.join(places[number], name)
            found.append(Run(files[0], files[1], files[2], results, places[number], ran.recorded.get(name)))
        return found

    def _distrust(self, ran: ModuleReport) -> None:
        """Where results cannot be followed, what the candidate's process saw of torch and of memory counts."""
        for step in self.steps:
            if step.name == PROVENANCE and step.outcome == "passed" and step.details.get("unknown"):
                name = "host-computation" if ran.torch else "result-not-from-kernels" if ran.not_from_kernels else ""
                if name:
                    operators = ", ".join(sorted(ran.torch))
                    seen = (
                        f"torch computes {operators}" if ran.torch else "results lie in memory that no kernel was given"
                    )
                    step.outcome, step.message, step.cause = "failed", f"{step.message}; {seen}", cheat_cause(name)

    def _trusted(self, name: str, task: Task) -> bool:
        """Add the steps of a task in a child without foreign code; False if it came to no end, and that is the step."""
        return self._trusted_all([(name, task)])

    def _trusted_all(self, tasks: list[tuple[str, Task]]) -> bool:
        """The same for tasks that one child does one after the other; False if the first came to no end.

        If one of them ends the child, another does the rest."""
        first = tasks[0][0]
        while tasks:
            ended = self.run_task(partial(_do_all, tasks), self.scratch, False)
            if ended.value is not None:
                self.steps += [JudgeStage(**step) for step in ended.value]
                break
            names = [name for name, _ in tasks]
            last = names.index(ended.step.name) if ended.step.name in names else 0
            self.steps += [*ended.steps, replace(ended.step, name=names[last])]
            if names[last] == first:
                return False
            tasks = tasks[last + 1 :]
        return True

    def _foreign(self, names: tuple[str, ...], task: Task, scratch: str, secret: str = "") -> ModuleReport:
        """What a child with foreign code reports; `_Ended` if one of the steps that it does failed."""
        ended = self.run_task(task, scratch, True)
        self.steps += _tampering(ended, secret)
        step, report = _report(ended, names)
        if step is None:
            return report
        known = {*[each.name for each in self.steps], step.name}
        before = STEPS[: STEPS.index(step.name)] if step.name in STEPS else ()
        self.steps += [JudgeStage(name, "passed") for name in before if name not in known]
        self.steps.append(step)
        if step.name == "run" and self.plan.sanitize and report.kept:
            # The line at which a launch went wrong, where it was a launch.
            candidate = KeptLaunches(self.run, report.kept, self.item.content, self.file)
            self._trusted("sanitize", partial(judge_launches, "sanitize", candidate, candidate, {}, self.plan))
            known.add("sanitize")
        planned = [*STEPS, *planned_steps(self.plan)]
        self.steps += [JudgeStage(name, "skipped") for name in planned if name not in {*known, *before}]
        raise _Ended


def _tampering(ended: TaskResult, secret: str) -> list[JudgeStage]:
    """The step `tampering`, of a child whose report has a secret; none if nothing was noticed."""
    noticed = [step for step in ended.steps if step.name == TAMPERING and cheat_of(step.cause)]
    if secret:
        value = ended.value if isinstance(ended.value, dict) else None
        if value is not None and not secrets.compare_digest(str(value.get("secret")), secret):
            noticed.append(
                JudgeStage(TAMPERING, "failed", "it forges the report of its run", cheat_cause("forged-report"))
            )
        elif value is None and ended.step.message == "the process ended with status 0 in the middle of it":
            noticed.append(JudgeStage(TAMPERING, "failed", ended.step.message, cheat_cause("early-exit")))
    if not noticed:
        return []
    names = [cheat_of(step.cause) for step in noticed]
    message = "\n".join([step.message[:_LONGEST_NOTICE] for step in noticed])
    return [JudgeStage(TAMPERING, "failed", message, noticed[0].cause, {"cheats": names})]


def _do_all(tasks: list[tuple[str, Task]], work: Work) -> list[dict[str, Any]]:
    """The steps of tasks; those of each are reported when the next begins, too."""
    found: list[dict[str, Any]] = []
    for _, task in tasks:
        steps: Any = task(work)
        found += steps
        work.finished = steps
    return found


def _report(ended: TaskResult, names: tuple[str, ...]) -> tuple[JudgeStage | None, ModuleReport]:
    """The step of `names` that failed in a child with foreign code, if one did, and what the child reports."""
    if ended.value is None:
        return replace(ended.step, name=ended.step.name if ended.step.name in names else names[0]), ModuleReport()
    try:
        report: ModuleReport = checked(ModuleReport, ended.value)
        is_sound = all(len(each) == 2 for each in (report.tolerance or {}).values())
        if not is_sound or not all(map(_KEPT.fullmatch, report.kept)):
            report = ModuleReport()
        elif report.failed is None:
            return None, report
    except BadMessage:
        report = ModuleReport()
    forged = JudgeStage(names[0], "failed", "it reports something else than what it did", "a forged report")
    step = report.failed or forged
    step.message, step.cause = step.message[:_LONGEST], step.cause[:_LONGEST] or cause_of(step.message)
    step.name = step.name if step.name in names else names[0]
    step.outcome = step.outcome if step.outcome in _OUTCOMES else "failed"
    return step, report


def _file_name(name: str) -> str:
    """What a module is called, as a name that every system takes: those in archives may be anything."""
    content = PurePath(name).name.replace("\0", "_").encode("utf-8", "replace")
    found = content[-_LONGEST_NAME:].decode("utf-8", "ignore")
    return "module.py" if found in ("", "..") else found
