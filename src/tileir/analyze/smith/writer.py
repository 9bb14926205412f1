"""The kernel being written: operations, the values in sight, and values made to order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import NamedTuple

from tileir.analyze.smith.tiles import Bits, Memory, Shape, State, Tile, range_of, width_of
from tileir.dialect import ops
from tileir.dialect.inference import Call, result_types
from tileir.dialect.signature import bind, made_operation, make_operands, signature_of
from tileir.dialect.types import TileType, pointer_type, scalar_tile, tile_type
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import dense_attribute, element_bytes, element_mask
from tileir.ir.floats import FORMATS, from_double
from tileir.ir.location import UNKNOWN
from tileir.ir.symbols import Symbols
from tileir.ir.types import BF16, F16, F32, F64, I1, I8, I16, I32, I64, FloatType, IntegerType, Type
from tileir.ir.values import Value
from tileir.ir.versions import Version

SHAPES: tuple[Shape, ...] = (
    (4,), (8,), (16,), (32,), (64,), (128,), (2, 8), (4, 8), (8, 4), (8, 8), (16, 4), (1, 16), (16, 1), (2, 4, 4),
    (4, 1, 8), (2, 2, 2, 4), (1,), (1, 1),
)  # fmt: skip
INPUT = 256
"""Elements of an array that is read anywhere; a power of two, so that a mask keeps places inside."""
DEEPEST = 3
# Interesting floats beside small ones; written by what they are, since constants of every type are made of them.
_FLOATS = (0.0, 1.0, -1.0, 0.5, -2.0, 3.0, -0.0, 0.1, 1.5, -7.25, 100.0, 1e-6, 60000.0, -1e30, float("inf"))
# The others come from conversions: some have no constants, some no negative numbers.
_MADE: tuple[Type, ...] = (I1, I8, I16, I32, I64, F16, BF16, F32, F64)


class GivenUp(Exception):
    """A kernel has nothing that a statement could be about."""


class Statement(NamedTuple):
    """One operation that programs may have; `build` appends it and what it needs."""

    declaration: OperationDeclaration
    build: Callable[[Writer], None]

    def is_in(self, version: Version) -> bool:
        return self.declaration.since is not None and self.declaration.since <= version


def statements(build: Callable[..., None], *declarations: OperationDeclaration) -> list[Statement]:
    """The statements of several operations that one function builds."""
    return [Statement(each, partial(build, declaration=each)) for each in declarations]


class Loop(NamedTuple):
    """An enclosing loop: the types of its carried values and its results, its counter where it is no `for`."""

    carried: list[TileType]
    results: list[TileType]
    counter: Tile | None


@dataclass
class Scope:
    """The values of one block: those that statements may use, by type, and constants, which are made once."""

    block: Block
    tiles: dict[Type, list[Tile]] = field(default_factory=dict)
    all: list[Tile] = field(default_factory=list)
    kept: dict[object, Tile] = field(default_factory=dict)


class Writer:
    """Writes one kernel.  Statements are drawn from `statements` until there are about `size` operations."""

    def __init__(
        self, bits: Bits, version: Version, statements: Sequence[Statement], size: int, grid: tuple[int, int, int]
    ) -> None:
        self.bits: Bits = bits
        self.version: Version = version
        self.statements: Sequence[Statement] = statements
        self.size: int = size
        self.stores: int = max(1, min(12, size // 16))
        """Values that are stored at the end, with some six operations each."""
        self.written: int = 0
        self.grid: tuple[int, int, int] = grid
        self.blocks: int = prod(grid)
        # In the syntax of `tileir run --arg`, one for each parameter.
        self.arguments: list[str] = []
        self.entry: Block = Block()
        self.scopes: list[Scope] = [Scope(self.entry)]
        self.globals: list[Operation] = []
        self.inputs: dict[Type, list[Tile]] = {}
        self.memories: list[Memory] = []
        self.shared: dict[tuple[Type, str], Tile] = {}
        self.loops: list[Loop] = []
        self.is_open: bool = False
        self.loose: list[Tile] = []
        few = bits.order(len(SHAPES))[: bits.between(2, 4)]
        self.shapes: list[Shape] = [SHAPES[place] for place in few]
        self.integers: list[Type] = []
        self.floats: list[Type] = []
        ids = self.op(ops.GET_TILE_BLOCK_ID).results
        self.block_ids: list[Tile] = [Tile(value, 0, extent - 1) for value, extent in zip(ids, grid, strict=True)]
        self.place: Tile = self._place()
        if self.blocks > 1:
            self.know(self.place)

    def _place(self) -> Tile:
        """The number of this tile block among all of them."""
        found, step = self.block_ids[0].value, self.grid[0]
        for tile, extent in zip(self.block_ids[1:], self.grid[1:], strict=True):
            if extent > 1:
                found = self.value(ops.ADDI, found, self.value(ops.MULI, tile, self.constant((), I32, step)))
            step *= extent
        return Tile(found, 0, self.blocks - 1)

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    @contextmanager
    def inside(self, block: Block) -> Iterator[Scope]:
        """Write into a block of an operation to come."""
        scope = Scope(block)
        self.scopes.append(scope)
        yield scope
        self.scopes.pop()

    @property
    def states(self) -> list[State]:
        """The order of memory up to here."""
        return [memory.state for memory in self.memories]

    @states.setter
    def states(self, states: list[State]) -> None:
        for memory, state in zip(self.memories, states, strict=True):
            memory.state = state

    def append(self, operation: Operation) -> Operation:
        self.scope.block.append(operation)
        self.written += 1
        return operation

    def op(self, declaration: OperationDeclaration, *arguments: object, **named: object) -> Operation:
        """Append an operation; its arguments are those of `tileir.Builder`, and tiles stand for their values."""
        signature = signature_of(declaration)
        call = Call(declaration, self.scope.block, Symbols())
        plain = tuple([_plain(each) for each in arguments])
        bind(signature, call, plain, {name: _plain(each) for name, each in named.items() if each is not None})
        make_operands(call, UNKNOWN)
        return self.append(made_operation(call, result_types(call, signature.inference), UNKNOWN))

    def value(self, declaration: OperationDeclaration, *arguments: object, **named: object) -> Value:
        """The first result of one more operation."""
        return self.op(declaration, *arguments, **named).results[0]

    def apply(self, declaration: OperationDeclaration, *arguments: object, **named: object) -> Tile:
        """A result about which nothing is known, and which other statements do not use."""
        return Tile(self.value(declaration, *arguments, **named), numeric=False)

    def compare(self, predicate: str, left: Tile, right: Tile, how: str = "") -> Tile:
        """A comparison: signed or ordered, unless `how` names another one."""
        comparison, usual = (ops.CMPF, "ordered") if isinstance(left.element, FloatType) else (ops.CMPI, "signed")
        return Tile(self.value(comparison, left, right, predicate, how or usual))

    def may_have(self, declaration: OperationDeclaration, name: str) -> bool:
        """Whether the version has an attribute of an operation."""
        declared = declaration.inherent.get(name)
        return declared is not None and (declared.since is None or declared.since <= self.version)

    def know(self, tile: Tile) -> Tile:
        """Let statements use a value from here on."""
        self.scope.tiles.setdefault(tile.value.type, []).append(tile)
        self.scope.all.append(tile)
        return tile

    def keep(self, key: object, make: Callable[[], Tile]) -> Tile:
        """The value for a key: made once, and again where that one is not visible."""
        for scope in reversed(self.scopes):
            if key in scope.kept:
                return scope.kept[key]
        found = self.scopes[-1].kept[key] = make()
        return found

    def bits_constant(self, shape: Shape, element: Type, patterns: Sequence[int], low: int, high: int) -> Tile:
        """A constant of bit patterns: one for all elements, or one for each."""
        type = tile_type(shape, element)
        size, mask = element_bytes(element), element_mask(element)
        data = b"".join([(pattern & mask).to_bytes(size, "little") for pattern in patterns])
        value = dense_attribute(type, shape, element, data)
        return self.keep(value, lambda: Tile(self.value(ops.CONSTANT, type, value), low, high))

    def constant(self, shape: Shape, element: Type, number: int) -> Tile:
        return self.bits_constant(shape, element, [number], number, number)

    def float_constant(self, shape: Shape, element: Type, number: float) -> Tile:
        assert isinstance(element, FloatType)
        return self.bits_constant(shape, element, [from_double(FORMATS[element.name], number)], 0, 0)

    def random_constant(self, shape: Shape, element: Type) -> Tile:
        bits = self.bits
        count = prod(shape) if prod(shape) <= 32 and bits.chance(30) else 1
        if isinstance(element, FloatType):
            form = FORMATS[element.name]
            numbers = [bits.choice(_FLOATS) if bits.chance(60) else (bits.below(129) - 64) / 8.0 for _ in range(count)]
            return self.bits_constant(shape, element, [from_double(form, number) for number in numbers], 0, 0)
        least, most = range_of(element)
        found = [self._integer(least, most) for _ in range(count)]
        return self.bits_constant(shape, element, found, min(found), max(found))

    def _integer(self, least: int, most: int) -> int:
        bits = self.bits
        kind = bits.below(10)
        if kind < 7:
            return max(least, min(most, bits.between(-4, 12)))
        return bits.choice((least, most)) if kind == 7 else bits.between(least, most)

    def find(self, type: Type) -> list[Tile]:
        return [tile for scope in self.scopes for tile in scope.tiles.get(type, ())]

    def want(self, shape: Shape, element: Type) -> Tile:
        """A value of a type: mostly one that is there, else a new one."""
        found = self.find(tile_type(shape, element))
        return self.bits.recent(found) if found and self.bits.chance(85) else self.make(shape, element)

    def some(self, elements: Sequence[Type], least_rank: int = 0, most: int = 1024) -> Tile:
        """A tile of one of these element types."""
        bits = self.bits
        if bits.chance(85):
            near = [tile for scope in self.scopes for tile in scope.all if tile.element in elements]
            found = [tile for tile in near if len(tile.shape) >= least_rank and prod(tile.shape) <= most]
            if found:
                return bits.recent(found)
        made = [element for element in elements if element in _MADE]
        return self.make(self.some_shape(least_rank), bits.choice(made or [I32]))

    def pair(self, elements: Sequence[Type]) -> tuple[Tile, Tile]:
        """Two tiles of one type, of one of these element types."""
        left = self.some(elements)
        return left, self.want(left.shape, left.element)

    def some_shape(self, least_rank: int = 0) -> Shape:
        if least_rank == 0 and self.bits.chance(15):
            return ()
        fitting = [shape for shape in self.shapes if len(shape) >= least_rank]
        return self.bits.choice(fitting or [shape for shape in SHAPES if len(shape) >= least_rank])

    def make(self, shape: Shape, element: Type) -> Tile:
        """A new value: a constant, a number of the launch, lanes, or what is in an array."""
        bits = self.bits
        kind = bits.below(10)
        if element is I1 and kind < 6:
            return self.compared(shape)
        if not shape and kind < (4 if isinstance(element, IntegerType) else 2):
            return self.know(self.number(element))
        if len(shape) == 1 and element in (I32, *self.integers) and kind < 3 and shape[0] <= range_of(element)[1]:
            return self.know(self.lanes(shape[0], element))
        if not shape or kind < 5 or element not in self.stored:
            return self.know(self.random_constant(shape, element))
        return self.know(self.loaded(shape, element))

    @property
    def stored(self) -> list[Type]:
        """The element types that arrays of this program have."""
        return [*self.integers, *self.floats, I32]

    def compared(self, shape: Shape) -> Tile:
        """Booleans that are unknown before the launch."""
        element = self.bits.choice([*self.integers, I32])
        tiles = self.want(shape, element), self.want(shape, element)
        return self.know(self.compare(self.bits.choice(("less_than", "equal", "greater_than", "not_equal")), *tiles))

    def condition(self) -> Tile:
        """A boolean that may differ from tile block to tile block."""
        known = self.find(scalar_tile(I1))
        return self.bits.recent(known) if known and self.bits.chance(50) else self.compared(())

    def number(self, element: Type, value: float | None = None) -> Tile:
        """A scalar argument of the launch, of any value if none is given."""
        bits = self.bits
        least, most = range_of(element)
        if value is None:
            floating = not isinstance(element, IntegerType)
            value = bits.below(64) / 8 if floating else bits.between(max(least, -3), min(most, 9))
        self.arguments.append(str(bool(value)).lower() if element is I1 else repr(value))
        argument = self.entry.add_argument(scalar_tile(element))
        return Tile(argument, int(value), int(value)) if isinstance(element, IntegerType) else Tile(argument)

    def lanes(self, count: int, element: Type = I32) -> Tile:
        type = tile_type((count,), element)
        return self.keep(("lanes", type), lambda: Tile(self.value(ops.IOTA, type), 0, count - 1))

    def filled(self, scalar: Tile, shape: Shape) -> Tile:
        """A tile of one scalar."""
        if not shape:
            return scalar

        def make() -> Tile:
            found = self.value(ops.RESHAPE, scalar, (1,) * len(shape))
            return scalar.moved(self.value(ops.BROADCAST, found, shape) if prod(shape) > 1 else found)

        return self.keep(("filled", scalar.value, shape), make)

    def reshaped(self, tile: Tile, shape: Shape) -> Tile:
        return tile if tile.shape == shape else tile.moved(self.value(ops.RESHAPE, tile, shape))

    # --- values of which enough is known ---

    def below(self, tile: Tile, count: int) -> Tile:
        """The same kind of integers from 0 up to a power of two."""
        if tile.low >= 0 and tile.high < count:
            return tile
        least, most = range_of(tile.element)
        mask = self.constant(tile.shape, tile.element, min(count - 1, most) if least else count - 1)
        return Tile(self.value(ops.ANDI, tile, mask), 0, count - 1)

    def positive(self, tile: Tile) -> Tile:
        """From 1 on, whether read as signed or as unsigned."""
        if tile.low > 0:
            return tile
        small, one = self.below(tile, 8), self.constant(tile.shape, tile.element, 1)
        return Tile(self.value(ops.ADDI, small, one), small.low + 1, small.high + 1)

    def numeric(self, tile: Tile) -> Tile:
        """The same floats with a number in place of every NaN."""
        if tile.numeric or not isinstance(tile.element, FloatType):
            return tile
        same = self.compare("equal", tile, tile)
        return Tile(self.value(ops.SELECT, same, tile, self.float_constant(tile.shape, tile.element, 1.0)))

    def clamped(self, tile: Tile, low: float, high: float) -> Tile:
        """Floats between two numbers; NaN becomes the lower one."""
        least = self.float_constant(tile.shape, tile.element, low)
        most = self.float_constant(tile.shape, tile.element, high)
        return Tile(self.value(ops.MINF, self.value(ops.MAXF, tile, least), most))

    def whole(self, shape: Shape, element: Type, most: int) -> Tile:
        """Floats that are integers of at most this magnitude (a power of two less one), so that sums do not round."""
        found = [tile for tile in self.find(tile_type(shape, element)) if tile.whole]
        known = [tile for tile in found if max(-tile.low, tile.high) <= most]
        if known and self.bits.chance(50):
            return self.bits.recent(known)
        source = self.want(shape, self.bits.choice([kind for kind in self.integers if width_of(kind) >= 8] or [I8]))
        small = self.below(source, most + 1)
        if most >= 3 and self.bits.chance(60) and small.low >= 0:
            half = self.constant(shape, small.element, most // 2)
            small = Tile(self.value(ops.SUBI, small, half), small.low - most // 2, small.high - most // 2)
        return self.know(Tile(self.value(ops.ITOF, small, element, "signed"), small.low, small.high, whole=True))

    # --- memory ---

    def array(self, element: Type, count: int, seed: int | None) -> Tile:
        """One more array of the launch, of zeros if it has no seed: a pointer to it."""
        kind, last = ("zeros", "") if seed is None else ("mixed", f":{seed}")
        self.arguments.append(f"{kind}:{element.spelling}:{count}{last}")
        return Tile(self.entry.add_argument(scalar_tile(pointer_type(element))))

    def input(self, element: Type) -> Tile:
        """An array that is only read."""
        known = self.inputs.setdefault(element, [])
        if known and (len(known) > 1 or not self.bits.chance(20)):
            return self.bits.choice(known)
        known.append(self.array(element, INPUT, self.bits.below(1 << 32)))
        return known[-1]

    def pointers(self, base: Tile, places: Tile) -> Tile:
        """Pointers to the elements at these places of an array."""
        return Tile(self.value(ops.OFFSET, self.filled(base, places.shape), places))

    def places(self, shape: Shape, count: int) -> Tile:
        """Integers from 0 up to a power of two: neighbors, or anything that is there."""
        known = self.find(tile_type(shape, I32))
        if not known or (self.bits.chance(60) and prod(shape) <= count):
            lanes = self.keep(("lanes", shape), lambda: self.reshaped(self.lanes(prod(shape)), shape))
            left = count - prod(shape)
            start = self.bits.below(left + 1) if left > 0 and self.bits.chance(50) else 0
            if not start:
                return self.below(lanes, count)
            added = self.value(ops.ADDI, lanes, self.constant(shape, I32, start))
            return Tile(added, start, start + prod(shape) - 1)
        return self.below(self.bits.recent(known), count)

    def loaded(self, shape: Shape, element: Type) -> Tile:
        """The contents of an array that is only read."""
        pointers = self.pointers(self.input(element), self.places(shape, INPUT))
        return Tile(self.value(ops.LOAD_PTR_TKO, pointers, *self.maybe_masked(shape, element, 25)))

    def maybe_masked(self, shape: Shape, element: Type, percent: int) -> tuple[Tile | None, Tile | None]:
        """A mask for a load now and then; without a value for masked elements they would be unspecified."""
        if not self.bits.chance(percent):
            return None, None
        return self.want(shape, I1), self.numeric(self.want(shape, element))

    def joined(self, tokens: list[Value]) -> Value | None:
        """One token for all, or none."""
        return self.value(ops.JOIN_TOKENS, tokens) if len(tokens) > 1 else next(iter(tokens), None)

    def token(self, memory: Memory) -> Value:
        """One token for all accesses so far."""
        return self.joined(memory.accesses) or self.value(ops.MAKE_TOKEN)

    def own_part(self, base: Tile, count: int) -> Tile:
        """Where the part of this tile block begins in an array that has a part for each."""
        if self.blocks == 1:
            return base
        return Tile(self.value(ops.OFFSET, base, self.apply(ops.MULI, self.place, self.constant((), I32, count))))

    # --- statements ---

    def fill(self, count: int) -> None:
        """Append at most `count` statements."""
        for _ in range(count):
            if self.written >= self.size - 6 * self.stores:
                return
            with suppress(GivenUp):
                self.bits.choice(self.statements).build(self)


def _plain(argument: object) -> object:
    """An argument with values in place of tiles."""
    if isinstance(argument, list):
        return [_plain(each) for each in argument]
    return argument.value if isinstance(argument, Tile) else argument
