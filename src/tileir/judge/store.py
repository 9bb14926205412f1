"""Writing a file of results: verdicts with their programs, each whole or not at all.

One process writes.  Verdicts are gathered for a moment and written in one transaction; `flush` returns when they are
in the file, and only then does a sweep call them finished.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from tileir.judge.errors import ResultsError
from tileir.judge.identity import sources
from tileir.judge.items import Item
from tileir.judge.locking import FileLock
from tileir.judge.plans import Plan
from tileir.judge.schema import FAILURES, connected, words
from tileir.judge.verdicts import Step, Verdict

WHOLE: Final = -1
"""The position of what is measured of a whole verdict, not of one of its steps."""


@dataclass(slots=True)
class Finished:
    """A verdict on its way into the file."""

    item: Item
    verdict: Verdict
    machine: str = ""
    """What judged it, as JSON."""


class Store:
    """A file of results that is being written; another sweep that wants to write it is refused meanwhile."""

    def __init__(self, path: str) -> None:
        self.path: str = path
        self._lock: FileLock = FileLock(path)
        try:
            self._connection: sqlite3.Connection = connected(path, writes=True)
        except BaseException:
            self._lock.close()
            raise
        self._plan: int = 0
        self._sweep: int = 0
        self._machines: dict[str, int] = {}
        self._others: frozenset[int] = frozenset()
        """Machines that had another tileir than this process."""
        self._modules: dict[str, int] = {}
        self._waiting: list[Finished] = []
        self._names: list[tuple[str, str]] = []

    def begin(self, plan: Plan) -> None:
        """What follows is of this plan."""
        if self._sweep:
            self._end()
        settings = json.dumps(asdict(plan), sort_keys=True)
        with self._transaction() as run:
            run.execute("INSERT OR IGNORE INTO plans (digest, settings) VALUES (?, ?)", (plan.digest, settings))
            self._plan = int(run.execute("SELECT id FROM plans WHERE digest = ?", (plan.digest,)).fetchone()[0])
            began = run.execute("INSERT INTO sweeps (plan, began) VALUES (?, ?)", (self._plan, time.time()))
            self._sweep = int(began.lastrowid or 0)
            machines = run.execute("SELECT id, description FROM machines").fetchall()
            self._others = frozenset([number for number, words in machines if not _is_ours(words)])

    def outcome(self, digest: str, name: str) -> str | None:
        """What came of an item, or None if nothing is known; the name is noted as one of it."""
        query = (
            "SELECT verdicts.outcome, names.item IS items.id FROM items JOIN verdicts"
            " ON verdicts.plan = ? AND verdicts.item = items.id"
            " LEFT JOIN names ON names.plan = ? AND names.name = ? WHERE items.digest = ?"
        )
        try:
            found = self._connection.execute(query, (self._plan, self._plan, _sound(name), digest)).fetchone()
        except FAILURES as error:
            raise ResultsError(f"cannot read '{self.path}': {words(error)}") from None
        if found is None:
            return None
        if not found[1]:
            self.add_name(name, digest)
        return str(found[0])

    def is_outdated(self, digest: str) -> bool:
        """Whether another tileir than that of this process has judged an item that is in the file."""
        if not self._others:
            return False
        query = "SELECT machine FROM verdicts JOIN items ON items.id = item WHERE plan = ? AND digest = ?"
        try:
            found = self._connection.execute(query, (self._plan, digest)).fetchone()
        except FAILURES as error:
            raise ResultsError(f"cannot read '{self.path}': {words(error)}") from None
        return found is not None and found[0] in self._others

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
        """Write what is waiting; gives it, now that it is in the file."""
        if not self._waiting and not self._names:
            return []
        with self._transaction() as run:
            for each in self._waiting:
                self._write(run, each)
            run.executemany(
                "INSERT INTO names (plan, name, item) SELECT ?, ?, id FROM items WHERE digest = ?"
                " ON CONFLICT (plan, name) DO UPDATE SET item = excluded.item",
                [(self._plan, name, digest) for name, digest in self._names],
            )
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
        run.execute(
            "INSERT OR IGNORE INTO items (digest, kind, size, content, reference) VALUES (?, ?, ?, ?, ?)",
            (digest, item.kind, len(item.content), item.content, self._module(run, item.reference)),
        )
        (number,) = run.execute("SELECT id FROM items WHERE digest = ?", (digest,)).fetchone()
        run.execute("DELETE FROM verdicts WHERE plan = ? AND item = ?", (self._plan, number))
        row = (self._plan, number, verdict.outcome, _sound(verdict.cause), _sound(verdict.output))
        added = run.execute(
            "INSERT INTO verdicts (plan, item, outcome, cause, output, machine, finished) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*row, self._machine(run, finished.machine), time.time()),
        )
        key = int(added.lastrowid or 0)
        run.executemany(
            "INSERT INTO steps (verdict, position, name, outcome, message, cause, details)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(key, position, *_columns(step)) for position, step in enumerate(verdict.steps)],
        )
        measured = [(WHOLE, verdict.measured), *[(n, step.measured) for n, step in enumerate(verdict.steps)]]
        run.executemany(
            "INSERT INTO measured (verdict, position, name, value) VALUES (?, ?, ?, ?)",
            [
                (key, position, name, float(value))
                for position, values in measured
                for name, value in values.items()
                # SQLite has no NaN.
                if not math.isnan(value)
            ],
        )
        if verdict.reproducer is not None:
            run.execute("INSERT INTO reproducers (verdict, content, note) VALUES (?, ?, '')", (key, verdict.reproducer))
        run.execute(
            "INSERT INTO names (plan, name, item) VALUES (?, ?, ?)"
            " ON CONFLICT (plan, name) DO UPDATE SET item = excluded.item",
            (self._plan, _sound(item.name), number),
        )

    def _module(self, run: sqlite3.Connection, content: bytes) -> int | None:
        """A reference module, which many items share."""
        if not content:
            return None
        digest = hashlib.blake2b(content, digest_size=16).hexdigest()
        if digest not in self._modules:
            run.execute("INSERT OR IGNORE INTO modules (digest, content) VALUES (?, ?)", (digest, content))
            found = run.execute("SELECT id FROM modules WHERE digest = ?", (digest,)).fetchone()
            self._modules[digest] = int(found[0])
        return self._modules[digest]

    def _machine(self, run: sqlite3.Connection, description: str) -> int | None:
        if not description:
            return None
        number = self._machines.get(description)
        if number is None:
            run.execute("INSERT OR IGNORE INTO machines (description) VALUES (?)", (description,))
            found = run.execute("SELECT id FROM machines WHERE description = ?", (description,)).fetchone()
            number = self._machines[description] = int(found[0])
        return number

    def _transaction(self) -> _Transaction:
        return _Transaction(self._connection, self.path)


class _Transaction:
    """All of it is written, or nothing."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection: sqlite3.Connection = connection
        self._path: str = path

    def __enter__(self) -> sqlite3.Connection:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except FAILURES as error:
            raise ResultsError(f"cannot write '{self._path}': {words(error)}") from None
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        try:
            if error is None:
                self._connection.execute("COMMIT")
                return
        except sqlite3.Error as failure:
            error = failure
        try:
            self._connection.execute("ROLLBACK")
        except sqlite3.Error:
            # SQLite has done it already, as when the disk is full.
            pass
        if isinstance(error, FAILURES):
            raise ResultsError(f"cannot write '{self._path}': {words(error)}") from None


def _is_ours(description: str) -> bool:
    """Whether a machine had the tileir of this process."""
    try:
        return bool(json.loads(description)["sources"] == sources())
    except (ValueError, LookupError, TypeError, RecursionError):
        # Nobody noted it.
        return False


def _columns(step: Step) -> Sequence[str]:
    details = json.dumps(step.details, sort_keys=True)
    return step.name, step.outcome, _sound(step.message), _sound(step.cause), details


def _sound(text: str) -> str:
    """Text that SQLite takes: names of files, and what programs print, may hold bytes that are no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
