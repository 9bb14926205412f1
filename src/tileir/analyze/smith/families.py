"""What there is to choose from: families of programs, and the statements of each."""

from __future__ import annotations

from typing import NamedTuple

from tileir.analyze.smith import arithmetic
from tileir.analyze.smith.writer import Statement


class Family(NamedTuple):
    name: str
    summary: str
    statements: tuple[Statement, ...]


_ALONE = (Family("arithmetic", "integers, floats, comparisons and select, element by element", arithmetic.STATEMENTS),)
EVERYTHING = "everything"
_TOGETHER = Family(
    EVERYTHING,
    "all of the others in one program",
    tuple([statement for family in _ALONE for statement in family.statements]),
)
FAMILIES: dict[str, Family] = {family.name: family for family in (*_ALONE, _TOGETHER)}
