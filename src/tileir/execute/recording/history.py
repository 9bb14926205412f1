"""The values of one tile block over its steps, as many as memory is given for."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import Any, Final

_ENTRY_BYTES: Final = 200
"""What a value takes beside its elements."""
_COMPACTED: Final = 1024
"""So many forgotten entries of a value are cut off at once."""


class ValueHistory:
    """For each value the steps at which it was computed, and what it was.

    It is complete for the moments from `first` to `last`.  With more than `room` bytes the oldest entries are
    forgotten, but never the newest of a value.
    """

    def __init__(self, room: int) -> None:
        self.first: int = 0
        self.last: int = 0
        self.nbytes: int = 0
        self.added: int = 0
        """The bytes of all entries, forgotten or not."""
        self.is_over: bool = False
        """Whether the tile block has come to its end."""
        self._room: int = room
        self._steps: dict[int, list[int]] = {}
        self._contents: dict[int, list[Any]] = {}
        # How many of the entries of each value are forgotten.
        self._forgotten: dict[int, int] = {}
        # Values in the order of their entries, and those whose turn has come while they had no newer one.
        self._order: deque[int] = deque()
        self._due: set[int] = set()

    def add(self, value: int, step: int, content: Any) -> None:
        steps = self._steps.get(value)
        if steps is None:
            steps = self._steps[value] = []
            self._contents[value] = []
            self._forgotten[value] = 0
        contents = self._contents[value]
        if len(steps) > self._forgotten[value] and steps[-1] == step:
            contents[-1] = content
            return
        steps.append(step)
        contents.append(content)
        self._order.append(value)
        self.nbytes += _size(content)
        self.added += _size(content)
        if value in self._due:
            # The one before has its turn again, so that what is newer than the room goes back stays complete.
            self._due.discard(value)
            self._order.append(value)
        while self.nbytes > self._room and self._order:
            oldest = self._order.popleft()
            if len(self._steps[oldest]) - self._forgotten[oldest] > 1:
                self._forget(oldest)
            else:
                self._due.add(oldest)

    def _forget(self, value: int) -> None:
        """Forget the oldest entry of a value that has a newer one."""
        steps, contents = self._steps[value], self._contents[value]
        place = self._forgotten[value]
        self.nbytes -= _size(contents[place])
        contents[place] = None
        place += 1
        self.first = max(self.first, steps[place])
        if place >= _COMPACTED:
            del steps[:place], contents[:place]
            place = 0
        self._forgotten[value] = place

    def holds(self, step: int) -> bool:
        """Whether all values of a moment are known."""
        return self.first <= step and (self.is_over or step <= self.last)

    def at(self, value: int, step: int) -> tuple[int, Any] | None:
        """The newest of a value at a step: when it was computed, and what it is; None before there is any."""
        steps = self._steps.get(value)
        if steps is None:
            return None
        place = bisect_right(steps, step, self._forgotten[value]) - 1
        return (steps[place], self._contents[value][place]) if place >= self._forgotten[value] else None

    def steps(self, value: int) -> list[int]:
        """The steps at which a value was computed, of the part that is known."""
        return self._steps.get(value, [])[self._forgotten.get(value, 0) :]


def _size(content: Any) -> int:
    return _ENTRY_BYTES + int(getattr(content, "nbytes", 0))
