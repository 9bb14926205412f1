"""Reading a file of results, while it is being written too."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tileir.judging.errors import ResultsError
from tileir.judging.model import FINE, JudgeStage, Kind, Outcome, SweepInput, Verdict
from tileir.judging.results.tables import WHOLE, Connection, connected
from tileir.processes.messages import BadMessage, checked

_PAGE: Final = 500


@dataclass(slots=True)
class ResultRow:
    """What came of one item."""

    digest: str
    kind: Kind
    size: int
    """Of its content, in bytes."""
    names: list[str]
    """All that it was given as, sorted."""
    verdict: Verdict
    """Without its output and reproducer, which may be large: `Results.output` and `Results.reproducer` have them."""
    machine: dict[str, Any] = field(default_factory=dict)
    """What judged it."""
    finished: float = 0.0
    """When, in seconds since 1970."""

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def failure(self) -> JudgeStage | None:
        """The first step that did not pass."""
        return next((step for step in self.verdict.steps if step.outcome not in FINE), None)


class Results:
    """A file of results.  Everything is about one plan: the one given by its digest, or that of the latest sweep.

    An item whose names all stand for something else by now, as when a file was changed, is left out."""

    def __init__(self, path: str, plan: str | None = None) -> None:
        self.path: str = path
        self._connection: Connection = connected(path, writes=False)
        self._query: Callable[..., list[tuple[Any, ...]]] = self._connection.rows
        self._plan: int = 0
        self.plan: str = ""
        """The digest of the plan; empty if nothing was swept."""
        self.settings: dict[str, Any] = {}
        """The settings of the plan, as docs/tools/sweep.md describes them."""
        latest = "JOIN sweeps ON sweeps.plan = plans.id ORDER BY sweeps.id DESC LIMIT 1"
        which = latest if plan is None else "WHERE digest = ?"
        try:
            found = self._query(
                f"SELECT plans.id, digest, settings FROM plans {which}", *([] if plan is None else [plan])
            )
            with self._sound():
                for number, digest, settings in found:
                    self._plan, self.plan, self.settings = checked(int, number), checked(str, digest), _object(settings)
            if plan is not None and not found:
                known = ", ".join(self.plans()) or "none"
                raise ResultsError(f"'{self.path}' has no results of the plan '{plan}': it has those of {known}")
        except BaseException:
            self.close()
            raise

    def plans(self) -> dict[str, dict[str, Any]]:
        """All plans of the file, by their digests, in the order in which they were first swept."""
        found = self._query("SELECT digest, settings FROM plans ORDER BY id")
        with self._sound():
            return {checked(str, digest): _object(settings) for digest, settings in found}

    def counts(self) -> Counter[str]:
        """How many items came to which outcome."""
        query = "SELECT outcome, count(*) FROM verdicts WHERE plan = ? AND EXISTS (SELECT 1 FROM names"
        matching = " WHERE names.plan = verdicts.plan AND names.item = verdicts.item) GROUP BY outcome"
        with self._sound():
            return Counter({checked(Outcome, name): count for name, count in self._query(query + matching, self._plan)})

    def rows(self) -> Iterator[ResultRow]:
        """All items, in the order of their digests, which is the same whoever judged them."""
        return self._rows("ORDER BY items.digest")

    def rows_as_written(self) -> Iterator[ResultRow]:
        """All items, in the order in which they were finished: several times as fast."""
        return self._rows("ORDER BY verdicts.id")

    def row(self, digest: str) -> ResultRow:
        """What came of one item."""
        for row in self._rows("AND items.digest = ?", digest):
            return row
        raise ResultsError(f"'{self.path}' has no program with the digest '{digest}'")

    def _rows(self, which: str, *values: object) -> Iterator[ResultRow]:
        query = "SELECT verdicts.id FROM verdicts JOIN items ON items.id = verdicts.item WHERE verdicts.plan = ?"
        keys = [key for (key,) in self._query(f"{query} {which}", self._plan, *values)]
        # A page at a time, so that a reader who takes his time keeps nobody from writing.
        for start in range(0, len(keys), _PAGE):
            yield from self._page(keys[start : start + _PAGE])

    def _page(self, keys: list[int]) -> Iterator[ResultRow]:
        """The rows of some verdicts."""
        own = "verdict = verdicts.id"
        self._query("BEGIN")
        try:
            columns = "digest kind size outcome cause machines.description finished"
            joined = "items ON items.id = verdicts.item LEFT JOIN machines ON machines.id = verdicts.machine"
            verdicts = self._grouped(columns, joined, keys)
            matching = "names ON names.plan = verdicts.plan AND names.item = verdicts.item"
            names = self._grouped("name", matching, keys, "name")
            columns = "name steps.outcome message steps.cause details"
            steps = self._grouped(columns, f"steps ON {own}", keys, "position")
            measured = self._grouped("position name value", f"measured ON {own}", keys)
        finally:
            if self._connection.in_transaction:
                self._query("COMMIT")
        for key in keys:
            # A verdict may have been replaced in the meantime, and an item without a name is left out.
            for found in verdicts.get(key, []) if key in names else []:
                with self._sound():
                    found["steps"] = [{**step, "details": _object(step["details"])} for step in steps.get(key, [])]
                    found["names"] = [each["name"] for each in names[key]]
                    found["machine"] = _object(found["description"] or "{}")
                    row: ResultRow = checked(ResultRow, {**found, "verdict": found})
                    for each in measured.get(key, []):
                        position = each["position"]
                        of = row.verdict if position == WHOLE else row.verdict.steps[checked(int, position)]
                        of.measured[checked(str, each["name"])] = checked(float, each["value"])
                yield row

    def _grouped(self, columns: str, joined: str, keys: list[int], order: str = "1") -> dict[int, list[dict[str, Any]]]:
        """Columns of a table that is joined to verdicts, by name, for each of some verdicts."""
        names = columns.split()
        query = f"SELECT verdicts.id, {', '.join(names)} FROM verdicts JOIN {joined}"
        chosen = "WHERE verdicts.id IN (SELECT value FROM json_each(?))"
        found: dict[int, list[dict[str, Any]]] = {}
        bare = [name.rpartition(".")[2] for name in names]
        for key, *values in self._query(f"{query} {chosen} ORDER BY {order}", json.dumps(keys)):
            found.setdefault(key, []).append(dict(zip(bare, values, strict=True)))
        return found

    def comparable(self) -> Iterator[tuple[Any, ...]]:
        """What is the same whoever judged the items, in whichever order: all but what was measured or printed."""
        for row in self.rows():
            steps = [(s.name, s.outcome, s.message, s.cause, json.dumps(s.details)) for s in row.verdict.steps]
            yield row.digest, row.kind, tuple(row.names), row.verdict.outcome, row.verdict.cause, tuple(steps)

    def digest(self) -> str:
        """Of all that is comparable: two tables with the same digest have the same results."""
        found = hashlib.blake2b(digest_size=16)
        for row in self.comparable():
            found.update(json.dumps(row).encode())
        return found.hexdigest()

    def item(self, digest: str) -> SweepInput:
        """What was judged, whole."""
        joined = "items LEFT JOIN modules ON modules.id = items.reference WHERE items.digest = ?"
        columns = "kind, items.content, coalesce(modules.content, x'')"
        for kind, content, reference in self._query(f"SELECT {columns} FROM {joined}", digest):
            of_item = "names JOIN items ON items.id = names.item WHERE names.plan = ? AND items.digest = ?"
            names = self._query(f"SELECT names.name FROM {of_item} ORDER BY 1", self._plan, digest)
            with self._sound():
                name = names[0][0] if names else digest
                item: SweepInput = checked(
                    SweepInput, {"name": name, "kind": kind, "content": content, "reference": reference}
                )
                return item
        raise ResultsError(f"'{self.path}' has no program with the digest '{digest}'")

    def output(self, digest: str) -> str:
        """What a program printed while it was judged."""
        return "".join([str(output or "") for (output,) in self._of_verdict("verdicts.output", "", digest)])

    def reproducer(self, digest: str) -> tuple[bytes | None, str] | None:
        """A smaller program with the same failure and a note, or None if none was searched for."""
        join = "JOIN reproducers ON reproducers.verdict = verdicts.id"
        for content, note in self._of_verdict("reproducers.content, reproducers.note", join, digest):
            with self._sound():
                return checked(bytes | None, content), checked(str, note)
        return None

    def reproducers(self) -> dict[str, tuple[int, str]]:
        """The size and the note of every reproducer, by the digest of the item; -1 where there is only a note."""
        query = "SELECT items.digest, coalesce(length(reproducers.content), -1), reproducers.note FROM reproducers"
        joins = " JOIN verdicts ON verdicts.id = reproducers.verdict JOIN items ON items.id = verdicts.item"
        found = self._query(f"{query}{joins} WHERE verdicts.plan = ? ORDER BY items.digest", self._plan)
        with self._sound():
            return {checked(str, digest): (size, checked(str, note)) for digest, size, note in found}

    def _of_verdict(self, columns: str, join: str, digest: str) -> list[tuple[Any, ...]]:
        query = f"SELECT {columns} FROM verdicts JOIN items ON items.id = verdicts.item {join}"
        return self._query(f"{query} WHERE verdicts.plan = ? AND items.digest = ?", self._plan, digest)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """What is read here may be anything."""
        try:
            yield
        except (BadMessage, ValueError, TypeError, IndexError, RecursionError) as error:
            raise ResultsError(f"'{self.path}' is damaged: {error}") from None


def finite(value: object) -> float | None:
    """A number as a float; None for infinities, for what is too large, and for what is no number."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _object(text: Any) -> dict[str, Any]:
    """An object in JSON, which has no infinities: they are None."""
    plain = checked(str, text)
    found = json.loads(plain, parse_constant=lambda _: None, parse_float=lambda digits: finite(float(digits)))
    return dict(checked(dict[str, Any], found))
