"""Memory that tile blocks share, as if it were their own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from tileir.analyze.lint.rule import LintFinding, Rule
from tileir.analyze.lint.subject import Subject
from tileir.annotations import Final
from tileir.dialect.ops import GET_TILE_BLOCK_ID, IF, RETURN, STORE_PTR_TKO, STORE_VIEW_TKO
from tileir.ir.core import Operation
from tileir.ir.location import TextLocation
from tileir.ir.traits import ATOMIC
from tileir.ir.values import Value


def _where(subject: Subject, access: Operation) -> list[Value]:
    """What decides which memory an access touches."""
    mask = subject.mask(access)
    return [*subject.places(access), *([mask] if mask is not None else [])]


# A launch of a single tile block, as a text may state it at its top (execute/arguments/argument_text.py).
_ONE_BLOCK: Final = re.compile(r"// tileir: .*--grid[ =]1(?:,1)*(?![\d,])")


def _is_for_several(subject: Subject) -> bool:
    """Whether a kernel asks which tile block it is, and its text does not say that there is one."""
    if not subject.operations(GET_TILE_BLOCK_ID):
        return False
    location = subject.module.location
    return not (isinstance(location, TextLocation) and _states_one_block(location.source.text))


# Kept: every kernel of a text asks for it.
@lru_cache(maxsize=1)
def _states_one_block(text: str) -> bool:
    """Whether the comments at the top of a text state a launch of one tile block."""
    start = 0
    while text.startswith("//", start):
        end = text.find("\n", start)
        if _ONE_BLOCK.match(text, start, len(text) if end < 0 else end):
            return True
        start = len(text) if end < 0 else end + 1
    return False


@Rule(
    "same-store-in-every-block",
    "memory",
    "Every tile block of the grid writes to the same place",
    reason="The kernel asks which tile block it is, but this store does not depend on it: all write over each other, "
    "and which one is last is chance.",
    remedy="Let the place depend on the block's id, add up with `atomic_rmw_tko`, or let one tile block write.",
    example="""\
 entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
   %x, %y, %z = get_tile_block_id : tile<i32>
   %from = offset %p, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
   %v, %t = load_ptr_tko weak %from : tile<ptr<f32>> -> tile<f32>, token
-  %u = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token // here
+  %0 = constant <i32: 0> : tile<i32>
+  %first = cmpi equal %x, %0, signed : tile<i32> -> tile<i1>
+  if %first {
+    %u = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token
+  }
   return
 }
""",
)
def _same_stores(subject: Subject) -> Iterable[LintFinding]:
    if not _is_for_several(subject) or _takes_turns(subject) or _ends_early(subject):
        return
    varying = subject.varying
    for store in subject.operations(STORE_PTR_TKO, STORE_VIEW_TKO):
        if not any(value in varying.values for value in _where(subject, store)) and not varying.chooses(store):
            yield LintFinding(
                store, "every tile block writes to the same place: nothing of it depends on the block's id"
            )


def _takes_turns(subject: Subject) -> bool:
    """Whether tile blocks may wait for each other, as with a lock."""
    return any(
        access.keyword("memory_ordering_semantics") in ("acquire", "release", "acq_rel", "seq_cst")
        for access in subject.accesses()
    )


def _ends_early(subject: Subject) -> bool:
    """Whether some tile blocks return before the end."""
    return any(
        branching.operands[0] in subject.varying.values
        and any(
            block.last is not None and block.last.declaration is RETURN for r in branching.regions for block in r.blocks
        )
        for branching in subject.operations(IF)
    )


@Rule(
    "narrow-scope",
    "memory",
    "An atomic operation is atomic within a tile block only, on memory that all of them access",
    reason="Updates of other tile blocks may come in between, and get lost.",
    remedy="Give it the scope `device`, or `sys` if other devices take part.",
    example="""\
 entry @k(%count: tile<ptr<i32>>) {
   %x, %y, %z = get_tile_block_id : tile<i32>
-  %old, %t = atomic_rmw_tko relaxed tl_blk %count, add, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token // here
+  %old, %t = atomic_rmw_tko relaxed device %count, add, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
   return
 }
""",
)
def _narrow_scopes(subject: Subject) -> Iterable[LintFinding]:
    if not _is_for_several(subject):
        return
    for access in subject.accesses():
        if not access.declaration.traits & ATOMIC or access.keyword("memory_scope") != "tl_blk":
            continue
        if not any(value in subject.varying.values for value in _where(subject, access)):
            yield LintFinding(access, "every tile block accesses this memory, and the scope is that of one tile block")
