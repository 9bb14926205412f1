"""Threads that want the same code wait for the first of them that makes it; other processes do the work twice."""

from __future__ import annotations

from threading import Lock
from typing import Final
from weakref import WeakValueDictionary


class KeyLocks:
    """A lock for each key, for as long as somebody holds it or waits for it."""

    def __init__(self) -> None:
        self._locks: Final[WeakValueDictionary[str, Lock]] = WeakValueDictionary()
        self._finding: Final = Lock()

    def __len__(self) -> int:
        """How many are held or waited for."""
        return len(self._locks)

    def of(self, key: str) -> Lock:
        with self._finding:
            return self._locks.setdefault(key, Lock())
