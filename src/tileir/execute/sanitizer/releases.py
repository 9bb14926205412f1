"""What tile blocks know of each other: the events that releases left behind, for acquires to take.

Written out, what an acquire takes is a set of events for every tile block that released before it, and a counter that
all of them update would cost the square of their number.  But such sets grow along *chains*: a release that follows
another has all of its set and adds the events of its own tile block.  So a set is kept as a clock: for each chain how
far along it everything is known.  A counter, a lock, flags from neighbor to neighbor are one chain each, however
many tile blocks take part; clocks that are the same are shared.  What each release added lies with the tile block that
did it, so it goes when the last event of that block does.

Most of what tile blocks learn nobody asks for: atomics do not race with atomics, however many places they meet at.  So
what an acquire knows is computed when it is first looked at, or when what it is computed from is about to go.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, NamedTuple

import numpy

from tileir.execute.dtypes import Array

# The columns of the table of releases: the chain, the place there, and by number what was known before the release and
# is known after it, -1 where nobody asked yet.
CHAIN, PLACE, BEFORE, AFTER = 0, 1, 2, 3


class Sources(NamedTuple):
    """What a clock is computed from: another, releases by their rows in the table, and what was known before those."""

    base: VectorClock
    rows: Array
    known: list[VectorClock]
    chains: int
    """How many chains there were at that time."""


class VectorClock:
    """What is known of other tile blocks: for each chain the place of its last known release, -1 if none is, and -1 for
    chains behind the last.  Never changed.

    `latest` is a chain that may go on here, known up to `latest_place`.
    """

    __slots__ = ("_upto", "latest", "latest_place", "sources")

    def __init__(self, upto: Array, latest: int, latest_place: int, sources: Sources | None = None) -> None:
        self._upto: Array = upto
        self.latest: int = latest
        self.latest_place: int = latest_place
        self.sources: Sources | None = sources

    @property
    def upto(self) -> Array:
        # A long way back at times, so what has to be computed first is kept in a list.
        waiting = [self]
        while waiting:
            needed = waiting[-1]._step()
            if needed is None:
                waiting.pop()
            else:
                waiting.append(needed)
        return self._upto

    def at(self, chain: int) -> int:
        upto = self.upto
        return int(upto[chain]) if 0 <= chain < upto.size else -1

    def _step(self) -> VectorClock | None:
        """Compute it, or tell what has to be computed before."""
        if self.sources is None:
            return None
        base, rows, known, chains = self.sources
        if base.sources is not None:
            return base
        upto = _union(chains, base._upto)
        # The last one first: it mostly has what the others have.
        for row in rows[numpy.argsort(-rows[:, BEFORE], kind="stable")]:
            if upto[row[CHAIN]] < row[PLACE]:
                before: VectorClock = known[row[BEFORE]]
                if before.sources is not None:
                    return before
                upto = _union(chains, upto, before._upto)
                upto[row[CHAIN]] = row[PLACE]
        self._upto, self.sources = upto, None
        return None


def _union(size: int, *parts: Array) -> Array:
    """The larger places of clocks, for so many chains or more; to be changed."""
    found: Array = numpy.full(max(size, *[part.size for part in parts]), -1, numpy.int32)
    for part in parts:
        numpy.maximum(found[: part.size], part, out=found[: part.size])
    return found


EMPTY_CLOCK: Final = VectorClock(numpy.zeros(0, numpy.int32), -1, -1)


def joined(left: VectorClock, right: VectorClock) -> VectorClock:
    """The union."""
    if left is right or right is EMPTY_CLOCK:
        return left
    if left is EMPTY_CLOCK:
        return right
    found = VectorClock(_union(0, left.upto, right.upto), left.latest, -1)
    found.latest_place = found.at(left.latest)
    return found


# What shadow memory holds where nobody released.
NO_RELEASE: Final = 0

# Among so few chains one that goes on is looked for; among more only the latest is tried.
_FEW_CHAINS: Final = 8


class Left:
    """What one tile block left in its releases."""

    __slots__ = ("_by_chain", "before", "bits", "chain", "many", "place")

    def __init__(self) -> None:
        # For each chain the places of the releases, and the events left up to each.
        self._by_chain: dict[int, tuple[list[int], list[int]]] = {}
        # Many releases at once, not yet sorted by chain: their rows in the table, and the events.
        self.many: list[tuple[Array, int]] = []
        # The last release: where it is, what was known before it, the events it left; until the tile block ends.
        self.chain: int = -1
        self.place: int = -1
        self.before: VectorClock = EMPTY_CLOCK
        self.bits: int = 0

    def add(self, chain: int, place: int, before: VectorClock, bits: int) -> None:
        self._sort()
        self._note(chain, place, bits)
        self.chain, self.place, self.before, self.bits = chain, place, before, bits

    def finish(self) -> None:
        """The tile block releases nothing any more."""
        self.before = EMPTY_CLOCK

    def _note(self, chain: int, place: int, bits: int) -> None:
        places, left = self._by_chain.setdefault(chain, ([], []))
        places.append(place)
        left.append(left[-1] | bits if left else bits)

    def _sort(self) -> None:
        for rows, bits in self.many:
            for chain, place, _, _ in rows.tolist():
                self._note(chain, place, bits)
        self.many.clear()

    def known_to(self, known: VectorClock) -> int:
        """The events of this tile block that come before whoever knows that."""
        if known is EMPTY_CLOCK:
            return 0
        bits = 0
        self._sort()
        for chain, (places, left) in self._by_chain.items():
            count = bisect_right(places, known.at(chain))
            bits |= left[count - 1] if count else 0
        return bits


class Releases:
    """All releases of a launch, by the numbers that shadow memory holds."""

    __slots__ = ("_chains", "_ends", "_known", "_last", "_table", "count")

    def __init__(self) -> None:
        # A row for each release.
        self._table: Array = numpy.full((64, 4), -1, numpy.int32)
        self._known: list[VectorClock] = [EMPTY_CLOCK]
        # What was known before the last release.
        self._last: int = 0
        # The last place of each chain.
        self._ends: Array = numpy.full(64, -1, numpy.int32)
        self._chains: int = 0
        self.count: int = 1
        # Where nothing was released nothing is known, before and after; no chain ends at its place.
        self._table[NO_RELEASE] = (0, -2, 0, 0)

    def keep(self, numbers: Array) -> None:
        """Drop all other releases, and number these anew."""
        table = self._table.take(numbers, 0)
        table[1:, AFTER] = -1
        held = numpy.zeros(len(self._known), numpy.bool_)
        held[table[:, BEFORE]] = held[self._last] = True
        table[:, BEFORE] = (numpy.cumsum(held) - 1)[table[:, BEFORE]]
        self._last = int(numpy.count_nonzero(held[: self._last]))
        self._known = [self._known[number] for number in numpy.flatnonzero(held).tolist()]
        for known in self._known:
            # In the order in which they were made: what each is computed from is there.
            _ = known.upto
        self._table = table
        self.count = len(numbers)

    def acquired(self, known: VectorClock, numbers: Array) -> VectorClock:
        """What an acquire knows that reads these releases, and knew that before."""
        if not numbers.all():
            numbers = numbers[numbers != NO_RELEASE]
            if not numbers.size:
                return known
        rows = self._table.take(numbers, 0)
        chains, places = rows[:, CHAIN], rows[:, PLACE]
        if numbers.size == 1 and known.at(int(chains[0])) >= places[0]:
            # Mostly one who waits for a flag.
            return known
        open_chains = numpy.flatnonzero(self._ends.take(chains) == places)
        latest, latest_place = known.latest, known.latest_place
        if open_chains.size:
            latest, latest_place = rows[open_chains[-1], :BEFORE].tolist()
        return VectorClock(EMPTY_CLOCK.upto, latest, latest_place, Sources(known, rows, self._known, self._chains))

    def release(self, known: VectorClock, bits: int, left: Left) -> int:
        """A release by a tile block that knows this, with these events of its own before it."""
        chain = self._open_chain(known, bits, left)
        if chain < 0:
            chain = self._new_chains(1)
        place = int(self._ends[chain]) + 1
        self._ends[chain] = place
        left.add(chain, place, known, bits)
        if self._known[self._last] is not known:
            self._last = len(self._known)
            self._known.append(known)
        number = self._room(1)
        self._table[number] = (chain, place, self._last, -1)
        return number

    def carried_on(self, numbers: Array, known: VectorClock, bits: int, left: Left) -> Array:
        """Releases by one atomic update, which carries on those that it finds: one in place of each of them."""
        if numbers.size == 1 and numbers[0] == NO_RELEASE:
            return numpy.array([self.release(known, bits, left)])
        if known is EMPTY_CLOCK:
            return self._carried_on_alone(numbers, bits, left)
        different, which = numpy.unique(numbers, return_inverse=True)
        rows = self._table.take(different, 0)
        found: list[int] = []
        new = NO_RELEASE
        for number, (chain, place, _, _) in zip(different.tolist(), rows.tolist(), strict=True):
            if known.at(chain) >= place:
                # Nothing was there, or it is known already.
                new = new or self.release(known, bits, left)
                found.append(new)
            else:
                found.append(self.release(joined(known, self._known_after(number)), bits, left))
        after: Array = numpy.array(found)[which]
        return after

    def _carried_on_alone(self, numbers: Array, bits: int, left: Left) -> Array:
        """The same where nothing else is known, so that nothing has to be joined.

        Each gets a release of its own, where nothing was a chain of its own too: others rarely come to the same places.
        """
        # `take` is several times as quick as an index that is an array, here and elsewhere.
        added = self._table.take(numbers, 0)
        chains, places = added[:, CHAIN], added[:, PLACE]
        # Also where nothing was: no chain ends there.
        branches = numpy.flatnonzero(self._ends.take(chains) != places)
        places += 1
        if branches.size:
            # Another release went on along that chain, so these begin new ones.
            parents = numbers[branches]
            if parents.any():
                for number in parents[added[branches, AFTER] < 0].tolist():
                    self._known_after(number)
                added[branches, BEFORE] = self._table[parents, AFTER]
            first = self._new_chains(branches.size)
            chains[branches] = numpy.arange(first, first + branches.size)
            places[branches] = 0
        added[:, AFTER] = -1
        self._ends[chains] = places
        first = self._room(numbers.size)
        self._table[first : first + numbers.size] = added
        left.many.append((added, bits))
        return numpy.arange(first, first + numbers.size)

    def _new_chains(self, count: int) -> int:
        """So many new chains: the first."""
        first = self._chains
        self._chains += count
        while self._chains > self._ends.size:
            self._ends = numpy.concatenate((self._ends, numpy.full_like(self._ends, -1)))
        return first

    def _room(self, count: int) -> int:
        """Make room for so many more: the number of the first."""
        first = self.count
        self.count += count
        while self.count > len(self._table):
            self._table = numpy.concatenate((self._table, numpy.full_like(self._table, -1)))
        return first

    def _known_after(self, number: int) -> VectorClock:
        chain, place, before, after = self._table[number].tolist()
        if after >= 0:
            found: VectorClock = self._known[after]
            return found
        self._table[number, AFTER] = len(self._known)
        found = VectorClock(_union(chain + 1, self._known[before].upto), chain, place)
        found.upto[chain] = place
        self._known.append(found)
        return found

    def _open_chain(self, known: VectorClock, bits: int, left: Left) -> int:
        """A chain whose last release comes before such a one with all it has; -1 if none is found."""
        ends = self._ends
        follows = left.chain >= 0 and left.place == ends[left.chain] and not left.bits & ~bits
        if follows and (left.before is known or left.before is EMPTY_CLOCK):
            return left.chain
        if known.latest >= 0 and known.latest_place == ends[known.latest]:
            return known.latest
        if known.sources is None and known.upto.size <= _FEW_CHAINS:
            for chain, place in enumerate(known.upto.tolist()):
                if place >= 0 and place == ends[chain]:
                    return chain
        return -1
