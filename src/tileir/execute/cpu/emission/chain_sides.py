"""The operands of chains of vector products, turn after turn: where they lie in memory, and how far they go."""

from __future__ import annotations

from tileir.execute.cpu.emission import accesses
from tileir.execute.cpu.emission.affine import Affine, AffineForms, Exact
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.likely_arrays import accessed_array, places_in
from tileir.execute.cpu.emission.views import Box
from tileir.execute.cpu.loops.affine import COLUMN, ROW, TURN, Path
from tileir.execute.cpu.loops.expressions import Gathered, Viewed
from tileir.execute.cpu.matrix.plan import MmaPlan
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.dtypes import memory_bytes
from tileir.ir.values import Value


class Side:
    """An operand of a chain: where its first turn is, whether it lies there in rows, and for how many turns."""

    pointer: str
    """To the tile of the first turn."""
    rows: str
    """An i1: what lies in the tensor of a turn lies in memory, in rows of neighbours."""
    in_rows: bool
    """Whether it always lies in rows: then what is not whole is over an edge."""
    is_plain: bool
    """Whether what is over an edge is zero."""
    across: Number
    """How much of the tensor is left in the other dimension."""
    whole: str
    """An i1: `rows`, and the tile lies in the tensor in the other dimension."""
    along: Number
    """How much of the tensor is left along k."""
    room: Number
    """How many turns lie in it."""
    row: Number
    """How far apart rows are, in bytes."""
    step: Number
    """How far apart the tiles of two turns are."""
    words: list[str]
    """What the operand is found by where it is packed, beside the turn and how far k goes."""

    def at(self, emission: Emission, turn: Number) -> str:
        """A pointer to the tile of a turn."""
        return emission.builder.moved(self.pointer, emission.builder.multiply(turn, self.step))

    def known(self, emission: Emission, turn: Number, extents: tuple[str, int], k: int) -> tuple[str, str]:
        """How much of a part from a turn on lies in the tensor, along k and in the other dimension."""
        builder = emission.builder
        operands = [f"i64 {self.along}", f"i64 {builder.multiply(turn, k)}"]
        left = builder.call("i64", "llvm.usub.sat.i64", operands)
        along, across = (
            builder.call("i64", "llvm.umin.i64", [f"i64 {rest}", f"i64 {extent}"])
            for rest, extent in zip((left, self.across), extents, strict=True)
        )
        return along, across


class ViewSide(Side):
    """An operand that is read through a view: the box of its first turn.

    The matrix is its last two dimensions; those before have one element each.
    """

    def __init__(
        self, emission: Emission, load: Viewed, along: int, first: Number, counter: Value, plan: MmaPlan
    ) -> None:
        builder = emission.builder
        self.box: Box = accesses.open_box(emission, load.operation)
        self.pointer = self.box.pointer
        view = self.box.view
        starts, extents, strides = self.box.starts[-2:], view.extents[-2:], view.strides[-2:]
        across = 1 - along
        self.in_rows = strides[1] == 1
        starts_inside = ("true" if first >= 0 else "false") if isinstance(first, int) else ""
        before = [
            builder.emit(f"icmp ult i64 {start}, {extent}")
            for start, extent in zip(self.box.starts[:-2], view.extents[:-2], strict=True)
        ]
        self.rows = builder.all_of(
            [
                starts_inside or builder.emit(f"icmp sge i64 {first}, 0"),
                view.tensor.fits(load.operation),
                "true" if self.in_rows else builder.emit(f"icmp eq i64 {strides[1]}, 1"),
            ]
        )
        self.is_plain = view.is_zero_outside
        self.across = builder.call("i64", "llvm.usub.sat.i64", [f"i64 {extents[across]}", f"i64 {starts[across]}"])
        if before:
            # Of a matrix that the tensor does not have there are no rows and no columns.
            self.across = builder.emit(f"select i1 {builder.all_of(before)}, i64 {self.across}, i64 0")
        self.whole = builder.all_of([self.rows, builder.emit(f"icmp uge i64 {self.across}, {view.shape[-2:][across]}")])
        self.along = builder.call("i64", "llvm.usub.sat.i64", [f"i64 {extents[along]}", f"i64 {starts[along]}"])
        self.room = builder.emit(f"udiv i64 {self.along}, {plan.k}")
        size = memory_bytes(view.tensor.element)
        self.row = builder.multiply(strides[0], size)
        self.step = builder.multiply(builder.multiply(strides[along], size), plan.k)
        indices = [] if along else [index for index in load.operation.index if index is not counter]
        self.words = [str(emission.whole(index)) for index in dict.fromkeys(reversed(indices))]


class ComputedSide(Side):
    """An operand that is brought tile by tile, whatever it is made of: converted, turned, computed."""

    def __init__(self, emission: Emission, keys: list[Value]) -> None:
        self.pointer, self.rows, self.whole = "poison", "false", "false"
        self.in_rows, self.is_plain = False, False
        self.across, self.along, self.room = 0, 0, 1 << 62
        self.row, self.step = 0, 0
        self.words = [str(emission.whole(key)) for key in keys]


class PointerSide(Side):
    """An operand that is read through pointers.

    The conditions of `forms` make sure of it: rows of neighbours, turns side by side, and all of it in the array that
    the pointers come from, as far as masks do not leave it out.
    """

    def __init__(
        self,
        emission: Emission,
        load: Gathered,
        path: Path,
        along: int,
        forms: AffineForms,
        plan: MmaPlan,
        turns: Number,
    ) -> None:
        builder, exact = emission.builder, forms.exact
        size = memory_bytes(load.element)
        first, steps = forms.of(path.addresses)
        exact.need("eq", steps[COLUMN], size)
        exact.need("eq", steps[TURN], exact.times(steps[along], plan.k))
        self.rows, self.in_rows, self.is_plain = "true", True, True
        self.pointer = builder.emit(f"inttoptr i64 {first} to ptr")
        self.row, self.step = steps[ROW], steps[TURN]
        extent = plan.m if along == COLUMN else plan.n
        self.across, self.along = extent, exact.times(turns, plan.k)
        self.room = turns
        for limit in path.limits:
            self._end_at(emission, forms.of(limit), along, exact, plan)
        self.whole = self._is_whole(emission, extent)
        exact.need("sge", self.across, 1)
        exact.need("sge", self.along, 1)
        self._find_in_array(emission, load, exact, Affine(first, (steps[ROW], steps[COLUMN], 0)), along)
        self.words = [str(number) for number in (first, self.row, self.along, self.across)]

    def _is_whole(self, emission: Emission, extent: int) -> str:
        if isinstance(self.across, int):
            return "true"
        return emission.builder.emit(f"icmp uge i64 {self.across}, {extent}")

    def _end_at(self, emission: Emission, rest: Affine, along: int, exact: Exact, plan: MmaPlan) -> None:
        """Go no further than a number is not negative."""
        builder = emission.builder
        across = 1 - along
        if rest.steps == (0, 0, 0):
            exact.need("sge", rest.first, 0)
            return
        goes_along = rest.steps[along] != 0 or rest.steps[TURN] != 0
        exact.need("eq", rest.steps[along if goes_along else across], -1)
        left = builder.call("i64", "llvm.smax.i64", [f"i64 {exact.plus(rest.first, 1)}", "i64 0"])
        if not goes_along:
            self.across = builder.call("i64", "llvm.umin.i64", [f"i64 {self.across}", f"i64 {left}"])
            return
        exact.need("eq", rest.steps[across], 0)
        exact.need("eq", rest.steps[TURN], -plan.k)
        self.along = builder.call("i64", "llvm.umin.i64", [f"i64 {self.along}", f"i64 {left}"])
        self.room = builder.emit(f"udiv i64 {self.along}, {plan.k}")

    def _find_in_array(self, emission: Emission, load: Gathered, exact: Exact, address: Affine, along: int) -> None:
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
