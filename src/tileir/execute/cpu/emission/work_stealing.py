"""How a worker takes tile blocks: a chunk of the next numbers, from one counter or from ranges (`launch_record`).

With ranges every thread has a part of the tile blocks to itself, the same one in the next launch, whose memory is then
in its caches; and no counter goes from processor to processor.  A thread that is done with its range takes from those
of others.
"""

from __future__ import annotations

from tileir.execute.cpu.runtime import launch_record as record
from tileir.execute.cpu.vector.builder import Builder, Loop, Module

_ATTRIBUTES = "noinline optnone nounwind"
"""LLVM finds nothing to improve here, and is not to look for it."""


def define_functions(module: Module, has_ranges: bool) -> None:
    """Add `take`, which returns the first number of a chunk, or -1 if none is left, and stores its end.

    Without `has_ranges` it takes numbers from the one counter, in order.
    """
    builder = Builder(module)
    with builder.into([]) as lines:
        _write_take_from(builder)
    parameters = "ptr %range, i64 %chunk, i64 %tail, ptr %end"
    module.define(f"define internal i64 @take_from({parameters}) {_ATTRIBUTES}", lines)
    with builder.into([]) as lines:
        _write_take(builder, has_ranges)
    module.define(f"define internal i64 @take(ptr %record, ptr %arena, ptr %end) {_ATTRIBUTES}", lines)


def _write_take_from(builder: Builder) -> None:
    """Take a chunk from one range; the last `tail` tile blocks go in small chunks."""
    small = builder.emit(f"lshr i64 %chunk, {record.TAIL_SHIFT}")
    part = builder.call("i64", "llvm.umax.i64", [f"i64 {small}", "i64 1"])
    attempts = Loop(builder)

    def attempt() -> None:
        first = builder.emit("load atomic i64, ptr %range monotonic, align 8")
        end = builder.word("%range", record.RANGE_END)
        builder.go_on(builder.emit(f"icmp ult i64 {first}, {end}"), "none")
        is_whole = builder.emit(f"icmp ult i64 {builder.add(first, '%tail')}, {end}")
        size = builder.emit(f"select i1 {is_whole}, i64 %chunk, i64 {part}")
        after = builder.add(first, size)
        pair = builder.emit(f"cmpxchg ptr %range, i64 {first}, i64 {after} monotonic monotonic, align 8")

        def take() -> None:
            last = builder.call("i64", "llvm.umin.i64", [f"i64 {after}", f"i64 {end}"])
            builder.do(f"store i64 {last}, ptr %end, align 8")
            builder.do(f"ret i64 {first}")

        builder.branch(builder.emit(f"extractvalue {{ i64, i1 }} {pair}, 1"), take)

    attempts.write(attempt, lambda: "")
    builder.step_to("none")
    builder.do("ret i64 -1")


def _write_take(builder: Builder, has_ranges: bool) -> None:
    """Take a chunk from the worker's range, or from the next one that has any left."""
    chunk = builder.word("%record", record.CHUNK)
    if has_ranges:
        count = builder.word("%record", record.RANGE_COUNT)
        builder.branch(builder.emit(f"icmp sgt i64 {count}, 0"), lambda: _take_from_ranges(builder, chunk, count))
    tail = builder.word("%record", record.TAIL)
    # The record begins with a range: all tile blocks.
    builder.do(f"ret i64 {_taken(builder, '%record', chunk, tail)}")


def _take_from_ranges(builder: Builder, chunk: str, count: str) -> None:
    ranges = builder.pointer(builder.word("%record", record.RANGES))
    own = builder.emit(f"getelementptr i64, ptr %arena, i64 {record.RANGE}")

    def take(_number: str, carried: list[str]) -> list[str]:
        number = builder.emit(f"load i64, ptr {own}, align 8")
        words = builder.multiply(number, record.RANGE_WORDS)
        first = _taken(builder, builder.emit(f"getelementptr i64, ptr {ranges}, i64 {words}"), chunk, chunk)
        builder.branch(builder.emit(f"icmp sge i64 {first}, 0"), lambda: builder.do(f"ret i64 {first}"))
        following = builder.emit(f"urem i64 {builder.add(number, 1)}, {count}")
        builder.do(f"store i64 {following}, ptr {own}, align 8")
        return carried

    builder.each(count, take, [])
    builder.do("ret i64 -1")


def _taken(builder: Builder, range: str, chunk: str, tail: str) -> str:
    return builder.emit(f"call i64 @take_from(ptr {range}, i64 {chunk}, i64 {tail}, ptr %end)")


def take_chunk(builder: Builder, end: str, finish: str) -> tuple[str, str]:
    """Take the next tile blocks, from the first to one before the end, with a word on the stack for that; to a label if
    there are none."""
    first = builder.emit(f"call i64 @take(ptr %record, ptr %arena, ptr {end})")
    builder.go_on(builder.emit(f"icmp sge i64 {first}, 0"), finish)
    return first, builder.emit(f"load i64, ptr {end}, align 8")


def is_within_budget(builder: Builder) -> str:
    """Count a chunk; an i1: the worker is to take another one."""
    pointer = builder.emit(f"getelementptr i64, ptr %arena, i64 {record.BUDGET}")
    left = builder.emit(f"add i64 {builder.emit(f'load i64, ptr {pointer}, align 8')}, -1")
    builder.do(f"store i64 {left}, ptr {pointer}, align 8")
    return builder.emit(f"icmp ne i64 {left}, 0")
