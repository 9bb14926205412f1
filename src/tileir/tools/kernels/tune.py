"""`tileir tune`: search for the schedule with which Triton's code of a kernel is fastest."""

from __future__ import annotations

import sys
import warnings

from tileir.execute.arguments.argument_text import grid_of
from tileir.execute.errors import HostCopyWarning
from tileir.execute.gpu.triton.code import Trial, schedule_words
from tileir.tools.arguments import Arguments, Option, Usage
from tileir.tools.command import command
from tileir.tools.input import read_program, refuse_script
from tileir.tools.launches import STATED, check_given, given_launch, made_arguments
from tileir.tools.options import LAUNCH_OPTIONS, QUIET, READING_OPTIONS

USAGE = Usage(
    "tileir tune",
    "Searches for the schedule with which Triton's code of a kernel is fastest for a launch, and keeps it.",
    "FILE",
    (
        *LAUNCH_OPTIONS,
        Option("--fast", "tune the code that 'fast' asks for"),
        QUIET.with_help("no progress"),
        *READING_OPTIONS,
    ),
    details=f"""\
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
    module = program.checked(given)
    # Imported here: its error says what to install where NumPy is missing.
    from tileir.execute.launching import kernel as launch

    wanted = given_launch(given, program)
    kernel = launch.compile(module, entry=wanted.entry, backend="triton", fast=given.has("fast"))
    check_given(kernel.entry, wanted.arguments)
    values = made_arguments(kernel.entry, wanted.arguments)
    with warnings.catch_warnings():
        # The arrays are made here, on the host: nobody could place them elsewhere.
        warnings.simplefilter("ignore", HostCopyWarning)
        tuning = kernel.tune(wanted.grid, values, progress=None if given.has("quiet") else _show)
    print(tuning.text())


def _show(done: int, count: int, trial: Trial) -> None:
    result = f"{trial.seconds * 1e6:.2f} us" if trial.seconds else trial.words
    print(f"{done} of {count}: {schedule_words(trial.schedule)}: {result}", file=sys.stderr)
