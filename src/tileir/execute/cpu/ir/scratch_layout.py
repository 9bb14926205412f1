"""Offsets in scratch memory: buffers whose lifetimes do not overlap share it.

Statements are numbered in program order.  A buffer lives from its first mention to its last; one that is mentioned
inside a loop and lives before it lives to the end of the loop, because the next iteration may read it.  Persistent
buffers live for ever.
"""

from __future__ import annotations

from typing import Final

from tileir.execute.cpu.ir.expressions import Buffer
from tileir.execute.cpu.ir.statements import Alloca, LoopStatement, Program, Reduce, Statement

ALIGNMENT: Final = 64
HEAD: Final = 64
"""The beginning of scratch memory belongs to the runtime (`runtime.launch_record`)."""


def assign(program: Program) -> None:
    """Assign the offset of every buffer and the size of scratch memory."""
    end = HEAD
    for buffer in program.buffers:
        if buffer.persistent:
            buffer.offset, end = end, end + _rounded(buffer)
    free: list[tuple[int, int]] = []
    active: list[tuple[int, int, int]] = []
    for buffer, (first, last) in sorted(_lifetimes(program).items(), key=lambda item: item[1][0]):
        if buffer.persistent:
            continue
        free = _merged([*free, *[(offset, size) for ends, offset, size in active if ends < first]])
        active = [each for each in active if each[0] >= first]
        size = _rounded(buffer)
        fitting = min([hole for hole in free if hole[1] >= size], key=lambda hole: hole[1], default=None)
        if fitting is not None:
            free.remove(fitting)
            buffer.offset = fitting[0]
            if fitting[1] > size:
                free.append((fitting[0] + size, fitting[1] - size))
        else:
            buffer.offset, end = end, end + size
        active.append((last, buffer.offset, size))
    program.scratch_bytes = end


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
            if isinstance(statement, LoopStatement):
                for life in found.values():
                    if life[0] < begin <= life[1]:
                        life[1] = count

    visit(program.body)
    for buffer in kept:
        found[buffer][1] = count
    return found


def _rounded(buffer: Buffer) -> int:
    return -(-max(buffer.bytes, 1) // ALIGNMENT) * ALIGNMENT


def _merged(free: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Holes that touch become one."""
    found: list[tuple[int, int]] = []
    for offset, size in sorted(free):
        if found and found[-1][0] + found[-1][1] == offset:
            found[-1] = (found[-1][0], found[-1][1] + size)
        else:
            found.append((offset, size))
    return found
