"""The worker: the function that every thread runs, which takes tile blocks until none is left.

It takes chunks from one counter or from ranges (`launch_record`).  A thread's range is the same in the next launch, so
that its memory is in its caches, and no counter is shared.  A thread that is done takes from the ranges of others.
"""

from __future__ import annotations

from typing import Final

from tileir.execute.cpu.codegen import bounds, bounds_runtime, nontemporal
from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.codegen.exits import FAILED, forget_allocas, is_stopped, leave_worker
from tileir.execute.cpu.ir.memory_hints import may_change_order
from tileir.execute.cpu.matmul.microkernel import configure
from tileir.execute.cpu.runtime import launch_record as record
from tileir.execute.cpu.sanitizer import sites
from tileir.execute.cpu.vector.builder import Builder, Loop
from tileir.execute.cpu.vector.module import Module

_HEAD: Final = "define i64 @worker(ptr noalias noundef %record, ptr noalias noundef align 64 %scratch) nounwind {"
_SCOPES: Final = ("!0 = distinct !{!0}", "!1 = distinct !{!1, !0}", "!2 = !{!1}")
_AS_WRITTEN: Final = "noinline optnone nounwind"  # LLVM finds nothing to improve in these functions


def emit_worker(emission: Emission) -> str:
    builder, module = emission.builder, emission.module
    emission.scalars = emission.frame.parameters(emission.program.entry.regions[0].blocks[0].arguments)
    if emission.sanitize:
        sites.define_functions(module)
    else:
        bounds.emit_suitability(emission)
    if emission.uses_amx:
        configure(builder)
    _define_take(module, may_change_order(emission.program.entry))
    end = emission.frame.stack("i64", 1, 8)
    chunks = Loop(builder)
    stopped = ""

    def chunk() -> None:
        nonlocal stopped
        first = builder.emit(f"call i64 @take(ptr %record, ptr %scratch, ptr {end})")
        builder.go_on(builder.emit(f"icmp sge i64 {first}, 0"), chunks.end)
        stopped = _emit_blocks(emission, first, builder.emit(f"load i64, ptr {end}, align 8"))

    def more() -> str:
        goes_on = builder.emit(f"xor i1 {stopped}, true")
        budget = builder.emit(f"getelementptr i64, ptr %scratch, i64 {record.BUDGET}")
        left = builder.emit(f"add i64 {builder.emit(f'load i64, ptr {budget}, align 8')}, -1")
        builder.do(f"store i64 {left}, ptr {budget}, align 8")
        return builder.all_of([goes_on, builder.emit(f"icmp ne i64 {left}, 0")])

    chunks.write(chunk, more)
    leave_worker(emission, 0)
    if emission.called:
        builder.label(FAILED)
        leave_worker(emission, 1)
        bounds_runtime.define_functions(module, emission.layout, emission.called)
    lines = [_HEAD, "entry:", *emission.frame.lines, *builder.lines, "}", *_SCOPES]
    if emission.program.nontemporal:
        lines.append(f"!{nontemporal.METADATA} = !{{i32 1}}")
    module.add(lines)
    return module.text()


def _emit_blocks(emission: Emission, first: str, end: str) -> str:
    """Run tile blocks; returns an i1: the worker is stopped."""
    builder = emission.builder
    blocks = Loop(builder)
    number = blocks.carry("i64", first)
    emission.block_end = blocks.again
    emission.block_number = number
    stopped = ""

    def block() -> None:
        # Along the grid the first dimension is the fastest.
        x, y = (emission.frame.record_slot(record.GRID + axis) for axis in range(2))
        rest = builder.emit(f"udiv i64 {number}, {x}")
        index = [builder.emit(text) for text in (f"urem i64 {number}, {x}", f"urem i64 {rest}, {y}")]
        index.append(builder.emit(f"udiv i64 {rest}, {y}"))
        emission.block_id = [builder.emit(f"trunc i64 {each} to i32") for each in index]
        forget_allocas(emission, emission.program.body)
        emission.statements(emission.program.body)

    def more() -> str:
        nonlocal stopped
        following = builder.emit(f"add nuw nsw i64 {number}, 1")
        blocks.becomes(number, following)
        stopped = is_stopped(emission)
        left = builder.emit(f"icmp ult i64 {following}, {end}")
        return builder.emit(f"and i1 {left}, {builder.emit(f'xor i1 {stopped}, true')}")

    blocks.write(block, more)
    return stopped


def _define_take(module: Module, has_ranges: bool) -> None:
    """Add `take`, which returns the first number of a chunk, or -1 if none is left, and stores its end."""
    builder = Builder(module)
    with builder.into([]) as lines:
        _write_take_from(builder)
    parameters = "ptr %range, i64 %chunk, i64 %tail, ptr %end"
    module.define(f"define internal i64 @take_from({parameters}) {_AS_WRITTEN}", lines)
    with builder.into([]) as lines:
        chunk = builder.word("%record", record.CHUNK)
        if has_ranges:
            count = builder.word("%record", record.RANGE_COUNT)
            builder.branch(builder.emit(f"icmp sgt i64 {count}, 0"), lambda: _take_from_ranges(builder, chunk, count))
        tail = builder.word("%record", record.TAIL)
        # The record begins with a range: all tile blocks.
        builder.do(f"ret i64 {_taken(builder, '%record', chunk, tail)}")
    module.define(f"define internal i64 @take(ptr %record, ptr %scratch, ptr %end) {_AS_WRITTEN}", lines)


def _write_take_from(builder: Builder) -> None:
    """Take a chunk from one range; the last `tail` tile blocks go in small chunks."""
    small = builder.emit(f"lshr i64 %chunk, {record.TAIL_SHIFT}")
    part = builder.larger(small, 1)

    def attempt() -> None:
        first = builder.emit("load atomic i64, ptr %range monotonic, align 8")
        end = builder.word("%range", record.RANGE_END)
        builder.go_on(builder.emit(f"icmp ult i64 {first}, {end}"), "none")
        is_whole = builder.emit(f"icmp ult i64 {builder.add(first, '%tail')}, {end}")
        size = builder.select(is_whole, "%chunk", part)
        after = builder.add(first, size)
        pair = builder.emit(f"cmpxchg ptr %range, i64 {first}, i64 {after} monotonic monotonic, align 8")

        def take() -> None:
            last = builder.smaller(after, end)
            builder.do(f"store i64 {last}, ptr %end, align 8")
            builder.do(f"ret i64 {first}")

        builder.branch(builder.emit(f"extractvalue {{ i64, i1 }} {pair}, 1"), take)

    Loop(builder).write(attempt, lambda: "")
    builder.step_to("none")
    builder.do("ret i64 -1")


def _take_from_ranges(builder: Builder, chunk: str, count: str) -> None:
    """Take a chunk from the worker's range, or from the next one that has any left."""
    ranges = builder.pointer(builder.word("%record", record.RANGES))
    own = builder.emit(f"getelementptr i64, ptr %scratch, i64 {record.RANGE}")

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
