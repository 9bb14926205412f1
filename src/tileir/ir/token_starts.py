"""Where the tokens of a text begin, kept up to date while the text is edited."""

from __future__ import annotations

from tileir.annotations import Iterator


class TokenStarts:
    """Offsets of tokens.  Those before a place count from the begin of the text, those behind it from its end.

    So an edit costs as much as the tokens between it and the edit before it: editors edit in one place for a while.
    """

    __slots__ = ("_gap", "_items", "_length")

    def __init__(self, items: list[int], length: int) -> None:
        self._items: list[int] = items
        self._gap: int = len(items)
        self._length: int = length

    @property
    def count(self) -> int:
        """How many there are.

        It has no length: `bisect` takes no compiled class for a sequence, and so a type checker says so.
        """
        return len(self._items)

    def __getitem__(self, token: int) -> int:
        if token < 0:
            token += len(self._items)
        return self._items[token] if token < self._gap else self._items[token] + self._length

    def __iter__(self) -> Iterator[int]:
        for token in range(len(self._items)):
            yield self[token]

    def before(self, place: int, count: int) -> int:
        """How many of the first `count` tokens begin before a place."""
        low = 0
        while low < count:
            middle = (low + count) // 2
            if self[middle] < place:
                low = middle + 1
            else:
                count = middle
        return low

    def replace(self, first: int, end: int, new: list[int], length: int) -> None:
        """Put other tokens in the place of those between two, in a text that is so long now."""
        items, gap, old = self._items, self._gap, self._length
        if first > gap:
            items[gap:first] = [place + old for place in items[gap:first]]
        elif end < gap:
            items[end:gap] = [place - old for place in items[end:gap]]
        items[first:end] = new
        self._gap = first + len(new)
        self._length = length
