"""Inserts operations at a place."""

from __future__ import annotations

from tileir.ir.core import Block, Operation


class InsertionPoint:
    """A place for operations: in front of `before`, or at the end of `block`."""

    __slots__ = ("before", "block")

    def __init__(self, block: Block, before: Operation | None = None) -> None:
        self.block: Block = block
        self.before: Operation | None = before

    def insert(self, operation: Operation) -> Operation:
        self.block.insert_before(operation, self.before)
        return operation
