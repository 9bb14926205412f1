"""The operations of a program on one part of each tile that is cut, and results of matmuls stored in parts.

For an epilogue in parts, columns are taken out of the accumulator, converted and stored, some after the others.  What
is stored goes through shared memory, which the loads of the next tile need too; a part of a result takes a part of it.
Every element is computed as before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from tileir.dialect import ops
from tileir.dialect.types import PartitionViewType, TileType, partition_view_type, scalar_tile, tile_type
from tileir.execute.analysis.values import tile_of
from tileir.execute.gpu.triton.preparing.cutting import Cut
from tileir.ir.attributes import Attribute
from tileir.ir.core import Block, Operation, Region
from tileir.ir.dense import dense_attribute
from tileir.ir.traversal import clone
from tileir.ir.types import I32, Type
from tileir.ir.values import Value
from tileir.passes.emit import Emit

Place = Callable[[Value, Emit], Value]
"""From the index of a whole tile to that of the part."""


class Parts:
    def __init__(
        self, cut: Cut, place: Place, mapping: dict[Value, Value], views: dict[tuple[Value, int], Value] | None = None
    ) -> None:
        self._cut: Final = cut
        self._place: Final = place
        self._views: Final[dict[tuple[Value, int], Value]] = {} if views is None else views
        self.mapping: Final = mapping

    def write(self, operation: Operation, emit: Emit) -> Operation:
        """One operation; gives what it has become."""
        declaration = operation.declaration
        if declaration is ops.FOR:
            return self._loop(operation, emit)
        tile = operation.tile if declaration is ops.STORE_VIEW_TKO else next(iter(operation.results), None)
        axis = None if tile is None else self._cut.axes.get(tile)
        if tile is not None and axis is not None:
            if declaration in (ops.LOAD_VIEW_TKO, ops.STORE_VIEW_TKO):
                return self._access(operation, axis, emit)
            if declaration is ops.CONSTANT:
                type = cast(TileType, self.type_of(tile))
                value = dense_attribute(type, type.shape, type.element, operation.value_attribute.data)
                return self._put(operation, emit, [], {**operation.attributes, "value": value})
            if declaration is ops.IOTA:
                return self._iota(operation, emit)
        copy = clone(operation, dict(self.mapping))
        operands, regions = list(copy.operands), copy.regions
        copy.regions = []
        copy.drop_all_references()
        return self._put(operation, emit, operands, regions=regions)

    def type_of(self, value: Value) -> Type:
        axis = self._cut.axes.get(value)
        if axis is None:
            return value.type
        shape = list(tile_of(value).shape)
        shape[axis] //= self._cut.parts
        return tile_type(tuple(shape), tile_of(value).element)

    def _put(
        self,
        operation: Operation,
        emit: Emit,
        operands: list[Value],
        attributes: dict[str, Attribute] | None = None,
        regions: list[Region] | None = None,
    ) -> Operation:
        """The same operation with other operands, and results of parts."""
        made = emit.create(
            operation.declaration,
            operands,
            [self.type_of(each) for each in operation.results],
            dict(operation.attributes) if attributes is None else attributes,
            regions or [],
            operation.location,
            operation.segments,
        )
        self.mapping.update(zip(operation.results, made.results, strict=True))
        return made

    def _mapped(self, operation: Operation) -> list[Value]:
        return [self.mapping.get(each, each) for each in operation.operands]

    def _loop(self, operation: Operation, emit: Emit) -> Operation:
        old = operation.regions[0].blocks[0]
        new = Block()
        for argument in old.arguments:
            self.mapping[argument] = new.add_argument(self.type_of(argument), argument.location)
        inside = emit_at_end(new, operation)
        for each in old:
            self.write(each, inside)
        return self._put(operation, emit, self._mapped(operation), regions=[Region([new])])

    def _access(self, operation: Operation, axis: int, emit: Emit) -> Operation:
        operands = self._mapped(operation)
        start = operation.operands.index(operation.view)
        operands[start] = self._view(operation.view, axis)
        # Indices stand behind the view.
        operands[start + 1 + axis] = self._place(operation.index[axis], emit)
        return self._put(operation, emit, operands)

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

    def _iota(self, operation: Operation, emit: Emit) -> Operation:
        """Numbers of a part: the first one's, and so many more."""
        type = cast(TileType, self.type_of(operation.results[0]))
        first = emit.create(ops.IOTA, [], [type], dict(operation.attributes)).results[0]
        number = self._place(integer(emit, 0), emit)
        start = emit.apply(ops.MULI, number, integer(emit, type.shape[0]))
        one = emit.create(ops.RESHAPE, [start], [tile_type((1,), type.element)]).results[0]
        spread = emit.create(ops.BROADCAST, [one], [type]).results[0]
        made = emit.create(ops.ADDI, [first, spread], [type])
        self.mapping[operation.results[0]] = made.results[0]
        return made


def integer(emit: Emit, number: int) -> Value:
    return emit.bits(scalar_tile(I32), number)


def emit_at_end(block: Block, like: Operation) -> Emit:
    """What writes operations at the end of a block, with the location of another one."""
    emit = Emit(like)
    emit.insert_at_end(block)
    return emit
