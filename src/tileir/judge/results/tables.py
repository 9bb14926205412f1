"""The tables of a file of results: a dataclass for each, from which the schema and INSERT statements derive.

A field is a column: `int`, `str`, `float` or `bytes`, with `| None` where it may be missing.  Files of earlier versions
have exactly this schema, which is checked when a file is opened: a new column needs a new `schema.VERSION`.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final, get_args, get_type_hints

WHOLE: Final = -1
"""The position of what is measured of a whole verdict, not of one of its steps."""
_TYPES: Final = {int: "INTEGER", str: "TEXT", float: "REAL", bytes: "BLOB"}

_Key = Annotated[int, "PRIMARY KEY"]
_Unique = Annotated[str, "UNIQUE"]
_Plan = Annotated[int, "REFERENCES plans"]
_Item = Annotated[int, "REFERENCES items"]
_Verdict = Annotated[int, "REFERENCES verdicts ON DELETE CASCADE"]


@dataclass
class PlanRow:
    id: _Key
    digest: _Unique
    settings: str


@dataclass
class SweepRow:
    id: _Key
    plan: _Plan
    began: float
    ended: float | None


@dataclass
class ModuleRow:
    """A reference module, which many items share."""

    id: _Key
    digest: _Unique
    content: bytes


@dataclass
class ItemRow:
    id: _Key
    digest: _Unique
    kind: str
    size: int
    content: bytes
    reference: Annotated[int | None, "REFERENCES modules"]


@dataclass
class NameRow:
    plan: _Plan
    name: str
    item: _Item


@dataclass
class MachineRow:
    id: _Key
    description: _Unique


@dataclass
class VerdictRow:
    id: _Key
    plan: _Plan
    item: _Item
    outcome: str
    cause: str
    output: str
    machine: Annotated[int | None, "REFERENCES machines"]
    finished: float


@dataclass
class StepRow:
    verdict: _Verdict
    position: int
    name: str
    outcome: str
    message: str
    cause: str
    details: str


@dataclass
class MeasuredRow:
    verdict: _Verdict
    position: int
    name: str
    value: float


@dataclass
class ReproducerRow:
    verdict: Annotated[int, "PRIMARY KEY REFERENCES verdicts ON DELETE CASCADE"]
    content: bytes | None
    note: str


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
    for column, hint in get_type_hints(row, include_extras=True).items():
        own = getattr(hint, "__metadata__", ("",))[0]
        kind = get_args(hint)[0] if own else hint
        # `int | None`
        choices = get_args(kind) or (kind,)
        required = "" if len(choices) > 1 or own.startswith("PRIMARY KEY") else "NOT NULL"
        columns.append(" ".join([part for part in (column, _TYPES[choices[0]], required, own) if part]))
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
