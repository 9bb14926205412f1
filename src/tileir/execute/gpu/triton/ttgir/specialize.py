"""Warp specialization: a kernel of eight warps becomes one of three groups of four.

One group starts copies from global memory, as many ahead as there are buffers.  Two others have half of the rows each
and never wait for one another: one computes while the other's matmuls keep the tensor cores busy.  Every element is
computed by the same operations in the same order.  Triton's own pass is for a few forms of loops, and missing or wrong
in some versions.  Here Triton has chosen layouts; its text before software pipelining, where every copy and matmul is
waited for, is changed, and Triton compiles the result.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from tileir.execute.gpu.errors import TritonError
from tileir.execute.gpu.triton.code import Limits
from tileir.execute.gpu.triton.toolchain import TritonTarget
from tileir.execute.gpu.triton.ttgir.compute_group import (
    BARRIER,
    FREE,
    FULL,
    GROUPS,
    ComputeGroup,
    RingBarriers,
    Writer,
    buffer_type,
    many,
)
from tileir.execute.gpu.triton.ttgir.plan import Copies, Copy, Plan, Ring
from tileir.execute.gpu.triton.ttgir.text import (
    LOAD,
    Kernel,
    Loop,
    Region,
    Statement,
    Unfit,
    half_memory,
    mutable,
    rows_of,
)
from tileir.execute.gpu.triton.worker.pool import Answer, Request, compile_ttir

_Key = TypeVar("_Key")
REGISTERS: Final = 240  # For each thread that computes; those that load keep 24 of the 168 that all begin with.
OPTION: Final = "warp_specialize"
"""Among the options for Triton, which has none of this name: that a kernel is to be one of this kind."""
_WARPS: Final = 8
_GROUP_WARPS: Final = 4


class LoadGroup(Writer):
    def __init__(self, plan: Plan, buffers: list[dict[Copy, str]], barriers: dict[Ring, RingBarriers]) -> None:
        super().__init__("l", 3)
        self._plan: Final = plan
        self._group_buffers: Final = buffers
        self.barriers.update(barriers)
        self._needed: Final = _needed(plan.kernel, plan.copies)
        self.start(plan.all_rings)
        self._true: Final = self.emit("arith.constant true")
        self._region(plan.kernel.body)

    def _region(self, region: Region) -> None:
        for statement in region.statements:
            copy = self._plan.copies.of.get(statement)
            if copy is not None:
                self._copy(copy)
            elif isinstance(statement, Loop):
                rings = self._plan.rings_in(statement.regions[0])
                if rings:
                    self._loop(statement, rings)
            elif statement in self._needed:
                self.copied(statement)

    def _loop(self, loop: Loop, rings: list[Ring]) -> None:
        types = ["i32"] * (2 * len(rings))
        name, carried = self.loop(loop, self.counters(rings), types)
        self.set_counters(rings, carried)
        self._region(loop.regions[0])
        self.set_counters(rings, self.close(name, self.counters(rings), types))

    def _copy(self, copy: Copy) -> None:
        ring = self._plan.rings[copy]
        part = ring.part_of[copy]
        if part is ring.parts[0]:
            if ring.is_reused:
                parity = self.emit(f"arith.xori {self.at[ring][1]}, {self.integer(1)} : i32")
                self.write(f"ttng.wait_barrier {self.barrier(ring, FREE)}, {parity} : {BARRIER}")
            self.write(f"ttng.barrier_expect {self.barrier(ring, FULL)}, {ring.bytes}, {self._true} : {BARRIER}")
        full = self.barrier(ring, FULL)
        type = buffer_type(part)
        descriptor = dict(self._plan.parameters)[copy.descriptor].split(" {", 1)[0]
        for group in range(GROUPS if part.is_own else 1):
            self.buffers[part] = self._group_buffers[group][part]
            buffer = self.buffer(ring, part)
            coordinates = [self.names.get(index, index) for index in copy.coordinates]
            if group:
                coordinates[-2] = self.emit(
                    f"arith.addi {coordinates[-2]}, {self.integer(rows_of(type) * group)} : i32"
                )
            self.write(
                f"{LOAD} {copy.descriptor}[{', '.join(coordinates)}] {buffer}, {full}, "
                f"{self._true}{copy.statement.attributes} : {descriptor}, {BARRIER} -> {type}"
            )
        if part is ring.parts[-1]:
            self.advance(ring)


def _needed(kernel: Kernel, copies: Copies) -> set[Statement]:
    """The statements that determine which tiles are copied, which the group of copies needs."""
    defined = {value: each for each in kernel.body.walk() for value in each.values()}
    carried = {value for each in kernel.body.walk() if isinstance(each, Loop) for value in each.carried}
    pending = [index for copy in copies.all for index in copy.coordinates]
    for each in kernel.body.walk():
        if isinstance(each, Loop) and any(inner in copies.of for inner in each.regions[0].walk()):
            pending += [each.first, each.last, each.step]
    found: set[Statement] = set()
    while pending:
        value = pending.pop()
        statement = defined.get(value)
        if value in carried or isinstance(statement, Loop):
            raise Unfit("which tiles are loaded depends on what a loop computes")
        if statement is None or statement in found:
            continue
        if "tensor<" in statement.text or not statement.name.startswith(("arith.", "tt.get_")):
            raise Unfit("which tiles are loaded depends on what is loaded")
        found.add(statement)
        pending += statement.operands()
    return found


def specialize(text: str, stages: int, shared: int) -> str:
    """TTGIR for three groups of warps, with tiles loaded ahead in `shared` bytes of shared memory; raises `Unfit`."""
    return "\n".join(_lines(Plan(text, stages, shared))) + "\n"


class _Shared:
    """The shared memory of all groups, and the statements that make it."""

    def __init__(self, plan: Plan) -> None:
        self.writer: Final = Writer("s", 2)
        self.buffers: Final[list[dict[Copy, str]]] = [{} for _ in range(GROUPS)]
        """For each group: those of its own, and those of all."""
        self.staged: Final[list[dict[Statement, str]]] = [{} for _ in range(GROUPS)]
        self.barriers: Final[dict[Ring, RingBarriers]] = {}
        self.types: Final[dict[str, str]] = {}
        for ring in plan.all_rings:
            for part in ring.parts:
                self._fill(self.buffers, part, many(buffer_type(part), ring.depth), part.is_own)
            free = self._barriers(ring.depth, GROUPS) if ring.is_reused else ""
            self.barriers[ring] = (self._barriers(ring.depth, 1), free)
        for each in plan.staged:
            self._fill(self.staged, each, mutable(half_memory(each.types[-1])), True)
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
    loading = LoadGroup(plan, shared.buffers, shared.barriers)
    computing = [
        ComputeGroup(plan, group, shared.buffers[group], shared.staged[group], shared.barriers, captured)
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


class NotSpecialized(Exception):
    """A kernel cannot be one of this kind; the message is the reason."""


def compile_specialized(text: str, target: TritonTarget, options: dict[str, Any], last: str, limits: Limits) -> Answer:
    """What Triton makes of TTIR as such a kernel; raises `NotSpecialized`."""
    if not target.has_wgmma:
        raise NotSpecialized(f"{target.name} has no matmuls by groups of warps")
    # Layouts are chosen for the warps that compute; `specialize` schedules loads, not Triton.
    waiting = {**options, "num_warps": _WARPS, "num_stages": 1}
    waiting.pop(OPTION, None)
    made = compile_ttir(Request(text, target.code, waiting, "ttgir"), limits)
    try:
        changed = specialize(made.data.decode(), options["num_stages"], target.shared)
    except Unfit as error:
        raise NotSpecialized(str(error)) from None
    if last == "ttgir":
        return made._replace(data=changed.encode())
    waiting["num_warps"] = _GROUP_WARPS
    request = Request(changed, target.code, waiting, last, first="ttgir")
    try:
        return compile_ttir(request, limits)
    except TritonError as error:
        if not error.is_of_program:
            raise
        # What is made of the program itself is right, if slower.
        raise NotSpecialized(error.diagnostics[0].message) from None
