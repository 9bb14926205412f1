"""What is known about one value: a range, a power of two that divides it, and how alike its elements are.

A fact about a tile holds for every element.  Integers are bit patterns, so a range is kept for both readings, signed
and unsigned; each is tightened by the other and by the divisor.  A fact may be weaker than the truth, never stronger.
"""

from __future__ import annotations

from tileir.dialect.types import PointerType, TileType
from tileir.ir.types import IntegerType, Type


class Fact:
    """Facts about the elements of a value; `width` 0 means that they are no integers and no pointers.

    `zeros` is the number of low bits known to be 0.  `groups` has an extent per dimension: aligned blocks of that shape
    hold one value each.
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
        """The one value, read as unsigned, that every element has."""
        return self.unsigned_low if self.width and self.unsigned_low == self.unsigned_high else None

    def range(self, signed: bool) -> tuple[int, int]:
        return (self.signed_low, self.signed_high) if signed else (self.unsigned_low, self.unsigned_high)

    def same_as(self, other: Fact) -> bool:
        return (
            self.signed_low == other.signed_low
            and self.signed_high == other.signed_high
            and self.unsigned_low == other.unsigned_low
            and self.unsigned_high == other.unsigned_high
            and self.zeros == other.zeros
            and self.groups == other.groups
        )

    def with_groups(self, groups: tuple[int, ...]) -> Fact:
        return Fact(
            self.width,
            self.signed_low,
            self.signed_high,
            self.unsigned_low,
            self.unsigned_high,
            self.zeros,
            groups,
        )


# --- making facts ---


def width_of(type: Type) -> int:
    """The bits of an integer or pointer element; 0 for anything else."""
    element = type.element if isinstance(type, TileType) else None
    if isinstance(element, IntegerType):
        return element.width
    return 64 if isinstance(element, PointerType) else 0


def shape_of(type: Type) -> tuple[int, ...]:
    return type.shape if isinstance(type, TileType) else ()


def single_groups(type: Type) -> tuple[int, ...]:
    """No two elements are known to be alike."""
    return tuple([1 for _ in shape_of(type)])


def anything(type: Type) -> Fact:
    """What is known about a value of which only the type is."""
    return full(width_of(type), single_groups(type))


def full(width: int, groups: tuple[int, ...]) -> Fact:
    if width == 0:
        return Fact(0, 0, 0, 0, 0, 0, groups)
    half = 1 << (width - 1)
    return Fact(width, -half, half - 1, 0, 2 * half - 1, 0, groups)


def narrowed(
    width: int,
    groups: tuple[int, ...],
    signed: tuple[int, int] | None = None,
    unsigned: tuple[int, int] | None = None,
    zeros: int = 0,
) -> Fact:
    """The fact that all of this holds; a range that the width cannot hold whole says nothing."""
    half = 1 << (width - 1)
    signed_low, signed_high = -half, half - 1
    unsigned_low, unsigned_high = 0, 2 * half - 1
    if signed is not None and signed_low <= signed[0] and signed[1] <= signed_high:
        signed_low, signed_high = signed
    if unsigned is not None and unsigned_low <= unsigned[0] and unsigned[1] <= unsigned_high:
        unsigned_low, unsigned_high = unsigned
    zeros = min(zeros, width)
    # Twice, because what the second reading learns from the first may tell the first something in turn.
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
        # The facts contradict each other: nothing gets here.  Any answer is right, so the one that misleads nobody.
        return full(width, groups)
    if unsigned_low == unsigned_high:
        zeros = width if unsigned_low == 0 else trailing_zeros(unsigned_low)
    return Fact(width, signed_low, signed_high, unsigned_low, unsigned_high, zeros, groups)


def _multiples(low: int, high: int, zeros: int) -> tuple[int, int]:
    """The range of the multiples of 2^zeros in a range."""
    return -(-low >> zeros) << zeros, high >> zeros << zeros


def exactly(width: int, value: int, groups: tuple[int, ...]) -> Fact:
    """Every element is `value`, a bit pattern."""
    return narrowed(width, groups, unsigned=(value, value))


def joined(left: Fact, right: Fact) -> Fact:
    """What is known of a value that is one or the other."""
    groups = common_groups(left.groups, right.groups)
    if left.width == 0:
        return left.with_groups(groups)
    return narrowed(
        left.width,
        groups,
        (min(left.signed_low, right.signed_low), max(left.signed_high, right.signed_high)),
        (min(left.unsigned_low, right.unsigned_low), max(left.unsigned_high, right.unsigned_high)),
        min(left.zeros, right.zeros),
    )


def widened(old: Fact, new: Fact) -> Fact:
    """A guess above both: a bound that moved goes all the way, so that guessing comes to an end."""
    if old.width == 0:
        return new
    half = 1 << (old.width - 1)
    return narrowed(
        old.width,
        new.groups,
        (
            old.signed_low if new.signed_low >= old.signed_low else -half,
            old.signed_high if new.signed_high <= old.signed_high else half - 1,
        ),
        (
            old.unsigned_low if new.unsigned_low >= old.unsigned_low else 0,
            old.unsigned_high if new.unsigned_high <= old.unsigned_high else 2 * half - 1,
        ),
        new.zeros,
    )


def trailing_zeros(value: int) -> int:
    return (value & -value).bit_length() - 1


def common_groups(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """The blocks that are alike if those of both sides are."""
    return tuple([greatest_common_divisor(a, b) for a, b in zip(left, right, strict=True)])


def greatest_common_divisor(left: int, right: int) -> int:
    while right:
        left, right = right, left % right
    return left
