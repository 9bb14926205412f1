"""`tileir check`: every finding in programs, at its position."""

from __future__ import annotations

from tileir.tools.arguments import Arguments, Usage
from tileir.tools.command import command
from tileir.tools.input import read_programs
from tileir.tools.options import JOBS, QUIET, READING
from tileir.tools.programs.reporting import FILES, REPORTING_OPTIONS, SEVERITIES, Outcome, Writer, joined, report_files

USAGE = Usage(
    "tileir check",
    "FILE|SCRIPT.py...",
    ("tileir check examples/softmax.mlir", "tileir check --format github examples"),
    (*REPORTING_OPTIONS, QUIET, JOBS, *READING),
    FILES,
    statuses={0: "success; there may be warnings and remarks", 1: "a program has errors"},
)


@command(USAGE)
def run(given: Arguments) -> int:
    writer = Writer(given)

    def outcome(path: str) -> Outcome:
        return joined([writer.diagnostics(program, path, SEVERITIES) for program in read_programs(path, given)])

    return report_files(given, writer, outcome)
