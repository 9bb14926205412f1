"""The numbers that forms stand for (`loops.affine`), computed once for a whole loop.

All of it is exact: whatever would wrap makes a condition false, and then nothing here is true.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.loops.affine import Form
from tileir.execute.cpu.vector.builder import Number

Steps = tuple[Number, Number, Number]
Combine = Callable[[Number, Number], Number]


class Affine(NamedTuple):
    """The first element of the first turn, and how much further each row, column and turn is."""

    first: Number
    steps: Steps


class Exact:
    """Arithmetic on i64s that never wraps: `conditions` are i1s that all have to hold for that, and for what is needed
    beside it."""

    def __init__(self, emission: Emission) -> None:
        self._builder: Final = emission.builder
        self.conditions: Final[list[str]] = []

    def need(self, comparison: str, left: Number, right: Number) -> None:
        """Add a condition."""
        if isinstance(left, int) and isinstance(right, int):
            holds = {"eq": left == right, "sge": left >= right, "sle": left <= right}
            if not holds[comparison]:
                self.conditions.append("false")
        elif left != right:
            self.conditions.append(self._builder.emit(f"icmp {comparison} i64 {left}, {right}"))

    def plus(self, left: Number, right: Number) -> Number:
        return self._exact("add", left, right)

    def minus(self, left: Number, right: Number) -> Number:
        return self._exact("sub", left, right)

    def times(self, left: Number, right: Number) -> Number:
        return self._exact("mul", left, right)

    def _exact(self, name: str, left: Number, right: Number) -> Number:
        builder = self._builder
        both = isinstance(left, int) and isinstance(right, int)
        trivial = right == 0 if name == "sub" else 0 in (left, right) or (name == "mul" and 1 in (left, right))
        if both or trivial:
            number = {"add": builder.add, "sub": builder.subtract, "mul": builder.multiply}[name](left, right)
            if isinstance(number, int) and not -(1 << 63) <= number < 1 << 63:
                self.conditions.append("false")
                return 0
            return number
        exact, wraps = builder.checked(f"s{name}", left, right)
        self.conditions.append(builder.emit(f"xor i1 {wraps}, true"))
        return exact

    def ends(self, affine: Affine, last: Steps) -> tuple[Number, Number]:
        """The least and the greatest element up to the last row, column and turn."""
        low = high = affine.first
        for step, count in zip(affine.steps, last, strict=True):
            way = self.times(step, count)
            if isinstance(way, int):
                low, high = (self.plus(low, way), high) if way < 0 else (low, self.plus(high, way))
                continue
            down, up = (
                self._builder.call("i64", f"llvm.{name}.i64", [f"i64 {way}", "i64 0"]) for name in ("smin", "smax")
            )
            low, high = self.plus(low, down), self.plus(high, up)
        return low, high


class AffineForms:
    """What forms are where the builder stands, for a loop of so many rows, columns and turns, one at least."""

    def __init__(self, emission: Emission, exact: Exact, extents: Steps) -> None:
        self._emission: Final = emission
        self.exact: Final = exact
        rows, columns, turns = (emission.builder.subtract(extent, 1) for extent in extents)
        self._last: Final = (rows, columns, turns)
        self._known: dict[int, Affine] = {}

    def of(self, form: Form) -> Affine:
        found = self._known.get(id(form))
        if found is None:
            found = self._known[id(form)] = self._found(form)
        return found

    def _found(self, form: Form) -> Affine:
        if form.kind == "constant":
            return Affine(form.number, (0, 0, 0))
        if form.kind == "scalar":
            assert form.value is not None
            return Affine(self._emission.whole(form.value), (0, 0, 0))
        if form.kind == "axis":
            return Affine(0, (int(form.number == 0), int(form.number == 1), int(form.number == 2)))
        parts = [self.of(part) for part in form.parts]
        if form.kind == "same":
            return parts[0]
        left, right = parts
        if form.kind == "product":
            found = self._product(left, right)
        elif form.kind == "moved":
            size = Affine(form.number, (0, 0, 0))
            found = self._combined(left, self._product(right, size), self.exact.plus)
        else:
            found = self._combined(left, right, self.exact.minus if form.kind == "difference" else self.exact.plus)
        if form.dtype is not None:
            low, high = self.exact.ends(found, self._last)
            width = 8 * form.dtype.itemsize
            if width < 64:
                self.exact.need("sge", low, -(1 << (width - 1)))
                self.exact.need("sle", high, (1 << (width - 1)) - 1)
        return found

    def _combined(self, left: Affine, right: Affine, combine: Combine) -> Affine:
        a, b, c = (combine(one, other) for one, other in zip(left.steps, right.steps, strict=True))
        return Affine(combine(left.first, right.first), (a, b, c))

    def _product(self, left: Affine, right: Affine) -> Affine:
        if any(step != 0 for step in right.steps):
            left, right = right, left
        a, b, c = (self.exact.times(step, right.first) for step in left.steps)
        return Affine(self.exact.times(left.first, right.first), (a, b, c))
