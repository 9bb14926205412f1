"""What is known of other tile blocks, as a clock: for each chain of releases (`releases`) how far along it.

Few chains, or few among many, are a dictionary; where most chains are known an array has a place for each, -1 where
nothing is known.  Most of what tile blocks learn nobody asks for: atomics do not race with atomics, however many places
they meet at.  So a clock with many sources is computed when it is first looked at, or when what it is computed from is
about to go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Union

import numpy

from tileir.execute.dtypes import Array

ClockEntries = Union[dict[int, int], "Array"]

# The columns of the table of releases: the chain, the place there, and by number what was known before the release and
# is known after it, -1 where nobody asked yet.
CHAIN, PLACE, BEFORE, AFTER = 0, 1, 2, 3

# So many known chains may become an array, of at most so many elements for each: a dictionary needs more memory.
_FEW: Final = 32
_MOST_SPREAD: Final = 8


@dataclass(slots=True, eq=False)
class Sources:
    """What a clock is computed from: another, releases by their rows in the table, and what was known before those."""

    base: VectorClock
    rows: Array
    known: list[VectorClock]
    chains: int
    """How many chains there were at that time."""


class VectorClock:
    """What is known of other tile blocks.  Never changed.

    `latest` is a chain that may go on here, known up to `latest_place`.
    """

    __slots__ = ("_upto", "latest", "latest_place", "sources")

    def __init__(self, upto: ClockEntries, latest: int, latest_place: int, sources: Sources | None = None) -> None:
        self._upto: ClockEntries = upto
        self.latest: int = latest
        self.latest_place: int = latest_place
        self.sources: Sources | None = sources

    @property
    def upto(self) -> ClockEntries:
        """For each known chain the place of its last known release."""
        if self.sources is not None:
            self._compute()
        return self._upto

    def at(self, chain: int) -> int:
        """The last known place of a chain, -1 if there is none."""
        upto = self.upto
        if isinstance(upto, dict):
            return upto.get(chain, -1)
        return int(upto[chain]) if chain < upto.size else -1

    def of(self, chains: Array) -> Array:
        """The same of many chains."""
        upto = self.upto
        if isinstance(upto, dict):
            return numpy.array([upto.get(chain, -1) for chain in chains.tolist()], numpy.int32)
        return numpy.where(chains < upto.size, upto.take(chains, mode="clip"), numpy.int32(-1))

    def _compute(self) -> None:
        # A long way back at times, so what has to be computed first is kept in a list.
        waiting = [self]
        while waiting:
            known = waiting[-1]
            needed = known._step() if known.sources is not None else None
            if needed is None:
                waiting.pop()
            else:
                waiting.append(needed)

    def _step(self) -> VectorClock | None:
        """Compute it, or tell what has to be computed before."""
        sources = self.sources
        assert sources is not None
        if sources.base.sources is not None:
            return sources.base
        rows = sources.rows
        # The last one first: it mostly has what the others have.
        chain, place, number, _ = rows[rows[:, BEFORE].argmax()].tolist()
        last: VectorClock = sources.known[number]
        if last.sources is not None:
            return last
        upto = placed(last._upto, sources.chains)
        upto[chain] = place
        if sources.base is not EMPTY_CLOCK:
            _take(upto, sources.base._upto)
        for chain, place, number, _ in rows[upto[rows[:, CHAIN]] < rows[:, PLACE]].tolist():
            if upto[chain] < place:
                before: VectorClock = sources.known[number]
                if before.sources is not None:
                    return before
                _take(upto, before._upto)
                upto[chain] = place
        self._upto = upto if _is_dense(upto) else _as_dictionary(upto)
        self.sources = None
        return None


def _take(upto: Array, there: ClockEntries) -> None:
    """Add a clock to an array."""
    if isinstance(there, dict):
        for chain, place in there.items():
            if upto[chain] < place:
                upto[chain] = place
    else:
        part = upto[: there.size]
        numpy.maximum(part, there, out=part)


EMPTY_CLOCK: Final = VectorClock({}, -1, -1)


def with_release(known: VectorClock, chain: int, place: int) -> VectorClock:
    """What is known after a release at a place of a chain, before which that was known."""
    upto = known.upto
    if isinstance(upto, dict):
        upto = {**upto, chain: place}
    else:
        upto = placed(upto, max(upto.size, chain + 1))
        upto[chain] = place
    return VectorClock(upto, chain, place)


def joined(left: VectorClock, right: VectorClock) -> VectorClock:
    """The union."""
    if left is right or right is EMPTY_CLOCK or _includes(left, right):
        return left
    if left is EMPTY_CLOCK or _includes(right, left):
        return right
    here, there = left.upto, right.upto
    if isinstance(here, dict) and isinstance(there, dict):
        upto = dict(here)
        for chain, place in there.items():
            if upto.get(chain, -1) < place:
                upto[chain] = place
        size = max(upto) + 1
        dense = len(upto) >= _FEW and size <= _MOST_SPREAD * len(upto)
        return VectorClock(placed(upto, size) if dense else upto, left.latest, upto.get(left.latest, -1))
    places = placed(here, max(_size(here), _size(there)))
    numpy.maximum(places, placed(there, places.size), out=places)
    latest_place = int(places[left.latest]) if left.latest >= 0 else -1
    return VectorClock(places if _is_dense(places) else _as_dictionary(places), left.latest, latest_place)


def _size(upto: ClockEntries) -> int:
    return max(upto) + 1 if isinstance(upto, dict) else upto.size


def placed(upto: ClockEntries, size: int) -> Array:
    """An array for so many chains, to be changed."""
    places = numpy.empty(size, numpy.int32)
    places.fill(-1)
    if isinstance(upto, dict):
        if upto:
            places[list(upto)] = list(upto.values())
    else:
        places[: upto.size] = upto
    return places


def _is_dense(upto: Array) -> bool:
    count = int(numpy.count_nonzero(upto >= 0))
    return count >= _FEW and upto.size <= _MOST_SPREAD * count


def _as_dictionary(upto: Array) -> dict[int, int]:
    chains = numpy.flatnonzero(upto >= 0)
    return dict(zip(chains.tolist(), upto[chains].tolist(), strict=True))


def _includes(larger: VectorClock, smaller: VectorClock) -> bool:
    upto, included = larger.upto, smaller.upto
    if isinstance(included, dict):
        if isinstance(upto, dict) and len(included) > len(upto):
            return False
        for chain, place in included.items():
            if larger.at(chain) < place:
                return False
        return True
    if isinstance(upto, dict):
        # Only few of them.
        return False
    return bool(upto.size >= included.size and (upto[: included.size] >= included).all())
