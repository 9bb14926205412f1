"""The operands of a matmul in memory: where the tile of each iteration lies, and how much of it.

| operand    | what it is                                                                                    |
|------------|-----------------------------------------------------------------------------------------------|
| `view`     | tiles of a view whose rows lie in memory, read or packed where they lie                       |
| `pointers` | tiles of pointers that a loop advances by constant steps (`AffineReader`), the same; packed   |
|            | always where they are converted                                                               |
| `buffer`   | A in scratch memory: `Operand` itself                                                         |
| `computed` | anything else (converted, transposed, computed, scaled): packed tile by tile by a loop nest,  |
|            | without a pointer                                                                             |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tileir.dialect.ops import FTOF
from tileir.execute.cpu.codegen import view_access
from tileir.execute.cpu.codegen.affine_tiles import Affine, AffineReader
from tileir.execute.cpu.codegen.bounds import is_in_array
from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.ir.expressions import Elementwise, Expression, PointerLoad, Table, ViewLoad
from tileir.execute.cpu.matmul.plan import Plan
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.dtypes import memory_bytes
from tileir.ir.core import Operation

UNBOUNDED: Final = 1 << 62


@dataclass(slots=True)
class Operand:
    """An operand whose tiles lie in memory, `step` bytes apart; or one that is computed."""

    pointer: str  # To the tile of the first iteration; empty if it is computed.
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


def pointer_tile(reader: AffineReader, load: PointerLoad) -> tuple[Affine, list[Affine]] | None:
    """The addresses of a load, and numbers not negative where its mask is true; None if unknown or not zero-padded."""
    addresses, limits = reader.of(load.pointers), [] if load.mask is None else reader.limits(load.mask)
    is_padded = isinstance(load.padding, Table) and not any(load.padding.array.tobytes())
    if addresses is None or limits is None or not (load.mask is None or is_padded):
        return None
    return addresses, limits


def pointer_operand(emission: Emission, load: PointerLoad, side: int, reader: AffineReader, plan: Plan) -> Operand:
    """A (side 0) or B through pointers; the reader's conditions make sure that rows are neighbors, tiles lie side by
    side, and all that masks leave in lies in the array of the pointers."""
    builder, along = emission.builder, 1 - side
    size, extent = memory_bytes(load.element), (plan.m, plan.n)[side]
    tile = pointer_tile(reader, load)
    assert tile is not None
    address, limits = tile
    row, column = address.steps
    reader.need("eq", column, size)
    reader.need("eq", address.iteration, reader.exact("mul", address.steps[along], plan.k))
    length = reader.exact("mul", reader.iterations, plan.k)
    found = Operand(builder.pointer(address.first), row, address.iteration, length, extent)
    for limit in limits:
        _end_at(found, limit, reader, side, plan.k)
    found.is_whole = builder.compared("uge", found.across, extent)
    reader.need("sge", found.across, 1)
    reader.need("sge", found.along, 1)
    found.keys = [address.first, row, found.along, found.across]
    # All that is read lies in the array that it most likely does.
    last = [builder.subtract(valid, 1) for valid in (found.across, found.along)]
    ends = reader.ends(address, last[::-1] if side else last)
    reader.conditions += [is_in_array(emission, load.operation, end, size) for end in ends]
    return found


def _end_at(operand: Operand, limit: Affine, reader: AffineReader, side: int, k: int) -> None:
    """End the valid extent of an operand where a number becomes negative."""
    builder = reader.builder
    if limit.is_uniform:
        reader.need("sge", limit.first, 0)
        return
    along, across = limit.steps[1 - side], limit.steps[side]
    goes_along = along != 0 or limit.iteration != 0
    reader.need("eq", along if goes_along else across, -1)
    left = builder.call("i64", "llvm.smax.i64", [f"i64 {reader.exact('add', limit.first, 1)}", "i64 0"])
    if not goes_along:
        operand.across = builder.smaller(operand.across, left)
        return
    reader.need("eq", across, 0)
    reader.need("eq", limit.iteration, -k)
    operand.along = builder.smaller(operand.along, left)
    operand.room = builder.divided(operand.along, k)[0]


def pointer_load(operand: Expression) -> tuple[PointerLoad, list[Operation]] | None:
    """The load through pointers that an operand is, and how it is converted; None if it is anything else."""
    conversions: list[Operation] = []
    while isinstance(operand, Elementwise) and operand.operation.declaration is FTOF:
        conversions.insert(0, operand.operation)
        (operand,) = operand.operands
    return (operand, conversions) if isinstance(operand, PointerLoad) else None
