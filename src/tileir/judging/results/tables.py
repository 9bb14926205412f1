"""The tables of a file of results, and opening such a file, which may come from a stranger.

Schema and INSERT statements derive from one table of columns, and columns of items, verdicts and steps from the fields
of these dataclasses.  Files of earlier versions have exactly this schema, which is checked when a file is opened: a new
column needs a new `VERSION`.

The journal is SQLite's own default, a file beside that is gone after each transaction: it holds on network file
systems, where a write-ahead log does not, and a process that is killed at any time leaves either all of a
transaction or nothing.
"""

from __future__ import annotations

import os
import sqlite3
from typing import Any, Final, get_type_hints
from urllib.parse import quote

from tileir.judging.errors import ResultsError, message_of
from tileir.judging.model import JudgeStage, SweepInput, Verdict

WHOLE: Final = -1
"""The position of what is measured of a whole verdict, not of one of its steps."""
_TYPES: Final = {int: "INTEGER", str: "TEXT", float: "REAL", bytes: "BLOB"}

_KEY, _UNIQUE, _NUMBER = "INTEGER PRIMARY KEY", "TEXT NOT NULL UNIQUE", "INTEGER NOT NULL"
_PLAN, _ITEM = f"{_NUMBER} REFERENCES plans", f"{_NUMBER} REFERENCES items"
_OF_VERDICT: Final = "REFERENCES verdicts ON DELETE CASCADE"


def _columns(kind: type, *names: str) -> dict[str, str]:
    """The columns for fields of a dataclass; what has no type in SQLite is JSON, or one of some words."""
    hints = get_type_hints(kind)
    return {name: f"{_TYPES.get(hints[name], 'TEXT')} NOT NULL" for name in names}


_TABLES: Final[dict[str, tuple[dict[str, str], str]]] = {
    "plans": ({"id": _KEY, "digest": _UNIQUE, "settings": "TEXT NOT NULL"}, ""),
    "sweeps": ({"id": _KEY, "plan": _PLAN, "began": "REAL NOT NULL", "ended": "REAL"}, ""),
    # Reference modules, which many items share.
    "modules": ({"id": _KEY, "digest": _UNIQUE, "content": "BLOB NOT NULL"}, ""),
    "items": (
        {
            "id": _KEY,
            "digest": _UNIQUE,
            **_columns(SweepInput, "kind"),
            "size": _NUMBER,
            **_columns(SweepInput, "content"),
        }
        | {"reference": "INTEGER REFERENCES modules"},
        "",
    ),
    "names": ({"plan": _PLAN, **_columns(SweepInput, "name"), "item": _ITEM}, "PRIMARY KEY (plan, name)"),
    "machines": ({"id": _KEY, "description": _UNIQUE}, ""),
    "verdicts": (
        {"id": _KEY, "plan": _PLAN, "item": _ITEM, **_columns(Verdict, "outcome", "cause", "output")}
        | {"machine": "INTEGER REFERENCES machines", "finished": "REAL NOT NULL"},
        "UNIQUE (plan, item)",
    ),
    "steps": (
        {"verdict": f"{_NUMBER} {_OF_VERDICT}", "position": _NUMBER}
        | _columns(JudgeStage, "name", "outcome", "message", "cause", "details"),
        "PRIMARY KEY (verdict, position)",
    ),
    "measured": (
        {"verdict": f"{_NUMBER} {_OF_VERDICT}", "position": _NUMBER, "name": "TEXT NOT NULL", "value": "REAL NOT NULL"},
        "PRIMARY KEY (verdict, position, name)",
    ),
    "reproducers": ({"verdict": f"{_KEY} {_OF_VERDICT}", "content": "BLOB", "note": "TEXT NOT NULL"}, ""),
}
"""Tables by name: their columns, and the constraint over several of these."""
_NAMES_OF_ITEMS: Final = "CREATE INDEX names_of_items ON names (plan, item);\n"
_VIEW: Final = """\
CREATE VIEW results AS
    SELECT names.name AS name, items.digest AS digest, items.kind AS kind, items.size AS size,
           verdicts.outcome AS outcome, steps.name AS step, steps.message AS message, verdicts.cause AS cause,
           plans.digest AS plan, verdicts.id AS verdict
    FROM names
    JOIN items ON items.id = names.item
    JOIN plans ON plans.id = names.plan
    JOIN verdicts ON verdicts.plan = names.plan AND verdicts.item = names.item
    LEFT JOIN steps ON steps.verdict = verdicts.id AND steps.position = (
        SELECT min(position) FROM steps AS each
        WHERE each.verdict = verdicts.id AND each.outcome NOT IN ('passed', 'skipped')
    );
"""


def schema() -> str:
    """The statements that make the tables."""
    statements = []
    for name, (columns, constraint) in _TABLES.items():
        body = [f"{column} {kind}" for column, kind in columns.items()] + ([constraint] if constraint else [])
        # A key over several columns is where a row is.
        suffix = " WITHOUT ROWID" if constraint.startswith("PRIMARY KEY") else ""
        statements.append(f"CREATE TABLE {name} (\n    " + ",\n    ".join(body) + f"\n){suffix};\n")
    return "".join([*statements, _NAMES_OF_ITEMS, _VIEW])


def insert(connection: sqlite3.Connection, table: str, *rows: tuple[Any, ...], extra: str = "") -> int:
    """Insert rows, without a numbered `id`; the number of the last.  `extra`: `OR IGNORE` or `OR REPLACE`."""
    names = [name for name in _TABLES[table][0] if name != "id"]
    statement = f"INSERT {extra} INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    if len(rows) != 1:
        connection.executemany(statement, rows)
        return 0
    return int(connection.execute(statement, rows[0]).lastrowid or 0)


APPLICATION: Final = 0x74697372
"""SQLite's `application_id`: `tisr`, the results of a sweep."""
VERSION: Final = 1
"""SQLite's `user_version`.  A file of a newer one is refused; one of an older one would be upgraded."""
_PATIENCE: Final = 60.0
"""Seconds to wait for somebody who reads or writes just now."""
_BEGINNING: Final = b"SQLite format 3\0"
_NAMED: Final = bytes.fromhex("d9d505f920a163d7")
"""How a journal ends that names the journal of a transaction over several files."""
_STEPS: Final = 100_000
"""Steps of SQLite's machine between two looks at whether a statement ends."""
_STEPS_PER_BYTE: Final = 5
"""The most steps of a statement for each byte of the file: a hundred times what the slowest takes."""
FAILURES: Final = (sqlite3.Error, UnicodeError)
"""What a statement raises on a damaged file."""


class Connection(sqlite3.Connection):
    """A connection to a file that may come from a stranger: a statement that does not end is interrupted.

    A statement of tileir's looks at each page of the file a few times at most.  A damaged one can lead in circles.
    """

    path: str = ""
    given: str = ""
    """The path as the user wrote it, for messages."""
    _calls: int = 0
    """How often the handler was called, once every `_STEPS` steps, in this statement."""

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        try:
            return self.execute(query, values).fetchall()
        except FAILURES as error:
            # Words of SQLite may hold names out of a damaged file.
            raise ResultsError(f"cannot read '{self.given}': {failure_message(error)}") from None

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        self._calls = 0
        return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        self._calls = 0
        return super().executemany(*arguments)

    def is_endless(self) -> bool:
        self._calls += 1
        if self._calls <= 100:
            return False
        # The file of a sweep grows while it is open.
        size = os.path.getsize(self.path) if os.path.exists(self.path) else 0
        return self._calls > 100 + size * _STEPS_PER_BYTE // _STEPS


def connected(path: str, *, writes: bool) -> Connection:
    """A file of results; with `writes` it is made where there is none.  The file may come from a stranger."""
    try:
        _look_at(path, writes)
        # Who reads has to undo what a killed process left half-written; otherwise nothing of the file changes.
        mode = "rwc" if writes else "rw" if os.path.exists(f"{path}-journal") else "ro"
        address = f"file:{quote(os.fsencode(os.path.abspath(path)))}?mode={mode}"
        connection = sqlite3.connect(address, timeout=_PATIENCE, isolation_level=None, uri=True, factory=Connection)
        try:
            _check(connection, path, writes)
        except BaseException:
            connection.close()
            raise
    except (*FAILURES, OSError) as error:
        raise ResultsError(f"cannot {'write' if writes else 'read'} '{path}': {failure_message(error)}") from None
    return connection


def failure_message(error: Exception) -> str:
    is_endless = isinstance(error, sqlite3.OperationalError) and str(error) == "interrupted"
    return "it is damaged: a statement does not end" if is_endless else message_of(error)


def _look_at(path: str, writes: bool) -> None:
    if not os.path.exists(path):
        if not writes:
            raise ResultsError(f"cannot read '{path}': No such file or directory")
        return
    journal = f"{path}-journal"
    for each in (path, journal):
        if os.path.exists(each) and not os.path.isdir(each) and not os.path.isfile(each):
            # Opening a pipe waits for its other end.
            raise ResultsError(f"'{path}' holds no results of a sweep: '{each}' is not a file on disk")
    with open(path, "rb") as file:
        beginning = file.read(len(_BEGINNING))
    if beginning != _BEGINNING and (beginning or not writes):
        raise ResultsError(f"'{path}' holds no results of a sweep: it is no SQLite file")
    if os.path.exists(journal):
        with open(journal, "rb") as file:
            file.seek(max(0, os.path.getsize(journal) - len(_NAMED)))
            if file.read() == _NAMED:
                # SQLite would delete the file that it names.
                raise ResultsError(f"'{path}' is damaged: its journal is of several files")


def _check(connection: Connection, path: str, writes: bool) -> None:
    connection.path, connection.given = os.path.abspath(path), path
    connection.set_progress_handler(connection.is_endless, _STEPS)
    for setting in ("foreign_keys = ON", "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        connection.execute(f"PRAGMA {setting}")
    if not writes:
        connection.execute("PRAGMA query_only = ON")
    names = ("application_id", "user_version")
    application, version = [int(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in names]
    is_empty = not application and not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if writes and is_empty:
        # In one transaction: a file has all of the tables, or is made again.
        connection.executescript(
            f"BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};{schema()}COMMIT;"
        )
        return
    if application != APPLICATION:
        raise ResultsError(f"'{path}' holds no results of a sweep: it is a database of something else")
    if version > VERSION:
        versions = f"its tables are of version {version}, and this one knows those up to {VERSION}"
        raise ResultsError(f"'{path}' was written by a newer tileir: {versions}")
    _check_tables(connection, path)


def _check_tables(connection: Connection, path: str) -> None:
    """Require the tables as they are made, without additions: no views by their names, no triggers, no other indexes.

    Tables and views of the user's own, and what belongs to them, are allowed and never read."""
    with sqlite3.connect(":memory:") as made:
        made.executescript(schema())
        expected = _schema(made)
    made.close()
    own, known = {table for _, _, table, _ in expected}, {name for _, name, _, _ in expected}
    found = {each for each in _schema(connection) if each[2] in own or each[1] in own}
    for kind, name, table, _ in sorted(found ^ expected):
        # An index whose name begins so is part of its table.
        if kind in ("index", "trigger") and name not in known and not name.startswith("sqlite_"):
            article = "an" if kind == "index" else "a"
            raise ResultsError(f"'{path}' has {article} {kind} '{name}' that tileir did not make: drop it")
        raise ResultsError(f"'{path}' is damaged: the {kind} '{name}' of '{table}' is not as tileir makes it")


def _schema(connection: sqlite3.Connection) -> set[tuple[str, str, str, str]]:
    # Names are compared as SQLite does, whatever their case.
    rows = connection.execute("SELECT type, lower(name), lower(tbl_name), sql FROM sqlite_master")
    return {(str(kind), str(name), str(table), str(sql)) for kind, name, table, sql in rows}
