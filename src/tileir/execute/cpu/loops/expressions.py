"""The loop form, its expressions: what a kernel computes, between tile IR and LLVM IR.

A tile value has one realization:

    scalar       one element: a register (a `Let`, or the result of a statement)
    expression   no storage: computed wherever a nest asks for an element.  `Splat`, `Table`, `Count` and `Mapped` are
                 index maps, `Applied` is fused arithmetic, `Viewed` and `Gathered` read the caller's memory
    buffer       row-major scratch memory of the thread, read by `Stored`

Expressions are trees of nodes that are shared where values are, so whoever goes through a tree computes each once.
`statements` says when they are computed, `sinks` what becomes of their elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tileir.dialect.types import TileType
from tileir.execute.analysis.values import tile_of
from tileir.execute.dtypes import Array, DType, value_dtype
from tileir.ir.core import Operation
from tileir.ir.types import Type
from tileir.ir.values import Value

Shape = tuple[int, ...]


def squeezed(shape: Shape) -> Shape:
    """A shape without its extents of one."""
    return tuple([extent for extent in shape if extent != 1])


def row_major(shape: Shape) -> Shape:
    """The distance in elements of neighbours along each dimension."""
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
    """Scratch memory for one tile; `offset` in the arena is assigned when all statements are known."""

    name: str
    dtype: DType
    count: int
    persistent: bool = False
    """Whether the content is kept from tile block to tile block."""
    offset: int = -1

    @property
    def bytes(self) -> int:
        return self.count * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"{self.name}:{self.dtype.name}[{self.count}]"


# --- expressions ---


class Expression:
    """A tile that is computed where it is wanted.  `cost` estimates the work per element, `value` is what it realizes.

    `reads` are the loads from the caller's memory below it, `buffers` the scratch memory: neither may be overwritten
    while the expression waits.
    """

    __slots__ = ("buffers", "cost", "dtype", "element", "epoch", "reads", "shape", "type", "value")

    def __init__(self, type: TileType, value: Value | None) -> None:
        self.type: TileType = type
        self.shape: Shape = type.shape
        self.element: Type = type.element
        self.dtype: DType = value_dtype(type.element)
        self.value: Value | None = value
        self.cost: int = 0
        self.epoch: int = -1
        """When it was last seen to hold no node that has a buffer by now (`Lowering.resolved`)."""
        self.reads: frozenset[Expression] = frozenset()
        self.buffers: frozenset[Buffer] = frozenset()

    @property
    def operands(self) -> list[Expression]:
        return []

    def with_operands(self, operands: list[Expression]) -> Expression:
        """The expression of other operands."""
        return self

    def _inherit(self, cost: int) -> None:
        """Take over what operands cost and read; `cost` is that of the expression itself."""
        self.cost = cost
        for operand in self.operands:
            self.cost += operand.cost
            if operand.reads:
                self.reads |= operand.reads
            if operand.buffers:
                self.buffers |= operand.buffers


class Splat(Expression):
    """The same element everywhere: a scalar value."""

    __slots__ = ("scalar",)

    def __init__(self, type: TileType, value: Value | None, scalar: Value) -> None:
        super().__init__(type, value)
        self.scalar: Value = scalar


class Table(Expression):
    """A constant; `array` has one element if all are alike."""

    __slots__ = ("array",)

    def __init__(self, type: TileType, value: Value | None, array: Array) -> None:
        super().__init__(type, value)
        self.array: Array = array


class Count(Expression):
    """0, 1, 2 and on."""

    __slots__ = ()


class Stored(Expression):
    """What lies in scratch memory, in row-major order of this shape."""

    __slots__ = ("buffer",)

    def __init__(self, type: TileType, value: Value | None, buffer: Buffer) -> None:
        super().__init__(type, value)
        self.buffer: Buffer = buffer
        self.buffers = frozenset([buffer])
        self.cost = 1


# Where an index of a source dimension comes from: a dimension of the result, or nothing (the first element); and for
# sub-tiles the scalar that counts them.
Mapping = tuple[tuple["int | None", "Value | None"], ...]


class Mapped(Expression):
    """Another tile seen through an index map: broadcast, permute, extract, added or dropped unit dimensions."""

    __slots__ = ("mapping", "source")

    def __init__(self, type: TileType, value: Value | None, source: Expression, mapping: Mapping) -> None:
        super().__init__(type, value)
        self.source: Expression = source
        self.mapping: Mapping = mapping
        self._inherit(0)

    @property
    def operands(self) -> list[Expression]:
        return [self.source]

    def with_operands(self, operands: list[Expression]) -> Expression:
        (source,) = operands
        if isinstance(source, Stored) and self.value is not None and self.keeps_order:
            return Stored(self.type, self.value, source.buffer)
        return Mapped(self.type, self.value, source, self.mapping)

    @property
    def keeps_order(self) -> bool:
        """Whether elements stay in row-major order: only unit dimensions come or go."""
        if squeezed(self.shape) != squeezed(self.source.shape):
            return False
        taken = [axis for axis, scalar in self.mapping if axis is not None]
        plain = all(scalar is None for _, scalar in self.mapping)
        return plain and taken == sorted(taken)


class Computed(Expression):
    """What an operation gives, computed or loaded."""

    __slots__ = ("operation",)

    def __init__(self, operation: Operation) -> None:
        result = operation.results[0]
        super().__init__(tile_of(result), result)
        self.operation: Operation = operation


class Applied(Computed):
    """An elementwise operation, which costs `work` beside its operands."""

    __slots__ = ("arguments", "work")

    def __init__(self, operation: Operation, arguments: list[Expression], work: int) -> None:
        super().__init__(operation)
        self.arguments: list[Expression] = arguments
        self.work: int = work
        self._inherit(work)

    @property
    def operands(self) -> list[Expression]:
        return self.arguments

    def with_operands(self, operands: list[Expression]) -> Expression:
        return Applied(self.operation, operands, self.work)


class Viewed(Computed):
    """A tile read through a view, at indices that are scalars (one tile of positions for a gather view)."""

    __slots__ = ("positions",)

    def __init__(self, operation: Operation, positions: Expression | None) -> None:
        super().__init__(operation)
        self.positions: Expression | None = positions
        self._inherit(2)
        self.reads |= {self}

    @property
    def operands(self) -> list[Expression]:
        return [self.positions] if self.positions is not None else []

    def with_operands(self, operands: list[Expression]) -> Expression:
        return Viewed(self.operation, operands[0] if operands else None)


class Gathered(Computed):
    """A tile read through a tile of pointers."""

    __slots__ = ("mask", "padding", "pointers")

    def __init__(
        self, operation: Operation, pointers: Expression, mask: Expression | None, padding: Expression | None
    ) -> None:
        super().__init__(operation)
        self.pointers: Expression = pointers
        self.mask: Expression | None = mask
        self.padding: Expression | None = padding
        self._inherit(8)
        self.reads |= {self}

    @property
    def operands(self) -> list[Expression]:
        return [node for node in (self.pointers, self.mask, self.padding) if node is not None]

    def with_operands(self, operands: list[Expression]) -> Expression:
        pointers, *rest = operands
        mask = rest.pop(0) if self.mask is not None else None
        return Gathered(self.operation, pointers, mask, rest.pop() if self.padding is not None else None)


def matrix_in_memory(expression: Expression) -> Viewed | None:
    """The load whose last two dimensions a matrix is, those before having one element each or being a batch."""
    if isinstance(expression, Viewed):
        return expression
    if isinstance(expression, Mapped) and isinstance(expression.source, Viewed) and len(expression.shape) == 2:
        before = len(expression.mapping) - 2
        wanted: Mapping = (*[(None, None)] * before, (0, None), (1, None))
        if expression.mapping == wanted and expression.source.shape[before:] == expression.shape:
            return expression.source
    return None


def nodes(roots: list[Expression]) -> Iterator[Expression]:
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


def computed_by(expression: Expression) -> list[Operation]:
    """The operation whose result an expression computes; none for one that was computed before."""
    if expression.value is None or isinstance(expression, Stored):
        return []
    operation = expression.value.defining_operation
    return [operation] if operation is not None else []
