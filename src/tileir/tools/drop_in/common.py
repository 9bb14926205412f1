"""What the two drop-ins for NVIDIA's tools share: their options, splitting, reading a text as those tools do.

They speak the dialect of the public sources, 13.3, and only its spellings; a module is put around every text; the
operations of the public test suite are known; reading and verifying end at the first error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import tileir.dialect.ops.testing  # noqa: F401  (the operations of the public test suite)
from tileir.analyze.expected_diagnostics import unexpected
from tileir.ir.core import Operation
from tileir.ir.declaration import VerifyContext
from tileir.ir.diagnostics import Diagnostic, TileIRError, has_errors
from tileir.ir.location import file_location
from tileir.ir.verifier import verify_operation
from tileir.ir.versions import V13_3
from tileir.text.printer import print_operation
from tileir.text.reading import read_text
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure
from tileir.tools.input import name_of

VERSION = V13_3
SPLIT_MARKER = "// -----"

OPTIONS = (
    Option("-o FILE", "where to write (default: standard output)"),
    Option("-split-input-file[=MARKER]", "process each part between markers separately", bare=SPLIT_MARKER),
    Option("-output-split-marker MARKER", "the separator between the results of the parts"),
    Option("-verify-diagnostics[=all|only-expected]", "compare the diagnostics with expected-* comments of the text"),
    Option("-allow-unregistered-dialect", "accept operations of unknown dialects, in generic form"),
    Option("-no-implicit-module", "do not wrap the text in a module"),
    Option("-mlir-print-op-generic", "print the generic form"),
    Option("-mlir-print-debuginfo", "print locations"),
    Option("-mlir-disable-threading", "accepted for compatibility; has no effect"),
    Option("-Wunsupported-hints", "warn about doubtful optimization hints"),
    Option("-Werr-hints", "with -Wunsupported-hints, reject them"),
)

DETAILS = "Options may begin with one dash or two. Without FILE, or with '-', standard input is read."

# Converts the module of one part to the tool's output; appends findings to the list, raises errors.
Translation = Callable[[Operation, list[Diagnostic]], str]


def read_part(text: str, name: str, given: Arguments, diagnostics: list[Diagnostic]) -> Operation | None:
    """Read and verify one part; None if it is not a program."""
    found = read_text(
        text,
        name,
        version=VERSION,
        allow_unregistered=given.has("allow-unregistered-dialect"),
        recover=False,
        testing=True,
        draft_spellings=False,
        implicit_module=True,
    )
    diagnostics.extend(found.diagnostics)
    module: Operation | None = found.module
    # Only the module that was put around the text stands at 0:0.
    if module is not None and given.has("no-implicit-module") and module.location is file_location(name, 0, 0):
        contents = list(module.regions[0].blocks[0])
        if len(contents) != 1:
            message = f"source must contain a single top-level operation, found: {len(contents)}"
            diagnostics.append(Diagnostic("error", message, module.location))
            return None
        module = contents[0]
        module.detach()
    if module is not None:
        verify(module, given, diagnostics)
    return None if has_errors(diagnostics) else module


def verify(module: Operation, given: Arguments, diagnostics: list[Diagnostic]) -> bool:
    """Whether a module is valid; up to the first error, findings are added to the list."""
    # Doubtful hints are found only where warnings are on; `-Werr-hints` alone changes nothing.
    hints = "error" if given.has("Werr-hints") else "warn"
    context = VerifyContext(VERSION, hints if given.has("Wunsupported-hints") else "ignore", first_only=True)
    verify_operation(module, context)
    diagnostics.extend(context.diagnostics)
    return not has_errors(context.diagnostics)


def print_module(module: Operation, given: Arguments) -> str:
    generic, debug_info = given.has("mlir-print-op-generic"), given.has("mlir-print-debuginfo")
    text = print_operation(module, generic=generic, debug_info=debug_info, version=VERSION, lossless=False)
    # At the outermost level MLIR leaves out the name of its own dialect.
    return text.removeprefix("builtin.") + "\n"


def process(text: str, path: str, given: Arguments, translation: Translation) -> tuple[int, str]:
    """Handle a text, part by part: the exit status and the output."""
    name = name_of(path)
    if not given.has("split-input-file"):
        return _process_part(text, name, given, translation)
    status = EXIT_FINE
    outputs: list[str] = []
    marker = given.value("split-input-file", SPLIT_MARKER)
    if not marker:
        raise ToolFailure("'-split-input-file' needs a marker with something in it", EXIT_WRONG_INPUT)
    line = 1
    # The rest of a marker's line belongs to the part after it.
    for part in text.split(marker):
        part_status, output = _process_part(part, f"within split at {name}:{line} offset ", given, translation)
        status = max(status, part_status)
        outputs.append(output)
        line += part.count("\n")
    return status, (given.value("output-split-marker", SPLIT_MARKER) + "\n").join(outputs)


def _process_part(text: str, name: str, given: Arguments, translation: Translation) -> tuple[int, str]:
    diagnostics: list[Diagnostic] = []
    output, status = "", EXIT_WRONG_INPUT
    try:
        module = read_part(text, name, given, diagnostics)
        if module is not None:
            output, status = translation(module, diagnostics), EXIT_FINE
    except TileIRError as error:
        diagnostics.extend(error.diagnostics)
    if given.has("verify-diagnostics"):
        only_expected = given.value("verify-diagnostics", "all") == "only-expected"
        diagnostics = unexpected(text, name, diagnostics, only_expected=only_expected)
        status = EXIT_WRONG_INPUT if diagnostics else EXIT_FINE
    for diagnostic in diagnostics:
        print(diagnostic.render_nvidia(), file=sys.stderr)
    return status, output
