"""`tileir-opt`: stands in for NVIDIA's cuda-tile-opt, with the same flags."""

from __future__ import annotations

import sys

from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic
from tileir.tools.arguments import EXIT_WRONG_INPUT, Arguments, Option, Usage
from tileir.tools.drop_in import OPTIONS, print_module, process
from tileir.tools.programs import ToolFailure, decode, guarded, read_bytes, run_process, write_output

# Known by name, so that asking for one says what is the matter.
_PASSES = (
    Option("pass-pipeline", "run passes (not in this release)", value="PIPELINE"),
    Option("canonicalize", "run a pass (not in this release)"),
    Option("cse", "run a pass (not in this release)"),
    Option("inline", "run a pass (not in this release)"),
    Option("fuse-fma", "run a pass (not in this release)"),
    Option("loop-split", "run a pass (not in this release)"),
    Option("synthesize-debug-info-scopes", "run a pass (not in this release)"),
    Option("test-debuginfo-update-symbol-name", "run a pass (not in this release)", value="OPTIONS"),
)

USAGE = Usage(
    "tileir-opt",
    "Reads a Tile IR program, verifies it and prints it, as NVIDIA's cuda-tile-opt does.",
    "[FILE]",
    OPTIONS + _PASSES,
    least=0,
    details="Options may begin with one dash or two. Without FILE, or with '-', standard input is read.",
    single_dash=True,
    usage_status=EXIT_WRONG_INPUT,
)


def main() -> int:
    return run_process("tileir-opt", run, sys.argv[1:])


def run(arguments: list[str]) -> int:
    return guarded("tileir-opt", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    for option in _PASSES:
        if given.has(option.name):
            raise ToolFailure(f"'-{option.name}': passes are not in this release yet", EXIT_WRONG_INPUT)
    path = given.operands[0] if given.operands else "-"
    status, output = process(decode(read_bytes(path), path), path, given, _Printing(given).text)
    # Standard output gets the parts that went well; a file is written only when all did.
    target = given.value("o", "-")
    if status == 0 or target == "-":
        write_output(target, output)
    return status


class _Printing:
    """The one translation there is so far: the program itself."""

    def __init__(self, given: Arguments) -> None:
        self.given: Arguments = given

    def text(self, module: Operation, diagnostics: list[Diagnostic]) -> str | None:
        return print_module(module, self.given)
