"""One constant of each kind, at the start of the kernel: as MLIR's folder keeps them."""

from __future__ import annotations

from tileir.ir.attributes import Attribute
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import ISOLATED
from tileir.ir.location import UNKNOWN, joined_location
from tileir.ir.types import Type


class ConstantPool:
    """Meets constants in program order and merges or moves them.

    Equal constants (same value, same type) of one isolated operation become the first of them.  A constant stays where
    it is if it begins the entry block or follows one that stays; any other goes to the front of that block.  A
    constant that moved, or stands for several, belongs to no line of the source any more: its location is unknown,
    unless `keep_locations` says that it has those of all of them.
    """

    __slots__ = ("_homes", "_keep_locations", "_owned", "_seen", "merged", "moved")

    def __init__(self, keep_locations: bool = False) -> None:
        self._keep_locations: bool = keep_locations
        self.merged: int = 0
        self.moved: int = 0
        self._seen: dict[tuple[Block, Attribute, Type], Operation] = {}
        self._owned: set[Operation] = set()
        # The block constants of a block go to.
        self._homes: dict[Block, Block] = {}

    def place(self, constant: Operation) -> bool:
        """Put a constant in its place; False if an equal one took its part and it was erased."""
        block = constant.parent
        value = constant.attributes.get("value")
        if block is None or value is None or len(constant.attributes) != 1:
            # Further attributes would be lost in a merge.
            return True
        home = self._homes.get(block)
        if home is None:
            home = self._home(block)
        result = constant.results[0]
        key = (home, value, result.type)
        first = self._seen.get(key)
        if first is not None:
            result.replace_all_uses_with(first.results[0])
            constant.erase()
            kept = self._keep_locations
            first.location = joined_location(first.location, constant.location) if kept else UNKNOWN
            self.merged += 1
            return False
        previous = constant.previous
        if block is not home or not (previous is None or previous in self._owned):
            constant.detach()
            home.insert_before(constant, home.first)
            if not self._keep_locations:
                constant.location = UNKNOWN
            self.moved += 1
        self._seen[key] = constant
        self._owned.add(constant)
        return True

    def _home(self, block: Block) -> Block:
        """The entry block of the innermost isolated operation around a block (or of the outermost operation there is).

        Blocks on the way there have the same one, so that a deep nest is climbed once and not from every level.
        """
        way: list[Block] = []
        home: Block | None = None
        while home is None:
            way.append(block)
            region = block.parent
            parent = region.parent if region is not None else None
            outer = parent.parent if parent is not None else None
            if region is None:
                home = block
            elif (
                parent is None
                or outer is None
                or parent.declaration.traits & ISOLATED
                or parent.declaration.unregistered
            ):
                home = region.blocks[0]
            else:
                block = outer
                home = self._homes.get(block)
        for inner in way:
            self._homes[inner] = home
        return home
