"""The worker: the function that every thread runs, which takes tile blocks until none is left."""

from __future__ import annotations

from tileir.execute.cpu.emission import bounds, bounds_functions, inspection_functions, streaming
from tileir.execute.cpu.emission.context import Emission, Member
from tileir.execute.cpu.emission.exits import FAILED, UNCHAINED, is_stopped, leave_to_another, leave_worker
from tileir.execute.cpu.emission.reservations import forget
from tileir.execute.cpu.emission.sinking import near_uses
from tileir.execute.cpu.emission.work_stealing import define_functions, is_within_budget, take_chunk
from tileir.execute.cpu.loops.order import PLAIN, may_change_order
from tileir.execute.cpu.matrix.microkernel import configure
from tileir.execute.cpu.runtime import launch_record as slots
from tileir.execute.cpu.runtime.llvm_compile import AS_WRITTEN
from tileir.execute.cpu.vector.builder import Builder, Loop, Number

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
    if emission.may_restart:
        builder.label(UNCHAINED)
        leave_to_another(emission, slots.UNCHAINED)
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
        _find_block(emission, number, first, end)
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


def _find_block(emission: Emission, number: str, begin: str, end: str) -> None:
    """The place of the tile block in the grid, from its number in the order of handing out; `begin` and `end` are those
    of the chunk it is in."""
    builder, order = emission.builder, emission.order
    extents = [emission.frame.record_slot(slots.GRID + axis) for axis in range(3)]
    if emission.group is None:
        first = builder.emit(f"urem i64 {number}, {extents[order[0]]}")
        rest = builder.emit(f"udiv i64 {number}, {extents[order[0]]}")
        second = builder.emit(f"urem i64 {rest}, {extents[order[1]]}")
        third = builder.emit(f"udiv i64 {rest}, {extents[order[1]]}")
    else:
        plane = builder.emit(f"mul i64 {extents[order[0]]}, {extents[order[1]]}")
        third = builder.emit(f"udiv i64 {number}, {plane}")
        within = builder.emit(f"urem i64 {number}, {plane}")
        counts = emission.group.counts
        first, second, emission.member = _find_member(
            emission, counts, (extents[order[0]], extents[order[1]]), (number, within), (begin, end)
        )
    place = dict(zip(order, (first, second, third), strict=True))
    emission.block_id = [builder.emit(f"trunc i64 {place[axis]} to i32") for axis in range(3)]
    emission.block_number = number
    if order != PLAIN:
        plane = builder.emit(f"mul i64 {place[2]}, {extents[1]}")
        line = builder.emit(f"add i64 {plane}, {place[1]}")
        start = builder.emit(f"mul i64 {line}, {extents[0]}")
        emission.block_number = builder.emit(f"add i64 {start}, {place[0]}")


def _find_member(
    emission: Emission,
    counts: tuple[int, int],
    extents: tuple[str, str],
    numbers: tuple[str, str],
    chunk: tuple[str, str],
) -> tuple[str, str, Member]:
    """Row and column of a tile block whose number counts the members of a group, the groups of a strip, the strips.

    `numbers` are its number and that in its plane of the grid, whose last strip and group may have fewer members.
    """
    builder, module = emission.builder, emission.module
    place = emission.frame.stack("i64", _MEMBER_WORDS, 8, "member")
    # Apart from the worker: LLVM would follow all these quotients wherever one is used.
    name = f"{AS_WRITTEN}member"
    with builder.into([]) as lines:
        _write_member(builder, counts)
    parameters = ", ".join([f"i64 {each}" for each in _MEMBER_PARAMETERS])
    module.define(f"define internal void @{name}(ptr %found, {parameters}) noinline nounwind", lines)
    operands = ", ".join([f"i64 {each}" for each in (*extents, *numbers, *chunk)])
    builder.do(f"call void @{name}(ptr {place}, {operands})")
    first, second, start, row, column, whole = (builder.word(place, number) for number in range(_MEMBER_WORDS))
    return first, second, Member(start, row, column, builder.emit(f"icmp ne i64 {whole}, 0"))


_MEMBER_PARAMETERS = ("%fast", "%slow", "%number", "%within", "%begin", "%end")
_MEMBER_WORDS = 6


def _write_member(builder: Builder, counts: tuple[int, int]) -> None:
    """The body of the function that finds a member: its words are row, column, and what a `Member` has."""

    def cut(position: str, size: Number) -> tuple[str, str]:
        return builder.emit(f"udiv i64 {position}, {size}"), builder.emit(f"urem i64 {position}, {size}")

    def members(group: str, extent: str, count: int) -> str:
        rest = builder.emit(f"sub i64 {extent}, {builder.multiply(group, count)}")
        return builder.call("i64", "llvm.umin.i64", [f"i64 {rest}", f"i64 {count}"])

    strip, within = cut("%within", builder.multiply("%fast", counts[1]))
    wide = members(strip, "%slow", counts[1])
    group, place = cut(within, builder.multiply(wide, counts[0]))
    high = members(group, "%fast", counts[0])
    row, column = cut(place, wide)
    start = builder.emit(f"sub i64 %number, {place}")
    conditions = [
        builder.emit(f"icmp eq i64 {wide}, {counts[1]}"),
        builder.emit(f"icmp eq i64 {high}, {counts[0]}"),
        builder.emit(f"icmp uge i64 {start}, %begin"),
        builder.emit(f"icmp ule i64 {builder.add(start, counts[0] * counts[1])}, %end"),
    ]
    first = builder.emit(f"add i64 {row}, {builder.multiply(group, counts[0])}")
    second = builder.emit(f"add i64 {column}, {builder.multiply(strip, counts[1])}")
    whole = builder.emit(f"zext i1 {builder.all_of(conditions)} to i64")
    for number, word in enumerate((first, second, start, row, column, whole)):
        builder.do(f"store i64 {word}, ptr {builder.moved('%found', 8 * number)}, align 8")
    builder.do("ret void")
