"""Emission of chains of vector products: a whole k loop, parts of it at a time (`lowering.chains`).

The left operand is read where it lies, and the right one packed, many tiles at a time.  The left operand of a part over
an edge is copied, with what the tiles of the loop would have there: so no loop is needed behind the chain.  Where only
k ends, with both operands, the last part ends there too, and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tileir.execute.analysis.values import dtype_of
from tileir.execute.cpu.emission import accesses, bounds, chain_functions
from tileir.execute.cpu.emission.affine import AffineForms, Exact
from tileir.execute.cpu.emission.chain_sides import ComputedSide, PointerSide, Side, ViewSide
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.destinations import Destination, chosen, destination_of
from tileir.execute.cpu.emission.exits import is_stopped, leave_worker
from tileir.execute.cpu.emission.panels import panel_of
from tileir.execute.cpu.emission.products import copy_left, pack
from tileir.execute.cpu.loops.affine import Path
from tileir.execute.cpu.loops.expressions import Gathered, matrix_in_memory
from tileir.execute.cpu.loops.statements import Chain
from tileir.execute.cpu.matrix.edges import Reach
from tileir.execute.cpu.matrix.plan import MmaPlan, Rows
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Loop, Number
from tileir.execute.cpu.vector.llvm import Register, scalar_type

_TURN: Final = 4
"""Steps along k that blocks of C may take in one turn of the innermost loop."""


class VectorChain:
    """Writes the parts of a chain: so many turns at a time."""

    def __init__(self, emission: Emission, statement: Chain) -> None:
        self.emission: Final = emission
        self.builder: Final = emission.builder
        self.statement: Final = statement
        self.product: Final = statement.product
        self.plan: Final = statement.product.plan
        self.counter: Final = statement.loop.operation.regions[0].blocks[0].arguments[0]
        self.exact: Final = Exact(emission)
        """The conditions under which it is a chain at all."""
        self.lower, self.turns, self.left, self.right = (
            self._through_views() if statement.paths is None else self._through_pointers(statement.paths)
        )
        self.cut: Final = self._is_cut()
        """An i1: k ends with both tensors, within the last turn, and parts go no further."""
        if self.cut != "false":
            for side in (self.left, self.right):
                side.room = emission.builder.emit(f"select i1 {self.cut}, i64 {self.turns}, i64 {side.room}")
        rooms = [f"i64 {side.room}" for side in (self.left, self.right)]
        self.room: Final = emission.builder.call("i64", "llvm.umin.i64", rooms)
        """The turns before tiles begin to lie over an edge."""
        self.destination: Final[Destination | None] = destination_of(emission, statement)
        self.column: Final[str] = self._column()
        """A number that each column of tiles of the right operand has."""

    def _through_views(self) -> tuple[Number, Number, Side, Side]:
        emission, loop = self.emission, self.statement.loop.operation
        lower, upper = (emission.whole(value) for value in loop.operands[:2])
        turns = emission.builder.call("i64", "llvm.ssub.sat.i64", [f"i64 {upper}", f"i64 {lower}"])
        # The boxes of the first turn: the counter is the lower bound.
        emission.scalars[self.counter] = emission.scalars[loop.operands[0]]
        sides: list[Side] = []
        for side, operand in enumerate((self.product.lhs, self.product.rhs)):
            load = matrix_in_memory(operand)
            if load is None or side in self.statement.computed:
                keys = [key for key in self.statement.memo.keys if key is not self.counter] if side else []
                sides.append(ComputedSide(emission, keys))
            else:
                sides.append(ViewSide(emission, load, 1 - side, lower, self.counter, self.plan))
        left, right = sides
        return lower, turns, left, right

    def _through_pointers(self, paths: tuple[Path, Path]) -> tuple[Number, Number, Side, Side]:
        emission, builder, exact, plan = self.emission, self.builder, self.exact, self.plan
        lower, upper, step = (emission.whole(value) for value in self.statement.loop.operation.operands[:3])
        exact.need("sge", step, 1)
        divisor = step
        if not isinstance(step, int):
            divisor = builder.call("i64", "llvm.smax.i64", [f"i64 {step}", "i64 1"])
        distance = exact.plus(exact.minus(upper, lower), builder.subtract(divisor, 1))
        turns = builder.emit(f"sdiv i64 {distance}, {divisor}")
        exact.need("sge", turns, 1)
        lhs, rhs = self.product.lhs, self.product.rhs
        assert isinstance(lhs, Gathered) and isinstance(rhs, Gathered)
        sides = []
        for side, (load, path) in enumerate(zip((lhs, rhs), paths, strict=True)):
            rows, columns = load.shape
            forms = AffineForms(emission, exact, (rows, columns, turns))
            sides.append(PointerSide(emission, load, path, 1 - side, forms, plan, turns))
        left, right = sides
        # Panels are found by the address of the first turn.
        return 0, turns, left, right

    def _column(self) -> str:
        words = self.right.words
        if self.statement.paths is None:
            return words[0] if words else "0"
        return self.builder.emit(f"udiv i64 {words[0]}, {self.plan.n * self.plan.rhs_dtype.itemsize}")

    def _is_cut(self) -> str:
        """Whether nothing but zeros lies behind the end of both tensors, and the last turn goes beyond it.

        Then that turn takes what there is of k where it lies, instead of a part of its own with copies of it.
        """
        builder, left, right = self.builder, self.left, self.right
        if not (left.is_plain and right.is_plain):
            return "false"
        if self.statement.paths is not None and not any(path.limits for path in self.statement.paths):
            return "false"
        turns = builder.emit(f"udiv i64 {builder.add(left.along, self.plan.k - 1)}, {self.plan.k}")
        # Where no tile is packed on its own, the right one may lie over an edge in the other dimension.
        is_sure = left.rows == right.rows == "true"
        return builder.all_of(
            [
                left.rows,
                right.rows if is_sure else right.whole,
                builder.emit(f"icmp eq i64 {left.along}, {right.along}"),
                builder.emit(f"icmp eq i64 {turns}, {self.turns}"),
                builder.emit(f"icmp eq i64 {builder.emit(f'and i64 {left.along}, {_TURN - 1}')}, 0"),
            ]
        )

    def extent(self, turn: Number, count: Number, plan: MmaPlan) -> str:
        """How far k goes in a part: so many turns from one on, or less if k is `cut`."""
        builder = self.builder
        extent = builder.emit(f"mul i64 {count}, {plan.k}")
        if self.cut == "false":
            return extent
        # Without a cut nothing but whole turns is wanted, however little of the tensor is left.
        left = builder.emit(f"sub i64 {self.left.along}, {builder.multiply(turn, plan.k)}")
        left = builder.emit(f"select i1 {self.cut}, i64 {left}, i64 {extent}")
        return builder.call("i64", "llvm.umin.i64", [f"i64 {left}", f"i64 {extent}"])

    def addend(self, end: Number) -> str:
        """What to add to the sum up to a turn; empty where it is never anything.

        The products of zeros that a `cut` leaves out make nothing of a sum but zero of its negative.
        """
        builder, kind = self.builder, scalar_type(self.plan.accumulator_dtype)
        if self.cut == "false":
            return ""
        last = builder.emit(f"icmp eq i64 {end}, {self.turns}")
        is_short = builder.emit(f"icmp ult i64 {self.left.along}, {builder.multiply(self.turns, self.plan.k)}")
        return builder.emit(f"select i1 {builder.all_of([self.cut, last, is_short])}, {kind} 0.0, {kind} -0.0")

    def parts(self, start: Number, turns: Number, emit: Callable[[Number, str], None]) -> None:
        """Emit the parts from a turn to others, one at least; each gets its first turn and how many it has.

        One ends where tiles begin to lie over an edge.
        """
        builder, room = self.builder, self.room
        loop = Loop(builder)
        turn = loop.carry("i64", start)
        count = ""

        def part() -> None:
            nonlocal count
            is_before = builder.emit(f"icmp ult i64 {turn}, {room}")
            end = builder.emit(f"select i1 {is_before}, i64 {room}, i64 {turns}")
            end = builder.call("i64", "llvm.umin.i64", [f"i64 {end}", f"i64 {turns}"])
            rest = builder.emit(f"sub i64 {end}, {turn}")
            count = builder.call("i64", "llvm.umin.i64", [f"i64 {rest}", f"i64 {self.statement.tiles}"])
            emit(turn, count)

        def again() -> str:
            following = builder.emit(f"add i64 {turn}, {count}")
            loop.becomes(turn, following)
            return builder.emit(f"icmp ult i64 {following}, {turns}")

        loop.write(part, again)

    def emit(self, start: Number, written: str = "false") -> None:
        """Emit the turns from one on; the i1 `written` says that the result is where it goes already."""
        builder = self.builder

        def part(turn: Number, count: str) -> None:
            end = builder.add(turn, count)
            near, right_near = (builder.emit(f"icmp ule i64 {end}, {side.room}") for side in (self.left, self.right))
            left = builder.all_of([self.left.whole, near])
            right = builder.all_of([self.right.whole, right_near])
            extent = self.extent(turn, count, self.plan)

            def pack_each(panel: str) -> None:
                def one(number: Number) -> None:
                    self._go_to(turn, number)
                    if isinstance(self.left, ViewSide):
                        # The left operand is looked at first: of several mistakes the first is reported.
                        lhs = accesses.open_box(self.emission, self.left.box.operation)
                        builder.branch(left, None, lambda: bounds.look_at_box(self.emission, lhs))
                    start = builder.multiply(number, self.plan.k * self.plan.columns * self.plan.rhs_dtype.itemsize)
                    pack(self.emission, self.product, 0, builder.moved(panel, start), extent, self.right.in_rows)

                builder.count(0, count, 1, one)

            def pack_part(panel: str) -> str:
                source = self.right.at(self.emission, turn), self.right.row

                def whole() -> None:
                    chain_functions.pack_rows(self.emission, self.plan, source, panel, extent)

                def over_edge() -> None:
                    known = self.right.known(self.emission, turn, (extent, self.plan.n), self.plan.k)
                    chain_functions.pack_over_edge(self.emission, self.plan, source, panel, extent, known)

                if isinstance(self.right, ComputedSide):
                    pack_each(panel)
                    return "false"
                # What is brought tile by tile is looked at behind this anyway.
                is_left_sure = self.left.rows == "true" or isinstance(self.left, ComputedSide)
                is_sure = is_left_sure and self.right.rows == "true" and self.right.is_plain
                builder.branch(right, whole, over_edge if is_sure else lambda: pack_each(panel))
                return "false"

            def rows() -> Rows:
                if isinstance(self.left, ComputedSide):
                    return self._computed(turn, count, extent)
                place = f"ptr {self.left.at(self.emission, turn)}", f"i64 {self.left.row}"
                found, distance = builder.branch(left, lambda: place, lambda: self._copied(turn, count, extent))
                return found, distance

            target = self.emission.buffer(self.product.accumulator)
            column = self.column
            fresh = "false"
            if self.statement.clearing is not None:
                fresh = builder.emit(f"icmp eq i64 {turn}, 0")
            result = self._result(end, target)
            self.multiply(
                self.plan,
                turn,
                (column, extent),
                extent,
                pack_part,
                rows,
                target,
                result,
                fresh,
                self.addend(end),
                self.destination.reach if self.destination is not None else None,
            )
            # A tile block that would not end can still be stopped.
            builder.branch(is_stopped(self.emission), lambda: leave_worker(self.emission, 2))

        is_left = builder.emit(f"icmp slt i64 {start}, {self.turns}")
        builder.branch(is_left, lambda: self.parts(start, self.turns, part))
        goal = self.destination
        if goal is not None and goal.is_copy:
            user = self.emission.program.destinations[self.statement].user
            self.emission.done[user] = builder.any_of([builder.all_of([goal.direct, is_left]), written])

    def _go_to(self, turn: Number, number: Number) -> None:
        """Set the loop's counter to a turn of a part."""
        place = self.builder.add(self.builder.add(self.lower, turn), number)
        self.emission.scalars[self.counter] = self.counted(place)

    def counted(self, place: Number) -> Register:
        """A number of the loop's counter, as wide as that is."""
        return casting.cast(self.builder, Register(str(place), casting.INT64), dtype_of(self.counter))

    def _copied(self, turn: Number, count: str, extent: str) -> list[str]:
        """Copy the left operand of a part; gives its place, and the distance of its rows."""
        builder = self.builder
        assert self.product.left is not None
        size = self.plan.lhs_dtype.itemsize
        copy, row = self.emission.buffer(self.product.left), builder.multiply(extent, size)

        def rows() -> None:
            source = self.left.at(self.emission, turn), self.left.row
            along, across = self.left.known(self.emission, turn, (extent, self.plan.m), self.plan.k)
            known = across, along
            chain_functions.copy_over_edge(self.emission, self.plan, source, copy, extent, known, self._row_count())

        def tiles() -> None:
            self._copy_tiles(turn, count, (copy, row))

        if not self.left.is_plain:
            tiles()
        elif self.left.rows == "true":
            rows()
        else:
            builder.branch(self.left.rows, rows, tiles)
        return [f"ptr {copy}", f"i64 {row}"]

    def _row_count(self) -> Number:
        """How many rows of the left operand are read."""
        if self.destination is None:
            return self.plan.m
        # The last block of rows may go on behind those that are wanted.
        most = self.builder.add(self.destination.reach[0], max(count for count, _ in self.plan.row_blocks))
        return self.builder.call("i64", "llvm.umin.i64", [f"i64 {most}", f"i64 {self.plan.m}"])

    def _copy_tiles(self, turn: Number, count: str, target: Rows) -> None:
        """Copy the left operand of a part tile by tile."""
        builder = self.builder

        def one(number: Number) -> None:
            self._go_to(turn, number)
            place = builder.moved(target[0], builder.multiply(number, self.plan.k * self.plan.lhs_dtype.itemsize))
            copy_left(self.emission, self.product, 0, (place, target[1]), self.left.in_rows)

        builder.count(0, count, 1, one)

    def _computed(self, turn: Number, count: str, extent: str) -> Rows:
        """The left operand of a part, where it is brought tile by tile; found, if it stays as it is."""
        emission, builder, memo = self.emission, self.builder, self.statement.left
        size = self.plan.lhs_dtype.itemsize
        row = builder.multiply(extent, size)
        assert self.product.left is not None
        if memo is None:
            copy = emission.buffer(self.product.left)
            self._copy_tiles(turn, count, (copy, row))
            return copy, row

        def bring(panel: str) -> str:
            self._copy_tiles(turn, count, (panel, row))
            return "false"

        keys = [str(emission.whole(key)) for key in memo.keys]
        first = builder.add(self.lower, turn)
        tiles = self.statement.tiles
        stretches = builder.emit(f"udiv i64 {builder.add(self.turns, tiles - 1)}, {tiles}")
        place: Number = builder.emit(f"udiv i64 {turn}, {tiles}")
        for key in keys:
            place = builder.add(place, builder.multiply(key, stretches))
        # Where there are more than are remembered, the first ones stay, and the others share a place.
        place = builder.call("i64", "llvm.umin.i64", [f"i64 {place}", f"i64 {memo.slots - 1}"])
        bytes = self.product.left.count * size
        found, _ = panel_of(emission, memo, [str(first), *keys, extent], place, bytes, bring)
        return found, row

    def _result(self, end: Number, target: str) -> Rows | None:
        """Where the sum up to a turn goes, if not always to the target: after the last one it may go to memory."""
        goal = self.destination
        if goal is None or not goal.is_copy:
            return None
        is_last = self.builder.all_of([goal.direct, self.builder.emit(f"icmp eq i64 {end}, {self.turns}")])
        return chosen(self.builder, is_last, (goal.box.pointer, goal.row), (target, self.plan.n * goal.size))

    def multiply(
        self,
        plan: MmaPlan,
        turn: Number,
        keys: tuple[str, str],
        extent: str,
        pack_part: Callable[[str], str],
        rows: Callable[[], Rows],
        target: str,
        result: Rows | None,
        fresh: str,
        addend: str,
        reach: Reach | None = None,
    ) -> None:
        """Find by two keys or pack the right operand of a part, and multiply; the left one is copied after that."""
        emission, builder, statement = self.emission, self.builder, self.statement
        first = builder.add(self.lower, turn)
        # Rounded up: the last part may begin within the stretch of the one before.
        tiles = statement.tiles
        stretch = builder.emit(f"udiv i64 {builder.add(first, tiles - 1)}, {tiles}")
        slot = builder.add(stretch, keys[0])
        if emission.group is not None and emission.member is not None and emission.group.counts[1] > 1:
            # Alone, the columns of a group take turns: each has slots of its own.
            apart = statement.memo.slots // emission.group.counts[1]
            slot = builder.add(slot, builder.multiply(emission.member.column, apart))
        size = tiles * (plan if statement.group is None else statement.group.plan).packed_bytes
        # Of a group the column is its own.
        words = [
            str(first),
            *([keys[0], *self.right.words[1:]] if statement.paths is None else self.right.words),
            keys[1],
        ]
        panel, _ = panel_of(emission, statement.memo, words, slot, size, pack_part)
        chain_functions.multiply(emission, plan, rows(), panel, target, extent, result, fresh, addend, reach)
