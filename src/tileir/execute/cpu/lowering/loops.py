"""The loop form: what a kernel looks like between tile IR and LLVM IR.

A tile value has one realization:

    scalar       one element: a register (a `Let`, or what a statement leaves)
    expression   no storage: computed wherever a nest asks for an element.  `Splat`, `Table`, `Count` and `Mapped` are
                 index maps, `Applied` is fused arithmetic, `Viewed` and `Gathered` read the caller's memory
    buffer       row-major scratch memory of the thread, read by `Stored`

Statements run in order.  A `Nest` goes once through all elements of a shape and feeds its sinks; everything it computes
on the way is fused.  Expressions are trees of nodes that are shared where values are, so a nest computes each once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tileir.execute.dtypes import Array, DType
from tileir.ir.core import Operation, Value
from tileir.ir.types import Type

if TYPE_CHECKING:
    from tileir.execute.cpu.checking.checks import Check
    from tileir.execute.cpu.matrix.plan import MmaPlan

Shape = tuple[int, ...]


def count_of(shape: Shape) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total


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


class Buffer:
    """Scratch memory for one tile; `offset` in the arena is settled when all statements are known."""

    __slots__ = ("count", "dtype", "lasting", "name", "offset")

    def __init__(self, name: str, dtype: DType, count: int, lasting: bool = False) -> None:
        self.lasting: bool = lasting
        """Whether the content is kept from tile block to tile block."""
        self.name: str = name
        self.dtype: DType = dtype
        self.count: int = count
        self.offset: int = -1

    @property
    def bytes(self) -> int:
        return self.count * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"{self.name}:{self.dtype.name}[{self.count}]"


# --- expressions ---


class Expression:
    """A tile that is computed where it is wanted.  `cost` estimates the work per element, `value` is what it realizes.

    `reads` are the loads from the caller's memory below it, `buffers` the scratch memory: both tell what must not be
    overwritten while the expression waits.
    """

    __slots__ = ("buffers", "cost", "dtype", "element", "epoch", "reads", "shape", "value")

    def __init__(self, shape: Shape, element: Type, dtype: DType, value: Value | None) -> None:
        self.shape: Shape = shape
        self.element: Type = element
        self.dtype: DType = dtype
        self.value: Value | None = value
        self.cost: int = 0
        self.epoch: int = -1
        """When it was last seen to hold no node that has a buffer by now (`Lowering.resolved`)."""
        self.reads: frozenset[Expression] = frozenset()
        self.buffers: frozenset[Buffer] = frozenset()

    @property
    def operands(self) -> list[Expression]:
        return []

    def _inherit(self) -> None:
        for operand in self.operands:
            self.cost += operand.cost
            if operand.reads:
                self.reads |= operand.reads
            if operand.buffers:
                self.buffers |= operand.buffers


class Splat(Expression):
    """The same element everywhere: a scalar value."""

    __slots__ = ("scalar",)

    def __init__(self, shape: Shape, element: Type, dtype: DType, value: Value | None, scalar: Value) -> None:
        super().__init__(shape, element, dtype, value)
        self.scalar: Value = scalar


class Table(Expression):
    """A constant; `array` has one element if all are alike."""

    __slots__ = ("array",)

    def __init__(self, shape: Shape, element: Type, dtype: DType, value: Value | None, array: Array) -> None:
        super().__init__(shape, element, dtype, value)
        self.array: Array = array


class Count(Expression):
    """0, 1, 2 and on."""

    __slots__ = ()


class Stored(Expression):
    """What lies in scratch memory, in row-major order of this shape."""

    __slots__ = ("buffer",)

    def __init__(self, shape: Shape, element: Type, dtype: DType, value: Value | None, buffer: Buffer) -> None:
        super().__init__(shape, element, dtype, value)
        self.buffer: Buffer = buffer
        self.buffers = frozenset([buffer])
        self.cost = 1


# Where an index of a source dimension comes from: a dimension of the result, or nothing (the first element); and for
# sub-tiles the scalar that counts them.
Mapping = tuple[tuple["int | None", "Value | None"], ...]


class Mapped(Expression):
    """Another tile seen through an index map: broadcast, permute, extract, added or dropped unit dimensions."""

    __slots__ = ("mapping", "source")

    def __init__(
        self, shape: Shape, element: Type, dtype: DType, value: Value | None, source: Expression, mapping: Mapping
    ) -> None:
        super().__init__(shape, element, dtype, value)
        self.source: Expression = source
        self.mapping: Mapping = mapping
        self._inherit()

    @property
    def operands(self) -> list[Expression]:
        return [self.source]

    @property
    def keeps_order(self) -> bool:
        """Whether elements stay in row-major order: only unit dimensions come or go."""
        if squeezed(self.shape) != squeezed(self.source.shape):
            return False
        taken = [axis for axis, scalar in self.mapping if axis is not None]
        plain = all(scalar is None for _, scalar in self.mapping)
        return plain and taken == sorted(taken)


class Applied(Expression):
    """An elementwise operation."""

    __slots__ = ("arguments", "operation")

    def __init__(
        self, shape: Shape, element: Type, dtype: DType, operation: Operation, arguments: list[Expression], cost: int
    ) -> None:
        super().__init__(shape, element, dtype, operation.results[0])
        self.operation: Operation = operation
        self.arguments: list[Expression] = arguments
        self._inherit()
        self.cost += cost

    @property
    def operands(self) -> list[Expression]:
        return self.arguments


class Viewed(Expression):
    """A tile read through a view, at indices that are scalars (one tile of positions for a gather view)."""

    __slots__ = ("operation", "positions")

    def __init__(
        self, shape: Shape, element: Type, dtype: DType, operation: Operation, positions: Expression | None
    ) -> None:
        super().__init__(shape, element, dtype, operation.results[0])
        self.operation: Operation = operation
        self.positions: Expression | None = positions
        self._inherit()
        self.cost += 2
        self.reads |= {self}

    @property
    def operands(self) -> list[Expression]:
        return [self.positions] if self.positions is not None else []


class Gathered(Expression):
    """A tile read through a tile of pointers."""

    __slots__ = ("mask", "operation", "padding", "pointers")

    def __init__(
        self,
        shape: Shape,
        element: Type,
        dtype: DType,
        operation: Operation,
        pointers: Expression,
        mask: Expression | None,
        padding: Expression | None,
    ) -> None:
        super().__init__(shape, element, dtype, operation.results[0])
        self.operation: Operation = operation
        self.pointers: Expression = pointers
        self.mask: Expression | None = mask
        self.padding: Expression | None = padding
        self._inherit()
        self.cost += 8
        self.reads |= {self}

    @property
    def operands(self) -> list[Expression]:
        return [node for node in (self.pointers, self.mask, self.padding) if node is not None]


# --- sinks: what becomes of the elements of a nest ---


class Sink:
    __slots__ = ("expression",)

    def __init__(self, expression: Expression) -> None:
        self.expression: Expression = expression

    @property
    def expressions(self) -> list[Expression]:
        return [self.expression]


class Keep(Sink):
    """Into scratch memory, converted to the buffer's dtype; `window` places a part inside a larger tile."""

    __slots__ = ("buffer", "window")

    def __init__(self, expression: Expression, buffer: Buffer, window: Window | None = None) -> None:
        super().__init__(expression)
        self.buffer: Buffer = buffer
        self.window: Window | None = window


class Window:
    """A sub-tile of a tile: how far along each dimension it begins, a constant or a scalar that counts sub-tiles."""

    __slots__ = ("origins", "part", "whole")

    def __init__(self, whole: Shape, part: Shape, origins: tuple[int | Value, ...]) -> None:
        self.whole: Shape = whole
        self.part: Shape = part
        self.origins: tuple[int | Value, ...] = origins


class Pick(Sink):
    """The only element, as a scalar."""

    __slots__ = ("value",)

    def __init__(self, expression: Expression, value: Value) -> None:
        super().__init__(expression)
        self.value: Value = value


class StoreView(Sink):
    """Into the caller's memory through a view."""

    __slots__ = ("operation", "positions")

    def __init__(self, expression: Expression, operation: Operation, positions: Expression | None) -> None:
        super().__init__(expression)
        self.operation: Operation = operation
        self.positions: Expression | None = positions

    @property
    def expressions(self) -> list[Expression]:
        return [self.expression] if self.positions is None else [self.expression, self.positions]


class StorePointers(Sink):
    """Into the caller's memory through pointers."""

    __slots__ = ("mask", "operation", "pointers")

    def __init__(
        self, expression: Expression, operation: Operation, pointers: Expression, mask: Expression | None
    ) -> None:
        super().__init__(expression)
        self.operation: Operation = operation
        self.pointers: Expression = pointers
        self.mask: Expression | None = mask

    @property
    def expressions(self) -> list[Expression]:
        return [node for node in (self.expression, self.pointers, self.mask) if node is not None]


class CheckAll(Sink):
    """`assert` of a tile: the first false element fails."""

    __slots__ = ("operation",)

    def __init__(self, expression: Expression, operation: Operation) -> None:
        super().__init__(expression)
        self.operation: Operation = operation


class Update(Sink):
    """An atomic on each element, in row-major order; old values go to a buffer, or a scalar for one element."""

    __slots__ = ("buffer", "mask", "operation", "others", "pointers")

    def __init__(
        self,
        expression: Expression,
        operation: Operation,
        pointers: Expression | None,
        mask: Expression | None,
        others: list[Expression],
        buffer: Buffer | None,
    ) -> None:
        super().__init__(expression)
        self.operation: Operation = operation
        self.pointers: Expression | None = pointers
        self.mask: Expression | None = mask
        self.others: list[Expression] = others
        self.buffer: Buffer | None = buffer

    @property
    def expressions(self) -> list[Expression]:
        found = [node for node in (self.expression, self.pointers, self.mask) if node is not None]
        return [*found, *self.others]


# --- statements ---


class Statement:
    __slots__ = ()

    @property
    def roots(self) -> list[Expression]:
        """The expressions a statement evaluates."""
        return []

    @property
    def written(self) -> list[Buffer]:
        return []

    @property
    def bodies(self) -> list[list[Statement]]:
        return []


class Let(Statement):
    """An operation on scalars, views and tokens alone."""

    __slots__ = ("operation",)

    def __init__(self, operation: Operation) -> None:
        self.operation: Operation = operation


class Same(Statement):
    """A scalar under another name."""

    __slots__ = ("source", "value")

    def __init__(self, value: Value, source: Value) -> None:
        self.value: Value = value
        self.source: Value = source


class Nest(Statement):
    """Once through all elements of a shape."""

    __slots__ = ("guard", "shape", "sinks")

    def __init__(self, shape: Shape, sinks: list[Sink], guard: Buffer | None = None) -> None:
        self.shape: Shape = shape
        self.sinks: list[Sink] = sinks
        self.guard: Buffer | None = guard
        """Under the sanitizer: which elements of its access may be touched."""

    @property
    def roots(self) -> list[Expression]:
        return [node for sink in self.sinks for node in sink.expressions]

    @property
    def written(self) -> list[Buffer]:
        found = [sink.buffer for sink in self.sinks if isinstance(sink, (Keep, Update))]
        return [buffer for buffer in [*found, self.guard] if buffer is not None]


class Reduce(Statement):
    """`reduce` or `scan`; what else its sources are wanted for is kept on the way."""

    __slots__ = ("axis", "body", "keeps", "operation", "shape", "sources", "targets")

    def __init__(
        self,
        operation: Operation,
        shape: Shape,
        axis: int,
        sources: list[Expression],
        targets: list[Buffer | None],
        keeps: list[Sink],
        body: list[Statement],
    ) -> None:
        self.operation: Operation = operation
        self.shape: Shape = shape
        self.axis: int = axis
        self.sources: list[Expression] = sources
        self.targets: list[Buffer | None] = targets
        self.keeps: list[Sink] = keeps
        self.body: list[Statement] = body

    @property
    def roots(self) -> list[Expression]:
        return [*self.sources, *[node for sink in self.keeps for node in sink.expressions]]

    @property
    def written(self) -> list[Buffer]:
        kept = [sink.buffer for sink in self.keeps if isinstance(sink, Keep)]
        return [*[buffer for buffer in self.targets if buffer is not None], *kept]


class Memo:
    """Packed operands that are remembered: `slots` panels, found by the values of `keys`."""

    __slots__ = ("keys", "panels", "slots", "tags")

    def __init__(self, keys: list[Value], slots: int, panels: Buffer, tags: Buffer) -> None:
        self.keys: list[Value] = keys
        self.slots: int = slots
        self.panels: Buffer = panels
        self.tags: Buffer = tags


class Multiply(Statement):
    """A matrix product added to a buffer in place; the right operand goes through `packed`."""

    __slots__ = (
        "accumulator", "in_place", "left", "lhs", "memo", "operation", "packed", "plan", "rhs", "scales", "stage",
    )  # fmt: skip

    def __init__(
        self,
        operation: Operation,
        plan: MmaPlan,
        lhs: Expression,
        rhs: Expression,
        scales: list[Expression],
        accumulator: Buffer,
        packed: Buffer | None,
        left: Buffer | None,
        in_place: bool,
        memo: Memo | None,
        stage: Buffer | None,
    ) -> None:
        self.operation: Operation = operation
        self.plan: MmaPlan = plan
        self.lhs: Expression = lhs
        self.rhs: Expression = rhs
        self.scales: list[Expression] = scales
        self.accumulator: Buffer = accumulator
        self.packed: Buffer | None = packed
        self.left: Buffer | None = left
        """Room for a copy of the left operand, where one may be needed."""
        self.in_place: bool = in_place
        """Whether the left operand may be read from the caller's memory."""
        self.memo: Memo | None = memo
        self.stage: Buffer | None = stage
        """Room for a few rows of the left operand at a time (`matrix.amx`)."""

    @property
    def roots(self) -> list[Expression]:
        return [self.lhs, self.rhs, *self.scales]

    @property
    def written(self) -> list[Buffer]:
        scratch = [buffer for buffer in (self.packed, self.left, self.stage) if buffer is not None]
        return [self.accumulator, *scratch]


class Branch(Statement):
    """`if`: results are left in buffers and scalar slots by the `Leave` that ends each branch."""

    __slots__ = ("branches", "operation")

    def __init__(self, operation: Operation, branches: list[list[Statement]]) -> None:
        self.operation: Operation = operation
        self.branches: list[list[Statement]] = branches

    @property
    def bodies(self) -> list[list[Statement]]:
        return self.branches


class Repeat(Statement):
    """`for` or `loop`."""

    __slots__ = ("body", "operation")

    def __init__(self, operation: Operation, body: list[Statement]) -> None:
        self.operation: Operation = operation
        self.body: list[Statement] = body

    @property
    def bodies(self) -> list[list[Statement]]:
        return [self.body]


class Chain(Statement):
    """A loop that does nothing but add products of neighbouring tiles: many turns of it at once, where all tiles lie
    within their tensors; otherwise the loop itself."""

    __slots__ = ("loop", "memo", "product", "tiles")

    def __init__(self, loop: Repeat, product: Multiply, tiles: int, memo: Memo) -> None:
        self.loop: Repeat = loop
        self.product: Multiply = product
        self.tiles: int = tiles
        """How many turns are taken together."""
        self.memo: Memo = memo

    @property
    def written(self) -> list[Buffer]:
        return [self.product.accumulator]

    @property
    def bodies(self) -> list[list[Statement]]:
        return [[self.loop]]


class Leave(Statement):
    """The end of a region: scalar operands go to their slots (tiles are in their buffers already), control moves on."""

    __slots__ = ("operation",)

    def __init__(self, operation: Operation) -> None:
        self.operation: Operation = operation


class Reserve(Statement):
    """`alloca`: a cleared stretch of the arena.

    Under the sanitizer `shadow` tells which bytes nobody wrote, and `refused` what is wrong with a size beyond reason.
    """

    __slots__ = ("buffer", "operation", "refused", "shadow")

    def __init__(
        self, operation: Operation, buffer: Buffer, shadow: Buffer | None = None, refused: Check | None = None
    ) -> None:
        self.refused: Check | None = refused
        self.operation: Operation = operation
        self.buffer: Buffer = buffer
        self.shadow: Buffer | None = shadow

    @property
    def written(self) -> list[Buffer]:
        return [self.buffer] if self.shadow is None else [self.buffer, self.shadow]


class Inspect(Statement):
    """Under the sanitizer: what an operation is about to be given, looked at.

    `sources` are the tiles it is about, `copies` room for each of them for whoever reports a mistake.  For an access
    `guard` takes which elements may be touched, where some must not.
    """

    __slots__ = ("copies", "guard", "operation", "shape", "sources")

    def __init__(
        self, operation: Operation, shape: Shape, sources: list[Expression], copies: list[Buffer], guard: Buffer | None
    ) -> None:
        self.operation: Operation = operation
        self.shape: Shape = shape
        self.sources: list[Expression] = sources
        self.copies: list[Buffer] = copies
        self.guard: Buffer | None = guard

    @property
    def roots(self) -> list[Expression]:
        return self.sources

    @property
    def written(self) -> list[Buffer]:
        return self.copies if self.guard is None else [*self.copies, self.guard]


class Repack(Statement):
    """`pack` or `unpack`: the bits of a tile as elements of another width."""

    __slots__ = ("buffer", "operation", "source")

    def __init__(self, operation: Operation, source: Expression, buffer: Buffer) -> None:
        self.operation: Operation = operation
        self.source: Expression = source
        self.buffer: Buffer = buffer

    @property
    def roots(self) -> list[Expression]:
        return [self.source]

    @property
    def written(self) -> list[Buffer]:
        return [self.buffer]


class Print(Statement):
    """`print_tko`: tiles are in buffers, scalars in registers."""

    __slots__ = ("operation", "sources")

    def __init__(self, operation: Operation, sources: list[Stored | None]) -> None:
        self.operation: Operation = operation
        self.sources: list[Stored | None] = sources

    @property
    def roots(self) -> list[Expression]:
        return [source for source in self.sources if source is not None]


class Program:
    """A kernel in loop form."""

    def __init__(self, entry: Operation, body: list[Statement], buffers: list[Buffer]) -> None:
        self.entry: Operation = entry
        self.body: list[Statement] = body
        self.buffers: list[Buffer] = buffers
        self.arena_bytes: int = 0
        self.streams: dict[Statement, StoreView] = {}
        """The nests whose stores pass the caches by in large launches, and these stores (`traffic`)."""
        self.fetches: dict[Statement, dict[Operation, tuple[int, ...]]] = {}
        """By statement the loads that fetch for the next tile block too, and how far their indices move until there."""


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


def statements(body: list[Statement]) -> Iterator[Statement]:
    """All statements in order, those inside others after them."""
    for statement in body:
        yield statement
        for inner in statement.bodies:
            yield from statements(inner)
