"""What tile blocks know of each other: the events that releases left behind, for acquires to take.

A release leaves the events of its own tile block before it and what that block knew; an acquire that reads there knows
all of that.  Written out, these sets would take the square of the number of tile blocks.  So they are a graph: an
acquire refers to the releases it read, a release to what was known before it and, if it is an atomic update, to the one
that it found.  Most of what tile blocks learn nobody asks for, as atomics do not race with atomics: whether an event is
known is searched when it is asked.  The last search goes on where it stopped: the last tile block of a reduction asks
about all others.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy

from tileir.execute.dtypes import Array

# What shadow memory holds where nobody released.
NO_RELEASE: Final = 0


@dataclass(slots=True, eq=False)
class Knowledge:
    """What is known of other tile blocks: all that its sources know, and what releases left, by their numbers."""

    sources: tuple[Knowledge, ...] = ()
    releases: tuple[int, ...] = ()
    answers: dict[int, int] = field(default_factory=dict, init=False)
    """For tile blocks that somebody asked about, the events that were found."""


NOTHING_KNOWN: Final = Knowledge()


def joined(left: Knowledge, right: Knowledge) -> Knowledge:
    """The union."""
    if left is right or right is NOTHING_KNOWN:
        return left
    return right if left is NOTHING_KNOWN else Knowledge((left, right))


class _Release(NamedTuple):
    """One release of each element of a tile: the tile block, its events before it, and what it knew; `found` has the
    releases that an atomic update carries on."""

    block: int
    events: int
    known: Knowledge
    found: Array | None


class _Search:
    """The events that are known, found step by step: by tile block."""

    def __init__(self, known: Knowledge) -> None:
        self.known: Knowledge = known
        self.events: dict[int, int] = {}
        self.waiting: list[Knowledge | int] = [known]
        self.seen: set[Knowledge | int] = {NO_RELEASE}


class Releases:
    """All releases of a launch, by the numbers that shadow memory holds."""

    def __init__(self) -> None:
        self._all: list[_Release] = []
        # The number of the first element of each, and behind the last.
        self._firsts: list[int] = [NO_RELEASE + 1]
        self._blocks: set[int] = set()
        self._search: _Search = _Search(NOTHING_KNOWN)

    def acquired(self, known: Knowledge, numbers: Array) -> Knowledge:
        """What an acquire knows that reads these releases, and knew that before."""
        read = tuple([number for number in numbers.tolist() if number != NO_RELEASE])
        # Mostly one who waits for a flag reads it again.
        return Knowledge((known,), read) if read and read != known.releases else known

    def release(self, known: Knowledge, events: int, block: int) -> int:
        """The number of a release by a tile block that knows this, with these events of its own before it."""
        return self._add(_Release(block, events, known, None), 1)

    def carried_on(self, found: Array, known: Knowledge, events: int, block: int) -> Array:
        """The numbers of releases by an atomic update, one in place of each that it finds."""
        first = self._add(_Release(block, events, known, found), found.size)
        return numpy.arange(first, first + found.size, dtype=numpy.int32)

    def _add(self, release: _Release, count: int) -> int:
        first = self._firsts[-1]
        self._all.append(release)
        self._firsts.append(first + count)
        self._blocks.add(release.block)
        return first

    def knows(self, known: Knowledge, block: int, events: int) -> bool:
        """Whether all of some events of a tile block come before whoever knows that."""
        if known is NOTHING_KNOWN or block not in self._blocks:
            return False
        search = self._search
        if search.known is not known:
            search = self._search = _Search(known)
        while events & ~search.events.get(block, 0) and search.waiting:
            self._step(search, block)
        known.answers[block] = search.events.get(block, 0)
        return not events & ~known.answers[block]

    def _step(self, search: _Search, block: int) -> None:
        """Look at one release, or at what is known in one place."""
        top = search.waiting.pop()
        if top in search.seen:
            return
        search.seen.add(top)
        if isinstance(top, Knowledge):
            search.events[block] = search.events.get(block, 0) | top.answers.get(block, 0)
            search.waiting += (*top.sources, *top.releases)
            return
        place = bisect_right(self._firsts, top) - 1
        release = self._all[place]
        search.events[release.block] = search.events.get(release.block, 0) | release.events
        if release.found is not None:
            search.waiting.append(int(release.found[top - self._firsts[place]]))
        search.waiting.append(release.known)
