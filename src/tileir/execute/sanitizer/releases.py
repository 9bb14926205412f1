"""What tile blocks know of each other: the events that releases left behind, for acquires to take.

Written out, what an acquire takes is a set of events for every tile block that released before it, and a counter that
all of them update would cost the square of their number.  But such sets grow along *chains*: a release that follows
another has all of its set and adds the events of its own tile block.  So a set is kept as a clock: for each chain how
far along it everything is known.  A counter, a lock, flags from neighbor to neighbor are one chain each, however
many tile blocks take part; clocks that are the same are shared.  What each release added lies with the tile block that
did it, so it goes when the last event of that block does.

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


# What shadow memory holds where nobody released.
NO_RELEASE: Final = 0

# Among so few chains one that goes on is looked for; among more only the latest is tried.
_FEW_CHAINS: Final = 8

# So many releases are acquired when somebody asks what that brought.
_FEW_RELEASES: Final = 8


class Left:
    """What one tile block left in its releases."""

    __slots__ = ("_by_chain", "_many", "before", "bits", "chain", "place")

    def __init__(self) -> None:
        # For each chain the places of the releases and the events left up to each, in turns.
        self._by_chain: dict[int, list[int]] = {}
        # Many releases at once, not yet sorted by chain: their rows in the table, and the events.
        self._many: list[tuple[Array, int]] = []
        # The last release: where it is, what was known before it, the events it left; until the tile block ends.
        self.chain: int = -1
        self.place: int = -1
        self.before: VectorClock = EMPTY_CLOCK
        self.bits: int = 0

    def add(self, chain: int, place: int, before: VectorClock, bits: int) -> None:
        self._sort()
        self._add(chain, place, bits)
        self.chain, self.place, self.before, self.bits = chain, place, before, bits

    def finish(self) -> None:
        """The tile block releases nothing any more."""
        self.before = EMPTY_CLOCK

    def add_many(self, rows: Array, bits: int) -> None:
        self._many.append((rows, bits))

    def _add(self, chain: int, place: int, bits: int) -> None:
        left = self._by_chain.get(chain)
        if left is None:
            self._by_chain[chain] = [place, bits]
        else:
            left += (place, left[-1] | bits)

    def _sort(self) -> None:
        if self._many:
            for rows, bits in self._many:
                for chain, place, _, _ in rows.tolist():
                    self._add(chain, place, bits)
            self._many = []

    def known_to(self, known: VectorClock) -> int:
        """The events of this tile block that come before whoever knows that."""
        if known is EMPTY_CLOCK:
            return 0
        self._sort()
        bits = 0
        by_chain, upto = self._by_chain, known.upto
        for chain in upto if isinstance(upto, dict) and len(upto) < len(by_chain) else by_chain:
            left, place = by_chain.get(chain), known.at(chain)
            if left is not None and left[0] <= place:
                low, high = 0, len(left) // 2
                while high - low > 1:
                    middle = (low + high) // 2
                    if left[2 * middle] <= place:
                        low = middle
                    else:
                        high = middle
                bits |= left[2 * low + 1]
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
        open_chains = numpy.flatnonzero(self._ends.take(chains) == places)
        latest, latest_place = known.latest, known.latest_place
        if open_chains.size:
            latest, latest_place = rows[open_chains[-1], :BEFORE].tolist()
        if (
            numbers.size > _FEW_RELEASES
            or known.sources is not None
            or any(self._known[before].sources is not None for before in rows[:, BEFORE].tolist())
        ):
            return VectorClock({}, latest, latest_place, Sources(known, rows, self._known, self._chains))
        # The last one first: it mostly has what the others have.
        for number, chain, place in zip(
            numbers.tolist()[::-1], chains.tolist()[::-1], places.tolist()[::-1], strict=True
        ):
            if known.at(chain) < place:
                known = joined(known, self._known_after(number))
        if latest < 0 or (known.latest, known.latest_place) == (latest, latest_place):
            return known
        return VectorClock(known.upto, latest, latest_place)

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
        is_known = known.of(rows[:, CHAIN]) >= rows[:, PLACE]
        found: list[int] = []
        new = NO_RELEASE
        for number, nothing_new in zip(different.tolist(), is_known.tolist(), strict=True):
            if nothing_new:
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
        left.add_many(added, bits)
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
        found = with_release(self._known[before], chain, place)
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
        upto = known.upto if known.sources is None else None
        if isinstance(upto, dict) and len(upto) <= _FEW_CHAINS:
            for chain, place in upto.items():
                if place == ends[chain]:
                    return chain
        return -1
