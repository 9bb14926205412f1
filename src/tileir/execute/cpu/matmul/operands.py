"""The operands of a matmul in memory: where the tile of each iteration lies, and how much of it.

| operand    | what it is                                                                                    |
|------------|-----------------------------------------------------------------------------------------------|
| `view`     | tiles of a view whose rows lie in memory, read or packed where they lie                       |
| `pointers` | tiles of pointers that a loop advances by constant steps (`affine`), the same                 |
| `buffer`   | A in scratch memory: `Operand` itself                                                         |
| `computed` | anything else (converted, transposed, computed, scaled): packed tile by tile by a loop nest   |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tileir.execute.cpu.codegen import view_access
from tileir.execute.cpu.codegen.bounds import accessed_array, places_in
from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.ir.expressions import PointerLoad, ViewLoad
from tileir.execute.cpu.matmul.affine import COLUMN, ROW, Affine, AffineReader
from tileir.execute.cpu.matmul.plan import Plan
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.dtypes import memory_bytes
from tileir.ir.core import Operation

UNBOUNDED: Final = 1 << 62


@dataclass(slots=True)
class Operand:
    """An operand whose tiles lie in memory, `step` bytes apart."""

    pointer: str  # To the tile of the first iteration.
    row: Number  # The row stride in bytes.
    step: Number = 0
    along: Number = UNBOUNDED  # The valid extent along k, from the first iteration on.
    across: Number = UNBOUNDED  # The valid extent in the other dimension.
    room: Number = UNBOUNDED  # How many iterations have tiles that are valid along k.
    in_rows: str = "true"  # An i1: what is valid of a tile lies in memory, in rows of neighbors.
    is_whole: str = "true"  # An i1: `in_rows`, and all of a tile is valid in the other dimension.
    is_row_major: bool = True  # As far as the program says: then a tile that is not whole lies over an edge
    is_zero_padded: bool = True  # Whether a tile has zeros over an edge.
    load: Operation | None = None  # What reads it, where that may fail.
    keys: list[Number] = field(default_factory=list)  # What it is found by packed, if not the indices of its tiles

    def at(self, builder: Builder, iteration: Number) -> str:
        """A pointer to the tile of an iteration."""
        return builder.moved(self.pointer, builder.multiply(iteration, self.step))


def view_operand(emission: Emission, load: ViewLoad, side: int, first: Number, batch: Number, plan: Plan) -> Operand:
    """A (side 0) or B through a view; dimensions before its matrix are 1 or a batch; iterations count from `first`."""
    builder, along, across = emission.builder, 1 - side, side
    access = view_access.tile_access(emission, load.operation)
    view = access.view
    size = memory_bytes(view.tensor.element)
    strides, pointer, outer = view.strides[-2:], access.pointer, access.starts[:-2]
    if outer and batch != 0:
        outer[0] = builder.add(outer[0], batch)
        pointer = builder.moved(pointer, builder.multiply(batch, builder.multiply(view.strides[0], size)))
    lengths = [builder.remaining(view.extents[axis], access.starts[axis]) for axis in (-2, -1)]
    inside = [builder.compared("ult", *pair) for pair in zip(outer, view.extents[:-2], strict=True)]
    if any(condition != "true" for condition in inside):
        # Of a matrix that the tensor does not have no row and no column is valid.
        lengths[across] = builder.emit(f"select i1 {builder.all_of(inside)}, i64 {lengths[across]}, i64 0")
    # Indices are unsigned, but a counter below zero that is advanced is not.
    conditions = [builder.compared("sge", first, 0), view.tensor.fits(load.operation)]
    in_rows = builder.all_of([*conditions, builder.compared("eq", strides[1], 1)])
    fits = builder.compared("uge", lengths[across], view.shape[-2:][across])
    return Operand(
        pointer,
        builder.multiply(strides[0], size),
        builder.multiply(builder.multiply(strides[along], size), plan.k),
        along=lengths[along],
        across=lengths[across],
        room=builder.divided(lengths[along], plan.k)[0],
        in_rows=in_rows,
        is_whole="false" if "false" in (fits, in_rows) else builder.all_of([in_rows, fits]),
        is_row_major=strides[1] == 1,
        is_zero_padded=view.is_zero_outside,
        load=load.operation,
    )


def pointer_operand(emission: Emission, load: PointerLoad, side: int, reader: AffineReader, plan: Plan) -> Operand:
    """A (side 0) or B through pointers; the reader's conditions make sure that rows are neighbors, tiles lie side by
    side, and all that masks leave in lies in the array of the pointers."""
    builder, along = emission.builder, COLUMN if side == 0 else ROW
    size, extent = memory_bytes(load.element), (plan.m, plan.n)[side]
    access = reader.access(load)
    assert access is not None
    address, limits = access
    reader.need("eq", address.column, size)
    reader.need("eq", address.iteration, reader.exact("mul", address[along], plan.k))
    length = reader.exact("mul", reader.iterations, plan.k)
    found = Operand(builder.pointer(address.first), address.row, address.iteration, length, extent)
    for limit in limits:
        _end_at(builder, found, limit, reader, along, plan.k)
    found.is_whole = builder.compared("uge", found.across, extent)
    reader.need("sge", found.across, 1)
    reader.need("sge", found.along, 1)
    found.keys = [address.first, found.row, found.along, found.across]
    # All that is read lies in the array that it most likely does.
    array = accessed_array(emission, load.operation)
    if array is None:
        reader.conditions.append("false")
        return found
    last = builder.subtract(found.across, 1), builder.subtract(found.along, 1)
    rows, columns = last if side == 0 else last[::-1]
    places = places_in(emission, array, size)
    for end in reader.ends(address, (rows, columns, 0)):
        moved = builder.emit(f"sub i64 {end}, {array.low}")
        reader.conditions.append(builder.emit(f"icmp ult i64 {moved}, {places}"))
    return found


def _end_at(builder: Builder, operand: Operand, rest: Affine, reader: AffineReader, along: int, k: int) -> None:
    """Let an operand go no further than a number is not negative."""
    across = ROW + COLUMN - along
    if rest.is_scalar:
        reader.need("sge", rest.first, 0)
        return
    goes_along = rest[along] != 0 or rest.iteration != 0
    reader.need("eq", rest[along if goes_along else across], -1)
    left = builder.call("i64", "llvm.smax.i64", [f"i64 {reader.exact('add', rest.first, 1)}", "i64 0"])
    if not goes_along:
        operand.across = builder.smaller(operand.across, left)
        return
    reader.need("eq", rest[across], 0)
    reader.need("eq", rest.iteration, -k)
    operand.along = builder.smaller(operand.along, left)
    operand.room = builder.divided(operand.along, k)[0]
