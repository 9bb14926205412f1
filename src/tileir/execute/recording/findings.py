"""What is looked for while a launch is recorded, and when a finding was seen."""

from __future__ import annotations

from typing import Final

from tileir.execute.sanitizer.report import Kind

CHECKED: Final[dict[Kind, str]] = {
    "out-of-bounds": "accesses outside of the array that the pointer comes from",
    "misaligned": "addresses that are not multiples of the element's size",
    "read-only": "writes to read-only arrays and constants",
    "index-space": "indices of views beyond their index space",
    "inbounds": "tiles that reach outside of a tensor against a promise",
    "uninitialized": "reads of memory that was never written",
    "race": "tile blocks that access the same bytes in no order, at least one of them writing",
    "unordered": "operations of one tile block that access the same bytes without a token between them",
    "assume": "assumptions that do not hold",
    "overflow": "results that do not fit against a promise",
    "division-by-zero": "divisions of integers by zero",
    "shift": "shifts by the width of the type or more",
    "index": "indices of `extract` and `insert` without a sub-tile",
    "assert": "asserts that fail",
    "error": "anything else that ends a tile block",
}
"""What the sanitizer looks for."""
COVERED: Final[dict[Kind, str]] = {
    "unwritten": "elements that are never written, of an array that the kernel stores to",
    "written-twice": "elements of one store that go to the same place",
}
"""What it also looks for where all is asked for."""


class Seen:
    """When a finding was first seen: the step of its tile block, the row of the access, and the element of the row's
    array at which two accesses meet; -1 where there is none."""

    __slots__ = ("element", "row", "step")

    def __init__(self, step: int, row: int = -1, element: int = -1) -> None:
        self.step: int = step
        self.row: int = row
        self.element: int = element
