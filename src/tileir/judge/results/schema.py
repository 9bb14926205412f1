"""Opening a file of results, which may come from a stranger.

The journal is SQLite's own default, a file beside that is gone after each transaction: it holds on network file
systems, where a write-ahead log does not, and a process that is killed at any moment leaves either all of a
transaction or nothing.
"""

from __future__ import annotations

import os
import sqlite3
from typing import Any, Final
from urllib.parse import quote

from tileir.judge.errors import ResultsError
from tileir.judge.results.tables import schema

APPLICATION: Final = 0x74697372
"""What SQLite's `application_id` says: `tisr`, the results of a sweep."""

VERSION: Final = 1
"""What `user_version` says.  A file of a newer one is refused; one of an older one would be brought up to date."""

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
    _calls: int = 0
    """How often the handler was called, once every `_STEPS` steps, in this statement."""

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
        mode = "rwc" if writes else "rw" if os.path.exists(_journal(path)) else "ro"
        address = f"file:{quote(os.fsencode(os.path.abspath(path)))}?mode={mode}"
        connection = sqlite3.connect(address, timeout=_PATIENCE, isolation_level=None, uri=True, factory=Connection)
        try:
            _check(connection, path, writes)
        except BaseException:
            connection.close()
            raise
    except (*FAILURES, OSError) as error:
        raise ResultsError(f"cannot {'write' if writes else 'read'} '{path}': {message_of(error)}") from None
    return connection


def message_of(error: Exception) -> str:
    if isinstance(error, sqlite3.OperationalError) and str(error) == "interrupted":
        return "it is damaged: a statement does not end"
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _journal(path: str) -> str:
    return f"{path}-journal"


def _look_at(path: str, writes: bool) -> None:
    if not os.path.exists(path):
        if not writes:
            raise ResultsError(f"cannot read '{path}': there is no such file")
        return
    for each in (path, _journal(path)):
        if os.path.exists(each) and not os.path.isdir(each) and not os.path.isfile(each):
            # Opening a pipe waits for its other end.
            raise ResultsError(f"'{path}' holds no results of a sweep: '{each}' is not a file on disk")
    with open(path, "rb") as file:
        beginning = file.read(len(_BEGINNING))
    if beginning != _BEGINNING and (beginning or not writes):
        raise ResultsError(f"'{path}' holds no results of a sweep: it is no SQLite file")
    if os.path.exists(_journal(path)):
        with open(_journal(path), "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - len(_NAMED)))
            if file.read() == _NAMED:
                # SQLite would delete the file that it names.
                raise ResultsError(f"'{path}' is damaged: its journal is of several files")


def _check(connection: Connection, path: str, writes: bool) -> None:
    connection.path = os.path.abspath(path)
    connection.set_progress_handler(connection.is_endless, _STEPS)
    for setting in ("foreign_keys = ON", "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        connection.execute(f"PRAGMA {setting}")
    if not writes:
        connection.execute("PRAGMA query_only = ON")
    application = _pragma(connection, "application_id")
    version = _pragma(connection, "user_version")
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
        raise ResultsError(
            f"'{path}' was written by a newer tileir: its tables are of version {version}, "
            f"and this one knows those up to {VERSION}"
        )
    _check_tables(connection, path)


def _check_tables(connection: Connection, path: str) -> None:
    """Require the tables as they are made, without additions: no views in their place, no triggers, no other indexes.

    Tables and views of the user's own, and what belongs to them, are allowed and never read."""
    with sqlite3.connect(":memory:") as made:
        made.executescript(schema())
        expected = _schema(made)
    made.close()
    own = {table for _, _, table, _ in expected}
    known = {name for _, name, _, _ in expected}
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


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
