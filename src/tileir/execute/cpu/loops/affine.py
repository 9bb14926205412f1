"""Tiles of integers and addresses that a loop counts up: by as much from row to row, from column to column and from
turn to turn.

A `Form` says how such a tile is made of scalars that the loop finds, without saying what these are; its code computes
that, and whether an integer wraps on the way (`emission.affine`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from tileir.dialect.ops import ADDI, ANDI, BROADCAST, CMPI, CONSTANT, CONTINUE, EXTI, MULI, OFFSET, RESHAPE, SUBI
from tileir.dialect.types import PointerType
from tileir.execute.analysis.values import dtype_of, is_scalar, pointee_of, scalar_constant
from tileir.execute.cpu.loops.expressions import Applied, Count, Expression, Gathered, Mapped, Splat, Table
from tileir.execute.dtypes import DType, memory_bytes
from tileir.ir.core import Operation
from tileir.ir.types import IntegerType
from tileir.ir.values import BlockArgument, Value

ROW: Final = 0
COLUMN: Final = 1
TURN: Final = 2

Kind = Literal["constant", "scalar", "axis", "sum", "difference", "product", "moved", "same"]
_DEEPEST: Final = 24
"""How many operations are looked through; more are hardly an index."""
_KINDS: Final[dict[object, Kind]] = {
    ADDI: "sum", SUBI: "difference", MULI: "product", EXTI: "same", OFFSET: "moved",
}  # fmt: skip
_RENAMING: Final = (RESHAPE, BROADCAST)


@dataclass(eq=False, repr=False, slots=True)
class Form:
    """A number, a scalar from outside of the loop, what counts along an axis, or something computed of such parts.

    `number` is the number, the axis, or the bytes of an element that `moved` counts.  `dtype` is what the result has to
    fit into, None where it is computed without an end.
    """

    kind: Kind
    axes: frozenset[int]
    dtype: DType | None = None
    number: int = 0
    value: Value | None = None
    parts: tuple[Form, ...] = ()


@dataclass(eq=False, repr=False, slots=True)
class Path:
    """The places of a tile in memory, turn after turn: addresses, and numbers that are not negative where its mask is
    true."""

    addresses: Form
    limits: list[Form]


class Forms:
    """Finds the forms of tiles in a `for`; `leaves` are the scalars from outside that they are made of."""

    def __init__(self, loop: Operation) -> None:
        self.loop: Final = loop
        self.leaves: Final[dict[Value, None]] = {}
        block = loop.regions[0].blocks[0]
        self._block: Final = block
        self._end: Final = block.last
        # A scalar that is used twice is found once: those that are made of each other would be as many as their ways.
        self._known: Final[dict[Value, Form | None]] = {}

    def of(self, expression: Expression, axes: tuple[int | None, ...], depth: int = 0) -> Form | None:
        """The form of a tile whose dimensions are these axes; None where it has none."""
        if depth == _DEEPEST:
            return None
        if isinstance(expression, Mapped):
            if any(scalar is not None for _, scalar in expression.mapping):
                return None
            inner = tuple([None if place is None else axes[place] for place, _ in expression.mapping])
            return self.of(expression.source, inner, depth + 1)
        if not _is_number(expression.element):
            return None
        if isinstance(expression, Splat):
            return self.scalar(expression.scalar, depth)
        if isinstance(expression, Table):
            if expression.array.size != 1 or isinstance(expression.element, PointerType):
                return None
            return Form("constant", frozenset(), number=int(expression.array.reshape(-1)[0]))
        if isinstance(expression, Count):
            (axis,) = axes
            if expression.shape[0] > 1 << (_width(expression.element) - 1):
                # Its second half is negative.
                return None
            return Form("constant" if axis is None else "axis", frozenset() if axis is None else frozenset([axis]),
                        number=0 if axis is None else axis)  # fmt: skip
        if not isinstance(expression, Applied):
            return None
        parts = [self.of(argument, axes, depth + 1) for argument in expression.arguments]
        return _applied(expression.operation, parts)

    def scalar(self, value: Value, depth: int = 0) -> Form | None:
        """The form of a scalar."""
        while (renamed := _renamed(value)) is not None:
            value = renamed
        if not is_scalar(value) or not _is_number(_element(value)):
            return None
        number = scalar_constant(value)
        if number is not None:
            return Form("constant", frozenset(), number=number)
        if depth == _DEEPEST:
            return None
        if value not in self._known:
            self._known[value] = self._scalar(value, depth)
        return self._known[value]

    def _scalar(self, value: Value, depth: int) -> Form | None:
        if not self._is_inside(value):
            self.leaves[value] = None
            return Form("scalar", frozenset(), value=value)
        operation = value.defining_operation
        if operation is None:
            return self._carried(value, depth) if isinstance(value, BlockArgument) else None
        if operation.parent is not self._block or operation.declaration not in _KINDS:
            return None
        return _applied(operation, [self.scalar(operand, depth + 1) for operand in operation.operands])

    def _carried(self, value: BlockArgument, depth: int) -> Form | None:
        """The counter, or a scalar that each turn moves by as much."""
        if value.block is not self._block:
            return None
        step: Form | None
        if value.index == 0:
            first, step = self.scalar(self.loop.operands[0], depth + 1), self.scalar(self.loop.operands[2], depth + 1)
        else:
            first = self.scalar(self.loop.operands[2 + value.index], depth + 1)
            step = self.step_of(value, depth)
        if first is None or step is None or step.axes:
            return None
        turns = Form("product", frozenset([TURN]), parts=(Form("axis", frozenset([TURN]), number=TURN), step))
        return Form("sum", frozenset([TURN]), dtype_of(value), parts=(first, turns))

    def step_of(self, carried: BlockArgument, depth: int = 0) -> Form | None:
        """What each turn adds to a carried integer; None where it does something else."""
        end = self._end
        if end is None or end.declaration is not CONTINUE or not isinstance(_element(carried), IntegerType):
            return None
        following = end.operands[carried.index - 1]
        if following is carried:
            return Form("constant", frozenset())
        operation = following.defining_operation
        if operation is None or operation.declaration is not ADDI or operation.parent is not self._block:
            return None
        others = [operand for operand in operation.operands if operand is not carried]
        if len(others) != 1:
            return None
        step = self.scalar(others[0], depth + 1)
        return step if step is not None and not step.axes else None

    def path(self, load: Gathered) -> Path | None:
        """Where a load goes; None where that is not known, or something else than zeros is read where a mask is off."""
        addresses = self.of(load.pointers, (ROW, COLUMN))
        if addresses is None or load.mask is None:
            return Path(addresses, []) if addresses is not None else None
        limits = self.limits(load.mask, (ROW, COLUMN))
        if limits is None or not isinstance(load.padding, Table) or any(load.padding.array.tobytes()):
            return None
        return Path(addresses, limits)

    def limits(self, mask: Expression, axes: tuple[int | None, ...], depth: int = 0) -> list[Form] | None:
        """Numbers that are all not negative where a mask is true; None where it is made in another way."""
        if isinstance(mask, Mapped) and all(scalar is None for _, scalar in mask.mapping):
            inner = tuple([None if place is None else axes[place] for place, _ in mask.mapping])
            return self.limits(mask.source, inner, depth + 1)
        if isinstance(mask, Table):
            return [] if bool(mask.array.all()) else None
        if not isinstance(mask, Applied) or depth == _DEEPEST:
            return None
        operation = mask.operation
        if operation.declaration is ANDI:
            both = [self.limits(argument, axes, depth + 1) for argument in mask.arguments]
            return None if None in both else [each for part in both for each in part or ()]
        if operation.declaration is not CMPI or operation.signedness == "unsigned":
            return None
        left, right = (self.of(argument, axes, depth + 1) for argument in mask.arguments)
        if left is None or right is None:
            return None
        predicate = operation.comparison_predicate
        if predicate.startswith("greater_than"):
            left, right = right, left
        elif not predicate.startswith("less_than"):
            return None
        rest = Form("difference", left.axes | right.axes, parts=(right, left))
        if not predicate.endswith("or_equal"):
            rest = Form("difference", rest.axes, parts=(rest, Form("constant", frozenset(), number=1)))
        return [rest]

    def _is_inside(self, value: Value) -> bool:
        block = value.parent_block
        owner = block.parent_operation if block is not None else None
        return owner is not None and (owner is self.loop or self.loop.is_ancestor_of(owner))


def _applied(operation: Operation, parts: list[Form | None]) -> Form | None:
    kind = _KINDS.get(operation.declaration)
    known = [part for part in parts if part is not None]
    if kind is None or len(known) < len(parts):
        return None
    axes = frozenset().union(*[part.axes for part in known])
    if kind == "product" and all(part.axes for part in known):
        return None
    if kind == "same" and operation.keyword("signedness") == "unsigned":
        return None
    if kind == "moved":
        return Form(kind, axes, number=memory_bytes(pointee_of(operation.results[0])), parts=tuple(known))
    return Form(kind, axes, dtype_of(operation.results[0]), parts=tuple(known))


def is_scalar_step(operation: Operation) -> bool:
    """Whether an operation on scalars is one that forms are made of, so that nobody misses it."""
    return operation.declaration in _KINDS or operation.declaration in (*_RENAMING, CONSTANT)


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
