"""`tileir dis`: bytecode into text, as NVIDIA's tileirdisasm 13.4 prints it."""

from __future__ import annotations

import sys

from tileir.bytecode.layouts import from_bytes
from tileir.bytecode.primitives import BytecodeError
from tileir.ir.declaration import VerifyContext
from tileir.ir.quoting import harmless
from tileir.ir.verifier import verify_operation
from tileir.ir.versions import NEWEST
from tileir.text.printer import print_disassembly
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Usage
from tileir.tools.command import command, for_each_file
from tileir.tools.input import BYTECODE, TEXT, not_bytecode, read_bytes, refuse_source
from tileir.tools.options import DEBUG_INFO, LAYOUT, OUTPUT, OUTPUT_DIRECTORY

USAGE = Usage(
    "tileir dis",
    "FILE...",
    ("tileir dis matmul.tileirbc", "tileir dis matmul.tileirbc softmax.tileirbc --output-dir texts"),
    (DEBUG_INFO, OUTPUT, OUTPUT_DIRECTORY, LAYOUT),
    """\
FILE may be '-' for standard input. Each of several files is printed after a comment with its name, or written to
NAME.mlir in the directory of --output-dir.""",
)

# What tileirdisasm prints after the errors themselves.
_NOT_VERIFIED = "error: verification failed for deserialized cuda_tile::ModuleOp"
_NOT_READ = "error: failed to read provided Tile IR bytecode"


@command(USAGE)
def run(given: Arguments) -> int:
    outputs = ["-"] * len(given.operands)
    if given.has(OUTPUT.name) or given.has(OUTPUT_DIRECTORY.name):
        from tileir.tools.output import output_paths

        outputs = output_paths(given, ".mlir")
    targets = dict(zip(given.operands, outputs, strict=True))
    return for_each_file(given, lambda path: _disassemble(path, targets[path], given))


def _disassemble(path: str, output: str, given: Arguments) -> int:
    several = len(given.operands) > 1
    refuse_source(path, "'tileir opt {}' prints the program of its kernel")
    data = read_bytes(path)
    # Neither warnings nor notes: tileirdisasm prints none.
    try:
        module = from_bytes(data, given.options.get("layout"))
        context = VerifyContext(NEWEST, first_only=True)
        verify_operation(module, context)
        errors = [str(each) for each in context.diagnostics if each.severity == "error"]
        errors += [_NOT_VERIFIED, _NOT_READ] if errors else []
    except BytecodeError as error:
        hint = not_bytecode(data, path)
        errors = [*map(str, error.diagnostics), *([harmless(hint)] if hint is not None else [])]
    if errors:
        # With several files, name the file of these lines: they are NVIDIA's, and name none.
        sys.stdout.flush()
        print(*([f"{harmless(path)}:"] if several else []), *errors, sep="\n", file=sys.stderr)
        return EXIT_WRONG_INPUT
    text = print_disassembly(module, given.has("debug-info"))
    if output == "-":
        sys.stdout.write(f"// {harmless(path)}\n{text}\n" if several else text)
        return EXIT_FINE
    from tileir.tools.output import protect_input, write_output

    protect_input(output, path, (BYTECODE, TEXT))
    write_output(output, text)
    return EXIT_FINE
