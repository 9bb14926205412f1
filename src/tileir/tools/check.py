"""`tileir check`: every finding in programs, at its position."""

from __future__ import annotations

from tileir.tools.arguments import COLOR, Option, ToolFailure, Usage
from tileir.tools.programs import READING_OPTIONS, Settings, guarded, read_programs
from tileir.tools.reporting import FILES, JOBS, REPORTING_OPTIONS, SEVERITIES, Outcome, Writer, joined, report_files

USAGE = Usage(
    "tileir check",
    "Reads Tile IR programs and reports every mistake at its position.",
    "FILE|SCRIPT.py...",
    (
        *REPORTING_OPTIONS,
        Option("quiet", "errors only: no warnings, no remarks, no counts", short="q"),
        JOBS,
        COLOR,
        *READING_OPTIONS,
    ),
    most=-1,
    details=f"""\
{FILES}

Exit status: 0 fine (warnings and remarks are fine), 1 a program has errors, 2 the command line is wrong or a file
cannot be read.""",
)


def run(arguments: list[str]) -> int:
    return guarded("tileir check", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    writer = Writer("tileir check", given)
    settings = Settings(given)

    def outcome(path: str) -> Outcome:
        try:
            return joined([writer.diagnostics(program, path, SEVERITIES) for program in read_programs(path, settings)])
        except ToolFailure as failure:
            # The other files are checked all the same.
            return writer.failed(path, failure)

    return report_files(given, writer, outcome)
