"""The worker: the function that every thread runs, which takes tile blocks until none is left."""

from __future__ import annotations

from tileir.execute.cpu.emission import bounds, bounds_functions, inspection_functions, streaming
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.exits import FAILED, is_stopped, leave_worker
from tileir.execute.cpu.emission.reservations import forget
from tileir.execute.cpu.emission.sinking import near_uses
from tileir.execute.cpu.emission.work_stealing import define_functions, is_within_budget, take_chunk
from tileir.execute.cpu.loops.order import may_change_order
from tileir.execute.cpu.matmul.amx import configure
from tileir.execute.cpu.runtime import launch_record as slots
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
    define_functions(module, may_change_order(emission.program.entry))
    end = emission.frame.stack("i64", 1, 8)
    chunks = Loop(builder)
    stopped = ""

    def chunk() -> None:
        nonlocal stopped
        stopped = _emit_blocks(emission, *take_chunk(builder, end, chunks.end))

    def more() -> str:
        return builder.all_of([builder.emit(f"xor i1 {stopped}, true"), is_within_budget(builder)])

    chunks.write(chunk, more)
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
    """The place of the tile block in the grid, from its number: the first dimension is the fastest."""
    builder = emission.builder
    x, y = (emission.frame.record_slot(slots.GRID + axis) for axis in range(2))
    rest = builder.emit(f"udiv i64 {number}, {x}")
    place = [
        builder.emit(f"urem i64 {number}, {x}"),
        builder.emit(f"urem i64 {rest}, {y}"),
        builder.emit(f"udiv i64 {rest}, {y}"),
    ]
    emission.block_id = [builder.emit(f"trunc i64 {each} to i32") for each in place]
    emission.block_number = number
