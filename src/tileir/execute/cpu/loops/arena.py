"""Places in the arena: buffers whose lifetimes do not overlap share memory.

Statements are numbered in program order.  A buffer lives from its first mention to its last; one that is mentioned
inside a loop and lives before it lives to the end of the loop, because the next iteration may read it.  Persistent
buffers live for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tileir.execute.cpu.loops.expressions import Buffer
from tileir.execute.cpu.loops.statements import Program, Reduce, Repeat, Reserve, Statement

ALIGNMENT: Final = 64
HEAD: Final = 64
"""The beginning of the arena belongs to the runtime (`runtime.launch_record`)."""


@dataclass(eq=False, repr=False, slots=True)
class _Life:
    first: int
    last: int


def assign(program: Program) -> None:
    """Assign the offset of every buffer and the size of the arena."""
    lives: dict[Buffer, _Life] = {}
    kept: list[Buffer] = []
    count = 0

    def mention(buffer: Buffer) -> None:
        lives.setdefault(buffer, _Life(count, count)).last = count

    def visit(body: list[Statement]) -> None:
        nonlocal count
        for statement in body:
            count += 1
            begin = count
            for buffer in statement.written:
                mention(buffer)
            for root in statement.roots:
                for buffer in root.buffers:
                    mention(buffer)
            for inner in statement.bodies:
                visit(inner)
            if isinstance(statement, Reduce):
                visit(statement.body)
            if isinstance(statement, Reserve):
                # Pointers to it go anywhere.
                kept.append(statement.buffer)
            count += 1
            if isinstance(statement, Repeat):
                for life in lives.values():
                    if life.first < begin <= life.last:
                        life.last = count

    visit(program.body)
    for buffer in kept:
        lives[buffer].last = count
    end = HEAD
    free: list[tuple[int, int]] = []
    active: list[tuple[int, int, int]] = []
    for buffer in program.buffers:
        if buffer.persistent:
            buffer.offset, end = end, end + _rounded(buffer.bytes)
    base = end
    for buffer, life in sorted(lives.items(), key=lambda item: item[1].first):
        if buffer.persistent:
            continue
        for last, offset, size in [entry for entry in active if entry[0] < life.first]:
            active.remove((last, offset, size))
            free.append((offset, size))
        free = _merged(free)
        size = _rounded(buffer.bytes)
        fitting = min([hole for hole in free if hole[1] >= size], key=lambda hole: hole[1], default=None)
        if fitting is not None:
            free.remove(fitting)
            buffer.offset = fitting[0]
            if fitting[1] > size:
                free.append((fitting[0] + size, fitting[1] - size))
        else:
            buffer.offset, base = base, base + size
        active.append((life.last, buffer.offset, size))
    program.arena_bytes = base


def _rounded(size: int) -> int:
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT


def _merged(free: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Holes that touch become one."""
    found: list[tuple[int, int]] = []
    for offset, size in sorted(free):
        if found and found[-1][0] + found[-1][1] == offset:
            found[-1] = (found[-1][0], found[-1][1] + size)
        else:
            found.append((offset, size))
    return found
