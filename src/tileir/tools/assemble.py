"""`tileir as`: a program into bytecode."""

from __future__ import annotations

import sys

from tileir.ir.core import Operation
from tileir.ir.diagnostics import has_errors
from tileir.ir.quoting import harmless
from tileir.ir.versions import VERSION_NAMES, version_named
from tileir.tools.arguments import (
    COLOR,
    EXIT_FINE,
    EXIT_USAGE,
    EXIT_WRONG_INPUT,
    OUTPUT_DIRECTORY,
    OVERWRITE,
    Arguments,
    Option,
    ToolFailure,
    Usage,
)
from tileir.tools.output import output_paths, protect_input, write_bytes
from tileir.tools.programs import (
    BYTECODE,
    LAUNCH,
    READING_OPTIONS,
    SCRIPT,
    Settings,
    guarded,
    launch_number,
    read_program,
    tell,
)

USAGE = Usage(
    "tileir as",
    "Reads Tile IR programs, verifies them and writes them as bytecode.",
    "FILE|SCRIPT.py...",
    (
        Option("output", "where to write the bytecode (default: standard output)", value="OUT", short="o"),
        OUTPUT_DIRECTORY,
        Option("bytecode-version", "the version to write (default: the newest of the layout)", choices=VERSION_NAMES),
        Option(
            "layout",
            "NVIDIA's layout, or that of the bytecode draft (default: public)",
            choices=("public", "documented"),
        ),
        Option("debug-info", "create the debug scopes that locations need, also for positions in the text", short="g"),
        Option("legalize", "first replace what only the drafts define with what NVIDIA's tools accept"),
        LAUNCH,
        OVERWRITE,
        COLOR,
        *READING_OPTIONS,
    ),
    most=-1,
    details=f"""\
{SCRIPT} Its kernel is then written.

FILE may be '-' for standard input, and may be bytecode of another version or layout. Several files are written to
NAME.tileirbc in the directory of --output-dir. Bytecode is not written to a terminal. Exit status: 0 fine, 1 a program
has errors or cannot be written in that version and layout, 2 the command line is wrong or a file cannot be read or
written.""",
)


def run(arguments: list[str]) -> int:
    return guarded("tileir as", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    outputs = output_paths(given, ".tileirbc")
    if len(outputs) > 1 and "-" in outputs:
        raise ToolFailure("bytecode of several programs needs '--output-dir DIR'", EXIT_USAGE)
    status = EXIT_FINE
    for path, output in zip(given.operands, outputs, strict=True):
        try:
            status = max(status, _assemble(path, output, given))
        except ToolFailure as failure:
            # The other files are written all the same.
            print(f"tileir as: {harmless(failure.message)}", file=sys.stderr)
            status = max(status, failure.status)
    return status


def _assemble(path: str, output: str, given: Arguments) -> int:
    program = read_program(path, Settings(given), launch_number(given, given.operands))
    tell(program.diagnostics, given)
    if program.module is None:
        return EXIT_WRONG_INPUT
    protect_input(given, output, path, (program.kind, BYTECODE))
    if given.has("legalize") and not _legalize(program.module, given):
        return EXIT_WRONG_INPUT
    if given.has("debug-info"):
        from tileir.passes.debug_info import synthesize_scopes

        synthesize_scopes(program.module)
    from tileir.bytecode.layouts import dropped_information, newest_version, tile_module, to_bytes
    from tileir.bytecode.primitives import BytecodeError

    layout = given.value("layout", "public")
    asked = given.options.get("bytecode-version")
    version = newest_version(layout) if asked is None else version_named(asked)
    try:
        tell(dropped_information(tile_module(program.module), layout), given)
        data = to_bytes(program.module, version, layout)
    except BytecodeError as error:
        tell(error.diagnostics, given)
        return EXIT_WRONG_INPUT
    write_bytes(output, data)
    return EXIT_FINE


def _legalize(module: Operation, given: Arguments) -> bool:
    """Run the pass; mistakes and warnings are printed, False says that there were mistakes."""
    from tileir.ir.diagnostics import TileIRError
    from tileir.passes.pipeline import PassReport, run_passes

    report = PassReport(verify=True)
    found = report.diagnostics
    try:
        run_passes(module, ["legalize"], report=report)
    except TileIRError as error:
        found = [*found, *error.diagnostics]
    tell(found, given)
    return not has_errors(found)
