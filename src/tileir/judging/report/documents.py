"""A report for other programs: JSON, CSV, Markdown, SARIF, JUnit's XML."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from dataclasses import asdict
from importlib import import_module
from typing import Any, Final
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tileir.analyze.annotations import sarif_document
from tileir.execute.errors import MissingDependencyError
from tileir.ir.quoting import harmless
from tileir.judging.model import OUTCOMES, Outcome
from tileir.judging.report.contents import FIGURES, Contents, FailureKind, SweepEntry, failure_in
from tileir.judging.report.tables import markdown_text
from tileir.judging.report.text import kernels_table, kinds_table, steps_of, steps_table
from tileir.judging.results.results import Results
from tileir.judging.tasks.judgment import JUDGED


def json_report(contents: Contents) -> str:
    """Everything, as one object; docs/tools/report.md has its keys."""
    report = {
        "file": os.path.basename(contents.path),
        "plan": {"digest": contents.plan, "settings": contents.settings},
        "summary": contents.summary,
        "counts": {outcome: contents.counts[outcome] for outcome in OUTCOMES if contents.counts[outcome]},
        "kinds": [cluster_object(cluster) for cluster in contents.kinds],
        "steps": [{"step": name, **dict(sorted(counts.items()))} for name, counts in contents.steps.items()],
        "programs": [
            {
                **{n: getattr(entry, n) for n in ("name", "names", "digest", "kind", "outcome", "step", "cause")},
                "kinds": [contents.kinds[number].key for number in entry.clusters],
                **{figure.name: figure.of(entry) for figure in FIGURES},
                **({"speeds": [asdict(speed) for speed in entry.speeds]} if entry.speeds else {}),
            }
            for entry in contents.programs
        ],
    }
    return json.dumps(report, indent=1)


def cluster_object(cluster: FailureKind) -> dict[str, Any]:
    def program(digest: str, size: int, operations: int) -> dict[str, Any]:
        return {"digest": digest, "bytes": size, "operations": operations}

    smallest = cluster.smallest
    reproducer = program(cluster.reproducer, cluster.reproducer_size, cluster.reproducer_operations)
    return {
        "kind": cluster.key,
        "programs": cluster.count,
        **{name: getattr(cluster, name) for name in ("steps", "outcome", "cause", "suspect", "message")},
        "smallest": smallest.name,
        **program(smallest.digest, smallest.size, smallest.operations),
        "reproducer": reproducer if cluster.reproducer else None,
        "note": cluster.note,
    }


_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_CSV_TEXTS = ("name", "digest", "kind", "outcome", "step", "cause", "message")


def csv_report(contents: Contents) -> str:
    """A line for each program, by each of its names, for spreadsheets and data frames."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*_CSV_TEXTS, *[figure.name for figure in FIGURES]])
    for entry in contents.programs:
        texts = [_no_command(getattr(entry, name)) for name in _CSV_TEXTS[1:]]
        figures = [f"{figure.of(entry):.{6 if figure.unit == 'seconds' else 0}f}" for figure in FIGURES]
        writer.writerows([[_no_command(name), *texts, *figures] for name in entry.names])
    return file.getvalue()


def parquet_report(results: Results) -> bytes:
    """A row for each program, for data frames: with the score of candidates for a task, and all steps as JSON."""
    try:
        pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        raise MissingDependencyError("tables in Parquet need the package 'pyarrow': pip install pyarrow") from None
    columns: dict[str, list[Any]] = {name: [] for name in _PARQUET}
    for row in results.rows():
        verdict, failure = row.verdict, row.failure
        judged = next((step.details for step in verdict.steps if step.name == JUDGED), {})
        values = (
            *(row.name, row.digest, row.kind, row.size, verdict.outcome),
            *((failure.name, failure.message) if failure is not None else ("", "")),
            *(verdict.cause, judged.get("accepted"), judged.get("reason"), judged.get("score")),
            *(verdict.measured.get(name) for name in ("seconds", "peak_bytes")),
            json.dumps([asdict(step) for step in verdict.steps]),
        )
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
    fields = [(name, getattr(pyarrow, type)()) for name, type in _PARQUET.items()]
    file = io.BytesIO()
    parquet.write_table(pyarrow.table(columns, schema=pyarrow.schema(fields)), file)
    return file.getvalue()


_PARQUET: Final = {
    "name": "string", "digest": "string", "kind": "string", "bytes": "int64", "outcome": "string", "step": "string",
    "message": "string", "cause": "string", "accepted": "bool_", "reason": "string", "score": "float64",
    "seconds": "float64", "peak_bytes": "float64", "steps": "string",
}  # fmt: skip
"""Columns, and the functions of pyarrow that make their types."""


def _no_command(text: str) -> str:
    """A text that no spreadsheet computes, as a name may begin like a formula, and no terminal obeys."""
    text = harmless(text, keep="\n\r\t")
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") and not _NUMBER.fullmatch(text) else text


def markdown_report(contents: Contents, most: int = 20) -> str:
    """For a pull request or a job's summary."""
    lines = [f"**{markdown_text(os.path.basename(contents.path))}**: {contents.summary}"]
    for each in (kinds_table(contents, most), kernels_table(contents, most), steps_table(contents)):
        if each.rows:
            lines += ["", *each.markdown()]
        left = len(contents.kinds) - most
        if each.title.startswith("Kinds") and left > 0:
            lines += ["", f"and {left:,} more"]
    return "\n".join(lines)


# --- SARIF 2.1.0: a rule for each kind of failure, a result for each program that shows it ---


def sarif_report(contents: Contents) -> str:
    def rule(cluster: FailureKind) -> dict[str, Any]:
        short, long = f"{steps_of(cluster)}: {cluster.outcome}", cluster.title
        described = {"shortDescription": {"text": short}, "fullDescription": {"text": long}}
        return {"id": cluster.key, **described, "defaultConfiguration": {"level": _level(cluster)}}

    results = [
        json.dumps(_result(number, cluster, entry))
        for number, cluster in enumerate(contents.kinds)
        for entry in sorted(cluster.entries, key=lambda entry: (entry.name, entry.digest))
    ]
    return "".join(sarif_document(results, list(map(rule, contents.kinds))))


def _result(number: int, cluster: FailureKind, entry: SweepEntry) -> dict[str, Any]:
    failure = failure_in(cluster, entry)
    message = failure.message or failure.cause or failure.outcome
    return {
        "ruleId": cluster.key,
        "ruleIndex": number,
        "level": _level(cluster),
        "message": {"text": f"{failure.step}: {message}" if failure.step else message},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": quote(each)}}} for each in entry.names],
        # The same program with the same failure is one finding from run to run.
        "partialFingerprints": {"tileir/program": entry.digest, "tileir/kind": cluster.key},
    }


def _level(cluster: FailureKind) -> str:
    return "warning" if cluster.outcome == "refused" else "error"


# --- JUnit's XML, which build servers read: a suite for each step, a case for each program in it ---

_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENTS = {"passed": "", "failed": "failure", "refused": "skipped", "skipped": "skipped"}
"""What JUnit calls outcomes; the others are errors: the test has come to no end."""


def junit_report(contents: Contents) -> str:
    seconds = sum([entry.seconds for entry in contents.programs])
    root = Element("testsuites", name="tileir", time=f"{seconds:.3f}")
    suites: dict[str, list[tuple[SweepEntry, Outcome]]] = {name: [] for name in contents.steps}
    for entry in contents.programs:
        for name, outcome in entry.steps or ((entry.step, entry.outcome),):
            suites.setdefault(name, []).append((entry, outcome))
    for step, cases in suites.items():
        found = [_ELEMENTS.get(outcome, "error") for _, outcome in cases]
        counts = {f"{each}s": str(found.count(each)) for each in ("failure", "error")}
        title = _sound(step or "start")
        about = {"name": title, "tests": str(len(cases)), **counts, "skipped": str(found.count("skipped"))}
        suite = SubElement(root, "testsuite", about)
        for (entry, outcome), element in zip(cases, found, strict=True):
            case = SubElement(suite, "testcase", classname=title, name=_sound(entry.name))
            failure = next((each for each in entry.failures if each.step == step), None)
            if failure is not None:
                kind: dict[str, str] = {} if element == "skipped" else {"type": outcome}
                written = SubElement(case, element, {**kind, "message": _sound(failure.cause or outcome)})
                written.text = _sound(failure.message)
            elif element:
                SubElement(case, element)
    indent(root, "")
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{tostring(root, 'unicode')}\n"


def _sound(text: str) -> str:
    """A text without most control characters, which XML cannot hold, not even escaped."""
    return _NO_XML.sub("\ufffd", text)
