"""Which tile block an address in memory belongs to, learned from the tile blocks that ran.

In most kernels a tile begins at a sum of multiples of the block's coordinates, or of quotient and remainder of x where
a grid of one dimension numbers the tiles.  A `Pattern` records where the n-th execution of a store began in each tile
block.  It finds the multiples by comparing neighbors and checks them against all blocks; this rule also covers blocks
that did not run.  Positions are in elements along the tile's dimensions, from the largest stride down.
"""

from __future__ import annotations

import math
from array import array
from itertools import pairwise
from typing import Any, Final, NamedTuple, cast

import numpy

from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute.analysis.values import pointee_of
from tileir.execute.dtypes import Array, constant_elements, memory_bytes
from tileir.execute.errors import BlockId
from tileir.execute.observing.observer import Access, even_steps
from tileir.forking import cached_property
from tileir.ir.core import Operation
from tileir.ir.values import BlockArgument, Value

_COUNT: Final = 4  # Coordinates of a rule: x or its remainder, y, z, the quotient of x.
_NO_ROWS: Final = 1 << 62

Rule = tuple[Array, Array, int]


class Tile(NamedTuple):
    address: int
    shape: tuple[int, ...]  # Its elements along each dimension.
    strides: tuple[int, ...]  # The bytes between them.
    steps: tuple[tuple[int, int], ...] = ()  # For each index of a view: dimension (-1: none), elements.
    ends: tuple[int, ...] = ()  # Of a view the extents of its tensor along the dimensions of `strides`.
    tensor: tuple[int, ...] = ()  # Of a view the shape of its tensor.


class Pattern:
    """Where one store began in each tile block; `origin` is the address that positions are relative to."""

    def __init__(self, operation: Operation, origin: int, tile: Tile, grid: BlockId) -> None:
        """`tile` is one of the tiles: the others differ in their address alone."""
        self.operation: Operation = operation
        self.origin: int = origin
        self.tile: Tile = tile
        self._grid: BlockId = grid
        self._order: list[int] | None = _nesting(tile.shape, tile.strides, tile.ends)
        self.blocks: array[int] = array("q")
        self.addresses: array[int] = array("Q")
        self._unsure: bool = False  # Whether the tile may move by an unknown distance along an axis of extent 1.

    def add(self, block: int, address: int) -> None:
        self.blocks.append(block)
        self.addresses.append(address)

    @property
    def distinct(self) -> int:
        """How many different tiles were stored."""
        return len(set(self.addresses))

    @property
    def tile_count(self) -> int:
        """Of a view how many tiles it has; else 0."""
        if not self.tile.ends:
            return 0
        return math.prod([-(-end // extent) for end, extent in zip(self.tile.ends, self.tile.shape, strict=True)])

    def is_outside(self, address: int) -> bool:
        """Whether an address lies outside of the tensor that the store sees."""
        order = self._order
        if order is None or not self.tile.ends:
            return False
        position = _position(address - self.origin, self.tile.strides, order)
        return not all(0 <= int(number) < end for number, end in zip(position, self.tile.ends, strict=True))

    def block_of(self, address: int) -> BlockId | None:
        """The tile block whose tile an address lies in by the rule, in the grid or beyond it; None without a rule."""
        order = self._order
        if order is None or self.rule is None:
            return None
        start, factors, rows = self.rule
        rest = _position(address - self.origin, self.tile.strides, order) - start
        coordinates = [0] * _COUNT
        # What moves furthest comes first, along the dimension in which it does.
        ways = numpy.abs(factors) * numpy.array(self.tile.strides)[:, None]
        for axis in numpy.argsort(-ways.max(axis=0), kind="stable").tolist():
            dimension = int(ways[:, axis].argmax())
            factor = int(factors[dimension, axis])
            if factor:
                coordinates[axis] = int(rest[dimension]) // factor
                rest = rest - factors[:, axis] * coordinates[axis]
        if min(coordinates) < 0 or coordinates[0] >= rows:
            return None
        if not all(0 <= int(number) < extent for number, extent in zip(rest, self.tile.shape, strict=True)):
            return None
        x = coordinates[0] + (coordinates[3] * rows if coordinates[3] else 0)
        found = (x, coordinates[1], coordinates[2])
        return None if self._unsure and is_within(found, self._grid) else found

    @cached_property
    def rule(self) -> Rule | None:
        """Where block (0, 0, 0) begins, by how much each coordinate moves that, and the divisor of x."""
        order, grid = self._order, self._grid
        if order is None:
            return None
        numbers = numpy.frombuffer(self.blocks, numpy.int64)
        addresses = numpy.frombuffer(self.addresses, numpy.uint64).astype(numpy.int64) - self.origin
        positions = _positions(addresses, self.tile.strides, order)
        coordinates = numpy.stack(
            [numbers % grid[0], numbers // grid[0] % grid[1], numbers // (grid[0] * grid[1]), numbers * 0], axis=1
        )
        rule = self._fitted(coordinates, positions, order, _NO_ROWS)
        if rule is None and len(numbers) == grid[0] * grid[1] * grid[2] == grid[0] > 2:
            rule = self._divided(numbers, coordinates, positions, order)
        return rule

    def _divided(self, numbers: Array, coordinates: Array, positions: Array, order: list[int]) -> Rule | None:
        """A rule with quotient and remainder of x, for a grid of one dimension that ran as a whole."""
        sorted_positions = positions[numpy.argsort(numbers, kind="stable")]
        steps = numpy.diff(sorted_positions, axis=0)
        other = (steps != steps[0]).any(axis=1)
        rows = int(other.argmax()) + 1
        if not other.any() or rows < 2:
            return None
        coordinates = coordinates.copy()
        coordinates[:, 3] = coordinates[:, 0] // rows
        coordinates[:, 0] %= rows
        return self._fitted(coordinates, positions, order, rows)

    def _fitted(self, coordinates: Array, positions: Array, order: list[int], rows: int) -> Rule | None:
        base, position = coordinates[0], positions[0]
        factors: Array = numpy.zeros((len(self.tile.strides), _COUNT), numpy.int64)
        for axis in range(_COUNT):
            moved = coordinates != base
            alone = moved[:, axis] & (moved.sum(axis=1) == 1)
            if alone.any():
                number = int(alone.argmax())
                way = int(coordinates[number, axis] - base[axis])
                change = positions[number] - position
                if (change % way).any():
                    return None
                factors[:, axis] = change // way
            elif axis < 3:
                # Only one tile block along this axis: use the multiple that follows from the program.
                moved_by = self._static(axis, order)
                if moved_by is None:
                    self._unsure = True
                else:
                    factors[:, axis] = moved_by
        start = position - factors @ base
        if (positions != start + coordinates @ factors.T).any():
            return None
        return start, factors, rows

    def _static(self, axis: int, order: list[int]) -> Array | None:
        """How far a tile moves from one block to the next, as far as it follows from the program."""
        if not self.tile.steps:
            factor = factors_of(self.operation.operands[0])[axis]
            return _position(factor, self.tile.strides, order) if factor is not None else None
        moved: Array = numpy.zeros(len(self.tile.strides), numpy.int64)
        for value, (dimension, step) in zip(self.operation.index, self.tile.steps, strict=True):
            factor = factors_of(value)[axis]
            if factor is None:
                return None
            if dimension >= 0:
                moved[dimension] += factor * step
        return moved


def is_within(block: BlockId, grid: BlockId) -> bool:
    return all(number < extent for number, extent in zip(block, grid, strict=True))


def _nesting(shape: tuple[int, ...], strides: tuple[int, ...], ends: tuple[int, ...]) -> list[int] | None:
    """The dimensions from the largest stride to the smallest; None if places in them are ambiguous."""
    order = sorted(range(len(strides)), key=lambda dimension: -strides[dimension])
    extents = ends or shape
    for outer, inner in pairwise(order):
        if (extents[inner] - 1) * strides[inner] >= strides[outer]:
            return None
    return order if all(stride > 0 for stride in strides) else None


def _position(distance: int, strides: tuple[int, ...], order: list[int]) -> Array:
    (found,) = _positions(numpy.array([distance]), strides, order)
    return numpy.asarray(found)


def _positions(distances: Array, strides: tuple[int, ...], order: list[int]) -> Array:
    found: Array = numpy.zeros((distances.size, len(strides)), numpy.int64)
    for dimension in order:
        found[:, dimension], distances = numpy.divmod(distances, strides[dimension])
    return found


def tile_of_view(access: Access) -> Tile:
    """The tile of an access through a view, masked or not."""
    assert access.box is not None
    view: Any = access.view
    address, _, strides = access.box
    # A dimension with one position distinguishes nothing.
    kept = [axis for axis, extent in enumerate(view.extents) if extent > 1]
    steps = tuple([(kept.index(axis) if axis in kept else -1, step) for axis, step in enumerate(view.steps)])
    if not kept:
        return Tile(address, (1,), (access.size,), steps, (1,), view.tensor.shape)
    shape, ways, ends = (tuple([each[axis] for axis in kept]) for each in (view.shape, strides, view.extents))
    return Tile(address, shape, ways, steps, ends, view.tensor.shape)


def tile_of_pointers(access: Access) -> Tile | None:
    """The tile of an access through pointers; None if these are not at even distances."""
    addresses = access.addresses.view(numpy.int64)
    steps = even_steps(addresses) if access.view is None else None
    if steps is None:
        return None
    address = int(addresses.item(0)) + sum([(extent - 1) * min(stride, 0) for extent, stride in steps])
    if not steps:
        return Tile(address, (1,), (access.size,))
    return Tile(address, tuple([extent for extent, _ in steps]), tuple([abs(stride) for _, stride in steps]))


Factors = tuple["int | None", "int | None", "int | None"]  # By axis; None where it is not a number.
_ZERO: Final[Factors] = (0, 0, 0)
_UNKNOWN: Final[Factors] = (None, None, None)
_UNCHANGED: Final = (ops.ASSUME, ops.BROADCAST, ops.RESHAPE, ops.EXTI, ops.PTR_TO_PTR)
_DEEPEST: Final = 100


def factors_of(value: Value, known: dict[Value, Factors] | None = None, depth: int = 0) -> Factors:
    """By how much a value grows with the block's x, y and z, a pointer in bytes."""
    if depth > _DEEPEST:
        return _UNKNOWN
    known = known if known is not None else {}
    if value not in known:
        known[value] = _factors(value, known, depth + 1)
    return known[value]


def _factors(value: Value, known: dict[Value, Factors], depth: int) -> Factors:
    if isinstance(value, BlockArgument):
        owner = value.block.parent_operation
        if owner is None or owner.declaration is ops.ENTRY:
            return _ZERO
        # A counter grows with where it begins.
        if owner.declaration is ops.FOR and value.index == 0:
            return factors_of(owner.operands[0], known, depth)
        return _UNKNOWN
    operation = value.defining_operation
    if operation is None or operation.regions:
        return _UNKNOWN
    declaration = operation.declaration
    if declaration is ops.GET_TILE_BLOCK_ID:
        number = [result is value for result in operation.results].index(True)
        return cast(Factors, tuple([int(axis == number) for axis in range(3)]))
    parts = [factors_of(operand, known, depth) for operand in operation.operands if isinstance(operand.type, TileType)]
    if declaration in _UNCHANGED:
        return parts[0]
    weights: list[int | None] = [None] * len(parts)
    if declaration in (ops.ADDI, ops.SUBI):
        weights = [1, 1 if declaration is ops.ADDI else -1]
    elif declaration is ops.MULI:
        weights = [_constant(operation.operands[1]), _constant(operation.operands[0])]
    elif declaration is ops.OFFSET:
        weights = [1, memory_bytes(pointee_of(operation.operands[0]))]
    found: list[int | None] = []
    for axis in range(3):
        total: int | None = 0
        for part, weight in zip(parts, weights, strict=True):
            factor = part[axis]
            if factor != 0 and total is not None:
                total = None if factor is None or weight is None else total + factor * weight
        found.append(total)
    return cast(Factors, tuple(found))


def _constant(value: Value) -> int | None:
    """The number that all elements of a constant are."""
    operation = value.defining_operation
    while operation is not None and operation.declaration in _UNCHANGED:
        operation = operation.operands[0].defining_operation
    if operation is None or operation.declaration is not ops.CONSTANT:
        return None
    numbers = constant_elements(operation.value_attribute)
    return int(numbers[0]) if (numbers == numbers[0]).all() else None
