"""`tileir cost`: what a launch costs on a GPU, which need not be here, or on this processor."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tileir.ir.diagnostics import OptionError, TileIRError
from tileir.ir.quoting import harmless
from tileir.tools.arguments import COLOR, EXIT_FINE, EXIT_USAGE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.arrays import STATED, argument, check_given, given_launch, grid_of, number, specification
from tileir.tools.programs import (
    READING_OPTIONS,
    SCRIPT,
    SCRIPT_ARGUMENTS,
    Program,
    Settings,
    guarded,
    is_script,
    read_launches,
    script_options,
    tell,
    tell_error,
)

if TYPE_CHECKING:
    from tileir.analyze.cost.result import Cost
    from tileir.analyze.cost.targets import Target
    from tileir.execute.errors import BlockId
    from tileir.ir.core import Operation

USAGE = Usage(
    "tileir cost",
    "Estimates what a launch costs on a GPU or on this processor: bytes, operations, occupancy, time, and why.",
    "FILE|SCRIPT.py",
    (
        Option("grid", "the number of tile blocks along x, y and z (default: 1)", value="X[,Y[,Z]]"),
        Option("entry", "the kernel (default: the only one)", value="NAME"),
        Option(
            "arg", "an argument, as for tileir run, or ? for a number that is not known; arrays are not made",
            value="WHAT",
        ),
        Option("launch", "of a script, the launch to estimate, counted from 1 (default: all)", value="N"),
        Option("target", "the GPU, as in h200, or cpu; repeat for several (default: h200)", value="NAME"),
        Option("measure", "make the arrays and launch the kernel, too, if the target is here"),
        Option("no-assembler", "do not compile the kernel to see what it takes of the GPU"),
        Option("json", "print one JSON object per target"),
        COLOR,
        *READING_OPTIONS,
    ),
    most=-1,
    details=f"""\
Arguments: zeros:f32:1024x1024 (or ones:, empty:, iota:, rand:), data.npy, 42, -1.5, or ?. The targets are those of
'tileir docs cost', which describes the model and how far off it is.

{STATED}

{SCRIPT} Each of its launches is estimated;
identical launches are shown once.
{SCRIPT_ARGUMENTS}

FILE may be '-' for standard input. Exit status: 0 fine, 1 the program or the launch is wrong, 2 the command line is
wrong or a file cannot be read.""",
)  # fmt: skip


def run(arguments: list[str]) -> int:
    return guarded("tileir cost", _run, arguments)


def _run(words: list[str]) -> int:
    given = USAGE.read(words)
    if given.status is not None:
        return given.status
    from tileir.analyze.cost.targets import DEFAULT, target_named

    # Looked at before anything is read.
    grid_of(given.value("grid", "1"))
    named = [part for name, text in given.sequence if name == "target" for part in text.split(",")] or [DEFAULT]
    try:
        targets = [target_named(name) for name in named]
    except OptionError as error:
        raise ToolFailure(f"--target: {error.message}", EXIT_USAGE) from None
    launch, own = script_options(given)
    if is_script(given.operands[0]):
        for option in ("grid", "arg", "entry"):
            if given.has(option):
                raise ToolFailure(f"--{option} is for a FILE: a script says itself what it launches", EXIT_USAGE)
    programs = read_launches(given.operands[0], Settings(given), launch, own)
    for place, program in enumerate(programs):
        tell(program.diagnostics, given)
        if program.module is None:
            return EXIT_WRONG_INPUT
        try:
            _show_costs(given, program, targets, is_first=not place)
        except TileIRError as error:
            return tell_error(error, given)
    return EXIT_FINE


def _show_costs(given: Arguments, program: Program, targets: list[Target], is_first: bool) -> None:
    """Print what a launch costs on each target."""
    from tileir.execute.launching.entries import check_grid, select_entry

    assert program.module is not None
    wanted = given_launch(given, program)
    extents = check_grid(wanted.grid)
    entry = select_entry(program.module, wanted.entry)
    check_given(entry, wanted.arguments)
    names = () if program.launch is None else program.launch.names
    for target in targets:
        cost = _cost(given, entry, extents, wanted.arguments, names, target)
        if given.has("json"):
            print(json.dumps(cost.answer()))
        else:
            print(("" if is_first else "\n") + harmless(cost.render(), keep="\n"))
        is_first = False
        sys.stdout.flush()


def _cost(
    given: Arguments, entry: Operation, grid: BlockId, texts: tuple[str, ...], names: Sequence[str], target: Target
) -> Cost:
    from tileir.execute.launching.entries import check_number

    assemble = not given.has("no-assembler")
    if not given.has("measure"):
        from tileir.analyze.cost.estimating import estimate

        described = _described(texts)
        check_number(entry, described)
        return estimate(entry, grid, described, target, names, assemble=assemble)
    # Imported here: only who runs a kernel pays for NumPy.
    from tileir.analyze.cost.costs import cost
    from tileir.execute.launching.kernel import Kernel

    parameters = entry.regions[0].blocks[0].arguments
    types = [*[parameter.type for parameter in parameters], *[None] * len(texts)]
    values = [argument(text, type) for text, type in zip(texts, types, strict=False)]
    return cost(Kernel(entry), grid, *values, target=target.key, assemble=assemble, measure=True)


def _described(texts: tuple[str, ...]) -> tuple[object, ...]:
    """The arguments; arrays as descriptions, which have a number of bytes."""
    found: list[object] = []
    for text in texts:
        if text == "?":
            found.append(None)
        elif text.endswith(".npy"):
            found.append(argument(text, None))
        else:
            found.append(specification(text) or number(text))
    return tuple(found)
