"""The sites in sanitized code that can report something, and the table of memory they search.

Each has a number.  Where compiled code is in doubt it calls

    void inspector(i64 site, i64 block, ptr values)

with the operands of the operation; `report` decides, with the interpreter's own rules, what is wrong.  The values are
64-bit numbers; the address of the words about allocas comes first, then by kind:

    pointers   where to write the result, how many elements, their addresses, their mask or 0
    view       where to write the result, address, extents and strides of the tensor, indices, addresses and mask of a
               gather or 0
    numbers    how many elements, then the address of each operand
    failure    the element, a detail
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from tileir.execute.cpu.ir.checks import Check
from tileir.ir.core import Operation

START, END, WRITABLE, SHADOW = range(4)
"""A region of memory is four words: where it begins, where it ends, whether it is writable, and the address of its
shadow, a byte for each byte that is not zero if it was never written; 0 where everything counts as written."""
WORDS: Final = 4

SHADOW_PADDING: Final = 8
"""Bytes after a shadow that may be read."""

ANY_ARRAY: Final = -1
"""In place of `WRITABLE`: the pointers of a site may go to any array after all."""

READS: Final = 1
WRITES: Final = 2


@dataclass(eq=False, repr=False, slots=True)
class Site:
    """One site; `origin` names the array its pointers come from, if that is known (`sanitizer.bounds`)."""

    kind: Literal["pointers", "view", "numbers", "failure"]
    operation: Operation
    origin: str = ""
    check: Check | None = None


def access_kind(operation: Operation) -> int:
    """Whether an access reads, writes, or both."""
    declaration = operation.declaration
    return (READS if declaration.reads is not None else 0) | (WRITES if declaration.writes is not None else 0)
