"""Kernels whose tile blocks may run in any order, or again: what they write is the same the second time.

Some code is hardly ever needed and takes long to compile: the loop beside a k-loop, what looks at each
element of an access that leaves its array.  A version without it ends a launch that needs it, and the launch begins
again with a version that has everything.  By then some tile blocks may have run, and written.  That is no harm where
nothing reads what is written: no atomic operation, no print, and loads from other arrays than those that are stored to.
Pointers may be led from one array into another, so the version ends at such an access, too, before it is made.
"""

from __future__ import annotations

from tileir.dialect.types import TileType
from tileir.execute.analysis.aliasing import Origin, Origins, likely_origin
from tileir.execute.analysis.values import ordering_of
from tileir.execute.cpu.loops.expressions import Gathered
from tileir.execute.cpu.loops.statements import Matmul, Program, statements
from tileir.ir.core import Operation
from tileir.ir.traits import ATOMIC, BLOCK_ORDER
from tileir.ir.values import Value


def is_repeatable(program: Program, origins: Origins, unchecked: bool) -> bool:
    """Whether there is a k-loop to gain by it, and tile blocks may run again.

    With `unchecked` nobody looks where loads through pointers go, but for those of k-loops.
    """
    loops = [each for each in statements(program.body) if isinstance(each, Matmul) and each.general is not None]
    entry = program.entry
    if not loops or not may_change_order(entry):
        return False
    advanced = {
        operand.operation for loop in loops for operand in (loop.lhs, loop.rhs) if isinstance(operand, Gathered)
    }
    read: set[Origin] = set()
    written: set[Origin] = set()
    for operation in entry.walk():
        declaration = operation.declaration
        for group, found in ((declaration.reads, read), (declaration.writes, written)):
            if group is None:
                continue
            target = operation.operand_group(group)[0]
            if not isinstance(target.type, TileType):
                found.add(origins.of(target))
                continue
            is_seen = not unchecked or found is written or operation in advanced
            if not is_seen or not _has_likely_array(entry, target):
                return False
            found.add(origins.provenance(target))
    return all(origins.never_alias(one, other) for one in read for other in written)


def _has_likely_array(entry: Operation, pointers: Value) -> bool:
    """Whether an access is compared with an argument or a global before anything else."""
    array = likely_origin(entry, pointers)
    return array is not None and not isinstance(array, Operation)


def may_change_order(entry: Operation) -> bool:
    """Whether tile blocks may run in any order: none orders memory between them, prints or asserts.

    One that waits for an earlier tile block must find it started.
    """
    for operation in entry.walk():
        declaration = operation.declaration
        if declaration.has_trait(BLOCK_ORDER | ATOMIC):
            return False
        if declaration.accesses_memory and ordering_of(operation) != "weak":
            return False
    return True
