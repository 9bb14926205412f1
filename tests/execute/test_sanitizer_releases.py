"""What acquires know of releases, over many places: the same as with every set of events written out."""

from __future__ import annotations

import random
from typing import Any

import numpy

from tileir.execute.sanitizer.events import NOTHING_KNOWN, Releases, joined

PLACES = 60
BLOCKS = 80


class History:
    """Tile blocks that update places at random, with a set of (tile block, event) beside each clock."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.releases = Releases()
        self.held = numpy.zeros(PLACES, numpy.int32)
        self.sets: list[Any] = [frozenset()] * PLACES
        self.count = 0
        self.looks = self.random.choice((0.02, 0.5))

    def block(self):
        number = self.count
        self.count += 1
        tokens: list[Any] = [(NOTHING_KNOWN, frozenset())]
        for event in range(self.random.randrange(1, 4)):
            known, others = self.random.choice(tokens)
            if self.random.random() < 0.2:
                more, those = self.random.choice(tokens)
                known, others = joined(known, more), others | those
            width = self.random.choice((1, 3, 12, 40))
            places = numpy.array([self.random.randrange(PLACES) for _ in range(width)])
            order = self.random.choice(("acquire", "release", "acq_rel", "acq_rel"))
            if order != "release":
                known = self.releases.acquired(known, self.held[places])
                others = others.union(*[self.sets[place] for place in places])
            mine = others | {(number, earlier) for earlier in range(event + 1)}
            bits = (2 << event) - 1
            if order == "acq_rel":
                self.held[places] = self.releases.release(known, bits, number)
                for place in places:
                    self.sets[place] = mine
            elif order == "release":
                self.held[places] = self.releases.carried_on(self.held[places], known, bits, number)
                before = {place: self.sets[place] for place in places}
                for place in places:
                    self.sets[place] = before[place] | mine
            tokens.append((known, others))
            if self.random.random() < self.looks:
                self.look(known, others)
        self.look(*self.random.choice(tokens)) if self.random.random() < self.looks else None

    def look(self, known, others):
        # Its own events a tile block knows by its tokens.
        for number in range(self.count - 1):
            expected = sum(1 << event for block, event in others if block == number)
            assert self.releases.knows(known, number, expected or 1) == bool(expected)
            assert not self.releases.knows(known, number, expected | 1 << 10)

    def run(self):
        for _ in range(BLOCKS):
            self.block()
        for place in range(PLACES):
            if self.held[place]:
                self.count += 1
                self.look(self.releases.acquired(NOTHING_KNOWN, self.held[place : place + 1]), self.sets[place])


def test_what_acquires_know_is_what_sets_of_events_have():
    for seed in range(6):
        History(seed).run()
