"""Files of results that strangers made: reading one raises a `ResultsError` or nothing, and it ends.

The commands say so in one line, with a status of 1 or 2.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from tests.judging.report.made_results import PLAN, fine, judged, passed, program, several, written
from tests.mutations import mutated_bytes, mutated_documents, outcomes, soon

from tileir.judging.errors import ResultsError
from tileir.judging.model import JudgeStage, SweepInput
from tileir.judging.results.results import Results
from tileir.judging.results.store import Store
from tileir.tools.main import run

FORMATS = ("text", "json", "csv", "markdown", "sarif", "junit")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with something in every table."""
    speeds = {"speedup": 2.0, "seconds": 0.5, "baseline_seconds": 1.0}
    kernels = judged(
        SweepInput("k.py", "kernels", b"x = 1\n", b"y = 2\n"), JudgeStage("time cpu", "passed", measured=speeds)
    )
    kernels.machine = '{"host": "here"}'
    seed = judged(
        SweepInput("smith:7", "seed", b'{"seed": 7}'), JudgeStage("check", "failed", "wrong", "wrong"), peak=9.0
    )
    found = tmp_path / "results.sqlite"
    written(found, [*several(), kernels, seed, fine("more.mlir", "cuda_tile.module @m { }\n")])
    with Store(str(found)) as store:
        store.begin(PLAN)
        store.add_reproducer(program("crash.mlir").digest, b"cuda_tile.module @m { }\n", "smaller")
        store.add_reproducer(program("wrong/one.mlir").digest, None, "none was found")
    return found


def read(path: Path) -> None:
    """Everything that a file of results is asked for."""
    with Results(str(path)) as results:
        results.plans()
        results.counts()
        results.digest()
        results.reproducers()
        for row in [*results.rows_as_written(), *results.rows()]:
            results.row(row.digest)
            results.item(row.digest)
            results.output(row.digest)
            results.reproducer(row.digest)


ADVICE = "help: give a name, a digest, or a kind of failure"
"""What a report says of a program that is not there; nothing else that it says to do may come from a file."""


class Reports:
    """`tileir report` in each of its forms, one for each file."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._sound = shutil.copyfile(path, path.with_name("sound.sqlite"))
        self._capsys = capsys
        page, folder = str(path.with_name("page.html")), str(path.with_name("extracted"))
        self._kinds = itertools.cycle(
            [
                *[["--format", format] for format in FORMATS],
                ["--html", page],
                ["--extract", folder],
                ["--compare", str(self._sound)],
                ["--show", "smith:7"],
                ["--show", "k.py", "--format", "json"],
                ["--show", "1"],
            ]
        )

    def __call__(self, path: Path) -> None:
        options = next(self._kinds)
        status = run(["report", str(path), *options])
        said = self._capsys.readouterr()
        assert status in ((0, 1, 2) if "--compare" in options else (0, 2)), (options, said.err)
        if status == 2:
            first, *advice = said.err.splitlines()
            assert first.startswith("error: ") and advice in ([], [ADVICE]), said.err
            raise ResultsError(said.err)
        if options[-1] == "json" and status == 0:
            json.loads(said.out)


VALUES = [
    "NULL",
    "-1",
    "0",
    "7",
    "9223372036854775807",
    "-9223372036854775808",
    "9e999",
    "-9e999",
    "0.5",
    "''",
    "'x'",
    "'\u202e\x1b[2J'",
    "'9e999'",
    "'nan'",
    "x''",
    "x'ff'",
    "CAST(x'ff' AS TEXT)",
    "CAST(x'eda080' AS TEXT)",
    "zeroblob(100000)",
    "replace(hex(zeroblob(100000)), '0', 'x')",
    "replace(hex(zeroblob(50000)), '00', '[')",
    "'[]'",
    "'{'",
    "'passed'",
    "'kernels'",
    "'seed'",
    "'unreadable'",
]


def statements(path: Path) -> list[str]:
    """Every column of every table, in one row or in all, with each of the values."""
    found = []
    connection = sqlite3.connect(path)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in tables:
        for _, column, *_ in connection.execute(f"PRAGMA table_info({table})").fetchall():
            for value in VALUES:
                found.append(f"UPDATE OR IGNORE {table} SET {column} = {value}")
                one = f"SELECT max({column}) FROM {table}"
                found.append(f"UPDATE OR IGNORE {table} SET {column} = {value} WHERE {column} = ({one})")
    connection.close()
    return found


def changed(path: Path, *script: str) -> Path:
    """A copy of the file, changed by statements."""
    target = path.with_name("changed.sqlite")
    shutil.copyfile(path, target)
    connection = sqlite3.connect(target)
    connection.execute("PRAGMA synchronous = OFF")
    for statement in script:
        try:
            connection.executescript(statement)
        except sqlite3.IntegrityError:
            # One that this column does not take.
            pass
    connection.commit()
    connection.close()
    return target


def test_values_of_columns(path: Path) -> None:
    chosen = Random(1).sample(statements(path), 300)
    assert outcomes((changed(path, each) for each in chosen), read, ResultsError)["refused"] > 50


def test_reports_of_values_of_columns(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = Random(2).sample(statements(path), 250)
    found = outcomes((changed(path, each) for each in chosen), Reports(path, capsys), ResultsError)
    assert found["refused"] > 50 and found["read"] > 50


def resume(path: Path) -> None:
    """What a sweep does with a file that has results: it looks each program up, and replaces some verdicts."""
    with Store(str(path)) as store:
        store.begin(PLAN)
        for each in several():
            store.outcome(each.item.digest, f"again/{each.item.name}")
            each.machine = '{"host": "there"}'
            store.add(each)
        store.flush()
        store.add_reproducer(program("crash.mlir").digest, b"", "smaller")


def test_sweeps_into_files_with_values_of_columns(path: Path) -> None:
    machines = [f"UPDATE machines SET description = {value}" for value in VALUES]
    chosen = [*Random(6).sample(statements(path), 100), *machines]
    assert outcomes((changed(path, each) for each in chosen), resume, ResultsError)["read"] > 50


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("table", "column"), [("steps", "details"), ("plans", "settings"), ("machines", "description")]
)
def test_documents_in_columns(path: Path, capsys: pytest.CaptureFixture[str], table: str, column: str) -> None:
    connection = sqlite3.connect(path)
    (text,) = connection.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchone()
    connection.close()
    document = json.loads(text) or {"operations": 3, "speedup": 2.0, "seconds": 0.1, "findings": [{"text": "x"}]}

    def cases() -> Iterator[Path]:
        for each in mutated_documents(document, 3, 80):
            target = changed(path)
            connection = sqlite3.connect(target)
            connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (each.decode(),))
            connection.commit()
            connection.close()
            yield target

    found = outcomes(cases(), Reports(path, capsys), ResultsError)
    assert found["read"] > 20


def test_bytes_of_the_file(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = path.read_bytes()
    target = path.with_name("changed.sqlite")
    reports = Reports(path, capsys)

    def cases() -> Iterator[Path]:
        # The first page has the head of the file and its schema.
        first = [each[:4096].ljust(4096, b"\0") + data[4096:] for each in mutated_bytes(data[:4096], 4, 70)]
        for each in [*mutated_bytes(data, 5, 80), *first]:
            target.write_bytes(each)
            yield target

    def both(case: Path) -> None:
        for action in (read, resume, reports):
            shutil.copyfile(case, path.with_name("copied.sqlite"))
            try:
                action(path.with_name("copied.sqlite"))
            except ResultsError:
                if action is reports:
                    raise

    found = outcomes(cases(), both, ResultsError)
    assert found["refused"] > 50


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "
SCHEMAS = {
    "a view for a table": f"DROP TABLE measured; CREATE VIEW measured(verdict, position, name, value) AS {ENDLESS}"
    "i, 0, 'x', 1.0 FROM n;",
    "a view that never gives a row": "DROP TABLE plans; CREATE VIEW plans(id, digest, settings) AS "
    f"{ENDLESS}i, 'x', '{{}}' FROM n WHERE i < 0;",
    "a generated column": "ALTER TABLE names ADD COLUMN g TEXT GENERATED ALWAYS AS (upper(name)) VIRTUAL;",
    "a unique column": "DROP TABLE reproducers; CREATE TABLE reproducers (verdict INTEGER PRIMARY KEY, content UNIQUE);",
    "another column": "ALTER TABLE plans ADD COLUMN more TEXT;",
    "a column with another type": "DROP TABLE reproducers; CREATE TABLE reproducers (verdict, content, note);",
    "a column with another name": "ALTER TABLE steps RENAME COLUMN message TO words;",
    "a table with another name": "ALTER TABLE machines RENAME TO machine;",
    "a check": "DROP TABLE reproducers; CREATE TABLE reproducers (verdict INTEGER PRIMARY KEY, content BLOB, note TEXT "
    "NOT NULL, CHECK (length(note) < 9));",
    "no index": "DROP INDEX names_of_items;",
    "another view of results": f"DROP VIEW results; CREATE VIEW results AS {ENDLESS}i FROM n;",
    "a virtual table": "DROP TABLE machines; CREATE VIRTUAL TABLE machines USING rtree(id, a, b);",
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_tables_that_are_not_as_they_are_made(path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    try:
        target = changed(path, SCHEMAS[name])
    except sqlite3.OperationalError as error:
        pytest.skip(f"this SQLite cannot make it: {error}")
    with soon():
        with pytest.raises(ResultsError, match=r"is damaged: .* is not as tileir makes it"):
            read(target)
        with pytest.raises(ResultsError), Store(str(target)) as store:
            store.begin(PLAN)
        assert run(["report", str(target)]) == 2
        assert run(["report", str(path), "--compare", str(target)]) == 2
        assert run(["sweep", str(path.with_name("none.mlir")), "-o", str(target)]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("CREATE INDEX Mine ON items (kind)", "index"),
        ("CREATE INDEX mine ON steps (lower(message))", "index"),
        ("CREATE TRIGGER mine AFTER INSERT ON sweeps BEGIN DELETE FROM verdicts; END", "trigger"),
    ],
)
def test_additions_to_the_tables_are_refused(path: Path, statement: str, kind: str) -> None:
    target = changed(path, statement)
    for action in (lambda: read(target), lambda: resume(target)):
        with pytest.raises(ResultsError) as caught:
            action()
        assert f"{kind} 'mine' that tileir did not make: drop it" in str(caught.value)
    read(changed(path, statement, f"DROP {kind} mine"))


def test_tables_of_the_user_are_left_alone(path: Path) -> None:
    read(
        changed(
            path, f"CREATE TABLE notes (text); CREATE VIEW mine AS {ENDLESS}i FROM n; CREATE INDEX x ON notes(text)"
        )
    )


def test_rows_that_lead_in_circles(path: Path) -> None:
    """Pages of a table that have each other as their children give the same rows again and again."""
    many = path.with_name("many.sqlite")
    written(many, [judged(program(f"{number}.mlir"), *passed("check")) for number in range(1000)])
    connection = sqlite3.connect(many)
    roots = dict(connection.execute("SELECT name, rootpage FROM sqlite_master WHERE rootpage").fetchall())
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    data = many.read_bytes()
    found = {"read": 0, "refused": 0}
    for root in roots.values():
        page = bytearray(data[(root - 1) * size : root * size])
        if page[0] not in (2, 5):
            continue
        cells = int.from_bytes(page[3:5], "big")
        children = [int.from_bytes(page[12 + 2 * n : 14 + 2 * n], "big") for n in range(cells)]
        # Every child of the root is the root itself; or all are the same page.
        for target in (root, int.from_bytes(page[children[0] : children[0] + 4], "big")):
            wrong = bytearray(page)
            for at in children:
                wrong[at : at + 4] = target.to_bytes(4, "big")
            many.write_bytes(data[: (root - 1) * size] + bytes(wrong) + data[root * size :])
            for kind, count in outcomes(iter([many]), read, ResultsError).items():
                found[kind] += count
    assert found["refused"] > 5


def test_a_journal_deletes_no_other_file(path: Path, tmp_path: Path) -> None:
    """A journal may name one of a transaction over several files, which SQLite deletes when it has undone it."""
    other = tmp_path / "precious"
    other.write_text("keep me")
    name = str(other).encode()
    checksum = sum(name)
    magic = bytes.fromhex("d9d505f920a163d7")
    journal = path.with_name("results.sqlite-journal")
    pages = len(path.read_bytes()) // 4096
    head = magic + (0).to_bytes(4, "big") + bytes(4) + pages.to_bytes(4, "big") + (512).to_bytes(4, "big")
    head += (4096).to_bytes(4, "big")
    end = ((1 << 30) // 4096 + 1).to_bytes(4, "big") + name + len(name).to_bytes(4, "big") + checksum.to_bytes(4, "big")
    journal.write_bytes(head.ljust(512, b"\0") + end + magic)
    for action in (lambda: read(path), lambda: Store(str(path))):
        with pytest.raises(ResultsError, match="its journal is of several files"):
            action()
    assert other.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("name", ["results.sqlite", "results.sqlite-journal"])
def test_a_pipe_is_refused_at_once(path: Path, name: str) -> None:
    pipe = path.with_name(name)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    # With both ends open nobody waits in `open`; who reads would wait for bytes.
    end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    os.write(end, b"SQLite format 3\0")
    try:
        for action in (lambda: read(path), lambda: Store(str(path))):
            with pytest.raises(ResultsError, match=f"{name}' is not a file on disk"):
                action()
    finally:
        os.close(end)


def test_reading_changes_nothing(path: Path) -> None:
    before = path.read_bytes()
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        read(path)
    finally:
        path.parent.chmod(0o755)
    assert path.read_bytes() == before and not path.with_name("results.sqlite-journal").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b'"x"', b'{"seed": "x"}', b'{"seed": 1, "size": 1e999}', b'{"seed": 1, "size": 1000000000000}']
    + [b'{"seed": 1, "size": "9"}', b'{"more": 1}', b'{"seed": 1, "operations": 5}', b"[" * 100_000, b"\xff"]
    + [b'{"seed": null}', b'{"seed": 1, "version": 5}', b'{"seed": 1, "family": []}', b'{"seed": 1, "size": -5}'],
)
def test_seeds_that_make_no_sense(path: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> None:
    target = changed(path, f"UPDATE items SET content = x'{content.hex()}' WHERE kind = 'seed'")
    for options in (["--show", "smith:7"], ["--extract", str(path.with_name("extracted"))], ["--html", "-"]):
        with soon():
            assert run(["report", str(target), *options]) in (0, 2)
        said = capsys.readouterr()
        assert "Traceback" not in said.err
