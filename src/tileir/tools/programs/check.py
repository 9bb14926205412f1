"""`tileir check`: every finding in programs, at its position."""

from __future__ import annotations

from tileir.tools.arguments import Arguments, Usage
from tileir.tools.command import command
from tileir.tools.input import read_programs
from tileir.tools.options import JOBS, QUIET, READING_OPTIONS
from tileir.tools.programs.reporting import FILES, REPORTING_OPTIONS, SEVERITIES, Outcome, Writer, joined, report_files

USAGE = Usage(
    "tileir check",
    "Reads Tile IR programs and reports every mistake at its position.",
    "FILE|SCRIPT.py...",
    (
        *REPORTING_OPTIONS,
        QUIET.with_help("errors only: no warnings, no remarks, no counts"),
        JOBS,
        *READING_OPTIONS,
    ),
    details=f"""\
{FILES}

Exit status: 0 fine (warnings and remarks are fine), 1 a program has errors, 2 the command line is wrong or a file
cannot be read.""",
)


@command(USAGE)
def run(given: Arguments) -> int:
    writer = Writer(given)

    def outcome(path: str) -> Outcome:
        return joined([writer.diagnostics(program, path, SEVERITIES) for program in read_programs(path, given)])

    return report_files(given, writer, outcome)
