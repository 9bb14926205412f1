"""The worker: the function that every thread runs, which takes tile blocks until none is left."""

from __future__ import annotations

from tileir.execute.cpu.emission import bounds, bounds_functions, inspection_functions, streaming
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.exits import FAILED, is_stopped, leave_worker
from tileir.execute.cpu.emission.reservations import forget
from tileir.execute.cpu.emission.sinking import near_uses
from tileir.execute.cpu.loops.order import PLAIN
from tileir.execute.cpu.matrix.microkernel import configure
from tileir.execute.cpu.native import record as slots
from tileir.execute.cpu.vector.builder import Loop

_HEAD = "define i64 @worker(ptr noalias noundef %record, ptr noalias noundef align 64 %arena) nounwind {\nentry:"
_SCOPES = ["!0 = distinct !{!0}", "!1 = distinct !{!1, !0}", "!2 = !{!1}"]


def emit_worker(emission: Emission) -> str:
    """The module of a kernel."""
    builder, module = emission.builder, emission.module
    emission.scalars = emission.frame.parameters(emission.program.entry.regions[0].blocks[0].arguments)
    if emission.sanitize:
        inspection_functions.define_functions(module)
    else:
        bounds.emit_suitability(emission)
    if emission.uses_amx:
        configure(builder)
    chunks = Loop(builder)
    stopped = ""

    def chunk() -> None:
        nonlocal stopped
        stopped = _emit_blocks(emission, *_take_chunk(emission, chunks.end))

    chunks.write(chunk, lambda: builder.emit(f"xor i1 {stopped}, true"))
    leave_worker(emission, 0)
    if emission.called:
        builder.label(FAILED)
        leave_worker(emission, 1)
        bounds_functions.define_functions(module, emission.layout, emission.called)
    lines = [_HEAD, *near_uses(emission.frame.lines, builder.lines), "}", *_SCOPES]
    if emission.program.streams:
        lines.append(f"!{streaming.NONTEMPORAL} = !{{i32 1}}")
    module.add(lines)
    return module.text()


def _take_chunk(emission: Emission, finish: str) -> tuple[str, str]:
    """Take the next tile blocks, from the first to one before the end; to a label if there are none."""
    builder = emission.builder
    chunk, tail, count = (emission.frame.record_slot(slot) for slot in (slots.CHUNK, slots.TAIL, slots.COUNT))
    attempts = Loop(builder)
    seen = builder.emit("load atomic i64, ptr %record monotonic, align 8")
    first = attempts.carry("i64", seen)
    end = exchange = ""

    def attempt() -> None:
        nonlocal end, exchange
        builder.go_on(builder.emit(f"icmp ult i64 {first}, {count}"), finish)
        is_whole = builder.emit(f"icmp ult i64 {builder.emit(f'add i64 {first}, {tail}')}, {count}")
        part = builder.emit(f"lshr i64 {chunk}, {slots.TAIL_SHIFT}")
        part = builder.call("i64", "llvm.umax.i64", [f"i64 {part}", "i64 1"])
        size = builder.emit(f"select i1 {is_whole}, i64 {chunk}, i64 {part}")
        end = builder.emit(f"add i64 {first}, {size}")
        exchange = builder.emit(f"cmpxchg ptr %record, i64 {first}, i64 {end} monotonic monotonic, align 8")

    def is_lost() -> str:
        attempts.becomes(first, builder.emit(f"extractvalue {{ i64, i1 }} {exchange}, 0"))
        taken = builder.emit(f"extractvalue {{ i64, i1 }} {exchange}, 1")
        return builder.emit(f"xor i1 {taken}, true")

    attempts.write(attempt, is_lost)
    return first, builder.call("i64", "llvm.umin.i64", [f"i64 {end}", f"i64 {count}"])


def _emit_blocks(emission: Emission, first: str, end: str) -> str:
    """Run tile blocks; gives an i1 that says whether the worker is stopped."""
    builder = emission.builder
    blocks = Loop(builder)
    number = blocks.carry("i64", first)
    emission.block_end = blocks.again
    stopped = ""

    def block() -> None:
        _find_block(emission, number)
        forget(emission, emission.program.body)
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


def _find_block(emission: Emission, number: str) -> None:
    """The place of the tile block in the grid, from its number in the order of handing out."""
    builder, order = emission.builder, emission.order
    extents = [emission.frame.record_slot(slots.GRID + axis) for axis in range(3)]
    first = builder.emit(f"urem i64 {number}, {extents[order[0]]}")
    rest = builder.emit(f"udiv i64 {number}, {extents[order[0]]}")
    second = builder.emit(f"urem i64 {rest}, {extents[order[1]]}")
    third = builder.emit(f"udiv i64 {rest}, {extents[order[1]]}")
    place = dict(zip(order, (first, second, third), strict=True))
    emission.block_id = [builder.emit(f"trunc i64 {place[axis]} to i32") for axis in range(3)]
    emission.block_number = number
    if order != PLAIN:
        plane = builder.emit(f"mul i64 {place[2]}, {extents[1]}")
        line = builder.emit(f"add i64 {plane}, {place[1]}")
        start = builder.emit(f"mul i64 {line}, {extents[0]}")
        emission.block_number = builder.emit(f"add i64 {start}, {place[0]}")
