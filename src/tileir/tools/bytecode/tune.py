"""`tileir tune`: search for the schedule with which Triton's code of a kernel is fastest."""

from __future__ import annotations

import json
import sys

from tileir.execute.arguments.argument_text import grid_of
from tileir.execute.gpu.triton.code import TuningTrial, schedule_words
from tileir.terminal import Progress
from tileir.tools import options
from tileir.tools.arguments import Arguments, Usage
from tileir.tools.command import command
from tileir.tools.input import read_program, refuse_script
from tileir.tools.launches import STATED, check_given, compiled, given_launch, host_arrays, made_arguments

USAGE = Usage(
    "tileir tune",
    "FILE",
    (
        "tileir tune examples/histogram.mlir --grid 8 --arg rand:i32:1000 --arg zeros:i32:100 --arg 1000",
        "tileir tune examples/histogram.mlir --json --grid 8 --arg rand:i32:1000 --arg zeros:i32:100 --arg 1000",
    ),
    (
        *options.LAUNCHING,
        options.FAST,
        options.JSON.with_help("print an object: kernel, GPU, and each schedule with the seconds of a launch"),
        options.VERBOSE.with_help("print each schedule that was tried, on standard error"),
        options.QUIET,
        *options.READING,
    ),
    f"""\
It needs a GPU and Triton. Warps, stages, descriptors and the like are tried ('tileir docs tune'); every result is
checked against that of the schedule that is used by default. The fastest is kept on disk, and later launches of the
same program with arguments of the same kind use it. An interrupt (Ctrl-C) keeps the best so far.

{STATED}""",
)


@command(USAGE)
def run(given: Arguments) -> None:
    refuse_script(given.operands[0], "'tileir as {} -o k.tileirbc' writes the program of its kernel")
    grid_of(given.value("grid", "1"))
    program = read_program(given.operands[0], given)
    description = given_launch(given, program)
    kernel = compiled(program.checked(given), description, "triton", fast=given.has("fast"))
    check_given(kernel.entry, description.arguments)
    values = made_arguments(kernel.entry, description.arguments)

    def show(done: int, count: int, trial: TuningTrial) -> None:
        result = f"{trial.seconds * 1e6:.2f} us" if trial.seconds else trial.words
        line = f"{done} of {count}: {schedule_words(trial.schedule)}: {result}"
        if given.has("verbose"):
            print(line, file=sys.stderr)
        else:
            progress.step(line)

    with Progress(is_quiet=given.has("quiet")) as progress, host_arrays():
        tuning = kernel.tune(description.grid, values, progress=show)
    if not given.has("json"):
        print(tuning.text())
        return
    trials = [
        {**each.schedule._asdict(), "seconds": each.seconds or None, "note": each.words} for each in tuning.trials
    ]
    found = {"kernel": tuning.kernel, "gpu": tuning.gpu, "is_interrupted": tuning.is_interrupted}
    print(json.dumps(found | {"best": tuning.schedule._asdict(), "trials": trials}))
