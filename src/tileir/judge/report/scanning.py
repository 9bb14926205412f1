"""Failures as a SARIF 2.1.0 document: a rule for each kind of failure, a result for each program that shows it.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from tileir import __version__
from tileir.judge.report.clusters import FailureKind, failure_in
from tileir.judge.report.contents import Contents
from tileir.judge.report.entries import SweepEntry
from tileir.judge.report.text import steps_of

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif_report(contents: Contents) -> str:
    rules = [_rule(cluster) for cluster in contents.clusters]
    driver = {"name": "tileir", "version": __version__, "semanticVersion": __version__, "rules": rules}
    results = [
        _result(number, cluster, entry)
        for number, cluster in enumerate(contents.clusters)
        for entry in sorted(cluster.entries, key=lambda entry: (entry.name, entry.digest))
    ]
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _rule(cluster: FailureKind) -> dict[str, Any]:
    return {
        "id": cluster.key,
        "shortDescription": {"text": f"{steps_of(cluster)}: {cluster.outcome}"},
        "fullDescription": {"text": cluster.title},
        "defaultConfiguration": {"level": _level(cluster)},
    }


def _result(number: int, cluster: FailureKind, entry: SweepEntry) -> dict[str, Any]:
    failure = failure_in(cluster, entry)
    message = failure.message or failure.cause or failure.outcome
    return {
        "ruleId": cluster.key,
        "ruleIndex": number,
        "level": _level(cluster),
        "message": {"text": f"{failure.step}: {message}" if failure.step else message},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": quote(name, safe="/")}}} for name in entry.names
        ],
        # The same program with the same failure is one finding from run to run.
        "partialFingerprints": {"tileir/program": entry.digest, "tileir/kind": cluster.key},
    }


def _level(cluster: FailureKind) -> str:
    return "warning" if cluster.outcome == "refused" else "error"
