"""Which tiles of a program are cut into halves, and along which dimension, when one of them is.

A **cut** spreads from a tile to its operands and users, as far as each element of a half depends only on the same half:
through arithmetic, rows or columns of a matmul, loops, loads and stores of views.  It fails at a reduction along the
cut, or a matmul over it.

A program in halves stores the first before it loads the second.  Where a store waits for a load they may share memory,
and the first half would change the inputs of the second, unless both are of one tile and cut alike (`check_order`).
"""

from __future__ import annotations

from typing import Final, cast

from tileir.dialect import ops
from tileir.dialect.types import PartitionViewType, TileType
from tileir.execute.analysis.token_order import TokenOrder
from tileir.execute.analysis.values import tile_of
from tileir.ir.core import Block, Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ELEMENTWISE, MATRIX_PRODUCT
from tileir.ir.traversal import pre_order
from tileir.ir.types import I32
from tileir.ir.values import BlockArgument, OperationResult, Value

MATMULS: Final = tuple([each for each in REGISTRY.with_traits(MATRIX_PRODUCT) if len(each.operands) == 3])
"""Matmuls without scales, which would have to be cut too."""
_COUNTED: Final = 3  # The bounds of a `for`, which stand before what it carries.

_LOADS: Final = (ops.LOAD_VIEW_TKO, ops.LOAD_PTR_TKO)


class Uncut(Exception):
    """A tile cannot be cut."""


class TileSplit:
    """Tiles with the dimension that they are cut along."""

    def __init__(self, follows: bool = True) -> None:
        """`follows`: whether what is made of a tile is cut too."""
        self.axes: Final[dict[Value, int]] = {}
        self.stores: Final[list[Operation]] = []
        self.loops: Final[list[Operation]] = []
        self._follows: Final = follows
        self._pending: Final[list[Value]] = []

    def begin(self, value: Value, axis: int) -> None:
        """Cut a tile, and all that it concerns; `Uncut` where that is impossible."""
        self._add(value, axis)
        while self._pending:
            each = self._pending.pop()
            self._backwards(each, self.axes[each])
            if self._follows:
                self._forwards(each, self.axes[each])

    def _add(self, value: Value, axis: int) -> None:
        known = self.axes.get(value)
        if known is None:
            if tile_of(value).shape[axis] < 4:
                raise Uncut
            self.axes[value] = axis
            self._pending.append(value)
        elif known != axis:
            raise Uncut

    def _backwards(self, value: Value, axis: int) -> None:
        maker = value.defining_operation
        if isinstance(value, BlockArgument):
            self._around(value.block.parent_operation, value.index - 1, axis)
        elif maker is None or maker.declaration is ops.FOR:
            self._around(maker, cast(OperationResult, value).index, axis)
        elif maker.declaration is ops.LOAD_VIEW_TKO:
            _check_view(maker, axis)
        elif maker.declaration is ops.CONSTANT:
            _require(maker.value_attribute.is_splat)
        elif maker.declaration is ops.IOTA:
            _require(tile_of(value).element is I32)
        else:
            for operand, place in _operand_axes(maker, axis):
                self._add(operand, place)

    def _around(self, loop: Operation | None, number: int, axis: int) -> None:
        """What a loop is given, carries and gives."""
        if loop is None or loop.declaration is not ops.FOR or not ends_only_at_its_end(loop):
            raise Uncut
        block = loop.regions[0].blocks[0]
        if loop not in self.loops:
            self.loops.append(loop)
        given, last = loop.operands[_COUNTED + number], cast(Operation, block.last).operands[number]
        for each in (given, block.arguments[1 + number], last, loop.results[number]):
            self._add(each, axis)

    def _forwards(self, value: Value, axis: int) -> None:
        for user in value.users:
            places = [number for number, operand in enumerate(user.operands) if operand is value]
            if user.declaration is ops.STORE_VIEW_TKO:
                if user not in self.stores:
                    _check_view(user, axis)
                    self.stores.append(user)
            elif user.declaration in (ops.FOR, ops.CONTINUE):
                is_loop = user.declaration is ops.FOR
                for number in places:
                    loop = user if is_loop else user.parent_operation
                    self._around(loop, number - _COUNTED if is_loop else number, axis)
            else:
                made = [each.type for each in user.results]
                shape = made[0].shape if made and isinstance(made[0], TileType) else ()
                extent = tile_of(value).shape[axis]
                # The dimension of the results from which this one comes: none where the sum goes over it.
                found = [place for place, each in enumerate(shape) if each == extent]
                found = [place for place in found if (value, axis) in _operand_axes(user, place)]
                _require(bool(found))
                for result in user.results:
                    self._add(result, found[0])


def _require(holds: bool) -> None:
    if not holds:
        raise Uncut


def _operand_axes(operation: Operation, axis: int) -> list[tuple[Value, int]]:
    """The operands that are cut when the results of an operation are cut along a dimension, each with its own."""
    declaration, operands = operation.declaration, operation.operands
    if declaration in MATMULS:
        left, right, total = operands
        rank = len(tile_of(total).shape)
        rows = [(left, axis)] if axis != rank - 1 else []
        return [*rows, *([(right, axis)] if axis != rank - 2 else []), (total, axis)]
    if declaration is ops.BROADCAST:
        return [(operands[0], axis)] if tile_of(operands[0]).shape[axis] > 1 else []
    if declaration is ops.RESHAPE:
        return [(operands[0], _same_axis(operation.results[0], axis, operands[0]))]
    if declaration is ops.PERMUTE:
        return [(operands[0], operation.permutation[axis])]
    if declaration is ops.REDUCE:
        return [(operand, axis if axis < operation.dim else axis + 1) for operand in operands]
    if declaration.has_trait(ELEMENTWISE):
        return [(operand, axis) for operand in operands]
    raise Uncut


def ends_only_at_its_end(loop: Operation) -> bool:
    """Whether nothing in a loop branches: iterations end in one place."""
    return not any(each.declaration in (ops.IF, ops.LOOP, ops.RETURN) for each in pre_order(loop))


def _check_view(operation: Operation, axis: int) -> None:
    """Refuse an access that has no halves: other views than partitions, other indices, and ordered accesses."""
    maker = operation.view.defining_operation
    _require(isinstance(operation.view.type, PartitionViewType) and tile_of(operation.index[axis]).element is I32)
    _require(maker is not None and maker.declaration is ops.MAKE_PARTITION_VIEW)
    _require(operation.memory_ordering_semantics == "weak")


def _same_axis(value: Value, axis: int, other: Value) -> int:
    """The dimension of another tile that is this one's, where they differ in dimensions of one element only."""
    shape, expected = tile_of(value).shape, tile_of(other).shape
    if [extent for extent in shape if extent > 1] != [extent for extent in expected if extent > 1]:
        raise Uncut
    number = sum([extent > 1 for extent in shape[:axis]])
    return [place for place, extent in enumerate(expected) if extent > 1][number]


def check_order(cut: TileSplit, block: Block, written: list[Operation]) -> None:
    """`Uncut` where a store in halves waits for a load in halves of other elements, or a load for such a store.
    What comes from an earlier run of `block`, the one that halves are written in, is done."""
    loads = {each for operation in written for each in pre_order(operation) if each.declaration in _LOADS}
    stores = set(cut.stores)

    def awaited(operation: Operation) -> set[Operation | None]:
        tokens = TokenOrder(operation).all_before(operation, since=block)
        return {token.defining_operation for token in tokens}

    for store in stores:
        _require(all(_is_of_one_tile(cut, each, store) for each in loads & awaited(store)))
    _require(not any(awaited(load) & stores for load in loads))


def _is_of_one_tile(cut: TileSplit, load: Operation, store: Operation) -> bool:
    """Whether the same elements are loaded for a half as are stored."""
    if load.declaration is not ops.LOAD_VIEW_TKO or [load.view, *load.index] != [store.view, *store.index]:
        return False
    axis = cut.axes.get(load.results[0])
    return axis is not None and axis == cut.axes.get(store.tile)
