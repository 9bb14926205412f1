"""Random choices; a value of a program and what is known of it: bounds of integers, whether floats may be NaN.

What the dialect leaves undefined or open depends on values: a division by zero, a shift that is too far, the bits of a
NaN, the order of a sum that rounds.  Statements request values of which enough is known, or add the operations that
make sure of it.

Without a path of tokens two accesses of one tile block have no order.  Every read of memory comes after the last write,
every write after that and all reads since; what passes through loops and branches passes its tokens too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from tileir.dialect.types import TileType
from tileir.execute.arguments.argument_text import GAMMA, MULTIPLIERS
from tileir.ir.types import BF16, F16, F32, F64, FLOAT_TYPES, I8, I16, I32, I64, FloatType, IntegerType, Type
from tileir.ir.values import Value

_WORD = (1 << 64) - 1

Choice = TypeVar("Choice")


class Bits:
    """Choices that are the same on every machine and with every version of Python, unlike `random`:
    SplitMix64, as for the numbers in arrays (`execute/arguments/argument_text.py`)."""

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


Shape = tuple[int, ...]

# The types of arithmetic and of conversions.
INTEGERS: tuple[Type, ...] = (I8, I16, I32, I64)
FLOATS: tuple[Type, ...] = (F16, BF16, F32, F64)
_SMALL = ("tf32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "fnv8E5M3FNU")
SMALL_FLOATS: tuple[Type, ...] = tuple([FLOAT_TYPES[name] for name in _SMALL])


class Tile:
    """A tile.  `low` and `high` are bounds: of an integer, read as signed (an i1 as 0 or 1); of a float only if
    `whole` is set: all its elements are integers then, none of them -0.0."""

    def __init__(
        self, value: Value, low: int | None = None, high: int | None = None, numeric: bool = True, whole: bool = False
    ) -> None:
        self.value: Value = value
        least, most = range_of(self.element)
        self.low: int = least if low is None else low
        self.high: int = most if high is None else high
        self.numeric: bool = numeric
        """Whether no element can be NaN, whose bits are not specified."""
        self.whole: bool = whole

    @property
    def type(self) -> TileType:
        type = self.value.type
        assert isinstance(type, TileType)
        return type

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def element(self) -> Type:
        return self.type.element

    def moved(self, value: Value) -> Tile:
        """What is known of a value that holds some of these elements, and no others."""
        return Tile(value, self.low, self.high, numeric=self.numeric, whole=self.whole)


def range_of(element: Type) -> tuple[int, int]:
    """The least and the largest number of an integer type, read as signed."""
    if isinstance(element, IntegerType):
        if element.width == 1:
            return 0, 1
        half = 1 << (element.width - 1)
        return -half, half - 1
    return 0, 0


def either(first: Tile, second: Tile, value: Value) -> Tile:
    """What is known of a value whose elements come from one of two tiles."""
    low, high = min(first.low, second.low), max(first.high, second.high)
    numeric, whole = first.numeric and second.numeric, first.whole and second.whole
    return Tile(value, low, high, numeric=numeric, whole=whole)


def width_of(element: Type) -> int:
    assert isinstance(element, (IntegerType, FloatType))
    return element.width


class State(NamedTuple):
    """The token of the last write, where there is one, and those of the reads since."""

    write: Value | None = None
    reads: tuple[Value, ...] = ()


@dataclass(eq=False)
class Memory:
    """The part of an array that belongs to one tile block."""

    base: Tile
    element: Type
    count: int
    state: State = field(default_factory=State)

    @property
    def last_write(self) -> list[Value]:
        """What a read comes after."""
        return [] if self.state.write is None else [self.state.write]

    @property
    def accesses(self) -> list[Value]:
        """What a write comes after."""
        return [*self.last_write, *self.state.reads]

    def was_read(self, token: Value) -> None:
        self.state = State(self.state.write, (*self.state.reads, token))

    def was_written(self, token: Value) -> None:
        self.state = State(token, ())
