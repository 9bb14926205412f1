"""Random choices that are the same on every machine and with every version of Python."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

from tileir.execute.arguments.argument_text import GAMMA, MULTIPLIERS

_WORD = (1 << 64) - 1

Choice = TypeVar("Choice")


class Bits:
    """SplitMix64, as for the numbers in arrays (`execute/arguments/argument_text.py`), and what is made of its words.

    `random.Random` promises no such stream: what it makes of its bits has changed before.
    """

    __slots__ = ("_state",)

    def __init__(self, *words: object) -> None:
        """A stream of its own for each list of words (numbers and strings)."""
        text = "\0".join([str(word) for word in words])
        self._state: int = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")

    def word(self) -> int:
        """64 bits."""
        self._state = state = (self._state + GAMMA) & _WORD
        state = ((state ^ (state >> 30)) * MULTIPLIERS[0]) & _WORD
        state = ((state ^ (state >> 27)) * MULTIPLIERS[1]) & _WORD
        return state ^ (state >> 31)

    def below(self, count: int) -> int:
        """A number from 0 up to, not including, `count`."""
        return self.word() * count >> 64

    def between(self, first: int, last: int) -> int:
        return first + self.below(last - first + 1)

    def chance(self, percent: int) -> bool:
        return self.below(100) < percent

    def choice(self, among: Sequence[Choice]) -> Choice:
        return among[self.below(len(among))]

    def recent(self, among: Sequence[Choice]) -> Choice:
        """One of the last more often: chains of operations grow long, and some values wait long for a use."""
        back = 0
        word = self.word()
        while word % 3 and back + 1 < len(among):
            word //= 3
            back += 1
        return among[-1 - back]

    def order(self, count: int) -> list[int]:
        """The numbers below `count` in any order."""
        found = list(range(count))
        for place in range(count - 1, 0, -1):
            other = self.below(place + 1)
            found[place], found[other] = found[other], found[place]
        return found
