"""A module with kernels judged: five children one after the other, and the steps that come of them.

Called where children are started: no foreign code runs here, and what comes from a child in which some ran is taken for
what it may be, anything.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import PurePath
from typing import Any, NamedTuple, Protocol

from tileir.judge.items import Item
from tileir.judge.kernels.comparison import compare
from tileir.judge.kernels.programs import KeptLaunches, aspects_of, judge_programs, programs_of_launches, step_name
from tileir.judge.kernels.runs import ModuleReport, compute_expected, make_inputs, run_candidate
from tileir.judge.kernels.values import NotReadable, read_foreign
from tileir.judge.plans import Plan
from tileir.judge.verdicts.causes import cause_of
from tileir.judge.verdicts.verdict import FINE, Outcome, Step
from tileir.judge.verdicts.work import Task

STEPS = ("inputs", "import", "compile", "run", "launches", "results", "correct", "unchanged", "deterministic")
"""What is done to every module; those that the plan asks for come after."""
_OUTCOMES: tuple[Outcome, ...] = ("failed", "refused", "memory", "forbidden")
_LONGEST = 4000
_LONGEST_NAME = 200
_MOST_COUNTED = 1 << 53


class TaskResult(NamedTuple):
    """What came of a task in a child process, which is gone with all that it started."""

    value: Any
    """What the task returned; None if it did not come to that."""
    step: Step
    """The last step that it began, and how that ended."""


class RunTask(Protocol):
    """Does a task in a child process with the limits of a plan."""

    def __call__(self, task: Task, *, scratch: str, is_foreign: bool) -> TaskResult:
        """`scratch` is where it may write; a task with foreign code may start no processes."""
        ...


def judge_module(item: Item, plan: Plan, scratch: str, run_task: RunTask, reference: str = "") -> list[Step]:
    """All steps of a module with kernels; `reference` is the file of the module it is judged against, itself if none.

    That is not read here, and not in `item`: the candidate's process is a fork of this one.
    """
    judging = _Judging(item, plan, scratch, run_task, reference)
    judging.judge()
    return judging.steps


def launched_programs(item: Item, plan: Plan, scratch: str, run_task: RunTask, reference: str = "") -> list[Step]:
    """Run a module as `judge_module` does and give what it launched as programs, in the step `programs`: a child in
    which no foreign code runs makes them of what was kept, whoever wrote that."""
    judging = _Judging(item, plan, scratch, run_task, reference)
    judging.judge_launches()
    return judging.steps


class _Judging:
    def __init__(self, item: Item, plan: Plan, scratch: str, run_task: RunTask, reference: str) -> None:
        self.plan: Plan = plan
        self.steps: list[Step] = []
        self.run_task: RunTask = run_task
        self.item: Item = item
        file = _file_name(item.name)
        self.file: str = file
        self.reference: str = reference
        self.reference_file: str = f"reference_of_{file}" if reference else file
        self.scratch: str = scratch
        """Children without foreign code find in it what the others left, each in a directory of its own."""
        self.run: str = os.path.join(scratch, "run")
        self.expected: str = os.path.join(scratch, "expected")

    def judge(self) -> None:
        plan = self.plan
        began = self._run_module()
        if began is None:
            return
        made, ran = began
        run = self.steps[-1]
        self._launches(ran)
        self._place_reference()
        task = partial(compute_expected, self.reference_file, self.expected, made.inputs, plan)
        known = self._foreign(("reference",), task, self.expected)
        if known is None:
            return
        if plan.time:
            run.measured["seconds"] = min(ran.seconds, default=0.0)
            run.measured["baseline_seconds"] = min(known.seconds, default=0.0)
        stated = made.tolerance if plan.tolerance is None else [plan.tolerance, plan.tolerance]
        ended = self._trusted(partial(compare, self.run, self.expected, len(made.inputs), stated, plan))
        if ended.value is None:
            self.steps.append(_ended_step("correct", ended))
            return
        self.steps += [Step(**step) for step in _list(ended.value)]
        candidate = KeptLaunches(self.run, ran.kept, self.item.content, self.file)
        least = made.speedup if plan.speedup is None else plan.speedup
        self._programs(candidate, KeptLaunches(self.expected, known.kept), least)

    def judge_launches(self) -> None:
        """The launches of the first run as programs, and nothing else."""
        began = self._run_module()
        if began is None:
            return
        task = partial(programs_of_launches, KeptLaunches(self.run, began[1].kept), self.plan)
        ended = self._trusted(task)
        if ended.value is None:
            self.steps.append(_ended_step("programs", ended))
        else:
            self._passed("programs", {"programs": ended.value})

    def _run_module(self) -> tuple[ModuleReport, ModuleReport] | None:
        """Inputs, and the candidate run with them: what both report; None if one failed."""
        plan = self.plan
        os.mkdir(self.run)
        os.mkdir(self.expected)
        self._place_reference()
        task = partial(make_inputs, self.reference_file, self.expected, plan)
        made = self._foreign(("inputs",), task, self.expected)
        if made is None:
            return None
        # Where nothing else keeps the candidate from reading it.
        _forget(self.expected, self.reference_file)
        try:
            self._hand_out(len(made.inputs))
        except NotReadable as error:
            self.steps.append(Step("inputs", "failed", str(error), cause_of(str(error))))
            return None
        self._passed("inputs", {"sets": len(made.inputs)})
        task = partial(run_candidate, self.item.content, self.file, self.run, len(made.inputs), plan)
        ran = self._foreign(("import", "compile", "run"), task, self.run)
        if ran is None:
            return None
        self.steps += [Step(name, "passed") for name in ("import", "compile", "run")]
        return made, ran

    def _place_reference(self) -> None:
        """Put the reference where its children read it, without reading it."""
        path = os.path.join(self.expected, self.reference_file)
        _forget(self.expected, self.reference_file)
        if self.reference:
            shutil.copyfile(self.reference, path)
        else:
            with open(path, "xb") as file:
                file.write(self.item.content)

    def _hand_out(self, count: int) -> None:
        """Copies of the inputs, for the candidate to do with as it likes."""
        for number in range(count):
            name = f"inputs_{number}.bin"
            data = read_foreign(self.expected, name, self.plan.limits.file_bytes)
            with open(os.path.join(self.run, name), "xb") as file:
                file.write(data)

    def _programs(self, candidate: KeptLaunches, baseline: KeptLaunches, least: float | None) -> None:
        """What the plan asks for, of the kernels that were launched."""
        for aspect, argument in aspects_of(self.plan):
            name = step_name(aspect, argument)
            if not candidate.files:
                self.steps.append(Step(name, "skipped", "no launch was kept"))
                continue
            task = partial(judge_programs, aspect, argument, candidate, baseline, least, self.plan)
            ended = self._trusted(task)
            value = ended.value
            self.steps.append(Step(**value) if isinstance(value, dict) else _ended_step(name, ended))

    def _launches(self, ran: ModuleReport) -> None:
        details: dict[str, object] = {"kernels": ran.launches}
        for name in ("not_from_kernels", "torch", "not_kept"):
            if getattr(ran, name):
                details[name] = getattr(ran, name)
        message = "" if sum(ran.launches.values()) else "no cuTile kernel was launched"
        self.steps.append(Step("launches", "failed" if message else "passed", message, message, details))

    # --- children ---

    def _trusted(self, task: Task) -> TaskResult:
        """Do a task in a child in which no foreign code runs."""
        return self.run_task(task, scratch=self.scratch, is_foreign=False)

    def _foreign(self, names: tuple[str, ...], task: Task, scratch: str) -> ModuleReport | None:
        """What a child with foreign code reports; None if one of the steps that it does failed."""
        ended = self.run_task(task, scratch=scratch, is_foreign=True)
        value = ended.value
        if value is None:
            step = _ended_step(ended.step.name if ended.step.name in names else names[0], ended)
        elif not isinstance(value, dict):
            step = Step(names[0], "failed", "it tells something else than what it did", "a forged report")
        elif "failed" in value:
            step = _step_of_failure(value["failed"], names)
        else:
            return _report_of(value)
        planned = [*STEPS, *[step_name(*each) for each in aspects_of(self.plan)]]
        known = {*[each.name for each in self.steps], step.name}
        before = STEPS[: STEPS.index(step.name)] if step.name in STEPS else ()
        self.steps += [Step(name, "passed") for name in before if name not in known]
        self.steps.append(step)
        self.steps += [Step(name, "skipped") for name in planned if name not in {*known, *before}]
        return None

    def _passed(self, name: str, details: dict[str, object] | None = None) -> None:
        self.steps.append(Step(name, "passed", details=details or {}))


def _file_name(name: str) -> str:
    """What a module is called, as a name that every system takes: those in archives may be anything."""
    content = PurePath(name).name.replace("\0", "_").encode("utf-8", "replace")
    found = content[-_LONGEST_NAME:].decode("utf-8", "ignore")
    return "module.py" if found in ("", "..") else found


def _step_of_failure(value: object, names: tuple[str, ...]) -> Step:
    held = _dict(value)
    outcome: Outcome = next((each for each in _OUTCOMES if each == held.get("outcome")), "failed")
    name = str(held.get("name"))
    message = str(held.get("message", ""))[:_LONGEST]
    cause = str(held.get("cause", ""))[:_LONGEST]
    return Step(name if name in names else names[0], outcome, message, cause or cause_of(message))


def _ended_step(name: str, ended: TaskResult) -> Step:
    step = ended.step
    return Step(name, "crashed" if step.outcome in FINE else step.outcome, step.message, step.cause)


def _forget(directory: str, file: str) -> None:
    try:
        os.unlink(os.path.join(directory, file))
    except OSError:
        pass


# --- what children report, taken for what it may be ---


def _report_of(value: dict[str, Any]) -> ModuleReport:
    """What of a report is as it should be."""
    found = ModuleReport(**{each.name: _READING[str(each.type)](value.get(each.name)) for each in fields(ModuleReport)})
    if found.tolerance is not None and len(found.tolerance) != 2:
        found.tolerance = None
    found.kept = {file: count for file, count in found.kept.items() if _KEPT.fullmatch(file) and count}
    return found


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 < value < _MOST_COUNTED else 0


def _number(value: object) -> float | None:
    """A number that a float can be, and that is one."""
    return float(value) if isinstance(value, (int, float)) and abs(value) <= sys.float_info.max else None


def _numbers(value: object) -> list[float]:
    return [each for each in map(_number, _list(value)) if each is not None]


_READING: dict[str, Callable[[object], Any]] = {
    "float | None": _number,
    "list[float]": _numbers,
    "list[float] | None": _numbers,
    "list[int]": lambda value: [each for each in _list(value) if isinstance(each, int)],
    "list[str]": lambda value: [str(each) for each in _list(value)],
    "dict[str, int]": lambda value: {str(name)[:100]: _count(count) for name, count in _dict(value).items()},
    "dict[str, str]": lambda value: {str(name)[:100]: str(why)[:100] for name, why in _dict(value).items()},
}
"""What of a value of JSON is of each type of a field."""
_KEPT = re.compile(r"(?:launch|baseline)_[0-9]{1,3}\.bin", re.ASCII)
