"""Tiles of integers and addresses that a loop advances by constant steps: per row, per column and per iteration.

`AffineReader` goes through the expressions that make such a tile and computes its first element and its steps.  It does
so twice: for recognition without code, where a number that is not a constant is `UNKNOWN`, and for code, where it is a
register.  All of it is exact: where an integer of the program would wrap, a condition is false, and then none of the
numbers holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tileir.dialect.ops import ADDI, ANDI, BROADCAST, CMPI, CONSTANT, CONTINUE, EXTI, MULI, OFFSET, RESHAPE, SUBI
from tileir.dialect.types import PointerType
from tileir.execute.analysis.values import dtype_of, is_scalar, pointee_of, scalar_constant
from tileir.execute.cpu.ir.expressions import Elementwise, Expression, Iota, Mapped, PointerLoad, Splat, Table
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.dtypes import DType, memory_bytes
from tileir.ir.core import Operation
from tileir.ir.types import IntegerType
from tileir.ir.values import BlockArgument, Value

if TYPE_CHECKING:
    from tileir.execute.cpu.codegen.context import Emission

ROW: Final = 0
COLUMN: Final = 1
ITERATION: Final = 2
UNKNOWN: Final = "?"
_DEEPEST: Final = 24
"""How many operations are looked through; more are hardly an index."""
_ARITHMETIC: Final = (ADDI, SUBI, MULI, EXTI, OFFSET)
_RENAMING: Final = (RESHAPE, BROADCAST)

Axes = tuple["int | None", ...]
Steps = tuple[Number, Number, Number]


class Affine(NamedTuple):
    """The first element of the first iteration, and how much further each row, column and iteration is."""

    first: Number
    steps: Steps = (0, 0, 0)

    @property
    def is_scalar(self) -> bool:
        """Whether it is the same everywhere, as far as the program says."""
        return self.steps == (0, 0, 0)


class Access(NamedTuple):
    """The addresses of a tile, and numbers that are not negative where its mask is true."""

    addresses: Affine
    limits: list[Affine]


class Exact:
    """Arithmetic on i64s that never wraps: `conditions` are i1s that all have to hold for that, and for what is needed
    beside it.  Without an emission nothing is written."""

    def __init__(self, emission: Emission | None) -> None:
        self.emission: Final = emission
        self.conditions: Final[list[str]] = []

    def need(self, comparison: str, left: Number, right: Number) -> None:
        """Add a condition."""
        if isinstance(left, int) and isinstance(right, int):
            holds = {"eq": left == right, "sge": left >= right, "sle": left <= right}
            if not holds[comparison]:
                self.conditions.append("false")
        elif left != right and self.emission is not None:
            self.conditions.append(self.emission.builder.emit(f"icmp {comparison} i64 {left}, {right}"))

    def plus(self, left: Number, right: Number) -> Number:
        return self._exact("add", left, right)

    def minus(self, left: Number, right: Number) -> Number:
        return self._exact("sub", left, right)

    def times(self, left: Number, right: Number) -> Number:
        return self._exact("mul", left, right)

    def _exact(self, name: str, left: Number, right: Number) -> Number:
        if isinstance(left, int) and isinstance(right, int):
            number = {"add": left + right, "sub": left - right, "mul": left * right}[name]
            if not -(1 << 63) <= number < 1 << 63:
                self.conditions.append("false")
                return 0
            return number
        if right == 0 or (left == 0 and name != "sub"):
            return 0 if name == "mul" else left if right == 0 else right
        if name == "mul" and 1 in (left, right):
            return right if left == 1 else left
        if self.emission is None:
            return UNKNOWN
        exact, wraps = self.emission.builder.checked(f"s{name}", left, right)
        self.conditions.append(self.emission.builder.emit(f"xor i1 {wraps}, true"))
        return exact

    def ends(self, affine: Affine, last: Steps) -> tuple[Number, Number]:
        """The least and the greatest element up to the last row, column and iteration."""
        low = high = affine.first
        for step, count in zip(affine.steps, last, strict=True):
            way = self.times(step, count)
            if isinstance(way, int):
                low, high = (self.plus(low, way), high) if way < 0 else (low, self.plus(high, way))
            elif self.emission is not None:
                builder = self.emission.builder
                down, up = (
                    builder.call("i64", f"llvm.{name}.i64", [f"i64 {way}", "i64 0"]) for name in ("smin", "smax")
                )
                low, high = self.plus(low, down), self.plus(high, up)
        return low, high


class AffineReader:
    """Reads the tiles of a `for`; `leaves` are the scalars from outside that they are made of.

    `extents` are the rows, columns and iterations, one at least.
    """

    def __init__(self, loop: Operation, exact: Exact, extents: Steps = (1, 1, 1)) -> None:
        self.loop: Final = loop
        self.exact: Final = exact
        self.leaves: Final[dict[Value, None]] = {}
        self._block: Final = loop.regions[0].blocks[0]
        rows, columns, iterations = (exact.minus(extent, 1) for extent in extents)
        self._last: Final[Steps] = (rows, columns, iterations)
        # What is used twice is read once: otherwise scalars that are made of each other take as long as all their ways.
        self._scalars: Final[dict[Value, Affine | None]] = {}
        self._tiles: Final[dict[tuple[int, Axes], Affine | None]] = {}

    def access(self, load: PointerLoad) -> Access | None:
        """Where a load reads; None where that is not known, or a mask leaves something else than zeros."""
        addresses = self.tile(load.pointers, (ROW, COLUMN))
        if addresses is None or load.mask is None:
            return Access(addresses, []) if addresses is not None else None
        limits = self.limits(load.mask, (ROW, COLUMN))
        if limits is None or not isinstance(load.padding, Table) or any(load.padding.array.tobytes()):
            return None
        return Access(addresses, limits)

    def tile(self, expression: Expression, axes: Axes, depth: int = 0) -> Affine | None:
        """A tile whose dimensions are these axes; None where it is not affine."""
        if depth == _DEEPEST:
            return None
        key = (id(expression), axes)
        if key not in self._tiles:
            self._tiles[key] = self._tile(expression, axes, depth)
        return self._tiles[key]

    def _tile(self, expression: Expression, axes: Axes, depth: int) -> Affine | None:
        if isinstance(expression, Mapped):
            if any(scalar is not None for _, scalar in expression.mapping):
                return None
            inner = tuple([None if place is None else axes[place] for place, _ in expression.mapping])
            return self.tile(expression.source, inner, depth + 1)
        if not _is_number(expression.element):
            return None
        if isinstance(expression, Splat):
            return self.scalar(expression.scalar, depth)
        if isinstance(expression, Table):
            if expression.array.size != 1 or isinstance(expression.element, PointerType):
                return None
            return Affine(int(expression.array.reshape(-1)[0]))
        if isinstance(expression, Iota):
            (axis,) = axes
            if expression.shape[0] > 1 << (_width(expression.element) - 1):
                # Its second half is negative.
                return None
            return Affine(0, (int(axis == ROW), int(axis == COLUMN), 0))
        if not isinstance(expression, Elementwise):
            return None
        return self._computed(expression.operation, [self.tile(each, axes, depth + 1) for each in expression.operands])

    def scalar(self, value: Value, depth: int = 0) -> Affine | None:
        """A scalar, which the loop may advance; None where it is not affine."""
        while (renamed := _renamed(value)) is not None:
            value = renamed
        if not is_scalar(value) or not _is_number(_element(value)):
            return None
        number = scalar_constant(value)
        if number is not None:
            return Affine(number)
        if depth == _DEEPEST:
            return None
        if value not in self._scalars:
            self._scalars[value] = self._scalar(value, depth)
        return self._scalars[value]

    def _scalar(self, value: Value, depth: int) -> Affine | None:
        if not self._is_inside(value):
            self.leaves[value] = None
            return Affine(UNKNOWN if self.exact.emission is None else self.exact.emission.whole(value))
        operation = value.defining_operation
        if operation is None:
            return self._carried(value, depth) if isinstance(value, BlockArgument) else None
        if operation.parent is not self._block:
            return None
        return self._computed(operation, [self.scalar(operand, depth + 1) for operand in operation.operands])

    def _carried(self, value: BlockArgument, depth: int) -> Affine | None:
        """The counter, or a scalar that each iteration advances by as much."""
        if value.block is not self._block:
            return None
        by = self.loop.operands[2] if value.index == 0 else self.step_of(value)
        start = self.loop.operands[0 if value.index == 0 else 2 + value.index]
        first, step = self.scalar(start, depth + 1), self.scalar(by, depth + 1) if by is not None else None
        if first is None or (by is not None and (step is None or not step.is_scalar)):
            return None
        if step is None:
            return first if value.index == 0 or self._following(value) is value else None
        return self._within(dtype_of(value), Affine(first.first, (0, 0, step.first)))

    def step_of(self, carried: BlockArgument) -> Value | None:
        """What each iteration adds to a carried integer; None where it adds nothing, or does something else."""
        following = self._following(carried)
        operation = following.defining_operation if following is not None else None
        if operation is None or operation.declaration is not ADDI or operation.parent is not self._block:
            return None
        others = [operand for operand in operation.operands if operand is not carried]
        return others[0] if len(others) == 1 else None

    def advances(self, carried: BlockArgument) -> bool:
        """Whether each iteration adds the same scalar from outside to a carried integer, or nothing."""
        by = self.step_of(carried)
        if by is None:
            return self._following(carried) is carried
        return scalar_constant(by) is not None or not self._is_inside(by)

    def _following(self, carried: BlockArgument) -> Value | None:
        """What a carried integer is in the next iteration."""
        end = self._block.last
        if end is None or end.declaration is not CONTINUE or not isinstance(_element(carried), IntegerType):
            return None
        return end.operands[carried.index - 1]

    def limits(self, mask: Expression, axes: Axes, depth: int = 0) -> list[Affine] | None:
        """Numbers that are all not negative where a mask is true; None where it is made in another way."""
        if isinstance(mask, Mapped) and all(scalar is None for _, scalar in mask.mapping):
            inner = tuple([None if place is None else axes[place] for place, _ in mask.mapping])
            return self.limits(mask.source, inner, depth + 1)
        if isinstance(mask, Table):
            return [] if bool(mask.array.all()) else None
        if not isinstance(mask, Elementwise) or depth == _DEEPEST:
            return None
        operation = mask.operation
        if operation.declaration is ANDI:
            both = [self.limits(argument, axes, depth + 1) for argument in mask.operands]
            return None if None in both else [each for part in both for each in part or ()]
        if operation.declaration is not CMPI or operation.signedness == "unsigned":
            return None
        left, right = (self.tile(argument, axes, depth + 1) for argument in mask.operands)
        predicate = operation.comparison_predicate
        if predicate.startswith("greater_than"):
            left, right = right, left
        elif not predicate.startswith("less_than"):
            return None
        if left is None or right is None:
            return None
        rest = self._difference(right, left)
        return [rest if predicate.endswith("or_equal") else self._difference(rest, Affine(1))]

    # --- arithmetic ---

    def _computed(self, operation: Operation, operands: list[Affine | None]) -> Affine | None:
        declaration = operation.declaration
        known = [operand for operand in operands if operand is not None]
        if declaration not in _ARITHMETIC or len(known) < len(operands):
            return None
        if declaration is EXTI:
            return None if operation.keyword("signedness") == "unsigned" else known[0]
        left, right = known
        if declaration is OFFSET:
            size = memory_bytes(pointee_of(operation.results[0]))
            return self._sum(left, self._scaled(right, size))
        if declaration is MULI:
            if not right.is_scalar:
                left, right = right, left
            if not right.is_scalar:
                return None
            found = self._scaled(left, right.first)
        else:
            found = self._sum(left, right) if declaration is ADDI else self._difference(left, right)
        return self._within(dtype_of(operation.results[0]), found)

    def _sum(self, left: Affine, right: Affine) -> Affine:
        a, b, c = (self.exact.plus(one, other) for one, other in zip(left.steps, right.steps, strict=True))
        return Affine(self.exact.plus(left.first, right.first), (a, b, c))

    def _difference(self, left: Affine, right: Affine) -> Affine:
        a, b, c = (self.exact.minus(one, other) for one, other in zip(left.steps, right.steps, strict=True))
        return Affine(self.exact.minus(left.first, right.first), (a, b, c))

    def _scaled(self, affine: Affine, by: Number) -> Affine:
        a, b, c = (self.exact.times(step, by) for step in affine.steps)
        return Affine(self.exact.times(affine.first, by), (a, b, c))

    def _within(self, dtype: DType, affine: Affine) -> Affine:
        """The same, which has to fit into a dtype everywhere."""
        width = 8 * dtype.itemsize
        low, high = self.exact.ends(affine, self._last)
        if width < 64:
            self.exact.need("sge", low, -(1 << (width - 1)))
            self.exact.need("sle", high, (1 << (width - 1)) - 1)
        return affine

    def _is_inside(self, value: Value) -> bool:
        block = value.parent_block
        owner = block.parent_operation if block is not None else None
        return owner is not None and (owner is self.loop or self.loop.is_ancestor_of(owner))


def is_index_arithmetic(operation: Operation) -> bool:
    """Whether an operation on scalars is one that affine tiles are made of, so that nobody misses it."""
    return operation.declaration in (*_ARITHMETIC, *_RENAMING, CONSTANT)


def _element(value: Value) -> object:
    return getattr(value.type, "element", None)


def _renamed(value: Value) -> Value | None:
    """The scalar that a scalar is another name of."""
    operation = value.defining_operation
    if operation is None or operation.declaration not in _RENAMING or not is_scalar(operation.operands[0]):
        return None
    return operation.operands[0]


def _width(element: object) -> int:
    return element.width if isinstance(element, IntegerType) else 64


def _is_number(element: object) -> bool:
    return isinstance(element, PointerType) or (isinstance(element, IntegerType) and element.width in (8, 16, 32, 64))
