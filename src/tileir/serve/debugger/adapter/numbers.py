"""Numbers that stand for things in the protocol: frames, and whatever has variables in it.  They hold until the launch
goes on."""

from __future__ import annotations

from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Numbers(Generic[Thing]):
    """Things by number, from 1 on; a number is not given twice, so that an old one is known to be old."""

    def __init__(self) -> None:
        self._things: dict[int, Thing] = {}
        self._last: int = 0

    def add(self, thing: Thing) -> int:
        self._last += 1
        self._things[self._last] = thing
        return self._last

    def find(self, number: int) -> Thing | None:
        return self._things.get(number)

    def clear(self) -> None:
        self._things.clear()
