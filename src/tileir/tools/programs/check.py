"""`tileir check`: every finding in programs, at its position."""

from __future__ import annotations

from tileir.tools.arguments import Arguments, Usage
from tileir.tools.command import command
from tileir.tools.input import read_programs
from tileir.tools.options import JOBS, PROVE, PROVE_TIMEOUT, QUIET, READING
from tileir.tools.programs.reporting import FILES, REPORTING_OPTIONS, SEVERITIES, Outcome, Writer, joined, report_files

USAGE = Usage(
    "tileir check",
    "FILE|SCRIPT.py...",
    ("tileir check examples/softmax.mlir", "tileir check --format github examples"),
    (PROVE, PROVE_TIMEOUT, *REPORTING_OPTIONS, QUIET, JOBS, *READING),
    FILES,
    statuses={0: "success; there may be warnings and remarks", 1: "a program has errors"},
)


@command(USAGE)
def run(given: Arguments) -> int:
    prover = None
    if given.has("prove"):
        # Imported here: a check needs none of it, and is quick.
        from tileir.tools.programs.prove import Prover

        prover = Prover(given)
    writer = Writer(given, None if prover is None else prover.rules)

    def outcome(path: str) -> Outcome:
        programs = read_programs(path, given, repeated=prover is not None)
        if prover is None:
            return joined([writer.diagnostics(each, path, SEVERITIES) for each in programs])
        found: list[Outcome] = []
        for group in prover.distinct(programs):
            found.append(writer.diagnostics(group[0], path, SEVERITIES))
            if group[0].module is not None:
                found.append(prover.findings(group, path, writer))
        return joined(found)

    return report_files(given, writer, outcome)
