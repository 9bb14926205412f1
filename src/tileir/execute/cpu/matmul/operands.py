"""The operands of a matmul in memory: where the tile of each iteration lies, and how much of it.

| operand    | what it is                                                                                    |
|------------|-----------------------------------------------------------------------------------------------|
| `view`     | tiles of a view whose rows lie in memory, read or packed where they lie                       |
| `pointers` | tiles of pointers that a loop advances by constant steps (`affine`), the same                 |
| `buffer`   | A in scratch memory                                                                           |
| `computed` | anything else (converted, transposed, computed, scaled): packed tile by tile by a loop nest   |
"""

from __future__ import annotations

from tileir.execute.cpu.codegen import view_access
from tileir.execute.cpu.codegen.bounds import accessed_array, places_in
from tileir.execute.cpu.codegen.context import Emission, TileAccess
from tileir.execute.cpu.ir.expressions import PointerLoad, ViewLoad
from tileir.execute.cpu.matmul.affine import COLUMN, ITERATION, ROW, Affine, AffineReader, Exact
from tileir.execute.cpu.matmul.plan import Plan, Rows
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.dtypes import memory_bytes


class Operand:
    """An operand that is computed; those in memory derive from it."""

    pointer: str = "poison"
    """To the tile of the first iteration."""
    row: Number = 0
    """The row stride in bytes."""
    step: Number = 0
    """The distance of the tiles of two iterations in bytes."""
    in_rows: str = "false"
    """An i1: what is valid of a tile lies in memory, in rows of neighbors."""
    is_row_major: bool = False
    """Whether that always holds, as far as strides go: then a tile that is not whole lies over an edge."""
    is_zero_padded: bool = False
    """Whether a tile has zeros over an edge."""
    along: Number = 0
    """The valid extent along k, from the first iteration on."""
    across: Number = 0
    """The valid extent in the other dimension."""
    is_whole: str = "false"
    """An i1: `in_rows`, and all of a tile is valid in the other dimension."""
    room: Number = 1 << 62
    """How many iterations have tiles that are valid along k."""

    def at(self, builder: Builder, iteration: Number) -> str:
        """A pointer to the tile of an iteration."""
        return builder.moved(self.pointer, builder.multiply(iteration, self.step))

    def valid(self, builder: Builder, iteration: Number, extents: tuple[Number, int], k: int) -> tuple[Number, Number]:
        """The valid extents of a k-block that begins with an iteration, along k and in the other dimension."""
        left = remaining(builder, self.along, builder.multiply(iteration, k))
        return smaller(builder, left, extents[0]), smaller(builder, self.across, extents[1])


class BufferOperand(Operand):
    """A in scratch memory, as large as the matmul."""

    def __init__(self, rows: Rows) -> None:
        self.pointer, self.row = rows
        self.in_rows = self.is_whole = "true"


class ViewOperand(Operand):
    """An operand that is read through a view: the tile of its first iteration.

    The matrix is its last two dimensions; those before have one element each, or are a batch.
    """

    def __init__(
        self, emission: Emission, load: ViewLoad, along: int, first: Number, batch: Number, plan: Plan
    ) -> None:
        builder = emission.builder
        self.box: TileAccess = view_access.tile_access(emission, load.operation)
        view = self.box.view
        size = memory_bytes(view.tensor.element)
        starts, extents, strides = self.box.starts[-2:], view.extents[-2:], view.strides[-2:]
        across = 1 - along
        self.pointer = self.box.pointer
        outer = [*self.box.starts[:-2]]
        if outer and batch != 0:
            outer[0] = builder.add(outer[0], batch)
            self.pointer = builder.moved(self.pointer, builder.multiply(batch, builder.multiply(view.strides[0], size)))
        inside = [
            compared(builder, "ult", start, extent) for start, extent in zip(outer, view.extents[:-2], strict=True)
        ]
        self.is_row_major = strides[1] == 1
        # Indices are unsigned, but a counter below zero that is advanced is not.
        conditions = [compared(builder, "sge", first, 0), view.tensor.fits(load.operation)]
        self.in_rows = builder.all_of([*conditions, compared(builder, "eq", strides[1], 1)])
        # The sanitizer judges each element.
        self.is_zero_padded = view.is_zero_outside and not emission.sanitize
        self.across = remaining(builder, extents[across], starts[across])
        if any(condition != "true" for condition in inside):
            # Of a matrix that the tensor does not have no row and no column is valid.
            self.across = builder.emit(f"select i1 {builder.all_of(inside)}, i64 {self.across}, i64 0")
        self.along = remaining(builder, extents[along], starts[along])
        fits = compared(builder, "uge", self.across, view.shape[-2:][across])
        self.is_whole = "false" if "false" in (fits, self.in_rows) else builder.all_of([self.in_rows, fits])
        self.room = quotient(builder, self.along, plan.k)
        self.row = builder.multiply(strides[0], size)
        self.step = builder.multiply(builder.multiply(strides[along], size), plan.k)


class PointerOperand(Operand):
    """An operand that is read through pointers.

    The conditions of the reader make sure of it: rows of neighbors, tiles side by side, and all of it in the array that
    the pointers come from, as far as masks do not leave it out.
    """

    def __init__(
        self, emission: Emission, load: PointerLoad, along: int, reader: AffineReader, plan: Plan, iterations: Number
    ) -> None:
        builder, exact = emission.builder, reader.exact
        size = memory_bytes(load.element)
        access = reader.access(load)
        assert access is not None
        first, steps = access.addresses
        exact.need("eq", steps[COLUMN], size)
        exact.need("eq", steps[ITERATION], exact.times(steps[along], plan.k))
        self.in_rows, self.is_row_major, self.is_zero_padded = "true", True, True
        self.pointer = builder.emit(f"inttoptr i64 {first} to ptr")
        self.row, self.step = steps[ROW], steps[ITERATION]
        extent = plan.m if along == COLUMN else plan.n
        self.across, self.along, self.room = extent, exact.times(iterations, plan.k), iterations
        self.has_limits: bool = bool(access.limits)
        for limit in access.limits:
            self._end_at(builder, limit, along, exact, plan)
        self.is_whole = compared(builder, "uge", self.across, extent)
        exact.need("sge", self.across, 1)
        exact.need("sge", self.along, 1)
        self._find_in_array(emission, load, exact, Affine(first, (steps[ROW], steps[COLUMN], 0)), along)
        self.keys: list[Number] = [first, self.row, self.along, self.across]
        """What the operand is found by where it is packed."""

    def _end_at(self, builder: Builder, rest: Affine, along: int, exact: Exact, plan: Plan) -> None:
        """Go no further than a number is not negative."""
        across = 1 - along
        if rest.is_scalar:
            exact.need("sge", rest.first, 0)
            return
        goes_along = rest.steps[along] != 0 or rest.steps[ITERATION] != 0
        exact.need("eq", rest.steps[along if goes_along else across], -1)
        left = builder.call("i64", "llvm.smax.i64", [f"i64 {exact.plus(rest.first, 1)}", "i64 0"])
        if not goes_along:
            self.across = smaller(builder, self.across, left)
            return
        exact.need("eq", rest.steps[across], 0)
        exact.need("eq", rest.steps[ITERATION], -plan.k)
        self.along = smaller(builder, self.along, left)
        self.room = quotient(builder, self.along, plan.k)

    def _find_in_array(self, emission: Emission, load: PointerLoad, exact: Exact, address: Affine, along: int) -> None:
        """Need all that is read to lie in the array that it most likely does."""
        builder = emission.builder
        array = accessed_array(emission, load.operation)
        if array is None:
            exact.conditions.append("false")
            return
        last = builder.subtract(self.across, 1), builder.subtract(self.along, 1)
        rows, columns = last if along == COLUMN else last[::-1]
        places = places_in(emission, array, memory_bytes(load.element))
        for end in exact.ends(address, (rows, columns, 0)):
            moved = builder.emit(f"sub i64 {end}, {array.low}")
            exact.conditions.append(builder.emit(f"icmp ult i64 {moved}, {places}"))


# --- numbers, which may be known when code is written ---


def compared(builder: Builder, comparison: str, left: Number, right: Number) -> str:
    """An i1; both numbers count as not negative unless the comparison is signed."""
    if isinstance(left, int) and isinstance(right, int):
        holds = {"eq": left == right, "ge": left >= right, "lt": left < right, "le": left <= right}
        return "true" if holds[comparison[-2:]] else "false"
    return builder.emit(f"icmp {comparison} i64 {left}, {right}")


def remaining(builder: Builder, extent: Number, start: Number) -> Number:
    """How much is left of an extent from a start on."""
    if isinstance(extent, int) and isinstance(start, int):
        return max(extent - start, 0)
    return builder.call("i64", "llvm.usub.sat.i64", [f"i64 {extent}", f"i64 {start}"])


def smaller(builder: Builder, left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int):
        return min(left, right)
    return builder.call("i64", "llvm.umin.i64", [f"i64 {left}", f"i64 {right}"])


def quotient(builder: Builder, number: Number, divisor: int) -> Number:
    return number // divisor if isinstance(number, int) else builder.emit(f"udiv i64 {number}, {divisor}")
