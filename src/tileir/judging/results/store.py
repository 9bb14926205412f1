"""Writing a file of results: verdicts with their programs, each whole or not at all.

One process writes.  Verdicts are gathered and written in one transaction; `flush` returns when they are
in the file, and only then does a sweep call them finished.
"""

from __future__ import annotations

import json
import math
import os
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

from tileir.judging.errors import ResultsError
from tileir.judging.machine import sources
from tileir.judging.model import JudgePlan, SweepInput, Verdict, digest_of
from tileir.judging.results.tables import FAILURES, WHOLE, Connection, connected, failure_message, insert


@dataclass(slots=True)
class Finished:
    """A verdict on its way into the file."""

    item: SweepInput
    verdict: Verdict
    machine: str = ""
    """What judged it, as JSON."""


class Store:
    """A file of results that is being written; another sweep that writes to it is refused meanwhile."""

    def __init__(self, path: str) -> None:
        self.path: str = path
        self._lock: FileLock = FileLock(path)
        try:
            self._connection: Connection = connected(path, writes=True)
        except BaseException:
            self._lock.close()
            raise
        self._plan: int = 0
        self._sweep: int = 0
        self._numbers: dict[tuple[str, str], int] = {}
        """Of the rows that are shared, by table and key."""
        self._others: frozenset[int] = frozenset()
        """Machines that had another tileir than this process."""
        self._waiting: list[Finished] = []
        self._names: list[tuple[str, str]] = []

    def begin(self, plan: JudgePlan) -> None:
        """What follows is of this plan."""
        if self._sweep:
            self._end()
        settings = json.dumps(asdict(plan), sort_keys=True)
        with self._transaction() as run:
            self._plan = self._shared(run, "plans", "digest", plan.digest, settings)
            self._sweep = insert(run, "sweeps", (self._plan, time.time(), None))
            machines = run.execute("SELECT id, description FROM machines").fetchall()
            self._others = frozenset([number for number, description in machines if not _is_ours(description)])

    def outcome(self, digest: str, name: str) -> tuple[str, bool] | None:
        """What came of an item, if known, and whether another tileir judged it.  The name is noted as one of it."""
        query = (
            "SELECT verdicts.outcome, verdicts.machine, names.item IS items.id FROM items JOIN verdicts"
            " ON verdicts.plan = ? AND verdicts.item = items.id"
            " LEFT JOIN names ON names.plan = ? AND names.name = ? WHERE items.digest = ?"
        )
        for outcome, machine, is_named in self._connection.rows(query, self._plan, self._plan, _sound(name), digest):
            if not is_named:
                self.add_name(name, digest)
            return str(outcome), machine in self._others
        return None

    def add_name(self, name: str, digest: str) -> None:
        """Another name of an item whose verdict is there, or will be in the same transaction or an earlier one."""
        self._names.append((_sound(name), digest))

    def add(self, finished: Finished) -> None:
        """A verdict, which replaces the one before where there is one; written by the next `flush`."""
        self._waiting.append(finished)

    @property
    def waiting(self) -> int:
        """How many verdicts are not yet in the file."""
        return len(self._waiting)

    def flush(self) -> list[Finished]:
        """Write what is waiting, and return it."""
        if not self._waiting and not self._names:
            return []
        with self._transaction() as run:
            for each in self._waiting:
                self._write(run, each)
            self._write_names(run, self._names)
        written, self._waiting, self._names = self._waiting, [], []
        return written

    def add_reproducer(self, digest: str, content: bytes | None, note: str = "") -> None:
        """A smaller program with the same failure as an item, or why there is none; written at once."""
        with self._transaction() as run:
            run.execute(
                "INSERT OR REPLACE INTO reproducers (verdict, content, note) SELECT verdicts.id, ?, ? FROM verdicts"
                " JOIN items ON items.id = verdicts.item WHERE verdicts.plan = ? AND items.digest = ?",
                (content, _sound(note), self._plan, digest),
            )

    def close(self) -> None:
        """Write what is waiting and let others write the file."""
        try:
            if self._sweep:
                self._end()
        finally:
            self._sweep = 0
            self._connection.close()
            self._lock.close()

    def _end(self) -> None:
        self.flush()
        with self._transaction() as run:
            run.execute("UPDATE sweeps SET ended = ? WHERE id = ?", (time.time(), self._sweep))

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, run: sqlite3.Connection, finished: Finished) -> None:
        item, verdict = finished.item, finished.verdict
        digest = verdict.digest
        reference = machine = None
        if item.reference:
            reference = self._shared(run, "modules", "digest", digest_of(item.reference), item.reference)
        if finished.machine:
            machine = self._shared(run, "machines", "description", finished.machine)
        insert(run, "items", (digest, item.kind, len(item.content), item.content, reference), extra="OR IGNORE")
        (number,) = run.execute("SELECT id FROM items WHERE digest = ?", (digest,)).fetchone()
        run.execute("DELETE FROM verdicts WHERE plan = ? AND item = ?", (self._plan, number))
        texts: tuple[str, ...] = (verdict.outcome, _sound(verdict.cause), _sound(verdict.output))
        key = insert(run, "verdicts", (self._plan, number, *texts, machine, time.time()))
        measured = [(WHOLE, verdict.measured)]
        for position, step in enumerate(verdict.steps):
            details = json.dumps(step.details, sort_keys=True)
            texts = (step.name, step.outcome, _sound(step.message), _sound(step.cause), details)
            insert(run, "steps", (key, position, *texts))
            measured.append((position, step.measured))
        figures = [(key, position, name, float(n)) for position, values in measured for name, n in values.items()]
        # SQLite has no NaN.
        insert(run, "measured", *[row for row in figures if not math.isnan(row[3])])
        self._write_names(run, [(_sound(item.name), digest)])

    def _write_names(self, run: sqlite3.Connection, names: list[tuple[str, str]]) -> None:
        run.executemany(
            "INSERT INTO names (plan, name, item) SELECT ?, ?, id FROM items WHERE digest = ?"
            " ON CONFLICT (plan, name) DO UPDATE SET item = excluded.item",
            [(self._plan, name, digest) for name, digest in names],
        )

    def _shared(self, run: sqlite3.Connection, table: str, column: str, key: str, *rest: object) -> int:
        """The number of a row that others refer to, by what it is known by; inserted where it is missing."""
        if (table, key) not in self._numbers:
            insert(run, table, (key, *rest), extra="OR IGNORE")
            (number,) = run.execute(f"SELECT id FROM {table} WHERE {column} = ?", (key,)).fetchone()
            self._numbers[table, key] = int(number)
        return self._numbers[table, key]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it is written, or nothing."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                # SQLite may have done it already, as when the disk is full.
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise
        except FAILURES as error:
            raise ResultsError(f"cannot write '{self.path}': {failure_message(error)}") from None


def _is_ours(description: str) -> bool:
    """Whether a machine had the tileir of this process."""
    try:
        return bool(json.loads(description)["sources"] == sources())
    except (ValueError, LookupError, TypeError, RecursionError):
        # Nobody noted it.
        return False


def _sound(text: str) -> str:
    """Text that SQLite takes: names of files, and what programs print, may hold bytes that are no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:
    import msvcrt

    fcntl = None

_LONGEST: Final = 200
_OWN: Final[set[str]] = set()
_GUARD: Final = threading.Lock()


class FileLock:
    """The right to write a file, from when it is made until `close`."""

    def __init__(self, path: str) -> None:
        self._path: str = os.path.realpath(path) + ".lock"
        self._file: int = -1
        with _GUARD:
            if self._path in _OWN:
                raise ResultsError(f"'{path}' is being written by another sweep of this process")
            try:
                self._take(path)
            except OSError as error:
                raise ResultsError(f"cannot write '{path}': {error.strerror or error}") from None
            _OWN.add(self._path)

    def _take(self, path: str) -> None:
        while self._file < 0:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
            try:
                if not _locked(file):
                    owner = os.read(file, _LONGEST).decode("utf-8", "replace").strip()
                    raise ResultsError(
                        f"'{path}' is being written by another sweep{f' ({owner})' if owner else ''}: "
                        "wait until it has ended, or write to another file"
                    )
                # Else its owner removed it in the meantime.
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(file), os.stat(self._path)):
                        os.ftruncate(file, 0)
                        os.write(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode()[:_LONGEST])
                        self._file = file
            finally:
                if self._file < 0:
                    os.close(file)

    def close(self) -> None:
        with _GUARD:
            if self._file >= 0:
                # While it is still locked: who waits for it looks whether it is still there.
                with suppress(OSError):
                    os.unlink(self._path)
                os.close(self._file)
                self._file = -1
                _OWN.discard(self._path)


def _locked(file: int) -> bool:
    try:
        if fcntl is not None:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            # Beyond what is read of it: other processes may not read what is locked.
            os.lseek(file, 1 << 20, os.SEEK_SET)
            try:
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(file, 0, os.SEEK_SET)
    except (BlockingIOError, PermissionError):
        return False
    return True
