"""Where the result of a chain, or of a product alone, goes (`loops.destinations`).

Where a tile is stored as it is, the last part of the chain writes it there itself: a copy in scratch memory would be
written and read for nothing.  Of a tile that lies over an edge no more is computed than is stored.
"""

from __future__ import annotations

from typing import NamedTuple

from tileir.dialect.ops import MAKE_PARTITION_VIEW
from tileir.dialect.types import PartitionViewType
from tileir.execute.cpu.emission import accesses
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.streaming import moves_much
from tileir.execute.cpu.emission.views import Box, TensorView, TileView
from tileir.execute.cpu.loops.statements import Chain, Multiply
from tileir.execute.cpu.matrix.edges import Reach
from tileir.execute.cpu.matrix.plan import Rows
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.dtypes import memory_bytes
from tileir.ir.values import Value


class Destination(NamedTuple):
    """The rows in memory that a tile is stored to."""

    box: Box
    row: Number
    """How far apart they are in bytes."""
    size: int
    """Bytes of an element."""
    reach: Reach
    """How much of the tile lies in its tensor."""
    is_copy: bool = False
    """Whether the tile is stored as it is."""
    cached: str = "false"
    """An i1: then they are written through the caches."""
    direct: str = "false"
    """An i1: who computes the tile may write them, since the whole of it lies in its tensor and is stored as it is."""
    is_shared: bool = False
    """Whether it may write those of its group, where these lie in the tensor."""


def chosen(builder: Builder, condition: str, rows: Rows, otherwise: Rows) -> Rows:
    """Rows where an i1 holds, else others."""
    pointer = builder.emit(f"select i1 {condition}, ptr {rows[0]}, ptr {otherwise[0]}")
    return pointer, builder.emit(f"select i1 {condition}, i64 {rows[1]}, i64 {otherwise[1]}")


def destination_of(emission: Emission, statement: Chain | Multiply) -> Destination | None:
    """Where the tile of a chain or a product is stored; None where that is not known yet."""
    goal = emission.program.destinations.get(statement)
    if goal is None or emission.sanitize:
        return None
    builder, operation = emission.builder, goal.store.operation
    view = _view(emission, operation.view)
    if view is None or any(index not in emission.scalars for index in operation.index):
        return None
    box = accesses.box_in(emission, operation, view)
    size = memory_bytes(view.tensor.element)
    row = builder.multiply(view.strides[-2], size)
    reach = _reach(emission, box, -2), _reach(emission, box, -1)
    if not goal.is_copy:
        return Destination(box, row, size, reach)
    cached = "true"
    if goal.store in emission.program.streams.values():
        rows, columns = view.shape[-2:]
        streams = builder.all_of(moves_much(emission, rows * columns * size))
        cached = builder.emit(f"xor i1 {streams}, true")
    # Rows that overlap are written in order.
    apart = builder.emit(f"icmp sge i64 {row}, {view.shape[-1] * size}")
    direct = builder.all_of([cached, accesses.is_inside(emission, box), apart])
    return Destination(box, row, size, reach, True, cached, direct, goal.is_shared)


def _reach(emission: Emission, box: Box, axis: int) -> Number:
    """How much of a tile lies in its tensor along a dimension."""
    operands = [f"i64 {box.view.extents[axis]}", f"i64 {box.starts[axis]}"]
    left = emission.builder.call("i64", "llvm.usub.sat.i64", operands)
    return emission.builder.call("i64", "llvm.umin.i64", [f"i64 {left}", f"i64 {box.view.shape[axis]}"])


def _view(emission: Emission, value: Value) -> TileView | None:
    """A view that is made by now, or could be."""
    found = emission.views.get(value)
    if isinstance(found, TileView):
        return found
    operation = value.defining_operation
    if operation is None or operation.declaration is not MAKE_PARTITION_VIEW:
        return None
    tensor = emission.views.get(operation.operands[0])
    if not isinstance(tensor, TensorView) or not isinstance(value.type, PartitionViewType):
        return None
    return TileView(tensor, value.type)
