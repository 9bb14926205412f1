"""The tables of a file of results: a dataclass for each, from which the schema and INSERT statements derive.

A field is a column: `int`, `str`, `float` or `bytes`, with `| None` where it may be missing.  Files of earlier versions
have exactly this schema, which is checked when a file is opened: a new column needs a new `schema.VERSION`.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field, fields
from typing import Any, Final

WHOLE: Final = -1
"""The position of what is measured of a whole verdict, not of one of its steps."""
_TYPES: Final = {"int": "INTEGER", "str": "TEXT", "float": "REAL", "bytes": "BLOB"}


def _column(constraint: str) -> Any:
    return field(metadata={"constraint": constraint})


def _key() -> Any:
    return _column("PRIMARY KEY")


def _unique() -> Any:
    return _column("UNIQUE")


def _reference(table: str) -> Any:
    return _column(f"REFERENCES {table}")


def _verdict() -> Any:
    return _column("REFERENCES verdicts ON DELETE CASCADE")


@dataclass
class PlanRow:
    id: int = _key()
    digest: str = _unique()
    settings: str = field()


@dataclass
class SweepRow:
    id: int = _key()
    plan: int = _reference("plans")
    began: float = field()
    ended: float | None = field()


@dataclass
class ModuleRow:
    """A reference module, which many items share."""

    id: int = _key()
    digest: str = _unique()
    content: bytes = field()


@dataclass
class ItemRow:
    id: int = _key()
    digest: str = _unique()
    kind: str = field()
    size: int = field()
    content: bytes = field()
    reference: int | None = _reference("modules")


@dataclass
class NameRow:
    plan: int = _reference("plans")
    name: str = field()
    item: int = _reference("items")


@dataclass
class MachineRow:
    id: int = _key()
    description: str = _unique()


@dataclass
class VerdictRow:
    id: int = _key()
    plan: int = _reference("plans")
    item: int = _reference("items")
    outcome: str = field()
    cause: str = field()
    output: str = field()
    machine: int | None = _reference("machines")
    finished: float = field()


@dataclass
class StepRow:
    verdict: int = _verdict()
    position: int = field()
    name: str = field()
    outcome: str = field()
    message: str = field()
    cause: str = field()
    details: str = field()


@dataclass
class MeasuredRow:
    verdict: int = _verdict()
    position: int = field()
    name: str = field()
    value: float = field()


@dataclass
class ReproducerRow:
    verdict: int = _column("PRIMARY KEY REFERENCES verdicts ON DELETE CASCADE")
    content: bytes | None = field()
    note: str = field()


_ROWS: Final[dict[str, tuple[type, str]]] = {
    "plans": (PlanRow, ""),
    "sweeps": (SweepRow, ""),
    "modules": (ModuleRow, ""),
    "items": (ItemRow, ""),
    "names": (NameRow, "PRIMARY KEY (plan, name)"),
    "machines": (MachineRow, ""),
    "verdicts": (VerdictRow, "UNIQUE (plan, item)"),
    "steps": (StepRow, "PRIMARY KEY (verdict, position)"),
    "measured": (MeasuredRow, "PRIMARY KEY (verdict, position, name)"),
    "reproducers": (ReproducerRow, ""),
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
    return "".join([_table(name, *rows) for name, rows in _ROWS.items()]) + _NAMES_OF_ITEMS + _VIEW


def _table(name: str, row: type, constraint: str) -> str:
    columns = []
    for each in fields(row):
        kind, _, optional = str(each.type).partition(" | ")
        own = each.metadata.get("constraint", "")
        required = "" if optional or own.startswith("PRIMARY KEY") else "NOT NULL"
        columns.append(" ".join([part for part in (each.name, _TYPES[kind], required, own) if part]))
    body = ",\n    ".join([*columns, *([constraint] if constraint else [])])
    # A key over several columns is where a row is.
    suffix = " WITHOUT ROWID" if constraint.startswith("PRIMARY KEY") else ""
    return f"CREATE TABLE {name} (\n    {body}\n){suffix};\n"


def insert(connection: sqlite3.Connection, table: str, *rows: tuple[Any, ...], extra: str = "") -> int:
    """Insert rows, without the `id` of tables that number theirs; return the number of the last one.

    `extra` says what happens where a row is there already: `OR IGNORE`, `OR REPLACE`."""
    names = [each.name for each in fields(_ROWS[table][0]) if each.name != "id"]
    statement = f"INSERT {extra} INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    if len(rows) != 1:
        connection.executemany(statement, rows)
        return 0
    return int(connection.execute(statement, rows[0]).lastrowid or 0)
