"""Formulas: tiles as numbers with Python's operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tileir.builder import Builder
from tileir.dialect.types import TileType, with_element
from tileir.ir.types import FloatType, IntegerType, Type
from tileir.ir.values import Value


class Number:
    """A tile in a formula; a Python number beside it is a tile of its type.

    Integers are signed: `>>` copies the sign, and `<` compares signed numbers.
    """

    __slots__ = ("build", "value")

    def __init__(self, build: Builder, value: Value) -> None:
        self.build = build
        self.value = value

    @property
    def type(self) -> TileType:
        assert isinstance(self.value.type, TileType)
        return self.value.type

    @property
    def element(self) -> FloatType | IntegerType:
        element = self.type.element
        assert isinstance(element, (FloatType, IntegerType))
        return element

    def number(self, other: Number | float) -> Number:
        """A tile of the type of this one."""
        return other if isinstance(other, Number) else Number(self.build, self.build.constant(other, self.type))

    def apply(self, mnemonic: str, *others: object, **keywords: object) -> Number:
        """An operation on this tile and others."""
        values = [each.value if isinstance(each, Number) else each for each in others]
        return Number(self.build, self.build.operation(mnemonic, self.value, *values, **keywords).result)

    def _arithmetic(self, stem: str, other: Number | float) -> Number:
        return self.apply(f"{stem}{'f' if isinstance(self.element, FloatType) else 'i'}", self.number(other))

    def __add__(self, other: Number | float) -> Number:
        return self._arithmetic("add", other)

    def __sub__(self, other: Number | float) -> Number:
        return self._arithmetic("sub", other)

    def __mul__(self, other: Number | float) -> Number:
        return self._arithmetic("mul", other)

    def __truediv__(self, other: Number | float) -> Number:
        return self._arithmetic("div", other)

    def __neg__(self) -> Number:
        return self.apply("negf" if isinstance(self.element, FloatType) else "negi")

    def __abs__(self) -> Number:
        return self.apply("absf" if isinstance(self.element, FloatType) else "absi")

    def __rsub__(self, other: float) -> Number:
        return self.number(other) - self

    def __rtruediv__(self, other: float) -> Number:
        return self.number(other) / self

    def __and__(self, other: Number | int) -> Number:
        return self.apply("andi", self.number(other))

    def __or__(self, other: Number | int) -> Number:
        return self.apply("ori", self.number(other))

    def __xor__(self, other: Number | int) -> Number:
        return self.apply("xori", self.number(other))

    def __lshift__(self, other: Number | int) -> Number:
        return self.apply("shli", self.number(other))

    def __rshift__(self, other: Number | int) -> Number:
        return self.shift_right(other, "signed")

    def shift_right(self, other: Number | int, signedness: str) -> Number:
        return self.apply("shri", self.number(other), signedness)

    def compare(self, predicate: str, other: Number | float) -> Number:
        """Whether a relation holds; with a NaN, only "not_equal" does."""
        ordering = "signed"
        if isinstance(self.element, FloatType):
            ordering = "unordered" if predicate == "not_equal" else "ordered"
        mnemonic = "cmpf" if isinstance(self.element, FloatType) else "cmpi"
        return self.apply(mnemonic, self.number(other), predicate, ordering)

    def __lt__(self, other: Number | float) -> Number:
        return self.compare("less_than", other)

    def __le__(self, other: Number | float) -> Number:
        return self.compare("less_than_or_equal", other)

    def __gt__(self, other: Number | float) -> Number:
        return self.compare("greater_than", other)

    def __ge__(self, other: Number | float) -> Number:
        return self.compare("greater_than_or_equal", other)

    def equals(self, other: Number | float) -> Number:
        return self.compare("equal", other)

    def choose(self, yes: Number, no: Number | float) -> Number:
        """`yes` where this is true, `no` elsewhere."""
        return self.apply("select", yes, yes.number(no))

    def fma(self, factor: Number | float, addend: Number | float) -> Number:
        return self.apply("fma", self.number(factor), self.number(addend))

    def bits(self, element: Type) -> Number:
        """The same bits as elements of another type of the same width."""
        return self.apply("bitcast", with_element(self.type, element))

    def polynomial(self, coefficients: Sequence[float]) -> Number:
        """Horner's rule; the lowest power comes first."""
        result = self.number(coefficients[-1])
        for each in coefficients[-2::-1]:
            result = result.fma(self, each)
        return result


def function(mnemonic: str) -> Callable[..., Number]:
    """An operation as a function of numbers."""

    def apply(x: Number, *others: Number) -> Number:
        return x.apply(mnemonic, *others)

    return apply
