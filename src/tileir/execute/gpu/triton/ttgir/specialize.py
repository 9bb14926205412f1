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

from typing import Final, TypeVar

from tileir.execute.gpu.triton.ttgir.computing import Computing
from tileir.execute.gpu.triton.ttgir.copies import Part, Ring
from tileir.execute.gpu.triton.ttgir.loading import Loading
from tileir.execute.gpu.triton.ttgir.plan import Plan, mutable, staged_type
from tileir.execute.gpu.triton.ttgir.text import Statement
from tileir.execute.gpu.triton.ttgir.writing import BARRIER, GROUPS, RingBarriers, Writer, buffer_type, many

_Key = TypeVar("_Key")
REGISTERS: Final = 240
"""For each thread that computes; those that load keep 24 of the 168 that all begin with."""


def specialize(text: str, stages: int, shared: int) -> str:
    """The TTGIR of a kernel for three groups of warps, with up to so many tiles loaded ahead; raises `Unfit`.

    `shared`: the bytes of shared memory that a tile block may have.
    """
    return "\n".join(_lines(Plan(text, stages, shared))) + "\n"


class _Shared:
    """The shared memory of all groups, and the statements that make it."""

    def __init__(self, plan: Plan) -> None:
        self.writer: Final = Writer("s", 2)
        self.buffers: Final[list[dict[Part, str]]] = [{} for _ in range(GROUPS)]
        """For each group: those of its own, and those of all."""
        self.staged: Final[list[dict[Statement, str]]] = [{} for _ in range(GROUPS)]
        self.barriers: Final[dict[Ring, RingBarriers]] = {}
        self.types: Final[dict[str, str]] = {}
        """Of all of it, by name."""
        for ring in plan.all_rings:
            for part in ring.parts:
                self._fill(self.buffers, part, many(buffer_type(part), ring.depth), part.is_own)
            free = self._barriers(ring.depth, GROUPS) if ring.is_reused else ""
            self.barriers[ring] = (self._barriers(ring.depth, 1), free)
        for each in plan.staged:
            self._fill(self.staged, each, mutable(staged_type(each)), True)
        self.writer.write("gpu.barrier")

    def _fill(self, groups: list[dict[_Key, str]], key: _Key, type: str, is_own: bool) -> None:
        for number, group in enumerate(groups):
            group[key] = groups[0][key] if number and not is_own else self._allocate(type)

    def _allocate(self, type: str) -> str:
        made = self.writer.emit(f"ttg.local_alloc : () -> {type}")
        self.types[made] = type
        return made

    def _barriers(self, count: int, arrivals: int) -> str:
        writer = self.writer
        made = self._allocate(many(BARRIER, count))
        for number in range(count):
            index = writer.integer(number)
            each = writer.emit(f"ttg.memdesc_index {made}[{index}] : {many(BARRIER, count)} -> {BARRIER}")
            writer.write(f"ttng.init_barrier {each}, {arrivals} : {BARRIER}")
        return made


def _lines(plan: Plan) -> list[str]:
    shared = _Shared(plan)
    bare = [(name, type.split(" {", 1)[0]) for name, type in plan.parameters]
    used = {use for each in plan.kernel.body.walk() for use in each.operands()}
    captured = {**shared.types, **{name: type for name, type in bare if name in used}}
    loading = Loading(plan, shared.buffers, shared.barriers)
    computing = [
        Computing(plan, group, shared.buffers[group], shared.staged[group], shared.barriers, captured)
        for group in range(GROUPS)
    ]
    registers = ", ".join([str(REGISTERS)] * GROUPS)
    types = ", ".join(captured.values())
    signature = ", ".join([f"{name}: {type}" for name, type in plan.parameters])
    lines = [
        "#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>",
        *plan.halves.head,
        f"  {plan.kernel.function}({signature}){plan.kernel.attributes} {{",
        *shared.writer.lines,
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
