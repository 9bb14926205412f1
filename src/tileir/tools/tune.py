"""`tileir tune`: search for the schedule with which Triton's code of a kernel is fastest."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

from tileir.ir.diagnostics import TileIRError
from tileir.tools.arguments import COLOR, EXIT_FINE, EXIT_WRONG_INPUT, Option, Usage
from tileir.tools.arrays import STATED, argument, check_given, given_launch, grid_of
from tileir.tools.programs import READING_OPTIONS, Settings, guarded, read_program, refuse_script, tell, tell_error

if TYPE_CHECKING:
    from tileir.execute.gpu.triton.code import Trial

USAGE = Usage(
    "tileir tune",
    "Searches for the schedule with which Triton's code of a kernel is fastest for a launch, and keeps it.",
    "FILE",
    (
        Option("grid", "the number of tile blocks along x, y and z (default: 1)", value="X[,Y[,Z]]"),
        Option("entry", "the kernel (default: the only one)", value="NAME"),
        Option("arg", "an argument, as for tileir run; repeat for each parameter, in order", value="WHAT"),
        Option("fast", "tune the code that 'fast' asks for"),
        Option("quiet", "no progress", short="q"),
        COLOR,
        *READING_OPTIONS,
    ),
    details=f"""\
It needs a GPU and Triton. Warps, stages, descriptors and the like are tried ('tileir docs triton'); every result is
checked against that of the schedule that is used by default. The fastest is kept on disk, and later launches of the
same program with arguments of the same kind use it. An interrupt (Ctrl-C) keeps the best so far.

{STATED}

FILE may be '-' for standard input. Exit status: 0 fine, 1 the program or the launch is wrong, 2 the command line is
wrong or a file cannot be read.""",
)


def run(arguments: list[str]) -> int:
    return guarded("tileir tune", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    refuse_script(given.operands[0], "'tileir as {} -o k.tileirbc' writes the program of its kernel")
    grid_of(given.value("grid", "1"))
    program = read_program(given.operands[0], Settings(given))
    tell(program.diagnostics, given)
    if program.module is None:
        return EXIT_WRONG_INPUT
    try:
        # Imported here: only who runs a program pays for NumPy.
        from tileir.execute.errors import HostCopyWarning
        from tileir.execute.launching import kernel as launch
        from tileir.execute.launching.entries import select_entry

        wanted = given_launch(given, program)
        kernel = launch.compile(program.module, wanted.entry, "triton", fast=given.has("fast"))
        chosen = select_entry(program.module, wanted.entry)
        check_given(chosen, wanted.arguments)
        parameters = chosen.regions[0].blocks[0].arguments
        values = [
            argument(text, parameters[number].type if number < len(parameters) else None)
            for number, text in enumerate(wanted.arguments)
        ]
        with warnings.catch_warnings():
            # The arrays are made here, on the host: nobody could place them elsewhere.
            warnings.simplefilter("ignore", HostCopyWarning)
            tuning = kernel.tune(wanted.grid, *values, progress=None if given.has("quiet") else _tell)
    except TileIRError as error:
        return tell_error(error, given)
    print(tuning.text())
    return EXIT_FINE


def _tell(done: int, count: int, trial: Trial) -> None:
    from tileir.execute.gpu.triton.code import schedule_words

    what = f"{trial.seconds * 1e6:.2f} us" if trial.seconds else trial.words
    print(f"{done} of {count}: {schedule_words(trial.schedule)}: {what}", file=sys.stderr)
