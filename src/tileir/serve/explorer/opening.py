"""A launch from whatever names it, and an explorer for it: each package that knows something of it answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tileir.analyze.comparing.compare import Comparisons
from tileir.analyze.cost.costs import cost
from tileir.analyze.cost.targets import DEFAULT, target_named, target_names
from tileir.analyze.forms.forms import Representations
from tileir.bridge.compiling import compile
from tileir.bridge.kernel_kinds import kernel_function
from tileir.bridge.specialized import SpecializedKernel
from tileir.cpp.demangling import source_name
from tileir.execute.errors import BlockId
from tileir.execute.launching.entries import check_arguments, check_grid
from tileir.execute.launching.kernel import Kernel
from tileir.execute.recording.program import NumberedProgram
from tileir.execute.recording.recording import Recording, record
from tileir.ir.core import Operation
from tileir.serve.explorer.finding_answers import findings_answer, numbers_answer
from tileir.serve.explorer.memory_cells import conflicts_answer
from tileir.serve.explorer.questions import Answer, Explorer, Part
from tileir.serve.explorer.recording_answers import (
    accesses_answer,
    array_answer,
    history_answer,
    operations_of,
    steps_answer,
    summary_answer,
    tile_of_value,
    values_answer,
    values_of,
    variables_answer,
)

_Questions = dict[str, Callable[..., Answer]]


@dataclass(slots=True)
class Launch:
    """A launch that has not happened yet; `values` is None if its arguments are unknown, and then it never does."""

    kernel: Kernel
    grid: BlockId
    values: Sequence[object] | None
    memory: Sequence[object]
    title: str
    source: object = None
    """What the variables of the kernel are found from."""


def launch_of(
    kernel: Any, grid: int | tuple[int, ...], args: Sequence[object] | None, entry: str | None = None, title: str = ""
) -> Launch:
    """The launch of what `tileir.compile` takes or makes; without `args`, one that never runs.

    `title` is the name of the program, where it has none of its own.
    """
    arguments = check_arguments(() if args is None else args)
    extents = check_grid(grid)
    if isinstance(kernel, (str, os.PathLike)):
        title = title or os.path.basename(os.fspath(kernel))
    if isinstance(kernel, (Operation, str, os.PathLike, bytes, bytearray, memoryview)):
        kernel = compile(kernel, entry=entry)
    elif not isinstance(kernel, (Kernel, SpecializedKernel)):
        kernel = compile(kernel, arguments)
    if isinstance(kernel, SpecializedKernel):
        description, function = kernel.described(arguments), kernel_function(kernel.function)
        script = os.path.basename(function.__code__.co_filename) if function is not None else ""
        values, title = tuple(description.values), title or script or kernel.name
        return Launch(kernel.kernel, extents, values, description.memory, title, kernel.function)
    parameters = kernel.entry.regions[0].blocks[0].arguments
    # Without the arguments of a kernel that has parameters, it cannot run, but it can be read.
    unknown = args is None or (not arguments and parameters)
    return Launch(kernel, extents, None if unknown else arguments, (), title or kernel.name)


def opened(
    launch: Launch, targets: Sequence[str] | None = None, compare: Mapping[str, Recording] | None = None, **options: Any
) -> Explorer:
    """Run a launch in the interpreter, recorded with the options of `tileir.record`, and open an explorer for it.

    `targets` are the ids of those whose costs are shown, all if None; `compare` are other recordings, by title, to look
    at beside this one.
    """
    kernel, values = launch.kernel, launch.values
    known = values if values is not None else [None] * len(kernel.entry.regions[0].blocks[0].arguments)
    parts = [forms_part(Representations(kernel, exact=kernel.exact)), cost_part(kernel, launch.grid, known, targets)]
    if values is None:
        return Explorer([program_part(NumberedProgram(kernel.entry), launch), *parts])
    recording = record(kernel, launch.grid, values, memory=launch.memory, source=launch.source, **options)
    comparisons = comparisons_part(Comparisons(recording, compare))
    return Explorer([recording_part(recording, launch.title), *parts, comparisons], recording)


def recording_part(recording: Recording, title: str) -> Part:
    """The launch itself, and every step of it."""
    answers: _Questions = {
        "accesses": accesses_answer,
        "conflicts": conflicts_answer,
        "steps": steps_answer,
        "values": values_answer,
        "variables": variables_answer,
        "history": history_answer,
        "tile": tile_of_value,
        "array": array_answer,
        "findings": findings_answer,
        "numbers": numbers_answer,
    }
    questions = {question: partial(answer, recording) for question, answer in answers.items()}
    return Part(questions, lambda: {**summary_answer(recording), "title": title}, [recording.lock])


def program_part(program: NumberedProgram, launch: Launch) -> Part:
    """A program of which nothing is run: what its operations are."""

    def summary() -> dict[str, Any]:
        arguments = program.entry.regions[0].blocks[0].arguments
        return {
            "title": launch.title,
            "kernel": source_name(launch.kernel.name),
            "grid": list(launch.grid),
            "schedule": "not run",
            "parameters": [
                {"name": name, "type": parameter.type.spelling, "array": None, "value": "not given"}
                for name, parameter in zip(program.parameter_names, arguments, strict=True)
            ],
            "operations": operations_of(program),
            "values": values_of(program),
            "notes": ["The kernel was not run: give --grid, and --arg for each parameter (in Python, grid and args)."],
        }

    return Part({}, summary)


def forms_part(forms: Representations) -> Part:
    """The program in its representations, each made on request."""
    return Part(
        {"form": lambda id: forms.get(id).answer()}, lambda: {"forms": [form._asdict() for form in forms.list()]}
    )


def cost_part(
    kernel: Any, grid: int | tuple[int, ...], arguments: Sequence[object], targets: Sequence[str] | None = None
) -> Part:
    """What the launch costs; `kernel` and `arguments` are those of `tileir.cost`, `targets` those to choose from."""
    names = target_names()
    # The first is what the page begins with.
    keys = sorted(names, key=lambda name: name != DEFAULT)
    if targets is not None:
        keys = list(dict.fromkeys([target_named(name).key for name in targets]))
    return Part(
        {"cost": lambda target: cost(kernel, grid, arguments, target=target).answer()},
        lambda: {"targets": [{"id": key, "title": names[key]} for key in keys]},
    )


def comparisons_part(comparisons: Comparisons) -> Part:
    """The launch beside other runs."""
    questions: _Questions = {"comparison": comparisons.comparison, "compared": comparisons.compared}
    locks = [recording.lock for recording in comparisons.recordings]
    return Part(questions, lambda: {"comparisons": comparisons.listed()}, locks)
