"""An explorer for a launch: the launch is recorded, and each package that knows something of it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from tileir.analyze.comparing.compare import Comparisons
from tileir.analyze.forms.forms import Forms
from tileir.execute.recording.program import NumberedProgram
from tileir.execute.recording.recording import LIMIT, Recording, record
from tileir.serve.explorer.finding_answers import numbers_answer
from tileir.serve.explorer.launches import Launch
from tileir.serve.explorer.parts import comparisons_part, cost_part, findings_part, forms_part
from tileir.serve.explorer.questions import Answer, QuestionError
from tileir.serve.explorer.recording_answers import (
    accesses_answer,
    array_answer,
    history_answer,
    operations_of,
    steps_answer,
    summary_answer,
    value_answer,
    values_answer,
    values_of,
    variables_answer,
)
from tileir.serve.explorer.session import Explorer, Part


class Opened:
    """An explorer, and the recording that it tells about; None if nothing could be run."""

    def __init__(self, explorer: Explorer, recording: Recording | None) -> None:
        self.explorer = explorer
        self.recording = recording


def opened(
    launch: Launch,
    *,
    limit: int = LIMIT,
    schedule: str | None = None,
    targets: Sequence[str] | None = None,
    compare: Mapping[str, Recording] | None = None,
    uninitialized: Iterable[object] = (),
    sanitize: bool | Literal["all"] = True,
    output: Callable[[str], object] | None = None,
) -> Opened:
    """Run a launch in the interpreter, recorded, and open an explorer for it.

    `limit` bounds the recording in bytes, `targets` are the ids of those whose costs are shown, all if None; `compare`
    are other recordings, by title, to look at beside this one; arrays in `uninitialized` do not count as written,
    and `sanitize` is as for `tileir.record`.
    What the kernel prints goes to `output`.
    """
    kernel, values = launch.kernel, launch.values
    recording = None
    if values is None:
        first = program_part(NumberedProgram(kernel.entry), launch)
    else:
        recording = record(
            kernel,
            launch.grid,
            *values,
            schedule=schedule,
            limit=limit,
            memory=launch.memory,
            uninitialized=uninitialized,
            sanitize=sanitize,
            output=output,
            source=launch.source,
        )
        first = recording_part(recording, launch.title)
    parameters = kernel.entry.regions[0].blocks[0].arguments
    known = values if values is not None else [None] * len(parameters)
    parts = [
        first,
        forms_part(Forms(launch.module, kernel.name, exact=kernel.exact)),
        cost_part(kernel, launch.grid, known, targets),
    ]
    if recording is not None:
        parts.append(findings_part(recording))
        parts.append(comparisons_part(Comparisons(recording, compare)))
    return Opened(Explorer(parts), recording)


def recording_part(recording: Recording, title: str) -> Part:
    """The launch itself, and every moment of it."""

    def tile(block: int, step: int, value: int, start: list[int] | None, extents: list[int] | None) -> Answer:
        _check("value", value, len(recording.program.values))
        return value_answer(recording, block, step, value, start, extents)

    def array(array: int, block: int, step: int, start: list[int] | None, extents: list[int] | None) -> Answer:
        _check("array", array, len(recording.arrays))
        return array_answer(recording, array, block, step, start, extents)

    def summary() -> dict[str, Any]:
        return {**summary_answer(recording), "title": title}

    questions: dict[str, Callable[..., Answer]] = {
        "accesses": partial(accesses_answer, recording),
        "steps": partial(steps_answer, recording),
        "values": partial(values_answer, recording),
        "variables": partial(variables_answer, recording),
        "history": partial(history_answer, recording),
        "tile": tile,
        "array": array,
        "numbers": partial(numbers_answer, recording),
    }
    return Part(questions, summary, [recording.lock])


def _check(what: str, number: int, count: int) -> None:
    if number >= count:
        raise QuestionError(f"there is no {what} {number}: they are counted from 0 to {count - 1}")


def program_part(program: NumberedProgram, launch: Launch) -> Part:
    """A program of which nothing is run: what its operations are."""

    def summary() -> dict[str, Any]:
        parameters = [
            {"name": name, "type": parameter.type.spelling, "array": None, "value": "not given"}
            for name, parameter in zip(
                program.parameter_names, program.entry.regions[0].blocks[0].arguments, strict=True
            )
        ]
        return {
            "title": launch.title,
            "kernel": launch.kernel.name,
            "grid": list(launch.grid),
            "schedule": "not run",
            "parameters": parameters,
            "operations": operations_of(program),
            "values": values_of(program),
            "notes": ["The kernel was not run, as no arguments were given: there are forms and estimates to look at."],
        }

    return Part({}, summary)
