"""The tables of a file of results, and opening one; docs/sweep.md describes them for people.

The journal is SQLite's own default, a file beside that is gone after each transaction: it holds on network file
systems, where a write-ahead log does not, and a process that is killed at any moment leaves either all of a
transaction or nothing.
"""

from __future__ import annotations

import os
import sqlite3
from typing import Final

from tileir.judge.errors import ResultsError

APPLICATION: Final = 0x74697372
"""What SQLite's `application_id` says: `tisr`, the results of a sweep."""

VERSION: Final = 1
"""What `user_version` says.  A file of a newer one is refused; one of an older one would be brought up to date."""

_PATIENCE: Final = 60.0
"""Seconds to wait for somebody who reads or writes just now."""

_BEGINNING: Final = b"SQLite format 3\0"

TABLES: Final = """\
CREATE TABLE plans (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    settings TEXT NOT NULL
);
CREATE TABLE sweeps (
    id INTEGER PRIMARY KEY,
    plan INTEGER NOT NULL REFERENCES plans,
    began REAL NOT NULL,
    ended REAL
);
CREATE TABLE modules (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    content BLOB NOT NULL
);
CREATE TABLE items (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    size INTEGER NOT NULL,
    content BLOB NOT NULL,
    reference INTEGER REFERENCES modules
);
CREATE TABLE names (
    plan INTEGER NOT NULL REFERENCES plans,
    name TEXT NOT NULL,
    item INTEGER NOT NULL REFERENCES items,
    PRIMARY KEY (plan, name)
) WITHOUT ROWID;
CREATE INDEX names_of_items ON names (plan, item);
CREATE TABLE machines (
    id INTEGER PRIMARY KEY,
    description TEXT NOT NULL UNIQUE
);
CREATE TABLE verdicts (
    id INTEGER PRIMARY KEY,
    plan INTEGER NOT NULL REFERENCES plans,
    item INTEGER NOT NULL REFERENCES items,
    outcome TEXT NOT NULL,
    cause TEXT NOT NULL,
    output TEXT NOT NULL,
    machine INTEGER REFERENCES machines,
    finished REAL NOT NULL,
    UNIQUE (plan, item)
);
CREATE TABLE steps (
    verdict INTEGER NOT NULL REFERENCES verdicts ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    outcome TEXT NOT NULL,
    message TEXT NOT NULL,
    cause TEXT NOT NULL,
    details TEXT NOT NULL,
    PRIMARY KEY (verdict, position)
) WITHOUT ROWID;
CREATE TABLE measured (
    verdict INTEGER NOT NULL REFERENCES verdicts ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (verdict, position, name)
) WITHOUT ROWID;
CREATE TABLE reproducers (
    verdict INTEGER PRIMARY KEY REFERENCES verdicts ON DELETE CASCADE,
    content BLOB,
    note TEXT NOT NULL
);
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


def connected(path: str, *, writes: bool) -> sqlite3.Connection:
    """A file of results; with `writes` it is made where there is none."""
    try:
        _look_at(path, writes)
        # Who reads may have to undo what a killed process left half-written, and can do without where it may not.
        connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
        try:
            _check(connection, path, writes)
        except BaseException:
            connection.close()
            raise
    except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
        raise ResultsError(f"cannot {'write' if writes else 'read'} '{path}': {words(error)}") from None
    return connection


def words(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _look_at(path: str, writes: bool) -> None:
    if not os.path.exists(path):
        if not writes:
            raise ResultsError(f"cannot read '{path}': there is no such file")
        return
    with open(path, "rb") as file:
        beginning = file.read(len(_BEGINNING))
    if beginning != _BEGINNING and (beginning or not writes):
        raise ResultsError(f"'{path}' holds no results of a sweep: it is no SQLite file")


def _check(connection: sqlite3.Connection, path: str, writes: bool) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    if not writes:
        connection.execute("PRAGMA query_only = ON")
    application = _pragma(connection, "application_id")
    version = _pragma(connection, "user_version")
    is_empty = not application and not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if writes and is_empty:
        # In one transaction: a file has all of the tables, or is made again.
        connection.executescript(
            f"BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; {TABLES} COMMIT;"
        )
        return
    if application != APPLICATION:
        raise ResultsError(f"'{path}' holds no results of a sweep: it is a database of something else")
    if version > VERSION:
        raise ResultsError(
            f"'{path}' was written by a newer tileir: its tables are of version {version}, "
            f"and this one knows those up to {VERSION}"
        )


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
