"""One program whole, and programs as files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.judging.report.made_results import PLAN, crashed, fine, judged, passed, program, several, written, wrong

from tileir.judging.model import JudgeStage
from tileir.judging.results.store import Store


def test_a_program_is_shown_by_name_digest_and_kind(report: Any, results: str) -> None:
    kind = json.loads(report(results, "--format", "json").out)["kinds"][1]
    by_name = report(results, "--show", "wrong/one.mlir")
    assert by_name.status == 0
    assert by_name.out.startswith("wrong/one.mlir: failed\na program, 42 bytes, digest ")
    assert "  compare cpu      failed\n      @k, argument 0: 3 of 4 elements differ" in by_name.out
    assert "Program\n// wrong/one.mlir\ncuda_tile.module @m { }" in by_name.out
    for name in (kind["digest"], kind["digest"][:10], kind["kind"], "one.mlir"):
        assert report(results, "--show", name).out == by_name.out


def test_one_that_is_not_there_is_a_mistake(report: Any, results: str) -> None:
    said = report(results, "--show", "nobody")
    assert said.status == 2 and "has no program 'nobody'" in said.error


def test_details_output_and_reproducer_are_shown(report: Any, tmp_path: Path) -> None:
    step = JudgeStage("run cpu", "crashed", "died", "SIGSEGV", {"operations": 3}, {"seconds": 0.5})
    item = program("k.mlir")
    path = written(tmp_path / "r.sqlite", [judged(item, *passed("check"), step, output="hello\x1b[2J\n")])
    with Store(path) as store:
        store.begin(PLAN)
        store.add_reproducer(item.digest, b"cuda_tile.module @small { }\n", "3 of 40 operations")
    out = report(path, "--show", "k.mlir").out
    assert "crashed  0.500 s\n      died\n      operations: 3" in out
    assert "Output\nhello\\x1b[2J" in out
    assert "Reproducer (3 of 40 operations)\ncuda_tile.module @small { }" in out
    found = json.loads(report(path, "--show", "k.mlir", "--format", "json").out)
    assert found["steps"][1]["details"] == {"operations": 3}
    assert found["reproducer"] == "cuda_tile.module @small { }\n"
    kind = json.loads(report(path, "--format", "json").out)["kinds"][0]
    assert kind["reproducer"] == {"digest": item.digest, "bytes": 28, "operations": 1}
    assert kind["note"] == "3 of 40 operations"


def test_failures_are_extracted_by_kind(report: Any, results: str, tmp_path: Path) -> None:
    target = tmp_path / "out"
    said = report(results, "--extract", str(target))
    assert said.status == 0 and said.error == f"{target}: 8 files\n" and said.out == ""
    folders = os.listdir(target)
    assert sorted([folder.partition("-")[2] for folder in folders]) == ["check-failed", "compare-failed", "run-crashed"]
    wrong_ones = next(target.glob("*-compare-failed"))
    assert sorted(os.listdir(wrong_ones)) == ["README.txt", "wrong_one.mlir", "wrong_two.mlir"]
    assert (wrong_ones / "wrong_one.mlir").read_bytes() == program("wrong/one.mlir").content
    words = (wrong_ones / "README.txt").read_text()
    assert "results differ" in words and "wrong_two.mlir  wrong/two.mlir" in words


@pytest.mark.parametrize(
    "name", ["../../evil.mlir", "/etc/passwd", "..", "a\x00b", "-rf", ".hidden", "README", "CON\n.mlir", "x" * 400]
)
def test_names_do_not_leave_the_directory(report: Any, tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "r.sqlite", [wrong(name, "one"), wrong(f"{name}?", "two")])
    assert report(path, "--extract", str(tmp_path / "out")).status == 0
    (folder,) = (tmp_path / "out").iterdir()
    assert len(os.listdir(folder)) == 3
    assert {path.read_text() for path in folder.iterdir() if path.name != "README.txt"} == {"one", "two"}
    assert sorted(os.listdir(tmp_path)) == ["out", "r.sqlite"]


def test_links_are_not_followed(report: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "r.sqlite", [crashed("a.mlir")])
    report(path, "--extract", str(tmp_path / "out"))
    (folder,) = (tmp_path / "out").iterdir()
    (folder / "a.mlir").unlink()
    (folder / "a.mlir").symlink_to(tmp_path / "elsewhere")
    said = report(path, "--extract", str(tmp_path / "out"))
    assert said.status == 2 and "cannot write" in said.error
    assert not (tmp_path / "elsewhere").exists()


def test_bytecode_is_shown_as_text(report: Any, tmp_path: Path) -> None:
    import tileir
    from tileir.judging.model import SweepInput

    data = tileir.to_bytecode(tileir.parse("cuda_tile.module @m { entry @k() { return } }"))
    step = JudgeStage("run cpu", "crashed", "died", "SIGSEGV")
    path = written(tmp_path / "r.sqlite", [judged(SweepInput("k.tileirbc", "program", data), *passed("check"), step)])
    assert "entry @k()" in report(path, "--show", "k.tileirbc").out
    report(path, "--extract", str(tmp_path / "out"))
    assert [found.read_bytes() for found in (tmp_path / "out").glob("*/*.tileirbc")] == [data]


def test_nothing_failed_nothing_is_extracted(report: Any, tmp_path: Path) -> None:
    path = written(
        tmp_path / "r.sqlite", [fine("a"), *[each for each in several() if each.verdict.outcome == "passed"]]
    )
    assert report(path, "--extract", str(tmp_path / "out")).error.endswith(": 0 files\n")
