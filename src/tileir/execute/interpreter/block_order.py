"""Where the operations of a block stand, and where memory may change between them."""

from __future__ import annotations

from bisect import bisect_right

from tileir.ir.core import Block, Operation


class BlockOrder:
    """Where each operation of a block stands, and where memory may change."""

    __slots__ = ("places", "writes")

    def __init__(self, block: Block, changing: set[Operation]) -> None:
        """`changing` has the operations that may change memory."""
        self.places: dict[Operation, int] = {}
        self.writes: list[int] = []
        for place, operation in enumerate(block):
            self.places[operation] = place
            if operation in changing:
                self.writes.append(place)

    def undisturbed(self, first: Operation, last: list[Operation]) -> bool:
        """Whether all of `last` stand in the block, and memory stays the same from `first` to each of them."""
        places = [self.places.get(operation, -1) for operation in last]
        if not places or min(places) < 0:
            return False
        following = bisect_right(self.writes, self.places[first])
        return following == len(self.writes) or self.writes[following] > max(places)
