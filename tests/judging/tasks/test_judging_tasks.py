"""Candidates judged for tasks, in confined children, by the function and by the commands."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import tileir
from tileir.processes import landlock
from tileir.tools.main import run

if not hasattr(os, "fork"):
    pytest.skip("children are forked here", allow_module_level=True)
pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")

REFERENCE = """
import numpy

def inputs(seed, n):
    return (numpy.random.default_rng(seed).standard_normal(n, dtype="f4"),)

def reference(x):
    return x + x
"""
CANDIDATE = """
import cuda.tile as ct
import numpy

@ct.kernel
def double(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (32,)) * 2)

def run(x):
    out = numpy.empty_like(x)
    ct.launch(None, (-(-len(x) // 32),), double, (x, out))
    return out
"""
FORGETS_THE_END = CANDIDATE.replace("-(-len(x) // 32)", "max(len(x) // 32, 1)")
TELLS = CANDIDATE.replace("    out =", "    if len(x) == 77:\n        raise ValueError(f'n is {len(x)}')\n    out =")
READS = CANDIDATE.replace(
    "    out =", "    import glob\n    assert not glob.glob('/tmp/tileir-judge-*/*/*')\n    out ="
)


def written_task(folder: Path) -> Path:
    task = folder / "double"
    task.mkdir()
    (task / "reference.py").write_text(REFERENCE)
    settings = {"shapes": [{"n": 64}], "held_out": [{"n": 77}], "precision": {"accumulate": "float32"}}
    (task / "task.json").write_text(json.dumps(settings))
    return task


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return written_task(tmp_path)


def judged(task: Path, candidate: str) -> tileir.sweeps.Judgment:
    return tileir.judge(task, candidate.encode(), seed=1, backend="interpreter")


def test_a_right_kernel_is_accepted_with_every_check(task: Path) -> None:
    found = judged(task, CANDIDATE)
    assert found.accepted and found.reason == "correct" and found.score == 0.8 and found.seed == 1
    wanted = ("compiles", "kernels", "in-bounds", "race-free", "correct", "held-out", "variants", "precise", "speed")
    assert {name: found[name].outcome for name in wanted} == dict.fromkeys(wanted, "passed")


def test_what_fails_for_held_out_shapes_alone_is_found_and_tells_nothing_of_them(task: Path) -> None:
    for candidate, message in ((FORGETS_THE_END, "results for a held-out shape are wrong"), (TELLS, "does not run")):
        found = judged(task, candidate)
        assert [check.name for check in found.checks if check.outcome == "failed"] == ["held-out"]
        assert message in found.message and found.reason in ("wrong-result", "runtime-error")
        assert "77" not in found.message and "n is" not in found.to_json()


def test_torch_may_compute_a_part_only_where_the_task_says_so(task: Path) -> None:
    partly = CANDIDATE.replace("* 2", "* 3").replace("return out", "return out - x")
    assert judged(task, partly).reason == "cheat:result-not-from-kernels"
    settings = json.loads((task / "task.json").read_text())
    (task / "task.json").write_text(json.dumps(settings | {"frameworks": ["cutile", "torch"]}))
    assert judged(task, partly).accepted
    assert judged(task, "def run(x):\n    return x + x\n").reason == "cheat:no-kernel"


def test_a_kernel_may_update_a_part_of_an_input(tmp_path: Path) -> None:
    task = written_task(tmp_path)
    (task / "reference.py").write_text(REFERENCE.replace("return x + x", "x = x.copy()\n    x[:32] *= 2\n    return x"))
    partly = CANDIDATE.replace("numpy.empty_like(x)", "x.copy()").replace("-(-len(x) // 32)", "1")
    assert judged(task, partly).accepted
    elsewhere = partly.replace("return out", "out[:32] = x[:32] * 2\n    return out").replace("* 2)\n", "* 3)\n")
    assert judged(task, elsewhere).reason == "cheat:result-not-from-kernels"


def test_a_candidate_finds_no_files_of_the_judge(task: Path) -> None:
    found = judged(task, READS)
    # It looked for them, which is a cheat, and found none, which would have been an error.
    assert (found.reason, found["runs"].outcome) == ("cheat:uses-files", "passed")


def test_a_task_that_does_not_work_is_no_fault_of_the_candidate(task: Path) -> None:
    (task / "reference.py").write_text(REFERENCE.replace("x + x", "x + y"))
    with pytest.raises(tileir.errors.TaskError, match=r"cannot be judged: .*NameError"):
        judged(task, CANDIDATE)


def test_the_command_has_a_status_for_each_end(task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def run(x):\n    return x + x\n")
    page = tmp_path / "page.html"
    assert run(["judge", str(task), str(wrong), "--json", "--backend", "interpreter", "--html", str(page)]) == 1
    assert json.loads(capsys.readouterr().out)["reason"] == "cheat:no-kernel"
    assert "cheat:no-kernel" in page.read_text()
    assert run(["judge", str(task), str(tmp_path / "none.py")]) == 2
    assert "cannot read the candidate" in capsys.readouterr().err
    assert run(["judge", str(tmp_path / "none"), str(wrong)]) == 2
    assert "is no task" in capsys.readouterr().err


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A task, and a file of results with three candidates for it, beside their folder."""
    folder = tmp_path_factory.mktemp("swept")
    for name, source in (("good", CANDIDATE), ("other", CANDIDATE + "# 2\n"), ("bad", FORGETS_THE_END)):
        (folder / "candidates").mkdir(exist_ok=True)
        (folder / "candidates" / f"{name}.py").write_text(source)
    task = written_task(folder)
    words = ["--task", str(task), "-o", str(folder / "results.sqlite"), "-q", "--backend", "interpreter", "-j", "1"]
    assert run(["sweep", str(folder / "candidates"), *words]) == 1
    return task, folder / "results.sqlite"


def test_a_sweep_for_a_task_has_scores_and_one_seed(swept: tuple[Path, Path]) -> None:
    with tileir.sweeps.Results(str(swept[1])) as results:
        rows = {Path(row.name).stem: row.verdict for row in results.rows()}
    assert {name: verdict.outcome for name, verdict in rows.items()} == {
        "good": "passed",
        "other": "passed",
        "bad": "failed",
    }
    details = {name: verdict.steps[-1].details for name, verdict in rows.items()}
    assert details["good"] == details["other"] == {"accepted": True, "reason": "correct", "score": 0.8}
    assert details["bad"]["reason"] == "wrong-result"
    seeds = {verdict.steps[0].measured["seed"] for verdict in rows.values()}
    assert len(seeds) == (1 if landlock.version() else 3)


def test_a_sweep_is_written_as_a_table_in_parquet(swept: tuple[Path, Path], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: pip install pyarrow")
    table = tmp_path / "results.parquet"
    assert run(["report", str(swept[1]), "--format", "parquet", "-o", str(table)]) == 0
    rows = {Path(row["name"]).stem: row for row in parquet.read_table(table).to_pylist()}
    assert [rows["good"][name] for name in ("accepted", "reason", "score")] == [True, "correct", 0.8]
    assert (rows["bad"]["accepted"], rows["bad"]["outcome"]) == (False, "failed")
    assert json.loads(rows["bad"]["steps"])[-1]["name"] == "judged"


def test_a_task_leaves_nothing_to_the_command_line(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "k.py", "--task", str(task), "--tolerance", "1"]) == 2
    assert "--tolerance belongs to the task" in capsys.readouterr().err
