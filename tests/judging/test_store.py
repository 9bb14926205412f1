"""The file of results: what is written comes back, whole or not at all, and nobody else's file is touched."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tileir.judging.errors import ResultsError
from tileir.judging.model import JudgePlan, JudgeStage, Outcome, ProcessLimits, SweepInput, Verdict
from tileir.judging.results.results import Results
from tileir.judging.results.store import Finished, Store
from tileir.judging.results.tables import connected

PLAN = JudgePlan(backends=("interpreter", "cpu"))


def program(name: str, content: bytes = b"text") -> SweepInput:
    return SweepInput(name, "program", content)


def finished(item: SweepInput, outcome: Outcome = "passed", seconds: float = 0.5) -> Finished:
    steps = [
        JudgeStage("check", "passed", details={"operations": 3}),
        JudgeStage("run cpu", outcome, "why", "cause", {}, {"seconds": 0.1}),
    ]
    verdict = Verdict(
        item.digest, outcome, "" if outcome == "passed" else "cause", steps, "printed", {"seconds": seconds}
    )
    return Finished(item, verdict, '{"host": "here"}')


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "results.sqlite")


def written(path: str, *all: Finished, plan: JudgePlan = PLAN) -> None:
    with Store(path) as store:
        store.begin(plan)
        for each in all:
            store.add(each)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are Unicode there")
def test_names_that_are_not_utf_8(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path / "results") + b"\xff ?#%41.sqlite")
    written(path, finished(program("a.mlir")))
    assert os.listdir(os.fsencode(tmp_path)) == [b"results\xff ?#%41.sqlite"]
    with Results(path) as results:
        assert [row.name for row in results.rows()] == ["a.mlir"]


def test_long_statements_are_allowed_as_the_file_grows(path: str) -> None:
    count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000000) SELECT count(*) FROM n"
    connection = connected(path, writes=True)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        connection.execute(count).fetchone()
    connection.execute("INSERT INTO modules (digest, content) VALUES ('x', zeroblob(20000000))")
    assert connection.execute(count).fetchone() == (2000000,)
    connection.close()


def test_a_verdict_comes_back_as_it_was(path: str) -> None:
    item = program("a.mlir")
    written(path, finished(item, "failed"))
    with Results(path) as results:
        (row,) = results.rows()
        assert (row.names, row.kind, row.size, row.machine) == (["a.mlir"], "program", 4, {"host": "here"})
        expected = finished(item, "failed").verdict
        expected.output = ""
        assert row.verdict == expected
        assert row.failure is not None and row.failure.name == "run cpu"
        assert results.output(item.digest) == "printed"
        assert results.item(item.digest) == item
        assert results.counts() == {"failed": 1}
        assert results.settings["backends"] == ["interpreter", "cpu"]


def test_a_name_that_stands_for_something_else_by_now_leaves_the_old_verdict_out(path: str) -> None:
    written(path, finished(program("a.mlir", b"old")))
    written(path, finished(program("a.mlir", b"new"), "failed"))
    with Results(path) as results:
        assert [row.verdict.outcome for row in results.rows()] == ["failed"]
        assert results.counts() == {"failed": 1}


def test_what_has_a_verdict_is_known_by_content_and_plan(path: str) -> None:
    written(path, finished(program("a.mlir")))
    with Store(path) as store:
        store.begin(PLAN)
        assert store.outcome(program("b.mlir").digest, "b.mlir") == ("passed", True)
        assert store.outcome(program("b.mlir", b"other").digest, "b.mlir") is None
        store.begin(JudgePlan(sanitize=True))
        assert store.outcome(program("a.mlir").digest, "a.mlir") is None
    with Results(path, PLAN.digest) as results:
        assert [row.names for row in results.rows()] == [["a.mlir", "b.mlir"]]
    with Results(path) as results:
        assert list(results.rows()) == []
        assert list(results.plans()) == [PLAN.digest, JudgePlan(sanitize=True).digest]


def test_a_plan_that_was_not_swept_is_named_with_those_that_were(path: str) -> None:
    written(path)
    with pytest.raises(ResultsError, match=f"no results of the plan 'abc': it has those of {PLAN.digest}"):
        Results(path, "abc")


def test_comparable_rows_know_nothing_of_time_and_place(path: str, tmp_path: Path) -> None:
    items = [program(f"{number}.mlir", str(number).encode()) for number in range(700)]
    written(path, *[finished(item) for item in items])
    other = str(tmp_path / "other.sqlite")
    written(other, *[finished(item, seconds=7.0) for item in reversed(items)])
    with Results(path) as one, Results(other) as two:
        assert list(one.comparable()) == list(two.comparable())
        assert one.digest() == two.digest()
    written(other, finished(items[5], "failed"))
    with Results(path) as one, Results(other) as two:
        assert one.digest() != two.digest()
        assert two.counts() == {"passed": 699, "failed": 1}


def test_reproducers_are_of_a_verdict(path: str) -> None:
    item, other = program("a.mlir"), program("b.mlir", b"other")
    with Store(path) as store:
        store.begin(PLAN)
        for each in (item, other):
            store.add(finished(each, "crashed"))
        store.flush()
        store.add_reproducer(item.digest, b"small")
        store.add_reproducer(other.digest, None, "it crashes no more")
    with Results(path) as results:
        assert results.reproducer(item.digest) == (b"small", "")
        assert results.reproducer(other.digest) == (None, "it crashes no more")
        assert results.reproducers() == {item.digest: (5, ""), other.digest: (-1, "it crashes no more")}
    # A new verdict has none.
    written(path, finished(item))
    with Results(path) as results:
        assert results.reproducer(item.digest) is None


def test_names_and_messages_with_bytes_that_are_no_text_are_kept_readable(path: str) -> None:
    item = SweepInput("bad\udcff.mlir", "program", b"x")
    step = JudgeStage("check", "failed", "odd \udc80 byte")
    written(path, Finished(item, Verdict(item.digest, "failed", "", [step])))
    with Results(path) as results:
        (row,) = results.rows()
        assert row.names == ["bad\\udcff.mlir"] and row.verdict.steps[0].message == "odd \\udc80 byte"


def test_kernels_share_their_reference(path: str) -> None:
    items = [SweepInput(f"{n}.py", "kernels", bytes([n]), b"def reference(): ..") for n in (1, 2)]
    written(path, *map(finished, items))
    with Results(path) as results:
        assert [results.item(item.digest) for item in items] == items
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM modules").fetchone() == (1,)


def test_a_second_sweep_of_the_same_file_is_refused(path: str) -> None:
    with Store(path):
        with pytest.raises(ResultsError, match="another sweep of this process"):
            Store(path)
        other = f"from tileir.judging.results.store import Store; Store({path!r})"
        refused = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True)
        assert "is being written by another sweep (process " in refused.stderr
    assert not Path(path + ".lock").exists()
    Store(path).close()


def test_a_lock_of_a_process_that_was_killed_holds_nobody_up(path: str) -> None:
    killed = f"import os; from tileir.judging.results.store import Store; s = Store({path!r}); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", killed]).returncode == -9
    assert Path(path + ".lock").exists()
    written(path, finished(program("a.mlir")))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"something else entirely", "it is no SQLite file"),
        (b"SQLite format 3\0 and then nothing sensible", "cannot write"),
    ],
)
def test_a_file_of_something_else_is_left_alone(path: str, content: bytes, words: str) -> None:
    Path(path).write_bytes(content)
    with pytest.raises(ResultsError, match=words):
        Store(path)
    assert Path(path).read_bytes() == content


def test_a_database_of_something_else_is_left_alone(path: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE people (name)")
    connection.close()
    for opened in (Store, Results):
        with pytest.raises(ResultsError, match="a database of something else"):
            opened(path)


def test_a_newer_file_is_left_alone(path: str) -> None:
    Store(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    for opened in (Store, Results):
        with pytest.raises(ResultsError, match=r"newer tileir: its tables are of version 99"):
            opened(path)


def test_a_missing_file_and_a_missing_directory_are_named(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="No such file or directory"):
        Results(str(tmp_path / "none.sqlite"))
    with pytest.raises(ResultsError, match="No such file or directory"):
        Store(str(tmp_path / "none" / "results.sqlite"))


def test_limits_are_part_of_a_plan(path: str) -> None:
    written(path, plan=JudgePlan(limits=ProcessLimits(seconds=3.0)))
    with Results(path) as results:
        assert results.settings["limits"]["seconds"] == 3.0


def test_a_slow_reader_keeps_nobody_from_writing(path: str) -> None:
    written(path, *[finished(program(f"{n}.mlir", bytes([n]))) for n in range(20)])
    with Results(path) as results:
        rows = results.rows()
        next(rows)
        written(path, finished(program("late.mlir", b"late")))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE steps SET details = '{'",
        "UPDATE steps SET details = '[]'",
        "UPDATE steps SET message = x'ff'",
        "UPDATE names SET name = CAST(name AS BLOB)",
        "UPDATE plans SET settings = '[]'",
        "INSERT OR REPLACE INTO measured SELECT id, -1, 'seconds', 'long' FROM verdicts",
        "INSERT OR REPLACE INTO measured SELECT id, 99, 'seconds', 1.0 FROM verdicts",
        "DROP TABLE measured",
    ],
)
def test_a_damaged_file_is_told_as_such(path: str, damage: str) -> None:
    written(path, finished(program("one.mlir")))
    connection = sqlite3.connect(path)
    connection.executescript(damage)
    connection.close()
    with pytest.raises(ResultsError, match=r"damaged|no such table"), Results(path) as results:
        list(results.rows())
