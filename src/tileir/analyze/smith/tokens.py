"""Memory that a kernel writes and reads again, and the tokens that order its accesses.

Without a path of tokens two accesses of one tile block have no order.  Every read comes after the last write, every
write after that and all reads since; what passes through loops and branches passes its tokens too.
"""

from __future__ import annotations

from typing import NamedTuple

from tileir.analyze.smith.tiles import Tile
from tileir.ir.types import Type
from tileir.ir.values import Value


class State(NamedTuple):
    """The token of the last write, where there is one, and those of the reads since."""

    write: Value | None
    reads: tuple[Value, ...]


class Memory:
    """The part of an array that belongs to one tile block."""

    def __init__(self, base: Tile, element: Type, count: int) -> None:
        self.base: Tile = base
        self.element: Type = element
        self.count: int = count
        self.state: State = State(None, ())

    @property
    def last_write(self) -> list[Value]:
        """What a read comes after."""
        return [] if self.state.write is None else [self.state.write]

    @property
    def accesses(self) -> list[Value]:
        """What a write comes after."""
        return [*self.last_write, *self.state.reads]

    def was_read(self, token: Value) -> None:
        self.state = State(self.state.write, (*self.state.reads, token))

    def was_written(self, token: Value) -> None:
        self.state = State(token, ())
