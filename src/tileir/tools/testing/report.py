"""`tileir report`: shows a file of results."""

from __future__ import annotations

import shutil
import sys

from tileir.ir.quoting import harmless
from tileir.judging.report import documents
from tileir.judging.report.comparison import SweepComparison, changes_object, changes_text, compared, markdown_changes
from tileir.judging.report.contents import Contents
from tileir.judging.report.page import page
from tileir.judging.report.programs import digest_named, extract, row_object, shown
from tileir.judging.report.text import plain, text_report
from tileir.judging.results.results import Results
from tileir.terminal import Progress
from tileir.tools import options
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command, painter, refusing
from tileir.tools.output import check_target, write_bytes, write_output

FORMATS = ("text", "json", "csv", "parquet", "markdown", "sarif", "junit")

USAGE = Usage(
    "tileir report",
    "FILE",
    ("tileir report results.sqlite", "tileir report results.sqlite --html page.html"),
    (
        Option(f"--format {'|'.join(FORMATS)}", "how the report is written (default: text)"),
        options.JSON.with_help("the same as --format json"),
        options.OUTPUT,
        options.HTML,
        Option("--compare FILE", "what is better and worse than in an older file of results"),
        Option("--show NAME", "one program whole: its name, its digest, or a kind of failure"),
        Option("--extract DIR", "write the programs that failed, and their reproducers, as files"),
        Option("--limit N", "how many kinds of failures are listed (default: 20)"),
        Option("--plan DIGEST", "the digest of another plan of the file (default: that of the latest sweep)"),
        options.QUIET,
        options.COLOR,
    ),
    """\
FILE is what 'tileir sweep' writes, also while it does. Kinds of failures are known by the step, the outcome and the
cause, which is the message without the names and numbers of one program; where results differ, by the operation that
programs with wrong results have and others have not. 'tileir docs report' describes all formats.""",
    statuses={
        0: "success, whatever the sweep found",
        1: "with --compare: something that passed fails now, or fails in another way",
    },
)


@command(USAGE)
def run(given: Arguments) -> int:
    limit = given.number("limit", 20, least=0)
    output, format, is_quiet = given.value("output", "-"), given.format(), given.has("quiet")
    check_target(output)
    check_target(given.value("html", "-"))
    # How wide the terminal is; what goes elsewhere is as wide as it needs to be.
    width = shutil.get_terminal_size((0, 24)).columns if output == "-" else 0
    paint = (painter(given, sys.stdout) if output == "-" else None) or plain
    with refusing(), Results(given.operands[0], given.value("plan") or None) as results:
        contents = Contents(results)
        changes: SweepComparison | None = None
        if given.has("compare"):
            _check_format(format, "compare", "text", "json", "markdown")
            with Results(given.value("compare")) as older:
                changes = compared(Contents(older), contents)
        if given.has("html"):
            _write_page(results, contents, changes, given.value("html"), is_quiet)
        if given.has("extract"):
            count = extract(results, contents, given.value("extract"))
            if not is_quiet:
                print(f"{harmless(given.value('extract'))}: {count:,} files", file=sys.stderr)
        if format == "parquet":
            given.refuse(("show", "compare"), "is text or JSON")
            write_bytes(output, documents.parquet_report(results), "a table in Parquet is")
            return EXIT_FINE
        if given.has("show"):
            digest = digest_named(contents, given.value("show"))
            _check_format(format, "show", "text", "json")
            text = row_object(results, digest) if format == "json" else shown(results, digest, paint)
        elif changes is not None:
            if format == "text":
                text = changes_text(changes, limit, width, paint)
            else:
                text = changes_object(changes) if format == "json" else markdown_changes(changes, limit)
        elif (given.has("html") or given.has("extract")) and not any(map(given.has, ("format", "json", "output"))):
            return EXIT_FINE
        else:
            render = {
                "text": lambda: text_report(contents, width, paint, limit),
                "markdown": lambda: documents.markdown_report(contents, limit),
                "json": lambda: documents.json_report(contents),
                "csv": lambda: documents.csv_report(contents),
                "sarif": lambda: documents.sarif_report(contents),
                "junit": lambda: documents.junit_report(contents),
            }
            text = render[format]()
        write_output(output, text if text.endswith("\n") else f"{text}\n")
        is_worse = changes is not None and changes.is_worse and not given.has("show")
        return EXIT_WRONG_INPUT if is_worse else EXIT_FINE


def write_page(path: str, target: str, is_quiet: bool) -> None:
    """Write the page of a file of results."""
    with refusing(), Results(path) as results:
        _write_page(results, Contents(results), None, target, is_quiet)


def _write_page(
    results: Results, contents: Contents, older: SweepComparison | None, target: str, is_quiet: bool
) -> None:
    with Progress(is_quiet=is_quiet) as progress:
        progress.step("writing the page")
        text = page(results, contents, older)
    write_output(target, text)
    if target != "-" and not is_quiet:
        print(f"{harmless(target)}: {len(text.encode()) / 1e6:.1f} MB", file=sys.stderr)


def _check_format(format: str, option: str, *allowed: str) -> None:
    """Refuse a format that the option does not support."""
    if format not in allowed:
        listed = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
        raise ToolFailure(f"'--{option}' is written as {listed}, not as {format}")
