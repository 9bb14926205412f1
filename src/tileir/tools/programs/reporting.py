"""Findings of many files: which files, in how many processes, and how they are written.

`tileir check` and `tileir lint` share this; each passes a function that checks one file.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from tileir.ir.diagnostics import Diagnostic, OptionError
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import harmless, several
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure
from tileir.tools.command import complain, painter, refusing, with_suggestions
from tileir.tools.input import TEXT, Program, name_of
from tileir.tools.options import JSON, SCRIPT

FORMATS = ("text", "json", "sarif", "github")

REPORTING_OPTIONS = (
    Option(f"--format {'|'.join(FORMATS)}", "how findings are written (default: text)"),
    JSON.with_help("the same as --format json: one JSON object per line for each finding"),
)

FILES = f"""\
FILE may be '-' for standard input, a directory, or a pattern such as 'kernels/**/*.mlir' (quoted, so that the shell
does not expand it). In a directory and its subdirectories, files named *.mlir, *.tileir and *.tileirbc are checked,
and files of any other name that start like bytecode; hidden files are skipped, and links to directories are not
followed. {SCRIPT} Its kernels are then checked.

Formats: sarif is a SARIF 2.1.0 document, for code scanning; github is workflow commands, which GitHub Actions shows at
the lines of a pull request. In both, and in json, files that cannot be read are findings too."""

SEVERITIES = ("error", "warning", "remark")
_NO_FINDINGS = (0,) * len(SEVERITIES)
# Fewer files are checked before other processes have started.
_FEW = 200
# As many programs may stay in memory until the end.
_FEW_PROGRAMS = 8
# Files that a process takes at a time.
_CHUNK = 8

# The default level of a rule, its subject, and an explanation.
Described = tuple[str, str, str]


class Outcome:
    """What was found in a file: what is printed, the status, and how many findings of each severity.

    `failure` is the message about a file that could not be read, where that is no finding.
    """

    def __init__(
        self, out: Sequence[str], status: int = EXIT_FINE, counts: Sequence[int] = _NO_FINDINGS, failure: str = ""
    ) -> None:
        self.out = out
        self.status = status
        self.counts = counts
        self.failure = failure


def joined(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of all programs of one file."""
    counts = [sum(column) for column in zip(*[each.counts for each in outcomes], strict=True)]
    return Outcome([line for each in outcomes for line in each.out], max([each.status for each in outcomes]), counts)


class Writer:
    """How findings are written; `rules` are those that SARIF lists beside the ones of `tileir check`."""

    def __init__(self, given: Arguments, rules: Mapping[str, Described] | None = None) -> None:
        self._given: Arguments = given
        self.format: str = given.format()
        self.quiet: bool = given.has("quiet")
        self._paint = painter(given, sys.stdout)
        self.rules: Mapping[str, Described] = rules if rules is not None else {}

    def diagnostics(self, program: Program, path: str, severities: tuple[str, ...]) -> Outcome:
        """What the reader and the verifier found in a file, as far as it has one of these severities."""
        counts = [0] * len(SEVERITIES)
        out: list[str] = []
        with_suggestions([each for each in program.diagnostics if each.severity in severities], self._given)
        invalid = "verification" if program.decoded else "syntax" if program.kind == TEXT else "bytecode"
        for diagnostic, offset in zip(program.diagnostics, program.offsets, strict=True):
            severity = diagnostic.severity
            if severity not in severities:
                continue
            counts[SEVERITIES.index(severity)] += 1
            if not self.quiet or severity == "error":
                rule = {"warning": "doubtful", "remark": "draft-spelling"}.get(severity, invalid)
                out.append(self.shown(diagnostic, path, rule, offset))
        return Outcome(out, EXIT_WRONG_INPUT if counts[0] else EXIT_FINE, counts)

    def failed(self, path: str, failure: ToolFailure) -> Outcome:
        """A file that cannot be read, or holds no program: for people a message, for other tools a finding."""
        if self.format == "text":
            return Outcome([], failure.status, failure=failure.message)
        diagnostic = Diagnostic("error", harmless(failure.message), UNKNOWN)
        return Outcome([self.shown(diagnostic, path, "unreadable")], failure.status)

    def shown(self, diagnostic: Diagnostic, path: str, rule: str, offset: int = -1) -> str:
        """A finding in a file, as it is written; `offset` is where it is in bytecode, if that is known."""
        name = name_of(path)
        # Import each format on demand.
        if self.format == "json":
            import json

            return json.dumps(finding_facts(diagnostic, name, offset, rule if rule in self.rules else ""))
        if self.format == "sarif":
            from tileir.analyze.annotations import sarif_result

            return sarif_result(diagnostic, name, offset, rule, self.rules)
        if self.format == "github":
            from tileir.analyze.annotations import workflow_command

            return workflow_command(diagnostic, name)
        # A finding about bytecode has no position, so it gets at least its file.
        return diagnostic.render(harmless(name), self._paint) + "\n"


def report_files(given: Arguments, writer: Writer, find: Callable[[str], Outcome]) -> int:
    """Report what is found in the files of a command line; the exit status."""

    def outcome_of(path: str) -> Outcome:
        try:
            with refusing("", OptionError):
                return find(path)
        except ToolFailure as failure:
            # The other files are checked all the same.
            return writer.failed(path, failure)

    jobs = given.number("jobs", most=9999)
    paths, searched = list(dict.fromkeys(given.operands)), False
    failures: list[tuple[str, str]] = []
    if any("*" in path or "?" in path or "[" in path or os.path.isdir(path) for path in paths):
        from tileir.program_files import ProgramFiles

        files = ProgramFiles(given.operands)
        paths, searched, failures = files.paths, files.searched, files.failures
    outcomes = _outcomes(outcome_of, paths, jobs)
    if len(paths) > _FEW_PROGRAMS:
        from tileir.terminal import tracked

        outcomes = tracked(outcomes, len(paths), "files", is_quiet=writer.quiet)
    status = failed = 0
    counts: list[Sequence[int]] = []
    lines: list[str] = []
    for outcome in chain([writer.failed(path, ToolFailure(words)) for path, words in failures], outcomes):
        status = max(status, outcome.status)
        counts.append(outcome.counts)
        failed += bool(outcome.failure)
        if writer.format == "sarif":
            lines += outcome.out
            continue
        for line in outcome.out:
            print(line)
        complain(given, ToolFailure(outcome.failure))
    if writer.format == "sarif":
        from tileir.analyze.annotations import described_rules, sarif_document

        sys.stdout.writelines(sarif_document(lines, described_rules(writer.rules)))
    elif writer.format == "text" and not writer.quiet:
        summary = _summary(counts, failed, len(paths), searched)
        if summary:
            print(summary)
    return status


def _outcomes(outcome_of: Callable[[str], Outcome], paths: list[str], jobs: int) -> Iterable[Outcome]:
    """The outcome of each file, in their order; `jobs` 0 is for one process for each processor, if they pay."""
    if len(paths) > _FEW_PROGRAMS and not gc.isenabled():
        # A command is too short to collect garbage, unless it reads many programs; exclude the objects so far.
        gc.freeze()
        gc.enable()
    if not jobs and len(paths) >= _FEW:
        from tileir.processors import processors

        jobs = processors()
    jobs = min(jobs, (len(paths) + _CHUNK - 1) // _CHUNK)
    if jobs < 2 or "-" in paths or not hasattr(os, "fork"):
        return map(outcome_of, paths)
    return _in_processes(outcome_of, paths, jobs)


# What forks do with a path; a function made by a command cannot be sent to a process.
_work: list[Callable[[str], Outcome]] = []


def _in_processes(work: Callable[[str], Outcome], paths: list[str], jobs: int) -> Iterator[Outcome]:
    """The outcomes, found in processes: forks, which have everything imported."""
    # Imported here: it takes as long as checking a few files.
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context
    from signal import SIG_IGN, SIGINT, signal

    _work[:] = [work]
    # Ctrl-C reaches every process of a terminal; the first one ends the others.
    pool = ProcessPoolExecutor(jobs, get_context("fork"), signal, (SIGINT, SIG_IGN))
    try:
        yield from pool.map(_work_on, paths, chunksize=_CHUNK)
    except BrokenProcessPool:
        message = "a process was stopped from outside, as happens when memory runs out: try '--jobs 1'"
        raise ToolFailure(message, EXIT_WRONG_INPUT) from None
    finally:
        # After Ctrl-C, or when the reader of the output has gone, do not wait for work under way.
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown(cancel_futures=True)


def _work_on(path: str) -> Outcome:
    return _work[0](path)


def _summary(counts: list[Sequence[int]], failed: int, files: int, searched: bool) -> str:
    """`2 errors, 1 remark in 2 of 3 files; 1 could not be read`; empty for named files without findings."""
    sums = zip(map(sum, zip(*counts, strict=True)), SEVERITIES, strict=True)
    text = ", ".join([several(count, severity) for count, severity in sums if count])
    if not text and (not searched or not files):
        return ""
    if files == 1 and text and not searched:
        return text
    read = several(files, "file")
    text = f"{text} in {sum(map(any, counts))} of {read}" if text else f"{read}, no findings"
    return f"{text}; {failed} could not be read" if failed else text


def finding_facts(diagnostic: Diagnostic, path: str, offset: int = -1, rule: str = "") -> dict[str, object]:
    """A finding for JSON; one in bytecode has the offset in the file, where it is known."""

    def facts(each: Diagnostic) -> dict[str, object]:
        file, line, column = each.position
        place = {"file": file or path, "line": line, "column": column}
        return {**place, "severity": each.severity, "message": each.message}

    more: dict[str, object] = {"rule": rule} if rule else {}
    more |= {"offset": offset} if offset >= 0 else {}
    return {**facts(diagnostic), **more, "notes": [facts(note) for note in diagnostic.notes]}
