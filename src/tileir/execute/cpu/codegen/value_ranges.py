"""The range of the elements of a tile, computed once for a whole tile.

The least and the greatest address of a tile of pointers take a few scalar instructions, and so does the condition that
no integer on the way wraps.  If both ends lie in an array, so do all elements, and neighbors are as far apart as the
program says: no vector has to be checked.  Masks that compare such numbers are often true for a whole tile.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tileir.dialect.ops import ADDI, ANDI, CMPI, EXTI, MULI, OFFSET, PTR_TO_PTR, REMI, SUBI
from tileir.dialect.types import PointerType
from tileir.execute.analysis.values import pointee_of
from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.ir.expressions import BufferRead, Elementwise, Expression, Iota, Mapped, Splat, Table
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.dtypes import DType, memory_bytes
from tileir.ir.core import Operation
from tileir.ir.types import IntegerType

_DEEPEST: Final = 24  # How many operations are followed; more are hardly an index.
_FARTHEST: Final = 1 << 46  # How many elements a pointer may move in one step, so that no sum of addresses wraps.
_COMPARISONS: Final = {
    "less_than": "slt", "less_than_or_equal": "sle", "greater_than": "sgt", "greater_than_or_equal": "sge",
}  # fmt: skip
_FOLLOWED: Final = (ADDI, SUBI, MULI, REMI, EXTI, OFFSET, PTR_TO_PTR)


class Range(NamedTuple):
    """The least and the greatest element: i64s; the same where all are."""

    low: Number
    high: Number

    @property
    def is_point(self) -> bool:
        return self.low == self.high


class ExactIntegers:
    """Arithmetic that never wraps, if all i1s of `conditions` hold."""

    def __init__(self, builder: Builder) -> None:
        self.builder: Builder = builder
        self.conditions: list[str] = []

    def need(self, comparison: str, left: Number, right: Number) -> None:
        """Add a condition: `eq`, `sge` or another signed comparison."""
        if left != right or comparison in ("slt", "sgt"):
            self.conditions.append(self.builder.compared(comparison, left, right))

    def exact(self, name: str, left: Number, right: Number, width: int = 64) -> Number:
        """A sum (`add`), a difference (`sub`) or a product (`mul`) in so many bits."""
        builder, is_constant = self.builder, isinstance(left, int) and isinstance(right, int)
        is_neutral = right == 0 or (left == 0 and name != "sub") or (name == "mul" and 1 in (left, right))
        if width == 64 and not is_constant and not is_neutral:
            number, wraps = builder.checked(f"s{name}", left, right)
            self.conditions.append(builder.emit(f"xor i1 {wraps}, true"))
            return number
        found = {"add": builder.add, "sub": builder.subtract, "mul": builder.multiply}[name](left, right)
        if width < 64 or isinstance(found, int):
            self.fit(found, found, width)
        return found if isinstance(found, str) or -(1 << 63) <= found < 1 << 63 else 0

    def fit(self, low: Number, high: Number, width: int) -> None:
        self.need("sge", low, -(1 << (width - 1)))
        self.need("sle", high, (1 << (width - 1)) - 1)


class Ranges(ExactIntegers):
    """What is known at this point of the program, if all `conditions` hold."""

    def __init__(self, emission: Emission) -> None:
        super().__init__(emission.builder)
        self._emission: Emission = emission
        self._known: dict[int, Range | None] = {}

    def of(self, expression: Expression, depth: int = 0) -> Range | None:
        """The range of integers or addresses; None where nothing is known."""
        key = id(expression)
        if key not in self._known:
            self._known[key] = self._found(expression, depth) if depth < _DEEPEST else None
        return self._known[key]

    def lie_in(self, found: Range, low: Number, count: Number) -> None:
        """Add the conditions that both ends of a range are one of so many numbers from the lowest one on."""
        for end in dict.fromkeys((found.low, found.high)):
            moved = self.builder.emit(f"sub i64 {end}, {low}")
            self.conditions.append(self.builder.emit(f"icmp ult i64 {moved}, {count}"))

    def is_true(self, mask: Expression, depth: int = 0) -> bool:
        """Whether a tile of truth values is known to be true everywhere, under the conditions."""
        known = len(self.conditions)
        if self._is_true(mask, depth):
            return True
        del self.conditions[known:]
        return False

    def _is_true(self, mask: Expression, depth: int) -> bool:
        if isinstance(mask, Mapped):
            return self.is_true(mask.source, depth + 1)
        if isinstance(mask, Splat):
            self.conditions.append(self._emission.scalars[mask.scalar].name)
            return True
        if isinstance(mask, Table):
            return bool(mask.array.all())
        if not isinstance(mask, Elementwise) or depth == _DEEPEST:
            return False
        declaration = mask.operation.declaration
        if declaration is ANDI:
            return all(self.is_true(operand, depth + 1) for operand in mask.operands)
        if declaration is not CMPI:
            return False
        left, right = (self.of(operand, depth + 1) for operand in mask.operands)
        return left is not None and right is not None and self._compares(mask.operation, left, right)

    def _compares(self, operation: Operation, left: Range, right: Range) -> bool:
        comparison = _COMPARISONS.get(operation.comparison_predicate)
        if comparison is None:
            return False
        if _is_unsigned(operation):
            # Both are not negative then.
            self.need("sge", left.low, 0)
            self.need("sge", right.low, 0)
        ends = (left.high, right.low) if comparison in ("slt", "sle") else (left.low, right.high)
        self.need(comparison, *ends)
        return True

    def _found(self, expression: Expression, depth: int) -> Range | None:
        if isinstance(expression, Mapped):
            return self.of(expression.source, depth + 1)
        if isinstance(expression, BufferRead) and expression.counted is not None:
            return self.of(expression.counted, depth + 1)
        element = expression.element
        is_pointer = isinstance(element, PointerType)
        if not is_pointer and not (isinstance(element, IntegerType) and element.width in (8, 16, 32, 64)):
            return None
        if isinstance(expression, Splat):
            number = self._emission.whole(expression.scalar)
            return Range(number, number)
        if isinstance(expression, Table):
            return None if is_pointer else Range(int(expression.array.min()), int(expression.array.max()))
        if isinstance(expression, Iota):
            last = max(expression.shape) - 1
            return Range(0, last) if last < 1 << (8 * expression.dtype.itemsize - 1) else None
        if not isinstance(expression, Elementwise) or expression.operation.declaration not in _FOLLOWED:
            return None
        known = [part for operand in expression.operands if (part := self.of(operand, depth + 1)) is not None]
        return self._computed(expression, known) if len(known) == len(expression.operands) else None

    def _computed(self, expression: Elementwise, operands: list[Range]) -> Range | None:
        operation, dtype = expression.operation, expression.dtype
        declaration, left = operation.declaration, operands[0]
        if declaration in (PTR_TO_PTR, EXTI):
            if declaration is EXTI and _is_unsigned(operation):
                self.need("sge", left.low, 0)
            return left
        right = operands[1]
        if declaration is OFFSET:
            return self._moved(left, right, memory_bytes(pointee_of(operation.results[0])))
        if declaration is MULI:
            return self._product(left, right, dtype)
        if declaration is REMI:
            # Numbers that are less than what they are divided by stay as they are.
            self.need("sge", left.low, 0)
            self.need("slt", left.high, right.low)
            return left
        pairs = ((left.low, right.low), (left.high, right.high))
        if declaration is SUBI:
            pairs = ((left.low, right.high), (left.high, right.low))
        return self._ends("sub" if declaration is SUBI else "add", pairs, dtype, left.is_point and right.is_point)

    def _moved(self, base: Range, index: Range, size: int) -> Range:
        """Addresses, which are sums modulo 2^64; indices are small, so that their distance is exact."""
        builder = self.builder
        self.need("sge", index.low, -_FARTHEST)
        self.need("sle", index.high, _FARTHEST)
        low = builder.add(base.low, builder.multiply(index.low, size))
        if index.is_point and base.is_point:
            return Range(low, low)
        return Range(low, builder.add(base.high, builder.multiply(index.high, size)))

    def _product(self, left: Range, right: Range, dtype: DType) -> Range | None:
        if left.is_point:
            left, right = right, left
        if not right.is_point:
            return None
        factor = right.low
        found = self._ends("mul", ((left.low, factor), (left.high, factor)), dtype, left.is_point)
        if isinstance(factor, int) or found.is_point:
            return Range(found.high, found.low) if isinstance(factor, int) and factor < 0 else found
        ends = [f"i64 {found.low}", f"i64 {found.high}"]
        low, high = (self.builder.call("i64", f"llvm.{name}.i64", ends) for name in ("smin", "smax"))
        return Range(low, high)

    def _ends(self, name: str, pairs: tuple[tuple[Number, Number], ...], dtype: DType, once: bool) -> Range:
        """Two numbers computed without wrapping."""
        ends = [self.exact(name, left, right, 8 * dtype.itemsize) for left, right in pairs[: 1 if once else 2]]
        return Range(ends[0], ends[-1])


def _is_unsigned(operation: Operation) -> bool:
    return operation.keyword("signedness") == "unsigned"
