"""`tileir report`: what a file of results says."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tileir.ir.diagnostics import TileIRError
from tileir.ir.quoting import harmless
from tileir.tools.arguments import COLOR, EXIT_FINE, EXIT_USAGE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.programs import guarded

if TYPE_CHECKING:
    from tileir.judge.report.comparison import SweepComparison
    from tileir.judge.report.contents import Contents
    from tileir.judge.report.text import Paint
    from tileir.judge.results.results import Results

FORMATS = ("text", "json", "csv", "markdown", "sarif", "junit")

USAGE = Usage(
    "tileir report",
    "Shows what a sweep found: a table, failures grouped by cause, a page.",
    "FILE",
    (
        Option("format", "how the report is written (default: text)", choices=FORMATS),
        Option("output", "write the report to a file", value="OUT", short="o"),
        Option("html", "write a page that needs nothing else", value="OUT"),
        Option("compare", "what is better and worse than in an older file of results", value="FILE"),
        Option("show", "one program whole: its name, its digest, or a kind of failure", value="NAME"),
        Option("extract", "write the programs that failed, and their reproducers, as files", value="DIR"),
        Option("limit", "how many kinds of failures are listed (default: 20)", value="N"),
        Option("plan", "the digest of another plan of the file (default: that of the latest sweep)", value="DIGEST"),
        COLOR,
    ),
    details="""\
FILE is what 'tileir sweep' writes, also while it does. Kinds of failures are known by the step, the outcome and the
cause, which is the message without the names and numbers of one program; where results differ, by the operation that
programs with wrong results have and others have not. 'tileir docs report' describes all formats.

Exit status: 0 fine, whatever the sweep found; 1 with --compare, if something passed before that fails now, or fails in
a way that was not there; 2 the command line is wrong or a file cannot be read or written.""",
)


def run(arguments: list[str]) -> int:
    return guarded("tileir report", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    limit = _limit(given.value("limit", "20"))
    for name in ("output", "html"):
        if given.has(name) and given.value(name, "") != "-":
            from tileir.tools.output import check_target

            check_target(given.value(name, ""))
    # Imported here: mistakes are told sooner.
    from tileir.judge.report.contents import contents_of
    from tileir.judge.results.results import Results

    try:
        with Results(given.operands[0], given.value("plan", "") or None) as results:
            return _reported(given, results, contents_of(results), limit)
    except TileIRError as error:
        raise ToolFailure(error.message, EXIT_USAGE) from None


def _reported(given: Arguments, results: Results, contents: Contents, limit: int) -> int:
    asked = False
    older = _comparison(given, contents) if given.has("compare") else None
    if given.has("html"):
        _write_page(results, contents, older, given.value("html", ""))
        asked = True
    if given.has("extract"):
        from tileir.judge.report.programs import extract

        count = extract(results, contents, given.value("extract", ""))
        print(f"{harmless(given.value('extract', ''))}: {count:,} files", file=sys.stderr)
        asked = True
    if given.has("show"):
        _write(given, _shown(given, results, contents))
        return EXIT_FINE
    if older is not None:
        return _compared(given, older, limit)
    if not asked or given.has("format") or given.has("output"):
        _write(given, _text(given, contents, limit))
    return EXIT_FINE


def write_page(path: str, target: str, is_quiet: bool) -> None:
    """Write the page of a file of results."""
    from tileir.judge.report.contents import contents_of
    from tileir.judge.results.results import Results

    try:
        with Results(path) as results:
            _write_page(results, contents_of(results), None, target, is_quiet)
    except TileIRError as error:
        raise ToolFailure(error.message, EXIT_USAGE) from None


def _write_page(
    results: Results, contents: Contents, older: SweepComparison | None, target: str, is_quiet: bool = False
) -> None:
    from tileir.judge.report.page import page
    from tileir.tools.output import write_output

    text = page(results, contents, older)
    write_output(target, text)
    if target != "-" and not is_quiet:
        print(f"{harmless(target)}: {len(text.encode()) / 1e6:.1f} MB", file=sys.stderr)


def _text(given: Arguments, contents: Contents, limit: int) -> str:
    # Each is imported by who asks for it.
    format = given.value("format", "text")
    if format == "text":
        from tileir.judge.report.text import TextReport

        return TextReport(contents, _width(given), _painter(given), limit).render()
    if format == "sarif":
        from tileir.judge.report.documents import sarif_report

        return sarif_report(contents)
    if format == "junit":
        from tileir.judge.report.documents import junit_report

        return junit_report(contents)
    from tileir.judge.report.documents import csv_report, json_report, markdown_report

    if format == "markdown":
        return markdown_report(contents, limit)
    return json_report(contents) if format == "json" else csv_report(contents)


def _shown(given: Arguments, results: Results, contents: Contents) -> str:
    from tileir.judge.report.programs import digest_named, row_object, shown

    digest = digest_named(contents, given.value("show", ""))
    format = given.value("format", "text")
    if format not in ("text", "json"):
        raise ToolFailure(f"'--show' is written as text or json, not as {format}", EXIT_USAGE)
    return row_object(results, digest) if format == "json" else shown(results, digest, _painter(given))


def _comparison(given: Arguments, contents: Contents) -> SweepComparison:
    from tileir.judge.report.comparison import compared
    from tileir.judge.report.contents import contents_of
    from tileir.judge.results.results import Results

    format = given.value("format", "text")
    if format not in ("text", "json", "markdown"):
        raise ToolFailure(f"'--compare' is written as text, json or markdown, not as {format}", EXIT_USAGE)
    with Results(given.value("compare", "")) as older:
        return compared(contents_of(older), contents)


def _compared(given: Arguments, found: SweepComparison, limit: int) -> int:
    from tileir.judge.report.comparison import changes_object, changes_text, markdown_changes

    format = given.value("format", "text")
    if format == "json":
        _write(given, changes_object(found))
    elif format == "markdown":
        _write(given, markdown_changes(found, limit))
    else:
        _write(given, changes_text(found, limit, _width(given), _painter(given)))
    return EXIT_WRONG_INPUT if found.is_worse else EXIT_FINE


def _write(given: Arguments, text: str) -> None:
    from tileir.tools.output import write_output

    write_output(given.value("output", "-"), text if text.endswith("\n") else f"{text}\n")


def _width(given: Arguments) -> int:
    """How wide the terminal is; what goes elsewhere is as wide as it needs to be."""
    if given.value("output", "-") != "-" or not sys.stdout.isatty():
        width = os.environ.get("COLUMNS", "")
        return int(width) if width.isascii() and width.isdecimal() and given.value("output", "-") == "-" else 0
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except OSError:
        return 0


def _painter(given: Arguments) -> Paint:
    from tileir.judge.report.text import plain

    if given.value("output", "-") != "-" or not given.wants_colour(sys.stdout):
        return plain
    from tileir.tools.colours import in_outcome

    return in_outcome


def _limit(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else -1
    if number < 0:
        raise ToolFailure(f"'--limit {text}': give a number from 0 on", EXIT_USAGE)
    return number
