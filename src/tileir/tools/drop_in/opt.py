"""`tileir-opt`: stands in for NVIDIA's cuda-tile-opt, with the same flags."""

from __future__ import annotations

import sys

from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.versions import version_text
from tileir.passes.catalog import registered_passes
from tileir.passes.pipeline import PassReport, check_steps, run_steps
from tileir.passes.registry import PipelineError, Step, parse_options, parse_pipeline
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command, run_process
from tileir.tools.drop_in.common import DETAILS, OPTIONS, VERSION, print_module, process
from tileir.tools.input import decode, read_bytes
from tileir.tools.output import write_output

# The test-only pass of the public suite is the one whose options stand in the value.
_PASSES = [Option(f"-{each.name}{'[=OPTIONS]' if each.options else ''}", each.summary) for each in registered_passes()]
_PIPELINE = Option("-pass-pipeline PIPELINE", "run the passes of a pipeline such as 'builtin.module(canonicalize)'")
_VERIFY = Option("-verify-each[=true|false|1|0]", "verify the program after each pass (default)")

USAGE = Usage(
    "tileir-opt",
    "[FILE]",
    ("tileir-opt --canonicalize --cse kernel.mlir", "tileir-opt -pass-pipeline 'builtin.module(cse)' kernel.mlir"),
    (*OPTIONS, _PIPELINE, _VERIFY, *_PASSES),
    DETAILS,
    summary="Read a Tile IR program, verify it, run passes and print it, as NVIDIA's cuda-tile-opt does",
    single_dash=True,
)


def main() -> int:
    return run_process("tileir-opt", run, sys.argv[1:])


@command(USAGE)
def run(given: Arguments) -> int:
    try:
        steps = _steps(given)
        check_steps(steps)
    except PipelineError as error:
        raise ToolFailure(error.message, EXIT_WRONG_INPUT, error.help) from None

    def text(module: Operation, _: list[Diagnostic]) -> str:
        """The program after the passes, which are verified one by one."""
        verify = given.value("verify-each", "true") in ("true", "1")
        run_steps(module, steps, report=PassReport(verify=verify, version=version_text(VERSION), drop_in=True))
        return print_module(module, given)

    path = given.operands[0] if given.operands else "-"
    status, output = process(decode(read_bytes(path), path), path, given, text)
    # Standard output gets the parts that went well; a file is written only when all did.
    target = given.value("o", "-")
    if status == EXIT_FINE or target == "-":
        write_output(target, output)
    return status


def _steps(given: Arguments) -> list[Step]:
    """The passes that the command line names, in its order."""
    names = [option.name for option in _PASSES]
    steps: list[Step] = []
    for name, value in given.sequence:
        if name == _PIPELINE.name:
            steps += parse_pipeline(value)
        elif name in names:
            steps.append(Step(name, parse_options(value)))
    return steps
