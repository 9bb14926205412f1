"""The loop form, its statements: what a kernel does, between tile IR and LLVM IR.

Statements run in order.  A `Nest` goes once through all elements of a shape and feeds its sinks; everything it computes
on the way is fused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from tileir.dialect.ops import CONSTANT, GET_NUM_TILE_BLOCKS, GET_TILE_BLOCK_ID, SELECT
from tileir.execute.cpu.loops.expressions import Buffer, Expression, Shape, Stored
from tileir.execute.cpu.loops.sinks import Sink, StoreBuffer, StoreView, Update, operation_of
from tileir.ir.core import Operation
from tileir.ir.traits import ELEMENTWISE
from tileir.ir.values import Value

if TYPE_CHECKING:
    from tileir.execute.cpu.loops.checks import Check
    from tileir.execute.cpu.matmul.plan import Plan


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


@dataclass(eq=False, repr=False, slots=True)
class Let(Statement):
    """An operation on scalars, views and tokens alone."""

    operation: Operation


@dataclass(eq=False, repr=False, slots=True)
class Alias(Statement):
    """A scalar under another name."""

    value: Value
    source: Value


@dataclass(eq=False, repr=False, slots=True)
class Nest(Statement):
    """Once through all elements of a shape."""

    shape: Shape
    sinks: list[Sink]
    guard: Buffer | None = None
    """Under the sanitizer: which elements of its access may be touched."""

    @property
    def roots(self) -> list[Expression]:
        return [node for sink in self.sinks for node in sink.expressions]

    @property
    def written(self) -> list[Buffer]:
        found = [sink.buffer for sink in self.sinks if isinstance(sink, (StoreBuffer, Update))]
        return [buffer for buffer in [*found, self.guard] if buffer is not None]


@dataclass(eq=False, repr=False, slots=True)
class VersionedNest(Statement):
    """A nest that stores to memory and reads from it, through pointers or views that may leave the array they were made
    from: what is read may be what is written.

    `fused` does both at once, where every access is seen to stay in its own array; `parts` read everything before they
    write.  `accesses` are those that have to be seen.  There is no `fused` where arrays may share memory anyway.
    """

    fused: Nest | None
    parts: list[Statement]
    accesses: list[Expression | Sink]

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
    """`reduce` or `scan`; what else its sources are wanted for is kept on the way."""

    operation: Operation
    shape: Shape
    axis: int
    sources: list[Expression]
    targets: list[Buffer | None]
    keeps: list[Sink]
    body: list[Statement]

    @property
    def roots(self) -> list[Expression]:
        return [*self.sources, *[node for sink in self.keeps for node in sink.expressions]]

    @property
    def written(self) -> list[Buffer]:
        kept = [sink.buffer for sink in self.keeps if isinstance(sink, StoreBuffer)]
        return [*[buffer for buffer in self.targets if buffer is not None], *kept]


@dataclass(eq=False, repr=False, slots=True)
class PackCache:
    """Packed operands that are kept from tile block to tile block: `slots` panels, found by the values of `keys`."""

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
    computed: frozenset[int]
    """Which of the operands (0 and 1) are not read where they lie, but converted, transposed or computed."""
    a_scratch: Buffer | None
    """For a row-major copy of A, where one may be needed."""
    a_packed: Buffer | None
    """For packed A, where the plan packs it and it is not cached."""
    b_packed: Buffer | None
    """For packed B, where it is not cached."""
    a_cache: PackCache | None
    b_cache: PackCache | None
    zero_init: bool
    """Whether the matmul is added to zeros, whatever is in the buffer."""
    loop: Operation | None = None
    """The `for` that does nothing but add matmuls."""
    iterations: int = 1
    """How many of its iterations are a k-block."""
    general: Repeat | None = None
    """The loop as it is, where operands are read through pointers: they may turn out not to lie side by side."""

    @property
    def roots(self) -> list[Expression]:
        return [self.lhs, self.rhs, *self.scales]

    @property
    def written(self) -> list[Buffer]:
        scratch = [self.a_scratch, self.a_packed, self.b_packed]
        return [self.accumulator, *[buffer for buffer in scratch if buffer is not None]]

    @property
    def bodies(self) -> list[list[Statement]]:
        return [[self.general]] if self.general is not None else []


@dataclass(eq=False, repr=False, slots=True)
class Branch(Statement):
    """`if`: results are put into buffers and scalar slots by the `Terminator` that ends each branch."""

    operation: Operation
    branches: list[list[Statement]]

    @property
    def bodies(self) -> list[list[Statement]]:
        return self.branches


@dataclass(eq=False, repr=False, slots=True)
class Repeat(Statement):
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
class Reserve(Statement):
    """`alloca`: a cleared stretch of the arena.

    Under the sanitizer `shadow` marks the bytes nobody wrote, and `refused` what is wrong with a size beyond reason.
    """

    operation: Operation
    buffer: Buffer
    shadow: Buffer | None = None
    refused: Check | None = None

    @property
    def written(self) -> list[Buffer]:
        return [self.buffer] if self.shadow is None else [self.buffer, self.shadow]


@dataclass(eq=False, repr=False, slots=True)
class Inspect(Statement):
    """Under the sanitizer: a check of what an operation is about to be given.

    `sources` are the tiles it is about, `copies` hold each of them for whoever reports a mistake.  For an access
    `guard` takes which elements may be touched, where some must not.
    """

    operation: Operation
    shape: Shape
    sources: list[Expression]
    copies: list[Buffer]
    guard: Buffer | None

    @property
    def roots(self) -> list[Expression]:
        return self.sources

    @property
    def written(self) -> list[Buffer]:
        return self.copies if self.guard is None else [*self.copies, self.guard]


@dataclass(eq=False, repr=False, slots=True)
class Repack(Statement):
    """`pack` or `unpack`: the bits of a tile as elements of another width."""

    operation: Operation
    source: Expression
    buffer: Buffer

    @property
    def roots(self) -> list[Expression]:
        return [self.source]

    @property
    def written(self) -> list[Buffer]:
        return [self.buffer]


@dataclass(eq=False, repr=False, slots=True)
class Print(Statement):
    """`print_tko`: tiles are in buffers, scalars in registers."""

    operation: Operation
    sources: list[Stored | None]

    @property
    def roots(self) -> list[Expression]:
        return [source for source in self.sources if source is not None]


@dataclass(eq=False, repr=False, slots=True)
class StoreTarget:
    """Where the result of a matmul is stored: each of its elements is used for one that is stored, and nothing else."""

    user: Statement
    """The nest that stores it."""
    store: StoreView
    is_copy: bool
    """Whether the result is stored as it is, so that the matmul may write it there; it reads nothing from there."""


class Ahead(NamedTuple):
    """What a load fetches for the next tile block of the thread, or for the next turn of the loop it is in: the tile
    whose indices are so much larger."""

    steps: tuple[int, ...]
    is_turn: bool


class Program:
    """A kernel in loop form."""

    def __init__(self, entry: Operation, body: list[Statement], buffers: list[Buffer]) -> None:
        self.entry: Operation = entry
        self.body: list[Statement] = body
        self.buffers: list[Buffer] = buffers
        self.arena_bytes: int = 0
        self.streams: dict[Statement, StoreView] = {}
        """The nests whose stores pass the caches by in large launches, and these stores (`traffic`)."""
        self.moved_bytes: int = 0
        """What a tile block reads and writes outside of loops, where something streams."""
        self.fetches: dict[Statement, dict[Operation, Ahead]] = {}
        """By statement the loads that fetch for later too, and what (`traffic`)."""
        self.store_targets: dict[Statement, StoreTarget] = {}
        """Where the results of matmuls are stored."""


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
    elif isinstance(statement, Nest):
        made = [operation_of(sink) for sink in statement.sinks]
    elif isinstance(statement, VersionedNest):
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
        if not isinstance(statement, Let):
            return False
        declaration = statement.operation.declaration
        if declaration not in _UNIFORM and not declaration.has_trait(ELEMENTWISE):
            return False
    return True
