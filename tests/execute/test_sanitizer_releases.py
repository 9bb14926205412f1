"""What acquires know of releases, over many places: the same as with every set of events written out."""

from __future__ import annotations

import random
from typing import Any

import numpy

from tileir.execute.sanitizer.releases import EMPTY_CLOCK, Left, Releases, joined

PLACES = 60
BLOCKS = 80


class History:
    """Tile blocks that update places at random, with a set of (tile block, event) beside each clock."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.releases = Releases()
        self.held = numpy.zeros(PLACES, numpy.int32)
        self.sets: list[Any] = [frozenset()] * PLACES
        self.lefts = []
        self.looks = self.random.choice((0.02, 0.5))

    def block(self):
        number = len(self.lefts)
        left = Left()
        self.lefts.append(left)
        tokens: list[Any] = [(EMPTY_CLOCK, frozenset())]
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
                self.held[places] = self.releases.release(known, bits, left)
                for place in places:
                    self.sets[place] = mine
            elif order == "release":
                self.held[places] = self.releases.carried_on(self.held[places], known, bits, left)
                before = {place: self.sets[place] for place in places}
                for place in places:
                    self.sets[place] = before[place] | mine
            tokens.append((known, others))
            if self.random.random() < self.looks:
                self.look(known, others)
        left.finish()
        if self.random.random() < 0.1:
            self.forget()
        self.look(*self.random.choice(tokens)) if self.random.random() < self.looks else None

    def look(self, known, others):
        for number, left in enumerate(self.lefts):
            expected = sum(1 << event for block, event in others if block == number)
            # Its own events a tile block knows by its tokens.
            if number != len(self.lefts) - 1:
                assert left.known_to(known) == expected

    def forget(self):
        kept, places = numpy.unique(numpy.append(self.held, 0), return_inverse=True)
        self.held = places[:-1].astype(numpy.int32)
        self.releases.keep(kept)

    def run(self):
        for _ in range(BLOCKS):
            self.block()
        for place in range(PLACES):
            if self.held[place]:
                self.lefts.append(Left())
                self.look(self.releases.acquired(EMPTY_CLOCK, self.held[place : place + 1]), self.sets[place])


def test_what_acquires_know_is_what_sets_of_events_have():
    for seed in range(6):
        History(seed).run()
