"""`tileir-translate`: stands in for NVIDIA's cuda-tile-translate, with the same flags."""

from __future__ import annotations

import sys
from functools import partial

from tileir.bytecode.layouts import tile_module
from tileir.bytecode.primitives import BytecodeError
from tileir.bytecode.reader import read_public
from tileir.bytecode.writer import write_public
from tileir.dialect.ops import MODULE
from tileir.dialect.ops.testing import TESTING_VERSIONS
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, TileIRError
from tileir.ir.versions import V13_1, V13_2, V13_3, Version, version_text
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command, run_process
from tileir.tools.drop_in.common import DETAILS, OPTIONS, VERSION, print_module, process, verify
from tileir.tools.input import BYTECODE, TEXT, decode, read_bytes
from tileir.tools.output import protect_input, write_output

# What each does, its input and its output.
TRANSLATIONS = {
    "mlir-to-cudatilebc": ("text into bytecode", TEXT, BYTECODE),
    "cudatilebc-to-mlir": ("bytecode into text", BYTECODE, TEXT),
    "test-cudatile-roundtrip": ("text into bytecode and back", TEXT, TEXT),
}

USAGE = Usage(
    "tileir-translate",
    "[FILE]",
    (
        "tileir-translate -mlir-to-cudatilebc kernel.mlir -o kernel.tileirbc",
        "tileir-translate -cudatilebc-to-mlir kernel.tileirbc",
    ),
    (
        *[Option(f"-{name}", summary) for name, (summary, _, _) in TRANSLATIONS.items()],
        Option("-bytecode-version VERSION", "the bytecode version to write (default: 13.3)"),
        Option("-list-versions", "list the bytecode versions"),
        Option("-generic-form", "after a round trip, print the generic form"),
        *OPTIONS,
    ),
    DETAILS,
    summary="Translate between Tile IR text and bytecode, as NVIDIA's cuda-tile-translate does",
    single_dash=True,
)

_VERSIONS = (V13_1, V13_2, V13_3, *TESTING_VERSIONS)


def main() -> int:
    return run_process("tileir-translate", run, sys.argv[1:])


@command(USAGE)
def run(given: Arguments) -> int:
    if given.has("list-versions"):
        for version in _VERSIONS:
            print(version_text(version))
        return EXIT_FINE
    chosen = list(filter(given.has, TRANSLATIONS))
    if len(chosen) != 1:
        choices = ", ".join([f"-{name}" for name in TRANSLATIONS])
        raise ToolFailure(f"expected one of {choices}", EXIT_WRONG_INPUT)
    version = _bytecode_version(given)
    path = given.operands[0] if given.operands else "-"
    data = read_bytes(path)
    if chosen[0] == "cudatilebc-to-mlir":
        status, output = _disassemble(data, given)
    else:
        translate = _assembled if chosen[0] == "mlir-to-cudatilebc" else _round_trip
        status, output = process(decode(data, path), path, given, partial(translate, given=given, version=version))
    target = given.value("o", "-")
    if status == EXIT_FINE or target == "-":
        protect_input(target, path, TRANSLATIONS[chosen[0]][1:])
        write_output(target, output)
    return status


def _bytecode_version(given: Arguments) -> Version:
    text = given.value("bytecode-version", version_text(VERSION))
    found = next((version for version in _VERSIONS if text == version_text(version)), None)
    if found is None:
        message = f"for the --bytecode-version option: Invalid argument '{text}'"
        raise ToolFailure(f"{message}: the supported versions are [13.1 - 13.3]", EXIT_WRONG_INPUT)
    return found


def _assembled(module: Operation, _: list[Diagnostic], given: Arguments, version: Version) -> str:
    # Output is one text; any bytes pass through it unchanged, because it is encoded in the same way.
    return write_public(tile_module(module), version).decode("utf-8", "surrogateescape")


def _round_trip(module: Operation, diagnostics: list[Diagnostic], given: Arguments, version: Version) -> str:
    if module.declaration is not MODULE:
        message = f"expected a 'cuda_tile.module' op, got '{module.name}'"
        raise TileIRError([Diagnostic("error", message, module.location)])
    read = _read(write_public(tile_module(module), version), given, diagnostics)
    if read is None:
        raise TileIRError([Diagnostic("error", "Failed to deserialize bytecode", module.location)])
    if given.has("generic-form"):
        given.options["mlir-print-op-generic"] = ""
    return print_module(read, given)


def _disassemble(data: bytes, given: Arguments) -> tuple[int, str]:
    diagnostics: list[Diagnostic] = []
    module = _read(data, given, diagnostics)
    for diagnostic in diagnostics:
        print(diagnostic.render_nvidia(), file=sys.stderr)
    return (EXIT_WRONG_INPUT, "") if module is None else (EXIT_FINE, print_module(module, given))


def _read(data: bytes, given: Arguments, diagnostics: list[Diagnostic]) -> Operation | None:
    """Decode and verify; None if there is no program in the bytes."""
    version = (data[8], data[9]) if len(data) > 9 else VERSION
    try:
        module = read_public(data, version if version in TESTING_VERSIONS else VERSION)
    except BytecodeError as error:
        for diagnostic in error.diagnostics:
            diagnostic.notes.clear()
            # The public sources have another text for this than the released tools.
            if diagnostic.message == "input does not correspond to Tile IR bytecode":
                diagnostic.message = "invalid magic number"
        diagnostics.extend(error.diagnostics)
        return None
    if verify(module, given, diagnostics):
        return module
    message = "verification failed for deserialized cuda_tile::ModuleOp"
    diagnostics.append(Diagnostic("error", message, module.location))
    return None
