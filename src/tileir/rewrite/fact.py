"""What is known about one value: a range, a power of two that divides it, and which elements are equal.

A fact about a tile holds for every element.  Integers are bit patterns, so there is a signed and an unsigned range;
each is tightened by the other and by the divisor.  A fact may be weaker than the truth, never stronger.
"""

from __future__ import annotations

from math import gcd

from tileir.annotations import Final
from tileir.dialect.types import PointerType, TileType
from tileir.ir.dense import DenseAttribute, element_bytes, signed_value
from tileir.ir.types import IntegerType, Type

Bounds = tuple[int, int]

# Larger constants are not inspected.
_MAX_CONSTANT_ELEMENTS: Final = 4096


class Fact:
    """Facts about the elements of a value; `width` is 0 unless they are integers or pointers.

    `zeros` is the number of low bits known to be 0.  `groups` has an extent per dimension: all elements of an aligned
    block of that shape are equal.
    """

    __slots__ = ("groups", "signed_high", "signed_low", "unsigned_high", "unsigned_low", "width", "zeros")

    def __init__(
        self,
        width: int,
        signed_low: int,
        signed_high: int,
        unsigned_low: int,
        unsigned_high: int,
        zeros: int,
        groups: tuple[int, ...],
    ) -> None:
        self.width: int = width
        self.signed_low: int = signed_low
        self.signed_high: int = signed_high
        self.unsigned_low: int = unsigned_low
        self.unsigned_high: int = unsigned_high
        self.zeros: int = zeros
        self.groups: tuple[int, ...] = groups

    def __repr__(self) -> str:
        if not self.width:
            return f"<Fact one value per {self.groups}>"
        return (
            f"<Fact i{self.width} {self.signed_low}..{self.signed_high}, {self.zeros} low zeros, groups {self.groups}>"
        )

    @property
    def value(self) -> int | None:
        """The unsigned value of every element, if only one is possible."""
        return self.unsigned_low if self.width and self.unsigned_low == self.unsigned_high else None

    def range(self, signed: bool) -> Bounds:
        return (self.signed_low, self.signed_high) if signed else (self.unsigned_low, self.unsigned_high)

    def same_as(self, other: Fact) -> bool:
        same_ranges = self.range(True) == other.range(True) and self.range(False) == other.range(False)
        return same_ranges and self.zeros == other.zeros and self.groups == other.groups

    def with_groups(self, groups: tuple[int, ...]) -> Fact:
        signed, unsigned = self.range(True), self.range(False)
        return Fact(self.width, *signed, *unsigned, self.zeros, groups)


def width_of(type: Type) -> int:
    """Return the bits of an integer or pointer element; 0 for any other."""
    element = type.element if isinstance(type, TileType) else None
    if isinstance(element, IntegerType):
        return element.width
    return 64 if isinstance(element, PointerType) else 0


def shape_of(type: Type) -> tuple[int, ...]:
    return type.shape if isinstance(type, TileType) else ()


def single_groups(type: Type) -> tuple[int, ...]:
    """The groups of a value without elements known to be equal."""
    return tuple([1 for _ in shape_of(type)])


def anything(type: Type) -> Fact:
    """The fact that follows from a type alone."""
    return full(width_of(type), single_groups(type))


def full(width: int, groups: tuple[int, ...]) -> Fact:
    if width == 0:
        return Fact(0, 0, 0, 0, 0, 0, groups)
    half = 1 << (width - 1)
    return Fact(width, -half, half - 1, 0, 2 * half - 1, 0, groups)


def narrowed(
    width: int, groups: tuple[int, ...], signed: Bounds | None = None, unsigned: Bounds | None = None, zeros: int = 0
) -> Fact:
    """The fact that all of this holds; a range that exceeds the width is ignored."""
    half = 1 << (width - 1)
    signed_low, signed_high = -half, half - 1
    unsigned_low, unsigned_high = 0, 2 * half - 1
    if signed is not None and signed_low <= signed[0] and signed[1] <= signed_high:
        signed_low, signed_high = signed
    if unsigned is not None and unsigned_low <= unsigned[0] and unsigned[1] <= unsigned_high:
        unsigned_low, unsigned_high = unsigned
    zeros = min(zeros, width)
    # Twice, because each range tightens the other.
    for _ in range(2):
        signed_low, signed_high = _multiples(signed_low, signed_high, zeros)
        unsigned_low, unsigned_high = _multiples(unsigned_low, unsigned_high, zeros)
        if signed_low >= 0:
            unsigned_low, unsigned_high = max(unsigned_low, signed_low), min(unsigned_high, signed_high)
        elif signed_high < 0:
            unsigned_low = max(unsigned_low, signed_low + 2 * half)
            unsigned_high = min(unsigned_high, signed_high + 2 * half)
        if unsigned_high < half:
            signed_low, signed_high = max(signed_low, unsigned_low), min(signed_high, unsigned_high)
        elif unsigned_low >= half:
            signed_low = max(signed_low, unsigned_low - 2 * half)
            signed_high = min(signed_high, unsigned_high - 2 * half)
    if signed_low > signed_high or unsigned_low > unsigned_high:
        # The facts contradict each other, so the value is never computed and any fact is right.
        return full(width, groups)
    if unsigned_low == unsigned_high:
        zeros = width if unsigned_low == 0 else trailing_zeros(unsigned_low)
    return Fact(width, signed_low, signed_high, unsigned_low, unsigned_high, zeros, groups)


def _multiples(low: int, high: int, zeros: int) -> Bounds:
    """Tighten a range to multiples of 2^zeros."""
    return -(-low >> zeros) << zeros, high >> zeros << zeros


def exactly(width: int, value: int, groups: tuple[int, ...]) -> Fact:
    """Every element is `value`, a bit pattern."""
    return narrowed(width, groups, unsigned=(value, value))


def constant_fact(value: DenseAttribute) -> Fact:
    groups = shape_of(value.type) if value.is_splat else single_groups(value.type)
    element = value.element_type
    if not isinstance(element, IntegerType) or len(value.data) > _MAX_CONSTANT_ELEMENTS * element_bytes(element):
        return full(width_of(value.type), groups)
    bits = value.values()
    # Two's complement reads a single bit 1 as -1; `signed_value` reads it as constants are spelled.
    signed = [-pattern if element.width == 1 else signed_value(element.width, pattern) for pattern in bits]
    zeros = min([trailing_zeros(pattern) if pattern else element.width for pattern in bits])
    return narrowed(element.width, groups, (min(signed), max(signed)), (min(bits), max(bits)), zeros)


def joined(left: Fact, right: Fact) -> Fact:
    """The fact about a value that is one of two."""
    groups = common_groups(left.groups, right.groups)
    if left.width == 0:
        return left.with_groups(groups)
    signed = (min(left.signed_low, right.signed_low), max(left.signed_high, right.signed_high))
    unsigned = (min(left.unsigned_low, right.unsigned_low), max(left.unsigned_high, right.unsigned_high))
    return narrowed(left.width, groups, signed, unsigned, min(left.zeros, right.zeros))


def widened(old: Fact, new: Fact) -> Fact:
    """Widen the assumption of a fixed-point iteration: a bound that moved becomes that of the type, so that it ends."""
    if old.width == 0:
        return new
    limits = full(old.width, ())
    signed = _widened(old.range(True), new.range(True), limits.range(True))
    unsigned = _widened(old.range(False), new.range(False), limits.range(False))
    return narrowed(old.width, new.groups, signed, unsigned, new.zeros)


def _widened(old: Bounds, new: Bounds, limits: Bounds) -> Bounds:
    return old[0] if new[0] >= old[0] else limits[0], old[1] if new[1] <= old[1] else limits[1]


def trailing_zeros(value: int) -> int:
    return (value & -value).bit_length() - 1


def common_groups(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """The groups of a value computed from two values with these groups."""
    return tuple([gcd(a, b) for a, b in zip(left, right, strict=True)])
