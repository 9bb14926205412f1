"""`tileir check`: every finding in a program, at its position."""

from __future__ import annotations

import sys

from tileir.ir.diagnostics import Diagnostic
from tileir.ir.escapes import harmless
from tileir.ir.location import UnknownLocation
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Option, Usage
from tileir.tools.programs import READING_OPTIONS, STANDARD_INPUT, Settings, ToolFailure, guarded, read_program

USAGE = Usage(
    "tileir check",
    "Reads Tile IR programs and reports every mistake at its position.",
    "FILE...",
    (
        Option("json", "one JSON object per line for each finding, for other programs to read"),
        Option("quiet", "errors only: no warnings, no remarks, no counts", short="q"),
        *READING_OPTIONS,
    ),
    most=-1,
    details="FILE may be '-' for standard input. Exit status: 0 fine (warnings and remarks are fine), 1 a program has\n"
    "errors, 2 the command line is wrong or a file cannot be read.",
)

_SEVERITIES = ("error", "warning", "remark")


def run(arguments: list[str]) -> int:
    return guarded("tileir check", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    settings = Settings(given)
    quiet = given.has("quiet")
    status = EXIT_FINE
    counts = dict.fromkeys(_SEVERITIES, 0)
    for path in given.operands:
        try:
            program = read_program(path, settings)
        except ToolFailure as failure:
            # The other files are checked all the same.
            print(f"tileir check: {harmless(failure.message)}", file=sys.stderr)
            status = max(status, failure.status)
            continue
        diagnostics = program.diagnostics
        for diagnostic in diagnostics:
            counts[diagnostic.severity] += 1
            if diagnostic.severity == "error":
                status = max(status, EXIT_WRONG_INPUT)
        name = STANDARD_INPUT if path == "-" else path
        for diagnostic, offset in zip(diagnostics, program.offsets, strict=True):
            if quiet and diagnostic.severity != "error":
                continue
            if given.has("json"):
                _write_json(diagnostic, name, offset)
            else:
                suggest(diagnostic)
                print(_named(diagnostic, name))
    if not quiet and not given.has("json") and any(counts.values()):
        print(_summary(counts))
    return status


def _named(diagnostic: Diagnostic, path: str) -> str:
    """The finding as it is shown; one about bytecode has no position, so it gets at least its file."""
    rendered = diagnostic.render()
    return f"{harmless(path)}: {rendered}" if isinstance(diagnostic.location, UnknownLocation) else rendered


def suggest(diagnostic: Diagnostic) -> None:
    """Add a note about what a misspelled operation may have been meant to be."""
    message = diagnostic.message
    if not (message.startswith("custom op '") and " is unknown" in message):
        return
    import difflib

    from tileir.ir.declaration import REGISTRY

    word = message.split("'")[1].rpartition(".")[2]
    names = [declaration.mnemonic for declaration in REGISTRY.by_name.values() if not declaration.testing]
    close = difflib.get_close_matches(word, names, 1, 0.7)
    if close and close[0] != word:  # a newer dialect has it
        diagnostic.notes.append(Diagnostic("note", f"did you mean '{close[0]}'?", diagnostic.location))


def _summary(counts: dict[str, int]) -> str:
    """`2 errors, 1 remark`"""
    parts = [f"{count} {severity}{'' if count == 1 else 's'}" for severity, count in counts.items() if count]
    return ", ".join(parts)


def _write_json(diagnostic: Diagnostic, path: str, offset: int) -> None:
    """A finding on one line; one in bytecode has the offset in the file, where it is known."""
    import json

    finding = _finding(diagnostic, path)
    if offset >= 0:
        finding["offset"] = offset
    finding["notes"] = [_finding(note, path) for note in diagnostic.notes]
    print(json.dumps(finding))


def _finding(diagnostic: Diagnostic, path: str) -> dict[str, object]:
    file, line, column = diagnostic.position
    return {
        "file": file or path,
        "line": line,
        "column": column,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
    }
