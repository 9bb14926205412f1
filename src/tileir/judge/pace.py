"""How large chunks are, and how many are under way: learned from how long they take.

A chunk should take about half a second: long enough that handing it out costs nothing beside it, short enough that
little is lost with a worker.  A worker should find the next chunk waiting when it is done with one, so two for each
are under way.  How many workers an executor has is not for every executor to know; but a chunk that took hardly longer
from hand to hand than its work did has waited for nobody, so somebody may have waited for chunks; and one that waited
for several others is one too many.  At the end chunks become small, so that workers finish together.
"""

from __future__ import annotations

from math import ceil
from typing import Final

CHUNK_SECONDS: Final = 0.5
_LARGEST: Final = 1000
_MOST: Final = 4096
_FORGETTING: Final = 0.8
_FIRST_GUESS: Final = 8
_UNQUEUED: Final = 1.2
_QUEUED: Final = 4.0


class Pace:
    """What is known of the work so far."""

    def __init__(self, workers: int | None) -> None:
        self._least: int = 2 * workers if workers is not None else _FIRST_GUESS
        self.limit: int = self._least
        """How many chunks may be under way."""
        self._size: int = 1
        self._items: float = 0.0
        self._seconds: float = 0.0

    @property
    def workers(self) -> int:
        return max(1, self.limit // 2)

    def learn(self, items: int, seconds: float, turnaround: float, is_busy: bool) -> None:
        """A chunk of so many items took so long at the worker, and from being handed out to coming back.

        `is_busy`: as many were under way as may be, so that waiting says something."""
        self._items = self._items * _FORGETTING + items
        self._seconds = self._seconds * _FORGETTING + seconds
        wanted = CHUNK_SECONDS * self._items / max(self._seconds, 1e-6)
        # What the first few say is said of everything only step by step.
        self._size = max(1, min(int(wanted), 2 * max(self._size, items), _LARGEST))
        if is_busy and seconds > CHUNK_SECONDS / 10:
            if turnaround < _UNQUEUED * seconds:
                self.limit = min(self.limit + 1, _MOST)
            elif turnaround > _QUEUED * seconds:
                self.limit = max(self.limit - 1, self._least)

    @property
    def lookahead(self) -> int:
        """How many items should wait to be handed out, so that the end is seen before it is there."""
        return 2 * self.workers * self._size

    def size(self, waiting: int, is_last: bool) -> int:
        """How many of the items that wait make the next chunk; with `is_last` there are no others."""
        return min(self._size, ceil(waiting / (2 * self.workers))) if is_last else self._size
