"""`tileir cost`: what a launch costs on a GPU, which need not be here, or on this processor."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tileir.analyze.cost.estimating import estimate
from tileir.analyze.cost.result import Cost
from tileir.analyze.cost.targets import DEFAULT, Target, target_named
from tileir.cpp.demangling import source_name
from tileir.execute.arguments.argument_text import argument, grid_of, number, of_devices, specification
from tileir.execute.errors import BlockId
from tileir.execute.launching.entries import check_grid, check_number, select_entry
from tileir.ir.core import Operation
from tileir.ir.quoting import harmless
from tileir.terminal import Progress
from tileir.tools import options
from tileir.tools.arguments import Arguments, Option, Usage
from tileir.tools.command import command, refusing
from tileir.tools.input import read_programs, script_arguments
from tileir.tools.launches import STATED, check_given, given_launch, made_arguments

USAGE = Usage(
    "tileir cost",
    "FILE|SCRIPT.py",
    (
        "tileir cost examples/histogram.mlir --grid 8 --arg rand:i32:1000 --arg zeros:i32:100 --arg 1000",
        "tileir cost --target b200,sm_90 examples/cutile_script.py",
    ),
    (
        options.GRID,
        options.ENTRY,
        options.ARG.with_help("an argument, as for tileir run, or ? for an unknown number; arrays are not made"),
        options.LAUNCH.with_help("of a script, the launch to estimate, counted from 1 (default: all)"),
        options.TARGET.with_help("the GPU, as h200 or sm_90, or cpu; repeat for several (default: h200)"),
        Option("--measure", "make the arrays and launch the kernel, too, if the target is here"),
        Option("--no-assembler", "do not compile the kernel to see what it takes of the GPU"),
        options.JSON.with_help("print one JSON object per target"),
        *options.READING,
    ),
    f"""\
Arguments: zeros:f32:1024x1024 (or ones:, empty:, iota:, rand:), data.npy, 42, -1.5, or ?. The targets are those of
'tileir docs cost', which describes the model and how far off it is.

{STATED}

{options.SCRIPT} Each of its launches is estimated;
identical launches are shown once. {options.SCRIPT_ARGUMENTS}""",
    most=-1,
)


@command(USAGE)
def run(given: Arguments) -> None:
    # Checked before anything is read.
    grid_of(given.value("grid", "1"))
    with refusing("--target: "):
        targets = [target_named(name) for name in given.names("target") or [DEFAULT]]
    arguments = script_arguments(given, "grid", "arg", "entry")
    between = ""
    for program in read_programs(given.operands[0], given, arguments, repeated=True):
        module = program.checked(given)
        description = given_launch(given, program)
        extents = check_grid(description.grid)
        entry = select_entry(module, description.entry)
        check_given(entry, description.arguments)
        names = () if program.launch is None else program.launch.names
        for target in targets:
            with Progress() as progress:
                progress.step(f"estimating @{source_name(entry.symbol_name or '')} on {target.title}")
                cost = _cost(given, entry, extents, description.arguments, names, target)
            text = json.dumps(cost.answer()) if given.has("json") else between + harmless(cost.render(), keep="\n")
            print(text, flush=True)
            between = "\n"


def _cost(
    given: Arguments, entry: Operation, grid: BlockId, texts: tuple[str, ...], names: Sequence[str], target: Target
) -> Cost:
    assemble = not given.has("no-assembler")
    if not given.has("measure"):
        described = tuple(map(_described, texts))
        check_number(entry, described)
        return estimate(entry, grid, described, target, names, assemble)
    from tileir.analyze.cost.costs import cost
    from tileir.execute.launching.kernel import Kernel

    values = made_arguments(entry, texts)
    return cost(Kernel(entry), grid, values, target=target.key, assemble=assemble, measure=True)


def _described(text: str) -> object:
    """An argument; an array as a description, which has a number of bytes."""
    if text == "?":
        return None
    return argument(text, None) if text.endswith(".npy") else specification(of_devices(text)[0]) or number(text)
