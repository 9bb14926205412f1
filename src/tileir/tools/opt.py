"""`tileir opt`: read a program, verify it, optimize it, print it."""

from __future__ import annotations

from tileir.dialect.ops import MODULE
from tileir.ir.core import Operation
from tileir.text.printer import print_disassembly, print_operation
from tileir.tools.arguments import COLOR, EXIT_FINE, EXIT_WRONG_INPUT, OVERWRITE, Arguments, Option, ToolFailure, Usage
from tileir.tools.optimizing import OPTIMIZING_OPTIONS, Optimization, passes_help
from tileir.tools.output import protect_input, write_output
from tileir.tools.programs import (
    LAUNCH,
    READING_OPTIONS,
    SCRIPT,
    SCRIPT_ARGUMENTS,
    TEXT,
    Settings,
    guarded,
    read_program,
    script_options,
    tell,
)

USAGE = Usage(
    "tileir opt",
    "Reads a Tile IR program, verifies it, optimizes it on request, and prints it.",
    "FILE|SCRIPT.py",
    (
        Option("output", "where to write the program (default: standard output)", value="OUT", short="o"),
        Option("generic", "print MLIR's generic form"),
        Option("debug-info", "print locations", short="g"),
        Option(
            "names", "name constants as NVIDIA's tools do, or as the printer draft does", choices=("public", "draft")
        ),
        Option("disassembly", "print without the enclosing module, as NVIDIA's disassembler does"),
        LAUNCH,
        *OPTIMIZING_OPTIONS,
        OVERWRITE,
        COLOR,
        *READING_OPTIONS,
    ),
    most=-1,
    details=f"""\
{SCRIPT} Its kernel is then read.
{SCRIPT_ARGUMENTS}

FILE may be '-' for standard input. Diagnostics go to standard error. 'tileir docs optimizing' is about levels, rules
and passes, 'tileir docs writing_passes' about your own; with --load FILE.py this help lists those of the file too. Exit
status: 0 fine, 1 the program has errors, 2 the command line is wrong or a file cannot be read or written.""",
    more_help=passes_help,
)


def run(arguments: list[str]) -> int:
    return guarded("tileir opt", _run, arguments)


def _run(words: list[str]) -> int:
    given = USAGE.read(words)
    if given.status is not None:
        return given.status
    if given.has("disassembly") and (given.has("generic") or given.value("names", "public") == "draft"):
        other = "--generic" if given.has("generic") else "--names draft"
        raise ToolFailure(f"'--disassembly' and '{other}' exclude each other", USAGE.usage_status)
    launch, arguments = script_options(given)
    optimization = Optimization(given)
    settings = Settings(given)
    program = read_program(given.operands[0], settings, launch, arguments)
    tell(program.diagnostics, given)
    if program.module is None:
        return EXIT_WRONG_INPUT
    output = given.value("output", "-")
    protect_input(given, output, given.operands[0], (program.kind, TEXT))
    if not optimization.run(program.module, settings.version):
        return EXIT_WRONG_INPUT
    write_output(output, _text(program.module, given, settings))
    return EXIT_FINE


def _text(module: Operation, given: Arguments, settings: Settings) -> str:
    debug_info = given.has("debug-info")
    if given.has("disassembly"):
        return print_disassembly(_tile_module(module), debug_info, settings.version)
    text = print_operation(
        module,
        generic=given.has("generic"),
        debug_info=debug_info,
        names=given.value("names", "public"),
        version=settings.version,
    )
    return text + "\n"


def _tile_module(module: Operation) -> Operation:
    """The cuda_tile module a program consists of."""
    if module.declaration is MODULE:
        return module
    contents = list(module.regions[0].blocks[0])
    if len(contents) != 1 or contents[0].declaration is not MODULE:
        raise ToolFailure("'--disassembly' needs a program that is one cuda_tile.module", EXIT_WRONG_INPUT)
    return contents[0]
