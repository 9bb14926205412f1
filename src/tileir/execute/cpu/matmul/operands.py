"""The operands of a matmul in memory: where the tile of each iteration lies, and how much of it.

| operand    | what it is                                                                                    |
|------------|-----------------------------------------------------------------------------------------------|
| `view`     | tiles of a view whose rows lie in memory, read or packed where they lie                       |
| `pointers` | tiles of pointers that a loop advances by constant steps (`AffineReader`), the same; packed   |
|            | always where they are converted                                                               |
| `buffer`   | A in scratch memory: `Operand` itself                                                         |
| `computed` | anything else (converted, transposed, computed, scaled): packed tile by tile by a loop nest,  |
|            | without a pointer                                                                             |

`AffineReader` computes the first element and the steps of a tile of integers or addresses from its expressions.  It is
exact: where an integer of the program would wrap, a condition is false, and then none of the numbers holds.  For
recognition it writes code that is thrown away.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tileir.dialect.ops import (
    ADDI,
    ANDI,
    BROADCAST,
    CMPI,
    CONSTANT,
    CONTINUE,
    EXTI,
    FTOF,
    MULI,
    OFFSET,
    REMI,
    RESHAPE,
    SUBI,
)
from tileir.dialect.types import PointerType
from tileir.execute.analysis.values import dtype_of, is_inside, is_scalar, pointee_of, scalar_constant
from tileir.execute.cpu.codegen import view_access
from tileir.execute.cpu.codegen.bounds import is_in_array
from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.codegen.value_ranges import ExactIntegers
from tileir.execute.cpu.ir.expressions import (
    BufferRead,
    Elementwise,
    Expression,
    Iota,
    Mapped,
    PointerLoad,
    Splat,
    Table,
    ViewLoad,
)
from tileir.execute.cpu.matmul.plan import Plan
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.module import Module
from tileir.execute.dtypes import memory_bytes
from tileir.ir.core import Operation
from tileir.ir.types import IntegerType
from tileir.ir.values import BlockArgument, Value

UNBOUNDED: Final = 1 << 62
ROW, COLUMN = 1, 2  # Fields of an `Affine`
_DEEPEST: Final = 24  # How many operations are looked through; more are hardly an index.
_ARITHMETIC: Final = {ADDI: "add", SUBI: "sub", MULI: "mul", REMI: "", EXTI: "", OFFSET: "add"}
_RENAMING: Final = (RESHAPE, BROADCAST)
Axes = tuple["int | None", ...]


@dataclass(slots=True)
class Operand:
    """An operand whose tiles lie in memory, `step` bytes apart; or one that is computed."""

    pointer: str  # To the tile of the first iteration; empty if it is computed.
    row: Number  # The row stride in bytes.
    step: Number = 0
    along: Number = UNBOUNDED  # The valid extent along k, from the first iteration on.
    across: Number = UNBOUNDED  # The valid extent in the other dimension.
    room: Number = UNBOUNDED  # How many iterations have tiles that are valid along k.
    in_rows: str = "true"  # An i1: what is valid of a tile lies in memory, in rows of neighbors.
    is_whole: str = "true"  # An i1: `in_rows`, and all of a tile is valid in the other dimension.
    is_row_major: bool = True  # As far as the program says: then a tile that is not whole lies over an edge
    is_zero_padded: bool = True  # Whether a tile has zeros over an edge.
    load: Operation | None = None  # What reads it, where that may fail.
    keys: list[Number] = field(default_factory=list)  # What it is found by packed, if not the indices of its tiles

    def at(self, builder: Builder, iteration: Number) -> str:
        """A pointer to the tile of an iteration."""
        return builder.moved(self.pointer, builder.multiply(iteration, self.step))


def view_operand(emission: Emission, load: ViewLoad, side: int, first: Number, batch: Number, plan: Plan) -> Operand:
    """A (side 0) or B through a view; dimensions before its matrix are 1 or a batch; iterations count from `first`."""
    builder, along, across = emission.builder, 1 - side, side
    access = view_access.tile_access(emission, load.operation)
    view = access.view
    size = memory_bytes(view.tensor.element)
    strides, pointer, outer = view.strides[-2:], access.pointer, access.starts[:-2]
    if outer and batch != 0:
        outer[0] = builder.add(outer[0], batch)
        pointer = builder.moved(pointer, builder.multiply(batch, builder.multiply(view.strides[0], size)))
    lengths = [builder.remaining(view.extents[axis], access.starts[axis]) for axis in (-2, -1)]
    inside = [builder.compared("ult", *pair) for pair in zip(outer, view.extents[:-2], strict=True)]
    if any(condition != "true" for condition in inside):
        # Of a matrix that the tensor does not have no row and no column is valid.
        lengths[across] = builder.emit(f"select i1 {builder.all_of(inside)}, i64 {lengths[across]}, i64 0")
    # Indices are unsigned, but a counter below zero that is advanced is not.
    conditions = [builder.compared("sge", first, 0), view.tensor.fits(load.operation)]
    in_rows = builder.all_of([*conditions, builder.compared("eq", strides[1], 1)])
    fits = builder.compared("uge", lengths[across], view.shape[-2:][across])
    return Operand(
        pointer,
        builder.multiply(strides[0], size),
        builder.multiply(builder.multiply(strides[along], size), plan.k),
        along=lengths[along],
        across=lengths[across],
        room=builder.divided(lengths[along], plan.k)[0],
        in_rows=in_rows,
        is_whole="false" if "false" in (fits, in_rows) else builder.all_of([in_rows, fits]),
        is_row_major=strides[1] == 1,
        is_zero_padded=view.is_zero_outside,
        load=load.operation,
    )


def pointer_operand(emission: Emission, load: PointerLoad, side: int, reader: AffineReader, plan: Plan) -> Operand:
    """A (side 0) or B through pointers; the reader's conditions make sure that rows are neighbors, tiles lie side by
    side, and all that masks leave in lies in the array of the pointers."""
    builder, along = emission.builder, COLUMN if side == 0 else ROW
    size, extent = memory_bytes(load.element), (plan.m, plan.n)[side]
    access = reader.access(load)
    assert access is not None
    address, limits = access
    reader.need("eq", address.column, size)
    reader.need("eq", address.iteration, reader.exact("mul", address[along], plan.k))
    length = reader.exact("mul", reader.iterations, plan.k)
    found = Operand(builder.pointer(address.first), address.row, address.iteration, length, extent)
    for limit in limits:
        _end_at(found, limit, reader, along, plan.k)
    found.is_whole = builder.compared("uge", found.across, extent)
    reader.need("sge", found.across, 1)
    reader.need("sge", found.along, 1)
    found.keys = [address.first, found.row, found.along, found.across]
    # All that is read lies in the array that it most likely does.
    last = builder.subtract(found.across, 1), builder.subtract(found.along, 1)
    rows, columns = last if side == 0 else last[::-1]
    ends = reader.ends(address, (rows, columns, 0))
    reader.conditions += [is_in_array(emission, load.operation, end, size) for end in ends]
    return found


def _end_at(operand: Operand, rest: Affine, reader: AffineReader, along: int, k: int) -> None:
    """End the valid extent of an operand where a number becomes negative."""
    builder, across = reader.builder, ROW + COLUMN - along
    if rest.is_scalar:
        reader.need("sge", rest.first, 0)
        return
    goes_along = rest[along] != 0 or rest.iteration != 0
    reader.need("eq", rest[along if goes_along else across], -1)
    left = builder.call("i64", "llvm.smax.i64", [f"i64 {reader.exact('add', rest.first, 1)}", "i64 0"])
    if not goes_along:
        operand.across = builder.smaller(operand.across, left)
        return
    reader.need("eq", rest[across], 0)
    reader.need("eq", rest.iteration, -k)
    operand.along = builder.smaller(operand.along, left)
    operand.room = builder.divided(operand.along, k)[0]


# --- tiles that a loop advances ---


class Affine(NamedTuple):
    """The first element of the first iteration, and how much further each row, column and iteration is."""

    first: Number
    row: Number = 0
    column: Number = 0
    iteration: Number = 0

    @property
    def is_scalar(self) -> bool:
        """Whether it is the same everywhere, as far as the program says."""
        return self[1:] == (0, 0, 0)


class AffineReader(ExactIntegers):
    """Reads the tiles of a `for`; `leaves` are the scalars from outside that they are made of.  Without an emission
    its code has no function."""

    def __init__(self, loop: Operation, emission: Emission | None = None) -> None:
        super().__init__(emission.builder if emission is not None else Builder(Module()))
        self.loop: Final = loop
        self.emission: Final = emission
        self.iterations: Number = 1  # How many iterations there are, one at least.
        self.leaves: Final[dict[Value, None]] = {}
        self._shape: tuple[int, ...] = ()
        self._block: Final = loop.regions[0].blocks[0]
        # What is used twice is read once: otherwise scalars that are made of each other take as long as all their ways.
        self._known: Final[dict[object, Affine | None]] = {}

    def ends(self, affine: Affine, last: tuple[Number, Number, Number]) -> tuple[Number, Number]:
        """The least and the greatest element up to the last row, column and iteration."""
        low = high = affine.first
        for step, count in zip(affine[1:], last, strict=True):
            way = self.exact("mul", step, count)
            ways: list[Number] = [min(way, 0), max(way, 0)] if isinstance(way, int) else []
            if not isinstance(way, int):
                ends = [f"i64 {way}", "i64 0"]
                ways += [self.builder.call("i64", f"llvm.{name}.i64", ends) for name in ("smin", "smax")]
            low, high = self.exact("add", low, ways[0]), self.exact("add", high, ways[1])
        return low, high

    def _combined(self, name: str, left: Affine, right: Affine) -> Affine:
        return Affine(*[self.exact(name, *pair) for pair in zip(left, right, strict=True)])

    def _within(self, value: Value, affine: Affine) -> Affine:
        """The same, which has to fit into the dtype of a value everywhere."""
        width = 8 * dtype_of(value).itemsize
        low, high = self._ends(affine)
        if width < 64:
            self.fit(low, high, width)
        return affine

    def _ends(self, affine: Affine) -> tuple[Number, Number]:
        """The least and the greatest element of all iterations."""
        rows, columns = [extent - 1 for extent in self._shape] or (0, 0)
        return self.ends(affine, (rows, columns, self.exact("sub", self.iterations, 1)))

    # --- tiles ---

    def access(self, load: PointerLoad) -> tuple[Affine, list[Affine]] | None:
        """The addresses of a load, and numbers not negative where its mask is true; None if unknown or not
        zero-padded."""
        self._shape = load.shape
        addresses = self._tile(load.pointers, (ROW, COLUMN), 0)
        if addresses is None or load.mask is None:
            return None if addresses is None else (addresses, [])
        limits = self._limits(load.mask, (ROW, COLUMN), 0)
        if limits is None or not isinstance(load.padding, Table) or any(load.padding.array.tobytes()):
            return None
        return addresses, limits

    def _tile(self, expression: Expression, axes: Axes, depth: int) -> Affine | None:
        """A tile whose dimensions are these axes; None where it is not affine."""
        key = (id(expression), axes)
        if key not in self._known:
            self._known[key] = self._read_tile(expression, axes, depth) if depth < _DEEPEST else None
        return self._known[key]

    def _read_tile(self, expression: Expression, axes: Axes, depth: int) -> Affine | None:
        if isinstance(expression, Mapped):
            inner = _mapped(expression, axes)
            return self._tile(expression.source, inner, depth + 1) if inner is not None else None
        if not _is_number(expression.element):
            return None
        if isinstance(expression, Splat):
            return self.scalar(expression.scalar, depth)
        if isinstance(expression, Table):
            if expression.array.size != 1 or isinstance(expression.element, PointerType):
                return None
            return Affine(int(expression.array.reshape(-1)[0]))
        if isinstance(expression, Iota):
            # Where there are more, the second half is negative.
            fits = expression.shape[0] <= 1 << (8 * expression.dtype.itemsize - 1)
            return Affine(0, int(axes[0] == ROW), int(axes[0] == COLUMN)) if fits else None
        if isinstance(expression, BufferRead) and expression.counted is not None:
            return self._tile(expression.counted, axes, depth + 1)
        if not isinstance(expression, Elementwise):
            return None
        return self._computed(expression.operation, [self._tile(each, axes, depth + 1) for each in expression.operands])

    def _limits(self, mask: Expression, axes: Axes, depth: int) -> list[Affine] | None:
        """Numbers that are all not negative where a mask is true; None where it is made in another way."""
        if isinstance(mask, Mapped):
            inner = _mapped(mask, axes)
            return self._limits(mask.source, inner, depth + 1) if inner is not None else None
        if isinstance(mask, Table):
            return [] if bool(mask.array.all()) else None
        if not isinstance(mask, Elementwise) or depth == _DEEPEST:
            return None
        operation = mask.operation
        if operation.declaration is ANDI:
            both = [self._limits(argument, axes, depth + 1) for argument in mask.operands]
            return None if None in both else [each for part in both for each in part or ()]
        if operation.declaration is not CMPI or operation.signedness == "unsigned":
            return None
        left, right = (self._tile(argument, axes, depth + 1) for argument in mask.operands)
        order, _, or_equal = operation.comparison_predicate.partition("_than")
        if order == "greater":
            left, right = right, left
        if order not in ("less", "greater") or left is None or right is None:
            return None
        rest = self._combined("sub", right, left)
        return [rest if or_equal else self._combined("sub", rest, Affine(1))]

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
        if not is_inside(value, self.loop):
            self.leaves[value] = None
            return Affine(f"%{self.builder.fresh()}" if self.emission is None else self.emission.whole(value))
        operation = value.defining_operation
        if operation is not None:
            if operation.parent is not self._block:
                return None
            return self._computed(operation, [self.scalar(operand, depth + 1) for operand in operation.operands])
        if not isinstance(value, BlockArgument) or value.block is not self._block:
            return None
        # The counter, or a scalar that each iteration advances by as much.
        by = self.loop.operands[2] if value.index == 0 else self.step_of(value)
        first = self.scalar(self.loop.operands[0 if value.index == 0 else 2 + value.index], depth + 1)
        if by == 0 or first is None:
            return first
        step = self.scalar(by, depth + 1) if isinstance(by, Value) else None
        return None if step is None else self._within(value, first._replace(iteration=step.first))

    def step_of(self, carried: BlockArgument) -> Value | int | None:
        """The outside scalar that each iteration adds to a carried integer, 0 for none; None for anything else."""
        end = self._block.last
        is_integer = isinstance(getattr(carried.type, "element", None), IntegerType)
        if end is None or end.declaration is not CONTINUE or not is_integer:
            return None
        following = end.operands[carried.index - 1]
        operation = following.defining_operation
        if following is carried:
            return 0
        if operation is None or operation.declaration is not ADDI or operation.parent is not self._block:
            return None
        others = [operand for operand in operation.operands if operand is not carried]
        is_step = len(others) == 1 and (scalar_constant(others[0]) is not None or not is_inside(others[0], self.loop))
        return others[0] if is_step else None

    def _computed(self, operation: Operation, operands: list[Affine | None]) -> Affine | None:
        declaration = operation.declaration
        known = [operand for operand in operands if operand is not None]
        is_unsigned = declaration is EXTI and operation.keyword("signedness") == "unsigned"
        if declaration not in _ARITHMETIC or len(known) < len(operands) or is_unsigned:
            return None
        if declaration is EXTI:
            return known[0]
        (left, right), result = known, operation.results[0]
        if declaration is REMI:
            # Numbers that are less than what they are divided by stay as they are.
            if not right.is_scalar:
                return None
            low, high = self._ends(left)
            self.need("sge", low, 0)
            self.need("slt", high, right.first)
            return left
        if declaration is OFFSET:
            size = memory_bytes(pointee_of(result))
            return self._combined("add", left, self._combined("mul", right, Affine(*[size] * 4)))
        if declaration is MULI:
            if not right.is_scalar:
                left, right = right, left
            if not right.is_scalar:
                return None
            right = Affine(*[right.first] * 4)
        return self._within(result, self._combined(_ARITHMETIC[declaration], left, right))


def pointer_load(operand: Expression) -> tuple[PointerLoad, list[Operation]] | None:
    """The load through pointers that an operand is, and how it is converted; None if it is anything else."""
    conversions: list[Operation] = []
    while isinstance(operand, Elementwise) and operand.operation.declaration is FTOF:
        conversions.insert(0, operand.operation)
        (operand,) = operand.operands
    return (operand, conversions) if isinstance(operand, PointerLoad) else None


def is_index_arithmetic(operation: Operation) -> bool:
    """Whether an operation on scalars is one that affine tiles are made of, so that nobody misses it."""
    return operation.declaration in (*_ARITHMETIC, *_RENAMING, CONSTANT)


def _mapped(expression: Mapped, axes: Axes) -> Axes | None:
    """The axes of what is mapped; None where it is a sub-tile."""
    if any(scalar is not None for _, scalar in expression.mapping):
        return None
    return tuple([None if place is None else axes[place] for place, _ in expression.mapping])


def _is_number(element: object) -> bool:
    return isinstance(element, PointerType) or (isinstance(element, IntegerType) and element.width in (8, 16, 32, 64))
