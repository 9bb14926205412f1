"""Offsets in scratch memory: buffers whose lifetimes do not overlap share it.

A buffer lives from its first mention to its last, in program order; one that lives before a loop that mentions it lives
to the loop's end, because the next iteration may read it.  Persistent buffers live for ever.
"""

from __future__ import annotations

from bisect import insort
from typing import Final

from tileir.execute.cpu.ir.expressions import Buffer
from tileir.execute.cpu.ir.statements import Alloca, DeviceLoop, LoopStatement, Program, Reduce, Statement

ALIGNMENT: Final = 64
HEAD: Final = 64  # The beginning of scratch memory belongs to the runtime (`runtime.launch_record`).


def assign(program: Program) -> None:
    """Assign the offset of every buffer and the size of scratch memory."""
    start = HEAD
    for buffer in program.buffers:
        if buffer.persistent:
            buffer.offset, start = start, start + _rounded(buffer)
    program.scratch_bytes = start
    # By offset: where a buffer begins and ends, and its last mention.
    live: list[tuple[int, int, int]] = []
    for buffer, (first, last) in sorted(_lifetimes(program).items(), key=lambda item: item[1][0]):
        if buffer.persistent:
            continue
        live = [each for each in live if each[2] >= first]
        buffer.offset = start
        for begin, end, _ in live:
            if begin >= buffer.offset + _rounded(buffer):
                break
            buffer.offset = end
        insort(live, (buffer.offset, buffer.offset + _rounded(buffer), last))
        program.scratch_bytes = max(program.scratch_bytes, buffer.offset + _rounded(buffer))


def _lifetimes(program: Program) -> dict[Buffer, list[int]]:
    """The first and the last mention of every buffer."""
    found: dict[Buffer, list[int]] = {}
    kept: list[Buffer] = []
    count = 0

    def visit(body: list[Statement]) -> None:
        nonlocal count
        for statement in body:
            count += 1
            begin = count
            for buffer in (*statement.written, *[each for root in statement.roots for each in root.buffers]):
                found.setdefault(buffer, [count, count])[1] = count
            for inner in (*statement.bodies, *([statement.body] if isinstance(statement, Reduce) else [])):
                visit(inner)
            if isinstance(statement, Alloca):
                # Pointers to it go anywhere.
                kept.append(statement.buffer)
            count += 1
            if isinstance(statement, (LoopStatement, DeviceLoop)):
                for life in found.values():
                    if life[0] < begin <= life[1]:
                        life[1] = count

    visit(program.body)
    for buffer in kept:
        found[buffer][1] = count
    return found


def _rounded(buffer: Buffer) -> int:
    return -(-max(buffer.bytes, 1) // ALIGNMENT) * ALIGNMENT
