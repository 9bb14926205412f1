"""The kernels that a module launched, as programs: each launch is done again from what was kept of it.

In children of their own, in which no foreign code runs: what is kept is bytecode and bytes of arrays.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final, NamedTuple, cast

import numpy

from tileir.analyze.cost.costs import cost
from tileir.dialect.types import PointerType, TileType
from tileir.execute.arguments.argument_text import VALUES, LaunchDescription
from tileir.execute.arguments.binding import Pointer
from tileir.execute.dtypes import Array, memory_dtype
from tileir.execute.launching.entries import entries_of, select_entry
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError
from tileir.ir.traversal import clone
from tileir.ir.types import FloatType, Type
from tileir.judging.kernels.launches import KeptLaunch, kept_launch
from tileir.judging.kernels.runs import backend_of
from tileir.judging.kernels.values import NotCarried, read_foreign
from tileir.judging.model import JudgePlan, JudgeStage
from tileir.judging.tasks.requirements import check_operations, check_precision
from tileir.judging.verdicts.launches import Results, compare_results, open_operations, run
from tileir.judging.verdicts.programs import compile_for, sanitize
from tileir.judging.verdicts.work import Work, failed_step
from tileir.passes.pipeline import optimize

_REQUIREMENTS: Final = {"precise": "precision", "operations": "operations"}
"""Steps that a task may require, with its keys."""
_SHARE_OF_OTHERS: Final = 0.1
"""The share of the time limit after which only the launches of the first run are judged, and none for other inputs."""
_MOST_PROVED: Final = 4
_PROOF_SECONDS: Final = 5.0
_MEASURED_TARGET: Final = "cpu"
"""The target whose cost is measured, and so differs from machine to machine."""
_TIMES: Final = 5


class KeptLaunches(NamedTuple):
    """Launches that a child left in a directory: files, and how often each launch was made."""

    directory: str
    files: dict[str, int]
    source: bytes = b""
    file: str = ""
    """The module that made them, and what messages call it."""

    def launches(self, plan: JudgePlan) -> Iterator[tuple[KeptLaunch, int]]:
        return ((self.read(file, plan), count) for file, count in self.files.items())

    def read(self, file: str, plan: JudgePlan) -> KeptLaunch:
        return kept_launch(read_foreign(self.directory, file, 2 * plan.limits.file_bytes + (1 << 20)))


def planned_steps(plan: JudgePlan, required: dict[str, Any] | None = None) -> list[str]:
    """What a plan and a task require of the programs: the names of steps, as `compile sm_90`."""
    found = [step for step, key in _REQUIREMENTS.items() if required and required.get(key)]
    found += ["optimize"] if plan.optimize is not None else []
    found += [f"compare {engine}" for engine in plan.backends if engine != backend_of(plan)]
    found += ["sanitize"] if plan.sanitize else []
    found += ["prove"] if plan.prove else []
    found += [f"compile {target}" for target in plan.targets]
    found += [f"cost {target}" for target in plan.cost]
    if plan.time:
        # The interpreter is built to be right, not fast: its time means nothing.
        found += [f"time {engine}" for engine in plan.backends or ("auto",) if engine != "interpreter"]
    return found


def judge_launches(
    name: str, candidate: KeptLaunches, baseline: KeptLaunches, required: dict[str, Any], plan: JudgePlan, work: Work
) -> list[dict[str, Any]]:
    """One step for all launches that were kept; `required` is what a task requires of them."""
    step = JudgeStage(name, "passed")
    work.begin(name)
    verb, _, about = name.partition(" ")
    try:
        _write_source(candidate)
        if verb == "cost":
            _cost(step, about, candidate, baseline, required.get("speedup"), plan)
        elif verb == "time":
            _time(step, about, candidate, baseline, plan)
        elif verb == "prove":
            _prove(step, candidate, plan)
        else:
            until = time.monotonic() + plan.limits.seconds * _SHARE_OF_OTHERS
            for kept, count in candidate.launches(plan):
                if not count and time.monotonic() > until:
                    continue
                _judge(step, verb, about, kept, required, plan)
                if step.outcome != "passed":
                    step.message = f"{kept.launch.entry}: {step.message}"
                    break
    except NotCarried as error:
        step.outcome, step.message, step.cause = "failed", str(error), "launches cannot be read"
    except Exception as error:
        failed_step(step, error)
    return [asdict(step)]


def _write_source(kept: KeptLaunches) -> None:
    """So that messages can show the lines of the module; what stands there may be something else."""
    if os.path.lexists(kept.file):
        os.unlink(kept.file)
    with open(kept.file, "xb") as file:
        file.write(kept.source)


def _judge(
    step: JudgeStage, verb: str, about: str, kept: KeptLaunch, required: dict[str, Any], plan: JudgePlan
) -> None:
    module, launch, first = kept.module, kept.launch, backend_of(plan)

    def results(program: Operation, engine: str) -> list[Results]:
        return run(program, [launch], engine, plan.limits.threads)

    if verb == "optimize":
        assert plan.optimize is not None, "the plan states it"
        after = results(optimize(clone(module), plan.optimize), first)
        compare_results(step, results(module, first), after, ("before, it", "optimized, it"), [])
    elif verb == "compare":
        open_bits = open_operations(module, about)
        compare_results(step, results(module, first), results(module, about), (first, about), open_bits)
    elif verb == "sanitize":
        sanitize(step, kept.kernel("auto"), launch, is_complete=bool(required.get("coverage")))
    elif verb == "precise":
        check_precision(step, module, required["precision"])
    elif verb == "operations":
        check_operations(step, module, required["operations"])
    else:
        compile_for(module, about, plan, step)


def _prove(step: JudgeStage, candidate: KeptLaunches, plan: JudgePlan) -> None:
    """What holds for every launch of the kernels, and not only for those that were made.

    A launch that a proof refutes may be one that nobody makes, so nothing fails here."""
    from tileir.proofs.prover import prove_entry

    programs = {kept.bytecode: kept for kept, count in candidate.launches(plan) if count}
    open_questions: dict[str, None] = {}
    seconds = min(_PROOF_SECONDS, plan.limits.seconds / 10)
    for kept in list(programs.values())[:_MOST_PROVED]:
        proof = prove_entry(select_entry(kept.module, kept.launch.entry), seconds=seconds)
        found = {question: answer.verdict for question, answer in proof.answers.items()}
        step.details.setdefault("kernels", {})[kept.launch.entry] = found
        open_questions.update({question: None for question, verdict in found.items() if verdict != "proved"})
    if open_questions:
        step.details["unknown"] = True
        step.message = f"not proved for every launch: {', '.join(open_questions)}"


def _cost(
    step: JudgeStage, target: str, candidate: KeptLaunches, baseline: KeptLaunches, least: float | None, plan: JudgePlan
) -> None:
    """The estimated time of all launches of one run, and the baseline's."""
    figures: dict[str, Any] = step.measured if target == _MEASURED_TARGET else step.details
    seconds = figures["seconds"] = _estimated(candidate, target, plan)
    theirs = _estimated(baseline, target, plan)
    if not theirs or not seconds:
        if least is not None:
            step.outcome, step.message = "refused", "there is no baseline that launches kernels"
            step.cause = step.message
        return
    figures["baseline_seconds"] = theirs
    speedup = figures["speedup"] = float(f"{theirs / seconds:.4g}")
    if least is not None and speedup < least:
        step.outcome, step.cause = "failed", "slower than what is required"
        times = f"estimated at {seconds * 1e6:.3g} us on {target}, the baseline at {theirs * 1e6:.3g} us"
        step.message = f"{times}: a speedup of {speedup:.3g}, and {least:g} is required"


def _estimated(kept: KeptLaunches, target: str, plan: JudgePlan) -> float:
    total = 0.0
    for each, count in kept.launches(plan):
        if not count:
            continue
        kernel = each.kernel("auto")
        total += count * cost(kernel, each.launch.grid, each.launch.arguments(), target=target, assemble=False).seconds
    # What is shown; further digits depend on the order of additions.
    return float(f"{total:.6g}") if math.isfinite(total) else 0.0


def _time(step: JudgeStage, engine: str, candidate: KeptLaunches, baseline: KeptLaunches, plan: JudgePlan) -> None:
    """The measured time of all launches of one run, and the baseline's: nothing here is the candidate's word."""
    figures = step.measured
    for name, kept in (("seconds", candidate), ("baseline_seconds", baseline)):
        for each, count in [pair for pair in kept.launches(plan) if pair[1]]:
            kernel = each.kernel(engine, exact=False)
            seconds = kernel.time(each.launch.grid, each.launch.arguments(), repeat=_TIMES).median
            figures[name] = figures.get(name, 0.0) + count * seconds
    if figures.get("seconds") and figures.get("baseline_seconds"):
        figures["speedup"] = figures["baseline_seconds"] / figures["seconds"]


# --- launches as programs that state them, for reductions ---


_MOST_LAUNCHES: Final = 32
_MOST_CHARACTERS: Final = 700_000
"""Of all programs, as JSON."""
_WAYS: Final = (
    ("signed", "rand"), ("mixed", "mixed"), ("rand", "iota"), ("zeros", "zeros"), ("signed", VALUES), (VALUES, VALUES),
)  # fmt: skip
"""How arrays are made in each attempt: those of floats, and those of integers, which may be indices."""
_MOST_VALUES: Final = 4096
"""Elements of an array that are given one by one."""


def programs_of_launches(kept: KeptLaunches, plan: JudgePlan, work: Work) -> list[dict[str, Any]]:
    """The step `programs`: of each launch kernel, program and comments that state it, likeliest first; or `why` not."""
    work.begin("programs")
    found: list[dict[str, Any]] = []
    left = _MOST_CHARACTERS
    for file in list(kept.files)[:_MOST_LAUNCHES]:
        try:
            described = _described(kept.read(file, plan))
        except (NotCarried, TileIRError, ValueError) as error:
            described = {"why": str(error).partition("\n")[0][:1000]}
        size = len(json.dumps(described))
        found.append(described if size <= left else {"why": "its program is too long"})
        left -= size if size <= left else 0
    return [asdict(JudgeStage("programs", "passed", details={"programs": found}))]


def _described(kept: KeptLaunch) -> dict[str, Any]:
    module, launch = kept.module, kept.launch
    entry = select_entry(module, launch.entry)
    parameters = [parameter.type for parameter in entry.regions[0].blocks[0].arguments]
    arguments = launch.arguments()
    name = launch.entry if len(entries_of(module)) > 1 else None
    grid = launch.grid[: max([1, *[n for n, extent in enumerate(launch.grid, 1) if extent != 1]])]
    comments: dict[str, None] = {}
    for way in _WAYS:
        words = [_word(value, type, way) for value, type in zip(arguments, parameters, strict=True)]
        if all(words):
            comments[LaunchDescription(grid, words, name).comment()] = None
    return {"kernel": launch.entry, "program": module.text(debug_info=False), "launches": list(comments)}


def _word(value: object, type: Type, way: tuple[str, str]) -> str:
    """An argument as `tileir run` takes it."""
    if isinstance(value, Pointer):
        if not isinstance(type, TileType) or not isinstance(type.element, PointerType):
            raise NotCarried("an array is given for what is no pointer")
        return _array_word(cast("Array", value.array), type.element.pointee, way)
    plain = value.item() if isinstance(value, (numpy.ndarray, numpy.generic)) and value.ndim == 0 else value
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if not isinstance(plain, (int, float)):
        raise NotCarried(f"an argument is neither a number nor an array, but of type {plain.__class__.__name__}")
    return repr(plain)


def _array_word(array: Array, element: Type, way: tuple[str, str]) -> str:
    """The memory of an array, first element to last, as one row; empty where there are too many to give one by one."""
    size = array.dtype.itemsize
    if memory_dtype(element).itemsize != size or any(stride < 0 or stride % size for stride in array.strides):
        raise NotCarried("an array lies in memory in a way that no text describes")
    span = 0
    if array.size:
        span = 1 + sum([(n - 1) * (stride // size) for n, stride in zip(array.shape, array.strides, strict=True)])
    is_float = isinstance(element, FloatType)
    kind = way[0] if is_float else way[1]
    if kind != VALUES:
        return f"{kind}:{element.spelling}:{span}"
    # What has no dtype is patterns of bits.
    if not 0 < span <= _MOST_VALUES or is_float != (array.dtype.kind not in "biu"):
        return ""
    row = numpy.lib.stride_tricks.as_strided(array, (span,), (size,))
    plain: list[object] = row.astype(numpy.float64 if is_float else numpy.int64).tolist()
    return f"{kind}:{element.spelling}:{','.join(map(repr, plain))}"
