"""`tileir as`: a program into bytecode."""

from __future__ import annotations

from tileir.ir.diagnostics import has_errors
from tileir.ir.versions import version_named
from tileir.tools import options
from tileir.tools.arguments import EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command, for_each_file, print_diagnostics
from tileir.tools.input import BYTECODE, check_launch, read_program
from tileir.tools.output import output_paths, protect_input, write_bytes

USAGE = Usage(
    "tileir as",
    "FILE|SCRIPT.py...",
    (
        "tileir as examples/matmul.mlir -o matmul.tileirbc",
        "tileir as examples/matmul.mlir examples/softmax.mlir --output-dir build",
    ),
    (
        options.OUTPUT,
        options.OUTPUT_DIRECTORY,
        options.VERSION,
        options.LAYOUT.with_help("NVIDIA's layout, or that of the bytecode draft (default: public)"),
        options.DEBUG_INFO.with_help("create the debug scopes that locations need, also for positions in the text"),
        Option("--legalize", "first replace what only the drafts define with what NVIDIA's tools accept"),
        options.LAUNCH,
        *options.READING,
    ),
    f"""\
{options.SCRIPT} Its kernel is then written.

FILE may be '-' for standard input, and may be bytecode of another version or layout. Several files are written to
NAME.tileirbc in the directory of --output-dir. Bytecode is not written to a terminal.""",
)


@command(USAGE)
def run(given: Arguments) -> int:
    outputs = dict(zip(given.operands, output_paths(given, ".tileirbc"), strict=True))
    if len(given.operands) > 1 and "-" in outputs.values():
        raise ToolFailure("bytecode of several programs needs '--output-dir DIR'")
    check_launch(given, given.operands)
    return for_each_file(given, lambda path: _assemble(path, outputs[path], given))


def _assemble(path: str, output: str, given: Arguments) -> None:
    program = read_program(path, given)
    module = program.checked(given)
    protect_input(output, path, (program.kind, BYTECODE))
    if given.has("legalize"):
        from tileir.passes.pipeline import PassReport, run_passes

        report = PassReport(verify=True)
        try:
            run_passes(module, ["legalize"], report=report)
        finally:
            print_diagnostics(report.diagnostics, given)
        if has_errors(report.diagnostics):
            raise ToolFailure("", EXIT_WRONG_INPUT)
    if given.has("debug-info"):
        from tileir.passes.debug_info import synthesize_scopes

        synthesize_scopes(module)
    from tileir.bytecode.layouts import dropped_information, newest_version, tile_module, to_bytes

    layout = given.value("layout", "public")
    requested = given.value("bytecode-version")
    version = version_named(requested) if requested else newest_version(layout)
    print_diagnostics(dropped_information(tile_module(module), layout, version), given)
    write_bytes(output, to_bytes(module, version, layout))
