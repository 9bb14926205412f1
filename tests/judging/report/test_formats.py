"""Reports for other programs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.judging.report.made_results import crashed, fine, invalid, several, written

HOSTILE = "</testcase>&\"'|`<b>@you\x00\x1b\ud800\n=1+1.mlir"


def test_json_has_everything(report: Any, results: str) -> None:
    found = json.loads(report(results, "--format", "json").out)
    assert found["counts"] == {"passed": 5, "failed": 4, "crashed": 1}
    assert [(kind["programs"], kind["outcome"], kind["smallest"]) for kind in found["kinds"]] == [
        (2, "failed", "bad/a.mlir"),
        (2, "failed", "wrong/one.mlir"),
        (1, "crashed", "crash.mlir"),
    ]
    assert len(found["programs"]) == 10
    one = next(each for each in found["programs"] if each["name"] == "wrong/two.mlir")
    assert one["step"] == "compare cpu" and one["kinds"] == [found["kinds"][1]["kind"]]
    assert found["plan"]["settings"]["backends"] == ["interpreter", "cpu"]


def test_csv_has_a_line_for_each_name(report: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "r.sqlite", [fine("a", "same"), fine("b", "same"), invalid("=1+1", "m", "c")])
    rows = list(csv.DictReader(io.StringIO(report(path, "--format", "csv").out)))
    assert [(row["name"], row["outcome"]) for row in rows] == [("'=1+1", "failed"), ("a", "passed"), ("b", "passed")]
    assert rows[1]["digest"] == rows[2]["digest"]


def test_markdown_takes_names_for_text(report: Any, tmp_path: Path) -> None:
    out = report(written(tmp_path / "r.sqlite", [invalid(HOSTILE, "m", "c | <b>")]), "--format", "markdown").out
    row = next(line for line in out.splitlines() if "check" in line)
    assert row.count("|") - row.count("\\|") == 9
    assert "<b>" not in row.replace("\\<b\\>", "")
    assert "@you" not in row.replace("\\@you", "")


@pytest.mark.parametrize("format", ["csv", "markdown", "text"])
def test_no_terminal_obeys_a_report(report: Any, tmp_path: Path, format: str) -> None:
    hostile = "a\x1b]0;title\x07\x9b2J\u202e"
    path = written(tmp_path / "r.sqlite", [invalid(f"{hostile}.mlir", hostile, hostile)])
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(report(path, "--format", format).out)


def test_sarif_has_a_rule_for_each_kind(report: Any, results: str) -> None:
    (run,) = json.loads(report(results, "--format", "sarif").out)["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len(rules) == 3 and len(run["results"]) == 5
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    found = {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in run["results"]}
    assert "bad/long%20name.mlir" in found


def test_junit_is_xml_with_a_suite_for_each_step(report: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "r.sqlite", [*several(), invalid(HOSTILE, HOSTILE, HOSTILE), crashed("z")])
    root = ElementTree.fromstring(report(path, "--format", "junit").out)
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["check", "run interpreter", "run cpu", "compare cpu"]
    assert (suites["check"].get("tests"), suites["check"].get("failures")) == ("12", "3")
    assert (suites["run cpu"].get("errors"), suites["run cpu"].get("skipped")) == ("2", "3")
    assert len(suites["check"].findall("testcase")) == 12
    assert len([case for case in suites["check"] if case.find("failure") is not None]) == 3


def test_reports_are_written_to_files(report: Any, results: str, tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    said = report(results, "--format", "json", "-o", str(target))
    assert said.out == "" and json.loads(target.read_text())["counts"]["passed"] == 5
    assert report(results, "-o", str(tmp_path / "no" / "where")).status == 2
