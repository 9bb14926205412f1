"""Expressions of the loop IR: what a kernel computes.

A tile value has one realization:

    scalar       one element: a register (a `ScalarOp`, or the result of a statement)
    expression   no storage: computed wherever a loop nest needs an element.  `Splat`, `Table`, `Iota` and `Mapped` are
                 index maps, `Elementwise` is fused arithmetic, `ViewLoad` and `PointerLoad` read the caller's memory
    buffer       row-major scratch memory of the thread, read by `BufferRead`

Expressions are trees whose nodes are shared where values are: a traversal visits each node once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tileir.dialect.ops import FTOF
from tileir.dialect.types import PartitionViewType, StridedViewType, TileType
from tileir.execute.analysis.values import tile_of
from tileir.execute.dtypes import Array, DType, value_dtype
from tileir.ir.core import Operation
from tileir.ir.types import Type
from tileir.ir.values import Value

Shape = tuple[int, ...]


def squeezed(shape: Shape) -> Shape:
    """A shape without its unit dimensions."""
    return tuple([extent for extent in shape if extent != 1])


def row_major(shape: Shape) -> Shape:
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def is_along_lanes(shape: Shape, axis: int) -> bool:
    """Whether a dimension is the last one with more than one element."""
    return shape[axis] > 1 and all(extent == 1 for extent in shape[axis + 1 :])


@dataclass(eq=False, repr=False, slots=True)
class Buffer:
    """Scratch memory for one tile; `scratch_layout` assigns its offset."""

    name: str
    dtype: DType
    count: int
    persistent: bool = False  # Whether the content is kept from tile block to tile block.
    offset: int = -1

    @property
    def bytes(self) -> int:
        return self.count * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"{self.name}:{self.dtype.name}[{self.count}]"


def new_buffer(buffers: list[Buffer], dtype: DType, count: int, persistent: bool = False) -> Buffer:
    """Another buffer of a kernel, named by its number."""
    buffers.append(Buffer(f"b{len(buffers)}", dtype, count, persistent))
    return buffers[-1]


class Expression:
    """A tile computed where it is used; `value` is what it realizes, `cost` the work per element.  Nothing may
    overwrite its `reads` (loads of the caller's memory) and `buffers` while it waits."""

    __slots__ = ("buffers", "cost", "dtype", "element", "epoch", "operands", "reads", "shape", "type", "value")

    def __init__(self, type: TileType, value: Value | None, operands: Sequence[Expression] = (), cost: int = 0) -> None:
        """`cost` is that of the expression itself; it inherits those of its operands."""
        self.type: TileType = type
        self.shape: Shape = type.shape
        self.element: Type = type.element
        self.dtype: DType = value_dtype(type.element)
        self.value: Value | None = value
        self.operands: Sequence[Expression] = operands
        self.cost: int = cost
        self.epoch: int = -1  # When no node of it had a buffer yet (`Lowering.resolved`).
        self.reads: frozenset[Load] = frozenset()
        self.buffers: frozenset[Buffer] = frozenset()
        for operand in operands:
            self.cost += operand.cost
            if operand.reads:
                self.reads |= operand.reads
            if operand.buffers:
                self.buffers |= operand.buffers

    @property
    def defining_operation(self) -> Operation | None:
        """The operation whose result it is."""
        return self.value.defining_operation if self.value is not None else None

    def with_operands(self, operands: list[Expression]) -> Expression:
        return self


class Splat(Expression):
    """The same element everywhere: a scalar value."""

    __slots__ = ("scalar",)

    def __init__(self, type: TileType, value: Value | None, scalar: Value) -> None:
        super().__init__(type, value)
        self.scalar: Value = scalar


class Table(Expression):
    """A constant; `array` has one element if all are the same."""

    __slots__ = ("array",)

    def __init__(self, type: TileType, value: Value | None, array: Array) -> None:
        super().__init__(type, value)
        self.array: Array = array


class Iota(Expression):
    """0, 1, 2 and on."""

    __slots__ = ()


class BufferRead(Expression):
    """The content of a buffer, in row-major order of this shape; `counted` is how it was counted up from scalars."""

    __slots__ = ("buffer", "counted")

    def __init__(self, type: TileType, value: Value | None, buffer: Buffer, counted: Expression | None = None) -> None:
        super().__init__(type, value, cost=1)
        self.buffer: Buffer = buffer
        self.counted: Expression | None = counted
        self.buffers = frozenset([buffer])


# For each dimension of the source: the dimension of the result that indexes it, or None for its first element; and for
# sub-tiles the scalar that counts them.
Mapping = tuple[tuple["int | None", "Value | None"], ...]


class Mapped(Expression):
    """Another tile through an index map: broadcast, permute, extract, added or dropped unit dimensions."""

    __slots__ = ("mapping", "source")

    def __init__(self, type: TileType, value: Value | None, source: Expression, mapping: Mapping) -> None:
        super().__init__(type, value, [source])
        self.source: Expression = source
        self.mapping: Mapping = mapping

    def with_operands(self, operands: list[Expression]) -> Expression:
        (source,) = operands
        if isinstance(source, BufferRead) and self.value is not None and self.keeps_order:
            counted = source.counted
            if counted is not None:
                counted = Mapped(self.type, self.value, counted, self.mapping)
            return BufferRead(self.type, self.value, source.buffer, counted)
        return Mapped(self.type, self.value, source, self.mapping)

    @property
    def keeps_order(self) -> bool:
        """Whether elements stay in row-major order: only unit dimensions come or go."""
        if squeezed(self.shape) != squeezed(self.source.shape):
            return False
        taken = [axis for axis, scalar in self.mapping if axis is not None]
        return all(scalar is None for _, scalar in self.mapping) and taken == sorted(taken)


class Computed(Expression):
    """The result of an operation, computed or loaded."""

    __slots__ = ("operation",)

    def __init__(self, operation: Operation, operands: Sequence[Expression], cost: int) -> None:
        result = operation.results[0]
        super().__init__(tile_of(result), result, operands, cost)
        self.operation: Operation = operation


class Elementwise(Computed):
    """An elementwise operation, which costs `work` beside its operands."""

    __slots__ = ("work",)

    def __init__(self, operation: Operation, operands: Sequence[Expression], work: int) -> None:
        super().__init__(operation, operands, work)
        self.work: int = work

    def with_operands(self, operands: list[Expression]) -> Expression:
        return Elementwise(self.operation, operands, self.work)


class Load(Computed):
    """A tile read from the caller's memory."""

    __slots__ = ()

    def __init__(self, operation: Operation, operands: Sequence[Expression], cost: int) -> None:
        super().__init__(operation, operands, cost)
        self.reads |= {self}

    @property
    def address(self) -> Value:
        """The view or the tile of pointers that it reads through."""
        return self.operation.operands[0]


class ViewLoad(Load):
    """A tile read through a view, at scalar indices (one tile of positions for a gather view)."""

    __slots__ = ("positions",)

    def __init__(self, operation: Operation, positions: Expression | None) -> None:
        super().__init__(operation, [positions] if positions is not None else [], 2)
        self.positions: Expression | None = positions

    def with_operands(self, operands: list[Expression]) -> Expression:
        return ViewLoad(self.operation, operands[0] if operands else None)


class PointerLoad(Load):
    """A tile read through a tile of pointers."""

    __slots__ = ("mask", "padding", "pointers")

    def __init__(
        self, operation: Operation, pointers: Expression, mask: Expression | None, padding: Expression | None
    ) -> None:
        super().__init__(operation, [each for each in (pointers, mask, padding) if each is not None], 8)
        self.pointers: Expression = pointers
        self.mask: Expression | None = mask
        self.padding: Expression | None = padding

    def with_operands(self, operands: list[Expression]) -> Expression:
        pointers, *rest = operands
        mask = rest.pop(0) if self.mask is not None else None
        return PointerLoad(self.operation, pointers, mask, rest.pop() if self.padding is not None else None)


def matrix_in_memory(expression: Expression) -> ViewLoad | None:
    """The load whose last two dimensions a matrix is; those before are unit dimensions or a batch."""
    if isinstance(expression, ViewLoad):
        return expression
    if isinstance(expression, Mapped) and isinstance(expression.source, ViewLoad) and len(expression.shape) == 2:
        before = len(expression.mapping) - 2
        expected: Mapping = (*[(None, None)] * before, (0, None), (1, None))
        if expression.mapping == expected and expression.source.shape[before:] == expression.shape:
            return expression.source
    return None


def pointer_load(expression: Expression) -> tuple[PointerLoad, list[Operation]] | None:
    """The load through pointers that a tile is, and how it is converted to other floats."""
    conversions: list[Operation] = []
    while isinstance(expression, Elementwise) and expression.operation.declaration is FTOF:
        conversions.insert(0, expression.operation)
        (expression,) = expression.operands
    return (expression, conversions) if isinstance(expression, PointerLoad) else None


def is_column_major(matrix: Expression) -> bool:
    """Whether all tiles that a matrix is computed from have neighbors along columns, and not along rows."""
    down, along = ([step for step, _ in strides_along(matrix, len(matrix.shape) - axis)] for axis in (2, 1))
    return bool(down) and all(step == 1 for step in down) and all(step != 1 for step in along)


def strides_along(expression: Expression, axis: int | None) -> Iterator[tuple[int, Sequence[int]]]:
    """For each tile that is read: the distance of neighbors along a dimension, 0 if it is none of the tile's, and the
    strides of the tile's own dimensions, where they are known."""
    if isinstance(expression, Mapped):
        taken = [number for number, (source, _) in enumerate(expression.mapping) if source == axis]
        yield from strides_along(expression.source, taken[0] if axis is not None and taken else None)
    elif isinstance(expression, BufferRead):
        yield (row_major(expression.shape)[axis] if axis is not None else 0), ()
    elif isinstance(expression, ViewLoad):
        type = expression.operation.view.type
        strides: list[int] = []
        if isinstance(type, (PartitionViewType, StridedViewType)):
            strides = [type.tensor.strides[dimension] for dimension in type.dim_map]
        yield (strides[axis] if axis is not None and strides else 0), strides
    elif isinstance(expression, PointerLoad):
        yield 0, ()
    else:
        for operand in expression.operands:
            yield from strides_along(operand, axis)


def is_zero(expression: Expression) -> bool:
    """Whether all elements are 0, and none -0.0."""
    return isinstance(expression, Table) and expression.array.size == 1 and not any(expression.array.tobytes())


def nodes(roots: Sequence[Expression]) -> Iterator[Expression]:
    """All nodes below some, each once, operands first."""
    seen: set[int] = set()
    stack: list[tuple[Expression, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            yield node
            continue
        if id(node) in seen:
            continue
        seen.add(id(node))
        stack.append((node, True))
        for operand in node.operands:
            if id(operand) not in seen:
                stack.append((operand, False))
