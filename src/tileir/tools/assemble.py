"""`tileir as`: a program into bytecode."""

from __future__ import annotations

import sys

from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Option, Usage
from tileir.tools.programs import READING_OPTIONS, VERSIONS, Settings, guarded, read_program, write_bytes

USAGE = Usage(
    "tileir as",
    "Reads a Tile IR program, verifies it and writes it as bytecode.",
    "FILE",
    (
        Option("output", "where to write the bytecode (default: standard output)", value="OUT", short="o"),
        Option("bytecode-version", "the version to write (default: the newest of the layout)", choices=tuple(VERSIONS)),
        Option("layout", "NVIDIA's layout, or that of seed 001 (default: public)", choices=("public", "documented")),
        *READING_OPTIONS,
    ),
    details="FILE may be '-' for standard input, and may be bytecode of another version or layout. Bytecode is not\n"
    "written to a terminal. Exit status: 0 fine, 1 the program has errors or cannot be written in that version and\n"
    "layout, 2 the command line is wrong or a file cannot be read or written.",
)


def run(arguments: list[str]) -> int:
    return guarded("tileir as", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    program = read_program(given.operands[0], Settings(given))
    for diagnostic in program.diagnostics:
        print(diagnostic.render(), file=sys.stderr)
    if program.module is None:
        return EXIT_WRONG_INPUT
    from tileir.bytecode.layouts import newest_version, to_bytes
    from tileir.bytecode.primitives import BytecodeError

    layout = given.value("layout", "public")
    asked = given.options.get("bytecode-version")
    version = newest_version(layout) if asked is None else VERSIONS[asked]
    try:
        data = to_bytes(program.module, version, layout)
    except BytecodeError as error:
        for diagnostic in error.diagnostics:
            print(diagnostic.render(), file=sys.stderr)
        return EXIT_WRONG_INPUT
    write_bytes(given.value("output", "-"), data)
    return EXIT_FINE
