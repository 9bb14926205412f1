"""`tileir report`: what a file of results says."""

from __future__ import annotations

import shutil
import sys

from tileir.ir.quoting import harmless
from tileir.judge.report import documents
from tileir.judge.report.comparison import SweepComparison, changes_object, changes_text, compared, markdown_changes
from tileir.judge.report.contents import Contents
from tileir.judge.report.page import page
from tileir.judge.report.programs import digest_named, extract, row_object, shown
from tileir.judge.report.text import Paint, plain, text_report
from tileir.judge.results.results import Results
from tileir.tools import options
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command, painter, refusing
from tileir.tools.output import check_target, write_output

FORMATS = ("text", "json", "csv", "markdown", "sarif", "junit")

USAGE = Usage(
    "tileir report",
    "Shows what a sweep found: a table, failures grouped by cause, a page.",
    "FILE",
    (
        Option(f"--format {'|'.join(FORMATS)}", "how the report is written (default: text)"),
        options.OUTPUT.with_help("write the report to a file"),
        Option("--html OUT", "write a page that needs nothing else"),
        Option("--compare FILE", "what is better and worse than in an older file of results"),
        Option("--show NAME", "one program whole: its name, its digest, or a kind of failure"),
        Option("--extract DIR", "write the programs that failed, and their reproducers, as files"),
        Option("--limit N", "how many kinds of failures are listed (default: 20)"),
        Option("--plan DIGEST", "the digest of another plan of the file (default: that of the latest sweep)"),
        options.COLOR,
    ),
    details="""\
FILE is what 'tileir sweep' writes, also while it does. Kinds of failures are known by the step, the outcome and the
cause, which is the message without the names and numbers of one program; where results differ, by the operation that
programs with wrong results have and others have not. 'tileir docs report' describes all formats.

Exit status: 0 fine, whatever the sweep found; 1 with --compare, if something passed before that fails now, or fails in
a way that was not there; 2 the command line is wrong or a file cannot be read or written.""",
)


@command(USAGE)
def run(given: Arguments) -> int:
    limit = given.number("limit", 20, least=0)
    check_target(given.value("output", "-"))
    check_target(given.value("html", "-"))
    with refusing(), Results(given.operands[0], given.value("plan") or None) as results:
        return _reported(given, results, Contents(results), limit)


def _reported(given: Arguments, results: Results, contents: Contents, limit: int) -> int:
    older = _comparison(given, contents) if given.has("compare") else None
    if given.has("html"):
        _write_page(results, contents, older, given.value("html"))
    if given.has("extract"):
        count = extract(results, contents, given.value("extract"))
        print(f"{harmless(given.value('extract'))}: {count:,} files", file=sys.stderr)
    if given.has("show"):
        digest = digest_named(contents, given.value("show"))
        is_json = _format(given, "show", "text", "json") == "json"
        _write(given, row_object(results, digest) if is_json else shown(results, digest, _painter(given)))
    elif older is not None:
        _write(given, _compared(given, older, limit))
        return EXIT_WRONG_INPUT if older.is_worse else EXIT_FINE
    elif not (given.has("html") or given.has("extract")) or given.has("format") or given.has("output"):
        _write(given, _text(given, contents, limit))
    return EXIT_FINE


def write_page(path: str, target: str, is_quiet: bool) -> None:
    """Write the page of a file of results."""
    with refusing(), Results(path) as results:
        _write_page(results, Contents(results), None, target, is_quiet)


def _write_page(
    results: Results, contents: Contents, older: SweepComparison | None, target: str, is_quiet: bool = False
) -> None:
    text = page(results, contents, older)
    write_output(target, text)
    if target != "-" and not is_quiet:
        print(f"{harmless(target)}: {len(text.encode()) / 1e6:.1f} MB", file=sys.stderr)


def _format(given: Arguments, option: str, *allowed: str) -> str:
    """The format of what an option asks for."""
    format = given.value("format", "text")
    if format not in allowed:
        listed = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
        raise ToolFailure(f"'--{option}' is written as {listed}, not as {format}")
    return format


def _text(given: Arguments, contents: Contents, limit: int) -> str:
    render = {
        "text": lambda: text_report(contents, _width(given), _painter(given), limit),
        "markdown": lambda: documents.markdown_report(contents, limit),
        "json": lambda: documents.json_report(contents),
        "csv": lambda: documents.csv_report(contents),
        "sarif": lambda: documents.sarif_report(contents),
        "junit": lambda: documents.junit_report(contents),
    }
    return render[given.value("format", "text")]()


def _comparison(given: Arguments, contents: Contents) -> SweepComparison:
    _format(given, "compare", "text", "json", "markdown")
    with Results(given.value("compare")) as older:
        return compared(Contents(older), contents)


def _compared(given: Arguments, found: SweepComparison, limit: int) -> str:
    format = given.value("format", "text")
    if format == "json":
        return changes_object(found)
    if format == "markdown":
        return markdown_changes(found, limit)
    return changes_text(found, limit, _width(given), _painter(given))


def _write(given: Arguments, text: str) -> None:
    write_output(given.value("output", "-"), text if text.endswith("\n") else f"{text}\n")


def _width(given: Arguments) -> int:
    """How wide the terminal is; what goes elsewhere is as wide as it needs to be."""
    return shutil.get_terminal_size((0, 24)).columns if given.value("output", "-") == "-" else 0


def _painter(given: Arguments) -> Paint:
    return (painter(given, sys.stdout) if given.value("output", "-") == "-" else None) or plain
