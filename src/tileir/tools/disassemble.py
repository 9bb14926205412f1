"""`tileir dis`: bytecode into text, as NVIDIA's tileirdisasm 13.4 prints it."""

from __future__ import annotations

import sys

from tileir.bytecode.layouts import LAYOUTS, from_bytes
from tileir.bytecode.primitives import BytecodeError
from tileir.ir.declaration import NEWEST
from tileir.ir.diagnostics import has_errors
from tileir.ir.escapes import harmless
from tileir.ir.verifier import VerifyContext, verify_operation
from tileir.text.printer import print_disassembly
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Option, Usage
from tileir.tools.output import OVERWRITE, protect_input, write_output
from tileir.tools.programs import BYTECODE, TEXT, guarded, not_bytecode, read_bytes

USAGE = Usage(
    "tileir dis",
    "Prints the program in a bytecode file, exactly as NVIDIA's tileirdisasm does.",
    "FILE",
    (
        Option("print-debug-info", "print locations", short="g"),
        Option("output", "where to write the text (default: standard output)", value="OUT", short="o"),
        Option("layout", "read the file in this layout (default: recognized by content)", choices=LAYOUTS),
        OVERWRITE,
    ),
    details="FILE may be '-' for standard input. Exit status: 0 fine, 1 the file cannot be decoded or its program\n"
    "breaks a rule, 2 the command line is wrong or a file cannot be read or written.",
)

# What tileirdisasm says after the mistakes themselves.
_NOT_VERIFIED = "error: verification failed for deserialized cuda_tile::ModuleOp"
_NOT_READ = "error: failed to read provided Tile IR bytecode"


def run(arguments: list[str]) -> int:
    return guarded("tileir dis", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    data = read_bytes(given.operands[0])
    try:
        module = from_bytes(data, given.options.get("layout"))
    except BytecodeError as error:
        # Without notes: tileirdisasm has none.
        for diagnostic in error.diagnostics:
            print(diagnostic, file=sys.stderr)
        hint = not_bytecode(data, given.operands[0])
        if hint is not None:
            print(harmless(hint), file=sys.stderr)
        return EXIT_WRONG_INPUT
    context = VerifyContext(NEWEST, first_only=True)
    verify_operation(module, context)
    if has_errors(context.diagnostics):
        # Neither warnings nor notes: tileirdisasm keeps them to itself.
        for diagnostic in context.diagnostics:
            if diagnostic.severity == "error":
                print(diagnostic, file=sys.stderr)
        print(_NOT_VERIFIED, _NOT_READ, sep="\n", file=sys.stderr)
        return EXIT_WRONG_INPUT
    output = given.value("output", "-")
    protect_input(given, output, given.operands[0], (BYTECODE, TEXT))
    write_output(output, print_disassembly(module, given.has("print-debug-info")))
    return EXIT_FINE
