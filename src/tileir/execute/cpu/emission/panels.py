"""Packed operands that are remembered: a table of panels in the arena, found by the indices they were packed for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.loops.order import shared_axis
from tileir.execute.cpu.loops.statements import Memo
from tileir.execute.cpu.runtime import launch_record as slots
from tileir.execute.cpu.runtime.llvm_compile import AS_WRITTEN
from tileir.execute.cpu.vector.builder import Number

_MANY_BLOCKS: Final = 8
"""Tile blocks in a row that share panels from which on these are worth packing once more."""
_MANY_COLUMNS: Final = 4
"""Columns of tile blocks that a thread goes through from which on it remembers the rows from one to the next."""
_STRETCHES_AT_HAND: Final = 4
"""Stretches of k of which the left operand of matrix tiles is remembered within a row of tile blocks."""
_ROWS_AHEAD: Final = 3
"""How many rows before it is packed a row is asked for.  Rows whose distance is a power of two share a few places of
the nearest cache, which has no more than eight or twelve lines there: of eight rows the first would be gone again."""
_LINE: Final = 64


def panel_of(
    emission: Emission, memo: Memo, keys: list[str], place: Number, size: int, pack: Callable[[str], str]
) -> tuple[str, str]:
    """A pointer to a remembered panel, which is packed if it is not there, and the i1 that packing it gave."""
    builder, suffix = emission.builder, emission.arena_suffix
    slot = builder.emit(f"and i64 {place}, {memo.slots - 1}")
    panel = builder.moved(emission.buffer(memo.panels), builder.multiply(slot, size))
    # The tag of a panel: the launch it was packed in, its indices, and the answer.
    tag_size = 8 * (len(keys) + 2)
    tag = builder.moved(emission.buffer(memo.tags), builder.multiply(slot, tag_size))
    launch = builder.emit(f"load i64, ptr {_launch_number(emission)}, align 8")
    is_there = _is_tagged(emission, tag, [launch, *keys])
    answer = builder.moved(tag, 8 * (len(keys) + 1))
    always = True

    def missing() -> None:
        nonlocal always
        found = pack(panel)
        always = found == "false"
        if not always:
            builder.do(f"store i64 {builder.emit(f'zext i1 {found} to i64')}, ptr {answer}, align 8{suffix}")

    builder.branch(is_there, None, missing)
    if always:
        return panel, "false"
    known = builder.emit(f"load i64, ptr {answer}, align 8{suffix}")
    return panel, builder.emit(f"icmp ne i64 {known}, 0")


def _is_tagged(emission: Emission, tag: str, expected: list[str]) -> str:
    """An i1: a tag has these words; otherwise it is given them, for what is about to be packed.

    A function of its own, since it takes LLVM less time than the same in the middle of loops.
    """
    builder, module = emission.builder, emission.module
    numbers = range(len(expected))
    name = f"{AS_WRITTEN}tagged{len(expected)}"
    if name not in module.symbols:
        module.symbols.add(name)
        with builder.into([]) as lines:
            places = [builder.moved("%tag", 8 * number) for number in numbers]
            known = [builder.emit(f"load i64, ptr {place}, align 8") for place in places]
            same = [builder.emit(f"icmp eq i64 {word}, %word{number}") for number, word in enumerate(known)]
            builder.branch(builder.all_of(same), lambda: builder.do("ret i1 true"))
            for number, place in enumerate(places):
                builder.do(f"store i64 %word{number}, ptr {place}, align 8")
            builder.do("ret i1 false")
        parameters = ", ".join(["ptr %tag", *[f"i64 %word{number}" for number in numbers]])
        module.define(f"define internal i1 @{name}({parameters}) noinline nounwind", lines)
    operands = ", ".join([f"ptr {tag}", *[f"i64 {word}" for word in expected]])
    return builder.emit(f"call i1 @{name}({operands})")


def fetch_rows_ahead(emission: Emission, here: str, row: Number, count: int, size: int) -> None:
    """Ask for rows that are packed soon: they are often pages apart, where no machine looks ahead by itself."""
    builder = emission.builder
    for number in range(count):
        ahead = builder.moved(here, builder.multiply(row, _ROWS_AHEAD + number))
        for line in range(0, size, _LINE):
            builder.call("void", "llvm.prefetch.p0", [f"ptr {builder.moved(ahead, line)}", "i32 0", "i32 3", "i32 1"])


def forget_panels(emission: Emission) -> None:
    """The memory behind remembered panels may have changed."""
    builder = emission.builder
    pointer = _launch_number(emission)
    number = builder.emit(f"load i64, ptr {pointer}, align 8")
    builder.do(f"store i64 {builder.add(number, 1 << 40)}, ptr {pointer}, align 8")


def _launch_number(emission: Emission) -> str:
    """A pointer to what tags begin with: a number that differs from one launch to the next."""
    pointer = emission.frame.stack("i64", 1, 8, "launch")
    emission.frame.add(f"%launch.first = load i64, ptr %arena, align 8{emission.arena_suffix}")
    emission.frame.add(f"store i64 %launch.first, ptr {pointer}, align 8")
    return pointer


def column_slots(emission: Emission, memo: Memo) -> str:
    """1 where each column of tile blocks has slots of its own for its panels, 0 where all have the same ones.

    Tile blocks of a column follow each other where the order is made for it.  If there are many of them, packing again
    when the column comes back is cheap, and a panel that is packed where the last one was stays in the nearer caches.
    One alone shares its panels with no other, unless it goes through many columns itself.
    """
    fastest = shared_axis(emission.program)
    block = emission.program.entry.regions[0].blocks[0]
    if fastest < 0 or any(key.parent_block is not block for key in memo.keys):
        return "1"
    frame = emission.frame
    frame.add(f"%more.blocks = sub i64 {frame.record_slot(slots.GRID + fastest)}, 2")
    frame.add(f"%few.blocks = icmp ult i64 %more.blocks, {_MANY_BLOCKS - 2}")
    frame.add("%column.slots = zext i1 %few.blocks to i64")
    return "%column.slots"


def row_place(emission: Emission, memo: Memo, axes: tuple[int, int], stretch: str, stretches: str) -> str:
    """Where the left operand of matrix tiles is remembered: of the tile block's row, a stretch of k of several.

    Each row has its own place if all fit and a thread comes back to them, for one column after the other.  Otherwise
    they follow each other in the same few, which stay in the nearer caches.
    """
    builder, frame = emission.builder, emission.frame
    at_hand = builder.emit(f"and i64 {stretch}, {min(_STRETCHES_AT_HAND, memo.slots) - 1}")
    down, across = axes
    if down < 0 or across < 0 or memo.slots <= _STRETCHES_AT_HAND:
        return at_hand
    rows, columns = frame.record_slot(slots.GRID + down), frame.record_slot(slots.GRID + across)
    # Below zero no tile block may be taken out of turn: as a number without a sign that is too many.
    lanes = frame.record_slot(slots.RANGE_COUNT)
    builder.module.declare("declare i64 @llvm.umax.i64(i64, i64)")
    frame.add(f"%row.lanes = call i64 @llvm.umax.i64(i64 {lanes}, i64 1)")
    frame.add(f"%row.columns{across} = udiv i64 {columns}, %row.lanes")
    frame.add(f"%row.again{across} = icmp uge i64 %row.columns{across}, {_MANY_COLUMNS}")
    all_rows = builder.multiply(rows, stretches)
    fits = builder.emit(f"icmp ule i64 {all_rows}, {memo.slots}")
    own = builder.emit(f"and i1 {fits}, %row.again{across}")
    place = builder.add(builder.multiply(str(emission.whole(memo.keys[0])), stretches), stretch)
    return builder.emit(f"select i1 {own}, i64 {place}, i64 {at_hand}")
