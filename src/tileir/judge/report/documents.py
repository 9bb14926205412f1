"""A report for other programs and pages: JSON, CSV, Markdown."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import asdict
from typing import Any

from tileir.ir.quoting import harmless
from tileir.judge.report.clusters import FailureKind
from tileir.judge.report.contents import Contents, summary_of
from tileir.judge.report.entries import OUTCOMES, SweepEntry
from tileir.judge.report.text import speed_of, speeds_in, steps_of


def json_report(contents: Contents) -> str:
    """Everything, as one object; docs/report.md has its keys."""
    found = {
        "file": os.path.basename(contents.path),
        "plan": {"digest": contents.plan, "settings": contents.settings},
        "summary": summary_of(contents),
        "counts": {outcome: contents.counts[outcome] for outcome in OUTCOMES if contents.counts[outcome]},
        "kinds": [cluster_object(cluster) for cluster in contents.clusters],
        "steps": [{"step": step.name, **dict(sorted(step.outcomes.items()))} for step in contents.steps],
        "programs": [entry_object(contents, entry) for entry in contents.entries],
    }
    return json.dumps(found, indent=1)


def cluster_object(cluster: FailureKind) -> dict[str, Any]:
    return {
        "kind": cluster.key,
        "programs": cluster.count,
        "steps": cluster.steps,
        "outcome": cluster.outcome,
        "cause": cluster.cause,
        "suspect": cluster.suspect,
        "message": cluster.message,
        "smallest": cluster.smallest.name,
        "digest": cluster.smallest.digest,
        "bytes": cluster.smallest.size,
        "operations": cluster.smallest.operations,
        "reproducer": _reproducer(cluster) if cluster.reproducer else None,
        "note": cluster.note,
    }


def _reproducer(cluster: FailureKind) -> dict[str, Any]:
    size, operations = cluster.reproducer_size, cluster.reproducer_operations
    return {"digest": cluster.reproducer, "bytes": size, "operations": operations}


def entry_object(contents: Contents, entry: SweepEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "names": list(entry.names),
        "digest": entry.digest,
        "kind": entry.kind,
        "bytes": entry.size,
        "operations": entry.operations,
        "outcome": entry.outcome,
        "step": entry.step,
        "cause": entry.cause,
        "kinds": [contents.clusters[number].key for number in entry.clusters],
        "seconds": entry.seconds,
        "peak_bytes": entry.peak,
        **({"speeds": [asdict(speed) for speed in entry.speeds]} if entry.speeds else {}),
    }


CSV_COLUMNS = ("name", "digest", "kind", "bytes", "outcome", "step", "cause", "message", "seconds", "peak_bytes")


def csv_report(contents: Contents) -> str:
    """A line for each program, by each of its names, for spreadsheets and data frames."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for entry in contents.entries:
        rest = (entry.outcome, entry.step, entry.cause, entry.message, f"{entry.seconds:.6f}", f"{entry.peak:.0f}")
        for name in entry.names:
            cells = (name, entry.digest, entry.kind, entry.size, *rest)
            writer.writerow([_no_command(cell) if isinstance(cell, str) else cell for cell in cells])
    return file.getvalue()


def _no_command(text: str) -> str:
    """A text that no spreadsheet computes, as a name may begin like a formula, and no terminal obeys."""
    text = harmless(text, keep="\n\r\t")
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def markdown_report(contents: Contents, most: int = 20) -> str:
    """For a pull request or a job's summary."""
    lines = [f"**{_cell(os.path.basename(contents.path))}**: {summary_of(contents)}"]
    if contents.clusters:
        lines += [
            "",
            "| kind | programs | step | outcome | cause | smallest | reduced |",
            "|---|--:|---|---|---|---|--:|",
        ]
        for cluster in contents.clusters[:most]:
            cells = [cluster.key, f"{cluster.count:,}", steps_of(cluster), cluster.outcome]
            cells += [cluster.title, f"{cluster.smallest.name} ({cluster.smallest.extent})", cluster.reduced]
            lines.append(markdown_row(cells))
        left = len(contents.clusters) - most
        if left > 0:
            lines += ["", f"and {left:,} more"]
    if contents.kernels:
        measured = speeds_in(contents)
        lines += ["", markdown_row(["kernels", "verdict", *measured]), "|---|---|" + "--:|" * len(measured)]
        lines += [markdown_row([e.name, e.outcome, *speed_of(e, measured)]) for e in contents.kernels[:most]]
    if contents.steps:
        shown = [outcome for outcome in OUTCOMES if any(step.outcomes[outcome] for step in contents.steps)]
        lines += ["", markdown_row(["step", *shown]), "|---|" + "--:|" * len(shown)]
        lines += [markdown_row([step.name, *[f"{step.outcomes[each]:,}" for each in shown]]) for step in contents.steps]
    return "\n".join(lines)


def markdown_row(cells: list[str]) -> str:
    return f"| {' | '.join([_cell(cell) for cell in cells])} |"


_MARKS = {ord(mark): f"\\{mark}" for mark in "\\`*_{}[]<>()#+-.!|~&@:"}
_MARKS |= {ord(blank): " " for blank in "\n\r\t"}


def _cell(text: str) -> str:
    """A text that is nothing else in Markdown: no markup, no end of a cell, nobody's name, no address."""
    return harmless(text, keep="\n\r\t").translate(_MARKS)
