"""Copies of tiles, in memory that is used again for the next copies once nobody has these any more.

Memory that is new from the system comes page by page, when it is first written: that took longer than the copying.
"""

from __future__ import annotations

import weakref
from typing import Final

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.memory import KEPT_BYTES

_BYTE: Final = numpy.dtype(numpy.uint8)
_MOST_BYTES: Final = 2 * KEPT_BYTES
"""How much memory waits to be used again: what the operands of a product keep."""


class Copies:
    """Makes copies.  Who has one must not let go of it before the last part of it."""

    def __init__(self) -> None:
        self._spare: dict[int, list[Array]] = {}
        self.spare_bytes: int = 0
        """How much memory waits."""

    def of(self, tiles: Array) -> Array:
        rooms = self._spare.get(tiles.nbytes)
        # Other threads may make copies meanwhile.
        try:
            room = rooms.pop() if rooms else None
        except IndexError:
            room = None
        if room is None:
            room = numpy.empty(tiles.nbytes, _BYTE)
        else:
            self.spare_bytes -= room.nbytes
        copy: Array = numpy.ndarray(tiles.shape, tiles.dtype, room)
        numpy.copyto(copy, tiles)
        weakref.finalize(copy, self._give_back, room).atexit = False
        return copy

    def _give_back(self, room: Array) -> None:
        if self.spare_bytes + room.nbytes <= _MOST_BYTES:
            self.spare_bytes += room.nbytes
            self._spare.setdefault(room.nbytes, []).append(room)
