"""The places in sanitized code that can find something, and the table of memory they look into.

Each has a number.  Where compiled code is in doubt it calls

    void inspector(i64 site, i64 block, ptr values)

with what the operation is about to be given; `findings` decides, with the interpreter's own rules, what is wrong.  The
values are 64-bit numbers; the address of the words about `alloca` comes first, then by kind:

    pointers   where to answer, how many elements, their addresses, their mask or 0
    view       where to answer, address, extents and strides of the tensor, indices, addresses and mask of a gather or 0
    numbers    how many elements, then where each operand lies
    failure    the element, a detail
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from tileir.execute.cpu.loops.checks import Check
from tileir.ir.core import Operation

Kind = Literal["pointers", "view", "numbers", "failure"]

START: Final = 0
"""A stretch of memory is four words: where it begins, where it ends, whether it is writable, and the address of its
shadow, a byte for each byte that is not zero if nobody wrote it; 0 where everything counts as written."""
END: Final = 1
WRITABLE: Final = 2
SHADOW: Final = 3
WORDS: Final = 4

SHADOW_PADDING: Final = 8
"""Bytes after a shadow that may be read."""

ANY_ARRAY: Final = -1
"""In place of `WRITABLE`: the pointers of a site may go to any array after all."""

READS: Final = 1
WRITES: Final = 2


@dataclass(eq=False, repr=False, slots=True)
class Site:
    """One such place; `origin` names the array its pointers come from, if that is known (`sanitizer.bounds`)."""

    kind: Kind
    operation: Operation
    origin: str = ""
    check: Check | None = None


def access_kind(operation: Operation) -> int:
    """Whether an access reads, writes, or both."""
    declaration = operation.declaration
    return (READS if declaration.reads is not None else 0) | (WRITES if declaration.writes is not None else 0)
