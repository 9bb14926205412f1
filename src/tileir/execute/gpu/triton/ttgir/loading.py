"""The group of warps that starts copies from global memory, and does nothing else."""

from __future__ import annotations

from typing import Final

from tileir.execute.gpu.triton.ttgir.copies import Copies, Copy, Part, Ring
from tileir.execute.gpu.triton.ttgir.halves import rows_of
from tileir.execute.gpu.triton.ttgir.plan import Plan
from tileir.execute.gpu.triton.ttgir.text import Kernel, Loop, Region, Statement, Unfit
from tileir.execute.gpu.triton.ttgir.writing import BARRIER, GROUPS, RingBarriers, Writer, buffer_type


class Loading(Writer):
    """The group that starts copies."""

    def __init__(self, plan: Plan, buffers: list[dict[Part, str]], barriers: dict[Ring, RingBarriers]) -> None:
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
        counter = self.names[loop.counter] = self.fresh()
        bounds = f"{counter} = {self.used(f'{loop.first} to {loop.last} step {loop.step}')}"
        types = ["i32"] * (2 * len(rings))
        name, carried = self.loop(bounds, loop.type, self.counters(rings), types)
        self.set_counters(rings, carried)
        self._region(loop.regions[0])
        self.set_counters(rings, self.close(name, self.counters(rings), types))

    def _copy(self, copy: Copy) -> None:
        ring, part = self._plan.rings[copy], self._plan.parts[copy]
        if part is ring.parts[0]:
            if ring.is_reused:
                parity = self.emit(f"arith.xori {self.at[ring][1]}, {self.integer(1)} : i32")
                self.write(f"ttng.wait_barrier {self.free(ring)}, {parity} : {BARRIER}")
            self.write(f"ttng.barrier_expect {self.full(ring)}, {ring.bytes}, {self._true} : {BARRIER}")
        full = self.full(ring)
        type = buffer_type(part)
        descriptor = dict(self._plan.parameters)[copy.descriptor].split(" {", 1)[0]
        for group in range(GROUPS if part.is_own else 1):
            self.buffers[part] = self._group_buffers[group][part]
            buffer = self.buffer(ring, part)
            place = [self.names.get(index, index) for index in copy.place]
            if group:
                place[-2] = self.emit(f"arith.addi {place[-2]}, {self.integer(rows_of(type) * group)} : i32")
            self.write(
                f"ttng.async_tma_copy_global_to_local {copy.descriptor}[{', '.join(place)}] {buffer}, {full}, "
                f"{self._true}{copy.options} : {descriptor}, {BARRIER} -> {type}"
            )
        if part is ring.parts[-1]:
            self.advance(ring)


def _needed(kernel: Kernel, copies: Copies) -> set[Statement]:
    """What says which tiles are copied: the statements that the group for that needs."""
    defined = {value: each for each in kernel.body.walk() for value in each.values()}
    carried = {value for each in kernel.body.walk() if isinstance(each, Loop) for value in each.carried}
    wanted = [index for copy in copies.all for index in copy.place]
    for each in kernel.body.walk():
        if isinstance(each, Loop) and any(inner in copies.of for inner in each.regions[0].walk()):
            wanted += [each.first, each.last, each.step]
    found: set[Statement] = set()
    while wanted:
        value = wanted.pop()
        statement = defined.get(value)
        if value in carried or isinstance(statement, Loop):
            raise Unfit("which tiles are loaded depends on what a loop computes")
        if statement is None or statement in found:
            continue
        if "tensor<" in statement.text or not statement.name.startswith(("arith.", "tt.get_")):
            raise Unfit("which tiles are loaded depends on what is loaded")
        found.add(statement)
        wanted += statement.operands()
    return found
