"""Warp specialisation: a kernel of eight warps becomes one of three groups of four.

One group does nothing but start copies from global memory, as many ahead as there are buffers.  The two others have
half of the rows each and never wait for one another, so that one computes while the other's products keep the tensor
cores busy.  Loops of two products are rotated on top of it (`rotation.py`).  Results are those of the kernel before:
every element is computed by the same operations in the same order.

Triton's own pass of this kind is for a few forms of loops, some versions do not have it and some make wrong code by it.
Here Triton has chosen layouts already; the kernel is its text before software pipelining, where every copy is waited
for and every product as well.
"""

from __future__ import annotations

from typing import Final

from tileir.execute.gpu.triton.ttgir.computing import Computing
from tileir.execute.gpu.triton.ttgir.copies import Ring
from tileir.execute.gpu.triton.ttgir.loading import Loading
from tileir.execute.gpu.triton.ttgir.plan import Plan, mutable, staged_type
from tileir.execute.gpu.triton.ttgir.text import Statement
from tileir.execute.gpu.triton.ttgir.writing import BARRIER, GROUPS, RingValues, Writer, many

REGISTERS: Final = 240
"""For each thread that computes; those that load keep 24 of the 168 that all begin with."""


def specialize(text: str, stages: int, shared: int) -> str:
    """The TTGIR of a kernel for three groups of warps, with up to so many tiles loaded ahead; raises `Unfit`.

    `shared`: the bytes of shared memory that a tile block may have.
    """
    return "\n".join(_lines(Plan(text, stages, shared))) + "\n"


def _lines(plan: Plan) -> list[str]:
    opening = Writer("s", 2)
    # For each group: a ring that is its own, or that of all.
    values: list[dict[Ring, RingValues]] = [{} for _ in range(GROUPS)]
    for ring in plan.all_rings:
        made = [_allocate(opening, ring, 1 if ring.is_own else GROUPS) for _ in range(GROUPS if ring.is_own else 1)]
        for group in range(GROUPS):
            values[group][ring] = made[group % len(made)]
    captured: dict[str, str] = {}
    staged: list[dict[Statement, str]] = [{} for _ in range(GROUPS)]
    for each in plan.staged:
        type = mutable(staged_type(each))
        for group in range(GROUPS):
            staged[group][each] = opening.emit(f"ttg.local_alloc : () -> {type}")
            captured[staged[group][each]] = type
    opening.write("gpu.barrier")
    for group_values in values:
        for ring, (buffers, full, free) in group_values.items():
            captured[buffers] = many(opening.buffer_type(ring), ring.depth)
            captured[full] = many(BARRIER, ring.depth)
            if free:
                captured[free] = many(BARRIER, ring.depth)
    bare = [(name, type.split(" {", 1)[0]) for name, type in plan.parameters]
    used = {use for each in plan.kernel.body.walk() for use in each.operands()}
    captured.update({name: type for name, type in bare if name in used})
    loading = Loading(plan, values)
    computing = [Computing(plan, group, values[group], staged[group], captured) for group in range(GROUPS)]
    registers = ", ".join([str(REGISTERS)] * GROUPS)
    types = ", ".join(captured.values())
    signature = ", ".join([f"{name}: {type}" for name, type in plan.parameters])
    lines = [
        "#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>",
        *plan.halves.head,
        f"  {plan.kernel.function}({signature}){plan.kernel.attributes} {{",
        *opening.lines,
        f"    ttg.warp_specialize({', '.join(captured)}) attributes {{requestedRegisters = array<i32: {registers}>}}",
        "    default {",
        *loading.lines,
        "      ttg.warp_yield",
        "    }",
    ]
    for group, writer in enumerate(computing):
        arguments = ", ".join([f"{writer.names[name]}: {type}" for name, type in captured.items()])
        end = f" : ({types}) -> ()" if group == GROUPS - 1 else ""
        lines += [
            f"    partition{group}({arguments}) num_warps(4) {{",
            *writer.lines,
            "      ttg.warp_return",
            f"    }}{end}",
        ]
    return [*lines, "    tt.return", "  }", "}"]


def _allocate(writer: Writer, ring: Ring, readers: int) -> RingValues:
    buffers = writer.emit(f"ttg.local_alloc : () -> {many(writer.buffer_type(ring), ring.depth)}")
    full = _barriers(writer, ring.depth, 1)
    return buffers, full, _barriers(writer, ring.depth, readers) if ring.is_reused else ""


def _barriers(writer: Writer, count: int, arrivals: int) -> str:
    made = writer.emit(f"ttg.local_alloc : () -> {many(BARRIER, count)}")
    for number in range(count):
        index = writer.integer(number)
        each = writer.emit(f"ttg.memdesc_index {made}[{index}] : {many(BARRIER, count)} -> {BARRIER}")
        writer.write(f"ttng.init_barrier {each}, {arrivals} : {BARRIER}")
    return made
