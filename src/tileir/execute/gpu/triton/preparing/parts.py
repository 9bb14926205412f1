"""The operations of a program on one part of each tile that is cut, and results of matmuls stored in parts.

For an epilogue in parts, columns are taken out of the accumulator, converted and stored, some after the others.  What
is stored goes through shared memory, which the loads of the next tile need too; a part of a result takes a part of it.
Every element is computed as before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from tileir.dialect import ops
from tileir.dialect.enums import SIGNEDNESS
from tileir.dialect.types import TOKEN, PartitionViewType, TileType, partition_view_type, scalar_tile, tile_type
from tileir.execute.gpu.triton.preparing.cutting import Cut, Uncut, check_order
from tileir.execute.gpu.triton.schedule.features import features_of
from tileir.ir.core import Block, Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import dense_attribute
from tileir.ir.location import Location
from tileir.ir.traversal import clone, pre_order
from tileir.ir.types import I32, Type
from tileir.ir.values import Value

Place = Callable[[Value, Block, Operation | None], Value]
"""From the index of a whole tile to that of the part, computed at the end of a block or before an operation."""


class Parts:
    """Writes operations for one part."""

    def __init__(
        self,
        cut: Cut,
        place: Place,
        mapping: dict[Value, Value],
        views: dict[tuple[Value, int], Value] | None = None,
    ) -> None:
        self._cut: Final = cut
        self._place: Final = place
        self._views: Final[dict[tuple[Value, int], Value]] = {} if views is None else views
        self.mapping: Final = mapping
        """What values have become."""

    def write(self, operation: Operation, block: Block, before: Operation | None = None) -> Operation:
        """One operation, at the end of a block or before another; gives what it has become."""
        declaration = operation.declaration
        if declaration is ops.FOR:
            return self._loop(operation, block, before)
        if declaration in (ops.LOAD_VIEW_TKO, ops.STORE_VIEW_TKO):
            tile = operation.results[0] if declaration is ops.LOAD_VIEW_TKO else operation.tile
            if tile in self._cut.axes:
                return self._access(operation, self._cut.axes[tile], block, before)
        if declaration is ops.CONSTANT and operation.results[0] in self._cut.axes:
            return self._constant(operation, block, before)
        if declaration is ops.IOTA and operation.results[0] in self._cut.axes:
            return self._iota(operation, block, before)
        made = clone(operation, dict(self.mapping))
        types = [self.type_of(each) for each in operation.results]
        if types != [each.type for each in operation.results]:
            made = Operation(
                declaration,
                list(made.operands),
                types,
                made.attributes,
                _taken(made),
                operation.location,
                operation.segments,
            )
        return self._put(operation, made, block, before)

    def type_of(self, value: Value) -> Type:
        axis = self._cut.axes.get(value)
        if axis is None:
            return value.type
        return part_type(cast(TileType, value.type), axis, self._cut.parts)

    def _put(self, operation: Operation, made: Operation, block: Block, before: Operation | None) -> Operation:
        block.insert_before(made, before)
        for old, new in zip(operation.results, made.results, strict=True):
            self.mapping[old] = new
        return made

    def _loop(self, operation: Operation, block: Block, before: Operation | None) -> Operation:
        old = operation.regions[0].blocks[0]
        new = Block()
        for argument in old.arguments:
            self.mapping[argument] = new.add_argument(self.type_of(argument), argument.location)
        for each in old:
            self.write(each, new)
        operands = [self.mapping.get(each, each) for each in operation.operands]
        types = [self.type_of(each) for each in operation.results]
        attributes = dict(operation.attributes)
        made = Operation(ops.FOR, operands, types, attributes, [Region([new])], operation.location, operation.segments)
        return self._put(operation, made, block, before)

    def _access(self, operation: Operation, axis: int, block: Block, before: Operation | None) -> Operation:
        whole = operation.view
        view = self._view(whole, axis)
        operands = [self.mapping.get(each, each) for each in operation.operands]
        operands[operation.operands.index(whole)] = view
        indices = operation.index
        start = operation.operands.index(whole) + 1
        assert operation.operands[start : start + len(indices)] == indices, "indices stand behind the view"
        operands[start + axis] = self._place(indices[axis], block, before)
        types = [self.type_of(each) for each in operation.results]
        made = Operation(
            operation.declaration,
            operands,
            types,
            dict(operation.attributes),
            location=operation.location,
            segments=operation.segments,
        )
        return self._put(operation, made, block, before)

    def _view(self, whole: Value, axis: int) -> Value:
        """The view of tiles of parts, made beside the one of whole tiles."""
        found = self._views.get((whole, axis))
        if found is None:
            type = cast(PartitionViewType, whole.type)
            # Where it has been written already, that one is the one to stand beside.
            maker = self.mapping.get(whole, whole).defining_operation
            assert maker is not None and maker.parent is not None
            shape = list(type.tile_shape)
            shape[axis] //= self._cut.parts
            made = partition_view_type(tuple(shape), type.tensor, type.padding, type.dim_map)
            part = Operation(
                maker.declaration, list(maker.operands), [made], dict(maker.attributes), [], maker.location
            )
            maker.parent.insert_before(part, maker.next)
            found = self._views[whole, axis] = part.results[0]
        return found

    def _constant(self, operation: Operation, block: Block, before: Operation | None) -> Operation:
        type = cast(TileType, self.type_of(operation.results[0]))
        data = operation.value_attribute.data
        value = dense_attribute(type, type.shape, type.element, data)
        made = Operation(ops.CONSTANT, [], [type], {**operation.attributes, "value": value}, [], operation.location)
        return self._put(operation, made, block, before)

    def _iota(self, operation: Operation, block: Block, before: Operation | None) -> Operation:
        """Numbers of a part: the first one's, and so many more."""
        type = cast(TileType, self.type_of(operation.results[0]))
        first = Operation(ops.IOTA, [], [type], dict(operation.attributes), [], operation.location)
        block.insert_before(first, before)
        writing = Writing(block, before, operation.location)
        zero = writing.constant(0, I32)
        number = self._place(zero, block, before)
        start = writing.binary(ops.MULI, number, writing.constant(type.shape[0], I32))
        one = writing.operation(ops.RESHAPE, [start], tile_type((1,), type.element))
        spread = writing.operation(ops.BROADCAST, [one], type)
        made = Operation(ops.ADDI, [first.results[0], spread], [type], {}, [], operation.location)
        return self._put(operation, made, block, before)


def part_type(type: TileType, axis: int, parts: int) -> TileType:
    """The type of a part of a tile."""
    shape = list(type.shape)
    shape[axis] //= parts
    return tile_type(tuple(shape), type.element)


def _taken(operation: Operation) -> list[Region]:
    """The regions of an operation that is not used any further."""
    regions = operation.regions
    operation.regions = []
    operation.drop_all_references()
    return regions


class Writing:
    """Scalar arithmetic at a place."""

    def __init__(self, block: Block, before: Operation | None, location: Location) -> None:
        self._block: Final = block
        self._before: Final = before
        self._location: Final = location

    def operation(self, declaration: OperationDeclaration, operands: list[Value], type: Type) -> Value:
        made = Operation(declaration, operands, [type], {}, [], self._location)
        self._block.insert_before(made, self._before)
        return made.results[0]

    def operation_with(
        self, declaration: OperationDeclaration, operands: list[Value], type: Type, signedness: str
    ) -> Value:
        made = Operation(declaration, operands, [type], {"signedness": SIGNEDNESS[signedness]}, [], self._location)
        self._block.insert_before(made, self._before)
        return made.results[0]

    def binary(self, declaration: OperationDeclaration, left: Value, right: Value) -> Value:
        return self.operation(declaration, [left, right], left.type)

    def constant(self, number: int, element: Type) -> Value:
        type = scalar_tile(element)
        size = 4 if element is I32 else 8
        value = dense_attribute(type, (), element, (number & ((1 << 8 * size) - 1)).to_bytes(size, "little"))
        made = Operation(ops.CONSTANT, [], [type], {"value": value}, [], self._location)
        self._block.insert_before(made, self._before)
        return made.results[0]


def store_in_parts(entry: Operation, parts: int) -> None:
    """Store the results of loops with matmuls in so many parts, where they can be."""
    if parts < 2:
        return
    accumulators = frozenset([result for loop in features_of(entry).loops for result in loop.operation.results])
    for operation in pre_order(entry):
        if operation.declaration is not ops.STORE_VIEW_TKO:
            continue
        shape = cast(TileType, operation.tile.type).shape
        cut = Cut(parts, accumulators, follows=False)
        try:
            cut.store(operation, len(shape) - 1)
            chain = _chain(cut, operation)
        except Uncut:
            continue
        if any(value in accumulators for value in cut.axes):
            _write(cut, operation, chain)


def _chain(cut: Cut, store: Operation) -> list[Operation]:
    """The operations between the accumulators and the store, which nothing else uses."""
    assert store.parent is not None
    makers = {value.defining_operation for value in cut.axes if value not in cut.ends}
    found = [each for each in store.parent if each in makers]
    if cut.loops or len(found) != len(makers):
        raise Uncut
    for each in found:
        if any(user is not store and user not in makers for result in each.results for user in result.users):
            raise Uncut
    check_order(cut, store.parent, found)
    return found


def _write(cut: Cut, store: Operation, chain: list[Operation]) -> None:
    block = store.parent
    assert block is not None
    tokens: list[Value] = []
    views: dict[tuple[Value, int], Value] = {}
    for number in range(cut.parts):
        writing = Writing(block, store, store.location)
        mapping: dict[Value, Value] = {}
        parts = Parts(cut, _placing(cut.parts, number, mapping, store), mapping, views)
        for value, axis in cut.axes.items():
            if value in cut.ends:
                rank = len(cast(TileType, value.type).shape)
                index = [writing.constant(number if place == axis else 0, I32) for place in range(rank)]
                mapping[value] = writing.operation(ops.EXTRACT, [value, *index], parts.type_of(value))
        for each in chain:
            parts.write(each, block, store)
        tokens.append(parts.write(store, block, store).results[0])
    joined = Operation(ops.JOIN_TOKENS, tokens, [TOKEN], {}, [], store.location)
    if store.results[0].users:
        block.insert_before(joined, store)
        store.replace_with([joined.results[0]])
    else:
        joined.drop_all_references()
        store.erase()
    for each in reversed(chain):
        each.erase()


def _placing(parts: int, number: int, mapping: dict[Value, Value], store: Operation) -> Place:
    def place(index: Value, at: Block, before: Operation | None) -> Value:
        writing = Writing(at, before, store.location)
        first = writing.binary(ops.MULI, mapping.get(index, index), writing.constant(parts, I32))
        return writing.binary(ops.ADDI, first, writing.constant(number, I32))

    return place
