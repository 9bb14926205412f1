"""What tile blocks know of each other: the events that releases left behind, for acquires to take.

Written out, what an acquire takes is a set of events for every tile block that released before it, and a counter that
all of them update would cost the square of their number.  But such sets grow along *chains*: a release that follows
another has all of its set and adds the events of its own tile block.  So a set is kept as a clock: for each chain how
far along it everything is known.  A counter, a lock, flags from neighbour to neighbour are one chain each, however
many tile blocks take part; clocks that are the same are shared.  What each release added lies with the tile block that
did it, so it goes when the last event of that block does.
"""

from __future__ import annotations

from typing import Final

import numpy

from tileir.execute.dtypes import Array

# What shadow memory holds where nobody released.
NO_RELEASE: Final = 0

# Among so few chains one that goes on is looked for; among more only the latest is tried.
_FEW_CHAINS: Final = 8


class Known:
    """What is known of other tile blocks: for each chain the place of its last known release.  Never changed.

    `latest` is a chain that may go on here.
    """

    __slots__ = ("latest", "upto")

    def __init__(self, upto: dict[int, int], latest: int) -> None:
        self.upto: dict[int, int] = upto
        self.latest: int = latest


NOTHING_KNOWN: Final = Known({}, -1)


def joined(left: Known, right: Known) -> Known:
    """The union."""
    if left is right or not right.upto or _includes(left, right):
        return left
    if not left.upto or _includes(right, left):
        return right
    upto = dict(left.upto)
    for chain, place in right.upto.items():
        if upto.get(chain, -1) < place:
            upto[chain] = place
    return Known(upto, left.latest)


def _includes(larger: Known, smaller: Known) -> bool:
    upto = larger.upto
    if len(smaller.upto) > len(upto):
        return False
    for chain, place in smaller.upto.items():
        if upto.get(chain, -1) < place:
            return False
    return True


class Left:
    """What one tile block left in its releases."""

    __slots__ = ("_by_chain", "_many", "before", "bits", "chain", "place")

    def __init__(self) -> None:
        # For each chain the places of the releases and the events left up to each, in turns.
        self._by_chain: dict[int, list[int]] = {}
        # Many releases at once, not yet sorted by chain: chains, places, events.
        self._many: list[tuple[Array, Array, int]] = []
        # The last release: where it is, what was known before it, the events it left.
        self.chain: int = -1
        self.place: int = -1
        self.before: Known = NOTHING_KNOWN
        self.bits: int = 0

    def add(self, chain: int, place: int, before: Known, bits: int) -> None:
        self._sort()
        self._add(chain, place, bits)
        self.chain, self.place, self.before, self.bits = chain, place, before, bits

    def add_many(self, chains: Array, places: Array, bits: int) -> None:
        self._many.append((chains, places, bits))

    def _add(self, chain: int, place: int, bits: int) -> None:
        left = self._by_chain.get(chain)
        if left is None:
            self._by_chain[chain] = [place, bits]
        else:
            left += (place, left[-1] | bits)

    def _sort(self) -> None:
        if self._many:
            for chains, places, bits in self._many:
                for chain, place in zip(chains.tolist(), places.tolist(), strict=True):
                    self._add(chain, place, bits)
            self._many = []

    def known_to(self, known: Known) -> int:
        """The events of this tile block that come before whoever knows that."""
        upto = known.upto
        if not upto:
            return 0
        self._sort()
        bits = 0
        by_chain = self._by_chain
        for chain in by_chain if len(by_chain) < len(upto) else upto:
            left, place = by_chain.get(chain), upto.get(chain, -1)
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


_CHAIN, _PLACE, _BEFORE = 0, 1, 2


class Releases:
    """All releases of a launch, by the numbers that shadow memory holds."""

    __slots__ = ("_after", "_befores", "_chains", "_ends", "_table", "count")

    def __init__(self) -> None:
        # Of each release its chain, its place there, and what was known before it, by number.
        self._table: Array = numpy.full((3, 64), -1, numpy.int32)
        self._befores: list[Known] = [NOTHING_KNOWN]
        self._after: dict[int, Known] = {}
        # The last place of each chain.
        self._ends: Array = numpy.full(64, -1, numpy.int32)
        self._chains: int = 0
        self.count: int = 1
        self._table[_BEFORE, NO_RELEASE] = 0

    def keep(self, numbers: list[int]) -> None:
        """Drop all other releases, and number these anew."""
        table = self._table[:, numbers]
        kept, table[_BEFORE] = numpy.unique(table[_BEFORE], return_inverse=True)
        self._befores = [self._befores[number] for number in kept.tolist()]
        self._after = {}
        self._table = numpy.ascontiguousarray(table)
        self.count = len(numbers)

    def acquired(self, known: Known, numbers: list[int]) -> Known:
        """What an acquire knows that reads these releases, and knew that before."""
        if numbers == [NO_RELEASE]:
            return known
        chains, places, _ = self._table[:, numbers].tolist()
        latest = -1
        # The last one first: it mostly has what the others have.
        for index in range(len(numbers) - 1, -1, -1):
            chain, place = chains[index], places[index]
            if place >= 0:
                if known.upto.get(chain, -1) < place:
                    known = joined(known, self._known_after(numbers[index]))
                if latest < 0 and self._ends[chain] == place:
                    latest = chain
        return known if latest < 0 or known.latest == latest else Known(known.upto, latest)

    def release(self, known: Known, bits: int, left: Left) -> int:
        """A release by a tile block that knows this, with these events of its own before it."""
        chain = self._open_chain(known, bits, left)
        if chain < 0:
            chain = self._new_chains(1)
        place = int(self._ends[chain]) + 1
        self._ends[chain] = place
        left.add(chain, place, known, bits)
        if self._befores[-1] is not known:
            self._befores.append(known)
        number = self._room(1)
        self._table[:, number] = (chain, place, len(self._befores) - 1)
        return number

    def carried_on(self, numbers: list[int], known: Known, bits: int, left: Left) -> list[int]:
        """Releases by one atomic update, which carries on those that it finds: one for each of them."""
        if not known.upto:
            return self._carried_on_alone(numbers, bits, left)
        found: list[int] = []
        new = NO_RELEASE
        chains, places, _ = self._table[:, numbers].tolist()
        for number, chain, place in zip(numbers, chains, places, strict=True):
            if known.upto.get(chain, -1) >= place:
                # Nothing was there, or it is known already.
                new = new or self.release(known, bits, left)
                found.append(new)
            else:
                found.append(self.release(joined(known, self._known_after(number)), bits, left))
        return found

    def _carried_on_alone(self, numbers: list[int], bits: int, left: Left) -> list[int]:
        """The same where nothing else is known, so that nothing has to be joined; there may be one for each element."""
        added = self._table[:, numbers]
        if numbers[0] == NO_RELEASE:
            new = self.release(NOTHING_KNOWN, bits, left)
            return [new, *self._carried_on_alone(numbers[1:], bits, left)] if len(numbers) > 1 else [new]
        at_end = self._ends[added[_CHAIN]] == added[_PLACE]
        self._ends[added[_CHAIN, at_end]] += 1
        added[_PLACE, at_end] += 1
        branches = numpy.flatnonzero(~at_end)
        if branches.size:
            # Another release went on along that chain, so these begin new ones.
            added[_CHAIN, branches] = self._new_chains(branches.size) + numpy.arange(branches.size)
            added[_PLACE, branches] = 0
            added[_BEFORE, branches] = len(self._befores) + numpy.arange(branches.size)
            self._befores += [self._known_after(numbers[index]) for index in branches.tolist()]
            self._ends[added[_CHAIN, branches]] = 0
        first = self._room(len(numbers))
        self._table[:, first : first + len(numbers)] = added
        left.add_many(added[_CHAIN], added[_PLACE], bits)
        return list(range(first, first + len(numbers)))

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
        while self.count > self._table.shape[1]:
            self._table = numpy.concatenate((self._table, numpy.full_like(self._table, -1)), axis=1)
        return first

    def _known_after(self, number: int) -> Known:
        found = self._after.get(number)
        if found is None:
            chain, place, before = self._table[:, number].tolist()
            found = self._after[number] = Known({**self._befores[before].upto, chain: place}, chain)
        return found

    def _open_chain(self, known: Known, bits: int, left: Left) -> int:
        """A chain whose last release comes before such a one with all it has; -1 if none is found."""
        ends = self._ends
        follows = left.chain >= 0 and left.place == ends[left.chain] and not left.bits & ~bits
        if follows and (left.before is known or not left.before.upto):
            return left.chain
        if known.latest >= 0 and known.upto[known.latest] == ends[known.latest]:
            return known.latest
        if len(known.upto) <= _FEW_CHAINS:
            for chain, place in known.upto.items():
                if place == ends[chain]:
                    return chain
        return -1
