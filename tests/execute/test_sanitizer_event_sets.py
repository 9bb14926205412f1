"""Sets of events that take little memory."""

from __future__ import annotations

import sys
from random import Random

import pytest

from tileir.execute.sanitizer import event_sets
from tileir.execute.sanitizer.event_sets import FEW_BITS, GROUP, EventSets


@pytest.mark.parametrize("few", [0, 40, FEW_BITS])
def test_what_is_packed_is_unpacked(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_sets, "FEW_BITS", few)
    monkeypatch.setattr(event_sets, "GROUP", 5)
    for seed in range(20):
        random = Random(seed)
        sets = EventSets()
        bits = 0
        packed: list[tuple[int, int]] = []
        for number in range(60):
            bits = random.choice((bits, bits | 1 << number, bits | 1 << number, random.getrandbits(number + 1)))
            packed.append((bits, sets.packed(bits)))
            for expected, kept in (packed[-1], random.choice(packed)):
                assert sets.unpacked(kept) == expected
        for expected, kept in random.sample(packed, len(packed)):
            assert sets.unpacked(kept) == expected


def test_sets_that_grow_take_memory_in_proportion() -> None:
    def memory(count: int) -> int:
        sets = EventSets()
        bits = (1 << FEW_BITS) - 1
        for number in range(count):
            bits |= 1 << (FEW_BITS + number)
            sets.packed(bits)
        return sum(sys.getsizeof(each) for each in (*sets._full, *sets._changes, *sets._shifts))

    assert memory(16 * GROUP) < 5 * memory(4 * GROUP)
    # Written out they would have thousands of bits each.
    assert memory(16 * GROUP) / (16 * GROUP) < 100
