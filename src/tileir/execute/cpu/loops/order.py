"""Kernels whose tile blocks may run in any order."""

from __future__ import annotations

from tileir.execute.analysis.values import ordering_of
from tileir.ir.core import Operation
from tileir.ir.traits import ATOMIC, BLOCK_ORDER


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
