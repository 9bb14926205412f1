"""`tileir check`: every finding in programs, at its position."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable

from tileir.ir.diagnostics import Diagnostic
from tileir.ir.escapes import harmless
from tileir.ir.location import UNKNOWN, UnknownLocation
from tileir.tools.arguments import COLOR, EXIT_FINE, EXIT_USAGE, EXIT_WRONG_INPUT, Option, Usage
from tileir.tools.programs import (
    READING_OPTIONS,
    STANDARD_INPUT,
    TEXT,
    Settings,
    ToolFailure,
    guarded,
    read_program,
    with_suggestions,
)

FORMATS = ("text", "json", "sarif", "github")

USAGE = Usage(
    "tileir check",
    "Reads Tile IR programs and reports every mistake at its position.",
    "FILE...",
    (
        Option("format", "how findings are written (default: text)", choices=FORMATS),
        Option("json", "the same as --format json: one JSON object per line for each finding"),
        Option("quiet", "errors only: no warnings, no remarks, no counts", short="q"),
        Option("jobs", "check many files in this many processes (default: one for each processor)", value="N"),
        COLOR,
        *READING_OPTIONS,
    ),
    most=-1,
    details="""\
FILE may be '-' for standard input, a directory, or a pattern such as 'kernels/**/*.mlir' (quoted, so that the shell
does not expand it). In a directory and its subdirectories, files named *.mlir and *.tileirbc are checked, and files of
any other name that start like bytecode; hidden files are skipped, and links to directories are not followed.

Formats: sarif is a SARIF 2.1.0 document, for code scanning; github is workflow commands, which GitHub Actions shows at
the lines of a pull request. In both, and in json, files that cannot be read are findings too.

Exit status: 0 fine (warnings and remarks are fine), 1 a program has errors, 2 the command line is wrong or a file
cannot be read.""",
)

_SEVERITIES = ("error", "warning", "remark")
# Fewer files are checked before other processes have started.
_FEW = 200
# As many programs may stay in memory until the end.
_FEW_PROGRAMS = 8

# What came of a file: words for standard output and standard error, the status, and how many findings of each severity.
Outcome = tuple[list[str], str, int, list[int]]


def run(arguments: list[str]) -> int:
    return guarded("tileir check", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    if given.has("json") and given.value("format", "json") != "json":
        raise ToolFailure(f"'--json' and '--format {given.value('format', '')}' exclude each other", EXIT_USAGE)
    format = given.value("format", "json" if given.has("json") else "text")
    checker = Checker(Settings(given), format, given.has("quiet"), given.wants_colour(sys.stdout))
    jobs = _jobs(given.value("jobs", ""))
    paths, failures, searched = _files(given.operands)
    outcomes = [checker.failed(path, failure) for path, failure in failures]
    total = _Total()
    if format == "sarif":
        _write_sarif(total.added(outcomes), total.added(_checked(checker, paths, jobs)))
        return total.status
    for outcome in outcomes:
        _write(total, outcome)
    for outcome in _checked(checker, paths, jobs):
        _write(total, outcome)
    if format == "text" and not checker.quiet:
        summary = total.summary(len(paths), searched)
        if summary:
            print(summary)
    return total.status


def _files(operands: list[str]) -> tuple[list[str], list[tuple[str, ToolFailure]], bool]:
    """The files to check, operands that give none, and whether any had to be searched for."""
    if not any("*" in path or "?" in path or "[" in path or os.path.isdir(path) for path in operands):
        return list(dict.fromkeys(operands)), [], False
    # Imported here: most name their files.
    from tileir.program_files import ProgramFiles

    files = ProgramFiles(operands)
    return files.paths, [(path, ToolFailure(words, EXIT_USAGE)) for path, words in files.failures], files.searched


def _jobs(text: str) -> int:
    """How many processes work; 0 for what suits."""
    if not text:
        return 0
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else 0
    if number < 1:
        raise ToolFailure(f"'{text}' is no number of processes: give one from 1 on", EXIT_USAGE)
    return number


def _checked(checker: Checker, paths: list[str], jobs: int) -> Iterable[Outcome]:
    """What comes of each file, in their order."""
    if len(paths) > _FEW_PROGRAMS and not gc.isenabled():
        # A command is too short to collect garbage, unless it reads many programs; what is there now stays.
        gc.freeze()
        gc.enable()
    if jobs != 1 and (jobs or len(paths) >= _FEW) and "-" not in paths and len(paths) > 1:
        # Imported here: it takes as long as checking a few files.
        from tileir.tools.processes import in_processes

        return in_processes(checker.outcome, paths, jobs)
    return map(checker.outcome, paths)


def _write(total: _Total, outcome: Outcome) -> None:
    total.add(outcome)
    out, error, _, _ = outcome
    for piece in out:
        print(piece)
    if error:
        # So that both are in order where they go to the same place.
        sys.stdout.flush()
        print(error, file=sys.stderr)


def _write_sarif(*groups: Iterable[Outcome]) -> None:
    from tileir.tools.sarif import document

    results = [result for group in groups for outcome in group for result in outcome[0]]
    for piece in document(results):
        sys.stdout.write(piece)


class Checker:
    """How files are checked and their findings written."""

    def __init__(self, settings: Settings, format: str, quiet: bool, colour: bool) -> None:
        self.settings: Settings = settings
        self.format: str = format
        self.quiet: bool = quiet
        self.colour: bool = colour

    def outcome(self, path: str) -> Outcome:
        try:
            program = read_program(path, self.settings)
        except ToolFailure as failure:
            # The other files are checked all the same.
            return self.failed(path, failure)
        name = STANDARD_INPUT if path == "-" else path
        counts = [0] * len(_SEVERITIES)
        out: list[str] = []
        unsound = "verification" if program.decoded else "syntax" if program.kind == TEXT else "bytecode"
        for diagnostic, offset in zip(program.diagnostics, program.offsets, strict=True):
            severity = diagnostic.severity
            counts[_SEVERITIES.index(severity)] += 1
            if not self.quiet or severity == "error":
                with_suggestions(diagnostic)
                rule = {"warning": "doubtful", "remark": "draft-spelling"}.get(severity, unsound)
                out.append(self._shown(diagnostic, name, offset, rule))
        return out, "", EXIT_WRONG_INPUT if counts[0] else EXIT_FINE, counts

    def failed(self, path: str, failure: ToolFailure) -> Outcome:
        """A file that cannot be read, or holds no program: for people a word aside, for other tools a finding."""
        if self.format == "text":
            return [], f"tileir check: {harmless(failure.message)}", failure.status, [0, 0, 0]
        diagnostic = Diagnostic("error", harmless(failure.message), UNKNOWN)
        name = STANDARD_INPUT if path == "-" else path
        return [self._shown(diagnostic, name, -1, "unreadable")], "", failure.status, [0, 0, 0]

    def _shown(self, diagnostic: Diagnostic, name: str, offset: int, rule: str) -> str:
        # What few ask for is imported when they do.
        if self.format == "json":
            return json_finding(diagnostic, name, offset)
        if self.format == "sarif":
            from tileir.tools.sarif import result

            return result(diagnostic, name, offset, rule)
        if self.format == "github":
            from tileir.tools.workflow_commands import command

            return command(diagnostic, name)
        # A finding about bytecode has no position, so it gets at least its file.
        placed = not isinstance(diagnostic.location, UnknownLocation)
        if self.colour:
            from tileir.tools.colours import painted

            return painted(diagnostic, "" if placed else harmless(name))
        return diagnostic.render() if placed else f"{harmless(name)}: {diagnostic.render()}"


class _Total:
    """The outcomes of all files together."""

    def __init__(self) -> None:
        self.status: int = EXIT_FINE
        self.counts: list[int] = [0] * len(_SEVERITIES)
        self.with_findings: int = 0
        self.failures: int = 0

    def add(self, outcome: Outcome) -> None:
        _, error, status, counts = outcome
        self.status = max(self.status, status)
        self.counts = [before + more for before, more in zip(self.counts, counts, strict=True)]
        self.with_findings += any(counts)
        self.failures += bool(error)

    def added(self, outcomes: Iterable[Outcome]) -> Iterable[Outcome]:
        for outcome in outcomes:
            self.add(outcome)
            yield outcome

    def summary(self, files: int, searched: bool) -> str:
        """`2 errors, 1 remark in 2 of 3 files, 1 not readable`; nothing about files without findings, if named."""
        parts = [
            f"{count} {severity}{'' if count == 1 else 's'}"
            for count, severity in zip(self.counts, _SEVERITIES, strict=True)
            if count
        ]
        text = ", ".join(parts)
        if not text and (not searched or not files):
            return ""
        if files == 1 and text and not searched:
            return text
        read = f"{files} file{'' if files == 1 else 's'}"
        text = f"{text} in {self.with_findings} of {read}" if text else f"{read}, no findings"
        return f"{text}; {self.failures} could not be read" if self.failures else text


def json_finding(diagnostic: Diagnostic, path: str, offset: int) -> str:
    """A finding on one line; one in bytecode has the offset in the file, where it is known."""
    import json

    finding = _finding(diagnostic, path)
    if offset >= 0:
        finding["offset"] = offset
    finding["notes"] = [_finding(note, path) for note in diagnostic.notes]
    return json.dumps(finding)


def _finding(diagnostic: Diagnostic, path: str) -> dict[str, object]:
    file, line, column = diagnostic.position
    return {
        "file": file or path,
        "line": line,
        "column": column,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
    }
