"""Sets of the events of one tile block, many of them: one for each release.

A set is a number, with a bit for each event.  A loop that releases in each turn leaves as many sets as it has turns,
each with as many bits, which would take memory in proportion to the square.  But each differs little from the one
before.  So sets of many bits are kept as what changed, and in full from time to time.
"""

from __future__ import annotations

from typing import Final

# Sets of so many bits are kept as they are.
FEW_BITS: Final = 4096

# So many larger ones come from one to the next that is kept in full.
GROUP: Final = 256


class EventSets:
    """Packs sets into numbers: small ones are themselves, larger ones negative."""

    __slots__ = ("_changes", "_decoded", "_full", "_last", "_shifts", "_value")

    def __init__(self) -> None:
        # Of each larger set what changed since the one before, and by how many bits it is shifted.
        self._changes: list[int] = []
        self._shifts: list[int] = []
        self._full: list[int] = []
        self._last: int = 0
        # One that was unpacked: the next is mostly the same, or a little further on.
        self._decoded: int = -1
        self._value: int = 0

    def packed(self, bits: int) -> int:
        if bits.bit_length() <= FEW_BITS:
            return bits
        number = len(self._changes)
        change = bits ^ self._last
        if number and not change:
            return -number
        shift = 0
        if number % GROUP == 0:
            self._full.append(bits)
        else:
            shift = (change & -change).bit_length() - 1
        self._changes.append(change >> shift if number % GROUP else 0)
        self._shifts.append(shift)
        self._last = bits
        return ~number

    def unpacked(self, packed: int) -> int:
        if packed >= 0:
            return packed
        number = ~packed
        if number == len(self._changes) - 1:
            return self._last
        first = number - number % GROUP
        if first <= self._decoded <= number:
            bits, first = self._value, self._decoded
        else:
            bits = self._full[number // GROUP]
        for each in range(first + 1, number + 1):
            bits ^= self._changes[each] << self._shifts[each]
        self._decoded, self._value = number, bits
        return bits
