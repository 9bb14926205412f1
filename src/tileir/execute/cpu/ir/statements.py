"""Statements of the loop IR: what a kernel does, in order.  A `LoopNest` fuses all that it computes for its stores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tileir.dialect.ops import ATOMIC_CAS_TKO, CONSTANT, GET_NUM_TILE_BLOCKS, GET_TILE_BLOCK_ID, SELECT
from tileir.execute.analysis.values import pointee_of
from tileir.execute.cpu.ir.expressions import Buffer, BufferRead, Expression, Shape
from tileir.execute.dtypes import memory_bytes
from tileir.ir.core import Operation
from tileir.ir.traits import ELEMENTWISE
from tileir.ir.types import FloatType
from tileir.ir.values import Value

if TYPE_CHECKING:
    from tileir.execute.cpu.ir.checks import Check
    from tileir.execute.cpu.matmul.plan import Plan
    from tileir.execute.cpu.runtime.target import Target


def _parts(node: Any) -> Iterator[object]:
    """What the fields of a statement or store hold, lists and stores taken apart."""
    for name in node.__dataclass_fields__:
        value = getattr(node, name)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, Store):
                yield from _parts(each)
            else:
                yield each


@dataclass(eq=False, repr=False, slots=True)
class Store:
    """What becomes of the elements that a loop nest visits."""

    expression: Expression

    @property
    def expressions(self) -> list[Expression]:
        return [each for each in _parts(self) if isinstance(each, Expression)]


@dataclass(eq=False, repr=False, slots=True)
class Window:
    """A sub-tile of a tile: where it begins in each dimension, a constant or a scalar that counts sub-tiles."""

    whole: Shape
    part: Shape
    origins: tuple[int | Value, ...]


@dataclass(eq=False, repr=False, slots=True)
class StoreBuffer(Store):
    """Into scratch memory, converted to the buffer's dtype; into a part of it with a `window`."""

    buffer: Buffer
    window: Window | None = None


@dataclass(eq=False, repr=False, slots=True)
class CombineBuffer(StoreBuffer):
    """Into scratch memory, combined with `before`, its content, by the operation of a multimem load."""

    before: BufferRead = field(kw_only=True)
    operation: Operation = field(kw_only=True)


@dataclass(eq=False, repr=False, slots=True)
class StoreScalar(Store):
    """The only element, as a scalar."""

    value: Value


@dataclass(eq=False, repr=False, slots=True)
class StoreView(Store):
    """Into the caller's memory through a view."""

    operation: Operation
    positions: Expression | None


@dataclass(eq=False, repr=False, slots=True)
class StorePointers(Store):
    """Into the caller's memory through pointers."""

    operation: Operation
    pointers: Expression
    mask: Expression | None


@dataclass(eq=False, repr=False, slots=True)
class AssertAll(Store):
    """`assert` of a tile: the first false element fails."""

    operation: Operation


@dataclass(eq=False, repr=False, slots=True)
class AtomicUpdate(Store):
    """An atomic on each element, in row-major order; old values go to a buffer, or a scalar for one element."""

    operation: Operation
    pointers: Expression | None
    mask: Expression | None
    others: list[Expression]
    buffer: Buffer | None


EXCHANGED_BYTES: Final = 8  # What a machine compares and exchanges at once; 16 take 2.5 times as long (Skylake)


def updated_together(operation: Operation, pointers: Expression, target: Target) -> int:
    """How many elements of an atomic are tried at once; 0 where old values are used or pointers come from memory."""
    if operation.declaration is ATOMIC_CAS_TKO or operation.results[0].has_uses or pointers.reads or pointers.buffers:
        return 0
    element = pointee_of(operation.operands[0])
    size = memory_bytes(element)
    # An integer of eight bytes has no neighbor to be exchanged with, and instructions that are better alone.
    together = size in (2, 4) or (size == 8 and isinstance(element, FloatType))
    return target.vector_bytes // size if together else 0


def operation_of(store: Store) -> Operation | None:
    """The operation that a store does the work of, or keeps the result of."""
    found: Operation | None = getattr(store, "operation", None)
    if found is not None:
        return found
    value = store.value if isinstance(store, StoreScalar) else store.expression.value
    return value.defining_operation if value is not None else None


class Statement:
    __slots__ = ()

    @property
    def roots(self) -> list[Expression]:
        return [each for each in _parts(self) if isinstance(each, Expression)]

    @property
    def written(self) -> list[Buffer]:
        return [each for each in _parts(self) if isinstance(each, Buffer)]

    @property
    def bodies(self) -> list[list[Statement]]:
        return []


@dataclass(eq=False, repr=False, slots=True)
class ScalarOp(Statement):
    """An operation on scalars, views and tokens alone."""

    operation: Operation


@dataclass(eq=False, repr=False, slots=True)
class Alias(Statement):
    """A scalar under another name."""

    value: Value
    source: Value


@dataclass(eq=False, repr=False, slots=True)
class LoopNest(Statement):
    """Once through all elements of a shape."""

    shape: Shape
    stores: list[Store]
    guard: Buffer | None = None  # Under the sanitizer: which elements of its access may be touched.


@dataclass(eq=False, repr=False, slots=True)
class DeviceLoop(Statement):
    """The access of a multimem operation, once for each device behind its view; `first` is that of the first one."""

    operation: Operation
    first: LoopNest
    rest: LoopNest

    @property
    def bodies(self) -> list[list[Statement]]:
        return [[self.first]] if self.rest is self.first else [[self.first], [self.rest]]


@dataclass(eq=False, repr=False, slots=True)
class VersionedLoopNest(Statement):
    """A loop nest that reads and stores through pointers or views that may leave their arrays.  `parts` read everything
    before they write; `fused` does both at once, where all `accesses` stay in their arrays, if arrays are apart at
    all."""

    fused: LoopNest | None
    parts: list[Statement]
    accesses: list[Expression | Store]

    @property
    def roots(self) -> list[Expression]:
        return self.fused.roots if self.fused is not None else []

    @property
    def written(self) -> list[Buffer]:
        return self.fused.written if self.fused is not None else []

    @property
    def bodies(self) -> list[list[Statement]]:
        return [self.parts]


@dataclass(eq=False, repr=False, slots=True)
class Reduce(Statement):
    """`reduce` or `scan`; `keeps` store what its sources are needed for later."""

    operation: Operation
    shape: Shape
    axis: int
    sources: list[Expression]
    targets: list[Buffer | None]
    keeps: list[Store]
    body: list[Statement]


@dataclass(eq=False, repr=False, slots=True)
class PackCache:
    """Operands that stay packed from tile block to tile block: `slots` packed panels, found by the values of `keys`."""

    keys: list[Value]
    slots: int
    panels: Buffer
    tags: Buffer


@dataclass(eq=False, repr=False, slots=True)
class Matmul(Statement):
    """A matmul of tiles added to a buffer; or a whole k-loop of them, many iterations at a time."""

    operation: Operation
    plan: Plan
    lhs: Expression
    rhs: Expression
    scales: list[Expression]
    accumulator: Buffer
    computed: frozenset[int]  # The operands (0 and 1) that are converted, transposed or computed
    keys: tuple[list[Value], list[Value]]  # What cached packed A and B are found by; else none
    zero_init: bool  # Whether the matmul is added to zeros, whatever is in the buffer.
    loop: Operation | None = None  # The `for` that does nothing but add matmuls.
    iterations: int = 1  # How many of its iterations are a k-block.
    general: LoopStatement | None = None  # The loop as it is, where pointers may not lie side by side
    packed: list[Buffer | PackCache | None] = field(default_factory=lambda: [None, None])
    """Scratch memory for A, where it may be copied or packed, and B."""

    @property
    def bodies(self) -> list[list[Statement]]:
        return [[self.general]] if self.general is not None else []


@dataclass(eq=False, repr=False, slots=True)
class Branch(Statement):
    """`if`: the `Terminator` of each branch puts results into buffers and scalar slots."""

    operation: Operation
    bodies: list[list[Statement]]


@dataclass(eq=False, repr=False, slots=True)
class LoopStatement(Statement):
    """`for` or `loop`."""

    operation: Operation
    body: list[Statement]

    @property
    def bodies(self) -> list[list[Statement]]:
        return [self.body]


@dataclass(eq=False, repr=False, slots=True)
class Terminator(Statement):
    """The end of a region: scalar operands go to their slots (tiles are in their buffers already), control moves on."""

    operation: Operation


@dataclass(eq=False, repr=False, slots=True)
class Alloca(Statement):
    """`alloca`: zeroed scratch memory; under the sanitizer `shadow` marks what was never written."""

    operation: Operation
    buffer: Buffer
    shadow: Buffer | None = None
    refused: Check | None = None


@dataclass(eq=False, repr=False, slots=True)
class Inspect(Statement):
    """The sanitizer's check of an operation's operands, the tiles `sources`; `copies` hold them for the report.  For an
    access `guard` takes which elements may be touched, where some must not."""

    operation: Operation
    shape: Shape
    sources: list[Expression]
    copies: list[Buffer]
    guard: Buffer | None


@dataclass(eq=False, repr=False, slots=True)
class Repack(Statement):
    """`pack` or `unpack`: the bits of a tile as elements of another width."""

    operation: Operation
    source: Expression
    buffer: Buffer


@dataclass(eq=False, repr=False, slots=True)
class Print(Statement):
    """`print_tko`: tiles are in buffers, scalars in registers."""

    operation: Operation
    sources: list[BufferRead | None]


@dataclass(eq=False, repr=False, slots=True)
class StoreTarget:
    """Where the result of a matmul is stored: each of its elements is used for one that is stored, and nothing else."""

    user: Statement  # The loop nest that stores it.
    store: StoreView
    is_copy: bool
    """Whether the result is stored as it is, so that the matmul may write it there; it reads nothing from there."""


class Prefetch(NamedTuple):
    """A load prefetches the tile whose indices are larger by `steps`: of the next iteration, or the next tile block."""

    steps: tuple[int, ...]
    is_iteration: bool


@dataclass(eq=False, repr=False, slots=True)
class Program:
    """A kernel in the loop IR."""

    entry: Operation
    body: list[Statement]
    buffers: list[Buffer]
    scratch_bytes: int = 0
    nontemporal: dict[Statement, StoreView] = field(default_factory=dict)
    """The loop nests whose stores are non-temporal in large launches, and these stores (`memory_hints`)."""
    moved_bytes: int = 0  # What a tile block reads and writes outside of loops, where a store is non-temporal.
    prefetches: dict[Statement, dict[Operation, Prefetch]] = field(default_factory=dict)
    """By statement the loads that prefetch, and what (`memory_hints`)."""
    store_targets: dict[Statement, StoreTarget] = field(default_factory=dict)


def statements(body: list[Statement]) -> Iterator[Statement]:
    """All statements in order, those inside others after them."""
    pending = body[::-1]
    while pending:
        statement = pending.pop()
        yield statement
        for inner in reversed(statement.bodies):
            pending.extend(reversed(inner))


def operations_of(statement: Statement) -> list[Operation]:
    """The operations that a statement as a whole does the work of; its expressions do that of others."""
    if isinstance(statement, Alias):
        made = [statement.value.defining_operation]
    elif isinstance(statement, LoopNest):
        made = [operation_of(store) for store in statement.stores]
    elif isinstance(statement, VersionedLoopNest):
        made = list(operations_of(statement.fused)) if statement.fused is not None else []
    elif isinstance(statement, Matmul):
        made = [statement.loop, statement.operation]
    else:
        made = [getattr(statement, "operation", None)]
    return [operation for operation in made if operation is not None]


_UNIFORM: Final = (CONSTANT, GET_TILE_BLOCK_ID, GET_NUM_TILE_BLOCKS, SELECT)


def works_on_vectors(body: list[Statement]) -> bool:
    """Whether the body of a reduction may run on vectors: each operation takes each element alone."""
    for statement in body:
        if isinstance(statement, (Alias, Terminator)):
            continue
        if not isinstance(statement, ScalarOp):
            return False
        declaration = statement.operation.declaration
        if declaration not in _UNIFORM and not declaration.has_trait(ELEMENTWISE):
            return False
    return True
