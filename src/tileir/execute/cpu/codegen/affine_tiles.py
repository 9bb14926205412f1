"""Affine tiles of integers and addresses: the first element and a step for each dimension determine all others.

A few scalar instructions compute them, and the conditions that no integer on the way wraps; where a condition is false,
none of the numbers holds.  So the least and the greatest address of a tile are known: if both lie in an array, so do
all, and the distance of neighbors is known: no vector is checked.  Masks that compare such numbers are often true for a
whole tile.  In a loop there is a step for each iteration too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tileir.dialect.ops import (
    ADDI,
    ANDI,
    BROADCAST,
    CMPI,
    CONSTANT,
    CONTINUE,
    EXTI,
    MULI,
    OFFSET,
    PTR_TO_PTR,
    REMI,
    RESHAPE,
    SUBI,
)
from tileir.dialect.types import PointerType
from tileir.execute.analysis.values import dtype_of, is_inside, is_scalar, pointee_of, scalar_constant, tile_of
from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.ir.expressions import BufferRead, Elementwise, Expression, Iota, Mapped, Shape, Splat, Table
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.module import Module
from tileir.execute.dtypes import memory_bytes
from tileir.ir.core import Operation
from tileir.ir.types import IntegerType
from tileir.ir.values import BlockArgument, Value

_DEEPEST: Final = 24  # How many operations are followed; more are hardly an index.
_FARTHEST: Final = 1 << 46  # How many elements a pointer may move in one step, so that no sum of addresses wraps.
_ARITHMETIC: Final = {ADDI: "add", SUBI: "sub", MULI: "mul"}
_FOLLOWED: Final = (*_ARITHMETIC, REMI, EXTI, OFFSET, PTR_TO_PTR)
_RENAMING: Final = (RESHAPE, BROADCAST)


class Affine(NamedTuple):
    """The first element, and how much further the next one is in each dimension and in each iteration of a loop."""

    first: Number
    steps: tuple[Number, ...] = ()
    iteration: Number = 0

    @property
    def is_uniform(self) -> bool:
        """Whether it is known to be the same everywhere."""
        return self.iteration == 0 and not any(self.steps)

    def mapped(self, expression: Mapped) -> Affine:
        """The same through an index map without sub-tiles."""
        steps: list[Number] = [0] * len(expression.shape)
        for step, (axis, _) in zip(self.steps, expression.mapping, strict=True):
            if axis is not None:
                steps[axis] = step
        return self._replace(steps=tuple(steps))


class AffineReader:
    """Reads tiles and scalars, as they are at this point of the program, or in all iterations of a `loop` that begins
    here; without an emission its code has no function, and `leaves` are the scalars from outside that it is made of."""

    def __init__(self, emission: Emission | None, loop: Operation | None = None) -> None:
        self.builder: Final = emission.builder if emission is not None else Builder(Module())
        self.emission: Final = emission
        self.conditions: list[str] = []  # The i1s that all have to hold.
        self.iterations: Number = 1  # How many iterations there are, one at least.
        self.leaves: Final[dict[Value, None]] = {}
        self._loop: Final = loop
        self._block: Final = loop.regions[0].blocks[0] if loop is not None else None
        # What is used twice is read once: otherwise scalars that are made of each other take as long as all their ways.
        self._known: Final[dict[object, Affine | None]] = {}

    # --- arithmetic that never wraps, if all conditions hold ---

    def need(self, comparison: str, left: Number, right: Number) -> None:
        """Add a condition: `eq`, `sge` or another signed comparison."""
        if left != right or comparison in ("slt", "sgt"):
            self.conditions.append(self.builder.compared(comparison, left, right))

    def exact(self, name: str, left: Number, right: Number, width: int = 64) -> Number:
        """A sum (`add`), a difference (`sub`) or a product (`mul`).  Numbers of fewer bits cannot wrap an i64, nor can
        distances of elements that do not."""
        builder, is_constant = self.builder, isinstance(left, int) and isinstance(right, int)
        is_neutral = right == 0 or (left == 0 and name != "sub") or (name == "mul" and 1 in (left, right))
        if width == 64 and not is_constant and not is_neutral:
            number, wraps = builder.checked(f"s{name}", left, right)
            self.conditions.append(builder.emit(f"xor i1 {wraps}, true"))
            return number
        found = {"add": builder.add, "sub": builder.subtract, "mul": builder.multiply}[name](left, right)
        if isinstance(found, str) or -(1 << 63) <= found < 1 << 63:
            return found
        self.conditions.append("false")
        return 0

    def ends(
        self, affine: Affine, last: Sequence[Number], iteration: Number = 0, width: int = 32
    ) -> tuple[Number, Number]:
        """The least and the greatest element up to the last index in each dimension, and the last iteration."""
        low = high = affine.first
        for step, count in zip((*affine.steps, affine.iteration), (*last, iteration), strict=True):
            way = self.exact("mul", step, count, width)
            ways: list[Number] = [min(way, 0), max(way, 0)] if isinstance(way, int) else []
            if not isinstance(way, int):
                operands = [f"i64 {way}", "i64 0"]
                ways += [self.builder.call("i64", f"llvm.{name}.i64", operands) for name in ("smin", "smax")]
            low, high = self.exact("add", low, ways[0], width), self.exact("add", high, ways[1], width)
        return low, high

    def ends_of(self, affine: Affine, shape: Shape, width: int = 32) -> tuple[Number, Number]:
        """The least and the greatest element of a whole tile, in all iterations."""
        last = [extent - 1 for extent in shape] if affine.steps else []
        return self.ends(affine, last, self.builder.subtract(self.iterations, 1), width)

    def lie_in(self, ends: tuple[Number, Number], low: Number, count: Number) -> None:
        """Add the conditions that both ends are one of so many numbers from the lowest one on."""
        for end in dict.fromkeys(ends):
            moved = self.builder.emit(f"sub i64 {end}, {low}")
            self.conditions.append(self.builder.emit(f"icmp ult i64 {moved}, {count}"))

    def _combined(self, name: str, left: Affine, right: Affine, width: int) -> Affine:
        steps = [self.exact(name, *pair, width) for pair in zip(left.steps, right.steps, strict=True)]
        iteration = self.exact(name, left.iteration, right.iteration, width)
        return Affine(self.exact(name, left.first, right.first, width), tuple(steps), iteration)

    def _times(self, affine: Affine, factor: Number, width: int = 32) -> Affine:
        first, *steps, iteration = (
            self.exact("mul", number, factor, width) for number in (affine.first, *affine.steps, affine.iteration)
        )
        return Affine(first, tuple(steps), iteration)

    def _within(self, value: Value, affine: Affine) -> Affine:
        """The same, which has to fit into the dtype of a value everywhere."""
        width = 8 * dtype_of(value).itemsize
        low, high = self.ends_of(affine, tile_of(value).shape, width)
        if width < 64:
            self.need("sge", low, -(1 << (width - 1)))
            self.need("sle", high, (1 << (width - 1)) - 1)
        return affine

    # --- tiles ---

    def of(self, expression: Expression, depth: int = 0) -> Affine | None:
        """A tile of integers or addresses; None where it is not affine."""
        key = id(expression)
        if key not in self._known:
            self._known[key] = self._read_tile(expression, depth) if depth < _DEEPEST else None
        return self._known[key]

    def _read_tile(self, expression: Expression, depth: int) -> Affine | None:
        if isinstance(expression, Mapped):
            source = None if _takes_part(expression) else self.of(expression.source, depth + 1)
            return source.mapped(expression) if source is not None else None
        flat = (0,) * len(expression.shape)
        if isinstance(expression, BufferRead) and expression.counted is not None:
            return self.of(expression.counted, depth + 1)
        if not _is_number(expression.element):
            return None
        if isinstance(expression, Splat):
            scalar = self.scalar(expression.scalar, depth)
            return scalar._replace(steps=flat) if scalar is not None else None
        if isinstance(expression, Table):
            if expression.array.size != 1 or isinstance(expression.element, PointerType):
                return None
            return Affine(int(expression.array.reshape(-1)[0]), flat)
        if isinstance(expression, Iota):
            # Where there are more, the second half is negative.
            fits = max(expression.shape) <= 1 << (8 * expression.dtype.itemsize - 1)
            return Affine(0, tuple([int(extent > 1) for extent in expression.shape])) if fits else None
        if not isinstance(expression, Elementwise) or expression.operation.declaration not in _FOLLOWED:
            return None
        return self._computed(expression.operation, [self.of(each, depth + 1) for each in expression.operands])

    def limits(self, mask: Expression, depth: int = 0) -> list[Affine] | None:
        """Numbers that are all not negative where a mask is true; None where it is made in another way."""
        if isinstance(mask, Mapped):
            inner = None if _takes_part(mask) else self.limits(mask.source, depth + 1)
            return [each.mapped(mask) for each in inner] if inner is not None else None
        if isinstance(mask, Table):
            return [] if bool(mask.array.all()) else None
        if isinstance(mask, Splat):
            if self._loop is not None or self.emission is None:
                return None
            self.conditions.append(self.emission.scalars[mask.scalar].name)
            return []
        if not isinstance(mask, Elementwise) or depth == _DEEPEST:
            return None
        operation = mask.operation
        if operation.declaration is ANDI:
            both = [self.limits(argument, depth + 1) for argument in mask.operands]
            return None if None in both else [each for part in both for each in part or ()]
        if operation.declaration is not CMPI:
            return None
        left, right = (self.of(argument, depth + 1) for argument in mask.operands)
        order, _, or_equal = operation.comparison_predicate.partition("_than")
        if order not in ("less", "greater") or left is None or right is None:
            return None
        source = mask.operands[0]
        if _is_unsigned(operation):
            # Both are not negative then.
            for each in (left, right):
                self.need("sge", self.ends_of(each, source.shape)[0], 0)
        if order == "greater":
            left, right = right, left
        width = 8 * source.dtype.itemsize
        rest = self._combined("sub", right, left, width)
        return [rest if or_equal else rest._replace(first=self.exact("sub", rest.first, 1, width))]

    def is_true(self, mask: Expression) -> bool:
        """Whether a tile of truth values is known to be true everywhere, under the conditions."""
        known = len(self.conditions)
        limits = self.limits(mask)
        if limits is None:
            del self.conditions[known:]
            return False
        for limit in limits:
            self.need("sge", self.ends_of(limit, mask.shape, 64)[0], 0)
        return True

    # --- scalars ---

    def scalar(self, value: Value, depth: int = 0) -> Affine | None:
        """A scalar, which the loop may advance; None where it is not affine."""
        operation = value.defining_operation
        while operation is not None and operation.declaration in _RENAMING and is_scalar(operation.operands[0]):
            value = operation.operands[0]
            operation = value.defining_operation
        if not is_scalar(value) or not _is_number(getattr(value.type, "element", None)):
            return None
        number = scalar_constant(value)
        if number is not None:
            return Affine(number)
        if value not in self._known:
            self._known[value] = self._read_scalar(value, depth) if depth < _DEEPEST else None
        return self._known[value]

    def _read_scalar(self, value: Value, depth: int) -> Affine | None:
        if self._loop is None or not is_inside(value, self._loop):
            self.leaves[value] = None
            return Affine(f"%{self.builder.fresh()}" if self.emission is None else self.emission.whole(value))
        operation = value.defining_operation
        if operation is not None:
            if operation.parent is not self._block or operation.declaration not in _FOLLOWED:
                return None
            return self._computed(operation, [self.scalar(operand, depth + 1) for operand in operation.operands])
        if not isinstance(value, BlockArgument) or value.block is not self._block:
            return None
        # The counter, or a scalar that each iteration advances by as much.
        by = self._loop.operands[2] if value.index == 0 else self.step_of(value)
        first = self.scalar(self._loop.operands[0 if value.index == 0 else 2 + value.index], depth + 1)
        if by == 0 or first is None:
            return first
        step = self.scalar(by, depth + 1) if isinstance(by, Value) else None
        return None if step is None else self._within(value, first._replace(iteration=step.first))

    def step_of(self, carried: BlockArgument) -> Value | int | None:
        """The outside scalar that each iteration adds to a carried integer, 0 for none; None for anything else."""
        end = carried.block.last
        is_integer = isinstance(getattr(carried.type, "element", None), IntegerType)
        if end is None or end.declaration is not CONTINUE or not is_integer or self._loop is None:
            return None
        following = end.operands[carried.index - 1]
        operation = following.defining_operation
        if following is carried:
            return 0
        if operation is None or operation.declaration is not ADDI or operation.parent is not self._block:
            return None
        others = [operand for operand in operation.operands if operand is not carried]
        is_step = len(others) == 1 and (scalar_constant(others[0]) is not None or not is_inside(others[0], self._loop))
        return others[0] if is_step else None

    # --- operations ---

    def _computed(self, operation: Operation, operands: list[Affine | None]) -> Affine | None:
        declaration, result = operation.declaration, operation.results[0]
        known = [operand for operand in operands if operand is not None]
        if len(known) < len(operands):
            return None
        left, right = known[0], known[-1]
        if declaration is PTR_TO_PTR:
            return left
        source, width = operation.operands[0], 8 * dtype_of(result).itemsize
        if declaration is EXTI:
            if _is_unsigned(operation):
                self.need("sge", self.ends_of(left, tile_of(source).shape)[0], 0)
            return left
        if declaration is REMI:
            # Numbers that are less than what they are divided by stay as they are.
            if not right.is_uniform:
                return None
            low, high = self.ends_of(left, tile_of(source).shape)
            self.need("sge", low, 0)
            self.need("slt", high, right.first)
            return left
        if declaration is OFFSET:
            # Addresses are sums modulo 2^64; indices are small, so that their distance is exact.
            low, high = self.ends_of(right, tile_of(operation.operands[1]).shape)
            self.need("sge", low, -_FARTHEST)
            self.need("sle", high, _FARTHEST)
            return self._combined("add", left, self._times(right, memory_bytes(pointee_of(result))), 32)
        if declaration is MULI:
            if not right.is_uniform:
                left, right = right, left
            return self._within(result, self._times(left, right.first, width)) if right.is_uniform else None
        return self._within(result, self._combined(_ARITHMETIC[declaration], left, right, width))


def is_index_arithmetic(operation: Operation) -> bool:
    """Whether an operation on scalars is one that affine tiles are computed with."""
    return operation.declaration in (*_FOLLOWED, *_RENAMING, CONSTANT)


def _takes_part(expression: Mapped) -> bool:
    """Whether an index map takes a sub-tile."""
    return any(scalar is not None for _, scalar in expression.mapping)


def _is_number(element: object) -> bool:
    return isinstance(element, PointerType) or (isinstance(element, IntegerType) and element.width in (8, 16, 32, 64))


def _is_unsigned(operation: Operation) -> bool:
    return operation.keyword("signedness") == "unsigned"
