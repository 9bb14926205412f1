"""The printer: statements of a kernel written again, with other names and types; rings of buffers; computing warps."""

from __future__ import annotations

from typing import Final

from tileir.execute.gpu.triton.ttgir.plan import Copy, Plan, Ring, Rotation, rotation_of
from tileir.execute.gpu.triton.ttgir.text import (
    DOT,
    STORE,
    VALUE,
    WAIT,
    Loop,
    Statement,
    Unfit,
    half_memory,
    mutable,
    rows_of,
)

BARRIER: Final = "!ttg.memdesc<1xi64, #bar, #smem, mutable>"
GROUPS: Final = 2
FULL: Final = 0
FREE: Final = 1
RingBarriers = tuple[str, str]
"""A ring's barriers for full buffers, and those for free buffers, if any."""


class Writer:
    """Writes statements, with names for what they define."""

    def __init__(self, prefix: str, depth: int) -> None:
        self.lines: Final[list[str]] = []
        self.names: Final[dict[str, str]] = {}  # What values of the kernel are called here.
        self.barriers: Final[dict[Ring, RingBarriers]] = {}
        self.buffers: Final[dict[Copy, str]] = {}
        self.at: Final[dict[Ring, tuple[str, str]]] = {}
        """Which buffer of a ring is next, and the parity of its barriers."""
        self.depth: int = depth
        self._prefix: Final = prefix
        self._count: int = 0

    def write(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def fresh(self) -> str:
        self._count += 1
        return f"%{self._prefix}{self._count}"

    def emit(self, text: str) -> str:
        name = self.fresh()
        self.write(f"{name} = {text}")
        return name

    def integer(self, number: int, type: str = "i32") -> str:
        return self.emit(f"arith.constant {number} : {type}")

    def used(self, text: str) -> str:
        return VALUE.sub(lambda found: self.names.get(found[0], found[0]), text)

    def define(self, statement: Statement) -> str:
        """Names for the results of a statement, as text before it."""
        texts = []
        for name, count in statement.results:
            here = self.fresh()
            texts.append(f"{here}:{count}" if count else here)
            if count:
                self.names.update({f"{name}#{number}": f"{here}#{number}" for number in range(count)})
            else:
                self.names[name] = here
        return f"{', '.join(texts)} = " if texts else ""

    def types(self, text: str) -> str:
        return text

    def copied(self, statement: Statement) -> None:
        text = self.types(self.used(statement.text))
        self.write(self.define(statement) + text)
        for region, closing in zip(statement.regions, statement.closings, strict=True):
            for value in VALUE.findall(region.header):
                self.names[value] = self.fresh()
            if region.header:
                self.write(self.used(region.header))
            self.depth += 1
            for each in region.statements:
                self.copied(each)
            self.depth -= 1
            self.write(self.types(closing))

    def start(self, rings: list[Ring]) -> None:
        self.at.update(dict.fromkeys(rings, (zero := self.integer(0), zero)))

    def buffer(self, ring: Ring, part: Copy) -> str:
        type = buffer_type(part)
        return self.emit(
            f"ttg.memdesc_index {self.buffers[part]}[{self.at[ring][0]}] : {many(type, ring.depth)} -> {type}"
        )

    def barrier(self, ring: Ring, which: int) -> str:
        """The barrier for the next buffer to be full, or free."""
        barriers = f"{self.barriers[ring][which]}[{self.at[ring][0]}]"
        return self.emit(f"ttg.memdesc_index {barriers} : {many(BARRIER, ring.depth)} -> {BARRIER}")

    def advance(self, ring: Ring) -> None:
        if not ring.is_reused:
            return
        index, parity = self.at[ring]
        one = self.integer(1)
        flipped = self.emit(f"arith.xori {parity}, {one} : i32")
        if ring.depth == 1:
            self.at[ring] = (index, flipped)
            return
        following = self.emit(f"arith.addi {index}, {one} : i32")
        wraps = self.emit(f"arith.cmpi eq, {following}, {self.integer(ring.depth)} : i32")
        self.at[ring] = (
            self.emit(f"arith.select {wraps}, {self.integer(0)}, {following} : i32"),
            self.emit(f"arith.select {wraps}, {flipped}, {parity} : i32"),
        )

    def counters(self, rings: list[Ring]) -> list[str]:
        return [value for ring in rings for value in self.at[ring]]

    def set_counters(self, rings: list[Ring], values: list[str]) -> None:
        for number, ring in enumerate(rings):
            self.at[ring] = (values[2 * number], values[2 * number + 1])

    def loop(self, loop: Loop, given: list[str], types: list[str], first: str = "") -> tuple[str, list[str]]:
        """Open a loop that carries values; what its results are called, and the carried ones."""
        counter = self.names[loop.counter] = self.fresh()
        text = f"scf.for {counter} = {first or self.used(loop.first)} to {self.used(f'{loop.last} step {loop.step}')}"
        name, carried = (self.fresh() if given else ""), [self.fresh() for _ in given]
        if given:
            pairs = ", ".join([f"{inside} = {value}" for inside, value in zip(carried, given, strict=True)])
            text = f"{name}:{len(given)} = {text} iter_args({pairs}) -> ({', '.join(types)})"
        self.write(f"{text} : {loop.type} {{")
        self.depth += 1
        return name, carried

    def close(self, name: str, yielded: list[str], types: list[str]) -> list[str]:
        if yielded:
            self.write(f"scf.yield {', '.join(yielded)} : {', '.join(types)}")
        self.depth -= 1
        self.write("}")
        return [f"{name}#{number}" for number in range(len(yielded))]


def many(type: str, count: int) -> str:
    return type.replace("memdesc<", f"memdesc<{count}x", 1)


def buffer_type(part: Copy) -> str:
    return half_memory(part.type) if part.is_own else part.type


class ComputeGroup(Writer):
    def __init__(
        self,
        plan: Plan,
        group: int,
        buffers: dict[Copy, str],
        staged: dict[Statement, str],
        barriers: dict[Ring, RingBarriers],
        captured: dict[str, str],
    ) -> None:
        super().__init__(f"g{group}_", 3)
        self._plan: Final = plan
        self._group: Final = group
        self._copies: Final = plan.copies
        for name in captured:
            self.names[name] = self.fresh()
        self.buffers.update({part: self.names[name] for part, name in buffers.items()})
        for ring, (full, free) in barriers.items():
            self.barriers[ring] = (self.names[full], self.names.get(free, ""))
        self._ends: Final[dict[Statement, list[Copy]]] = {}
        for copy in plan.copies.all:
            if copy.last_use is not None and plan.rings[copy].is_reused:
                self._ends.setdefault(copy.last_use, []).append(copy)
        self._staged: Final = {statement: self.names[buffer] for statement, buffer in staged.items()}
        self._free: Final[dict[Ring, str]] = {}
        self._own: Final = {copy.buffer for copy in plan.copies.all if copy.is_own}
        """Shared memory that has half of the rows here."""
        self._mutable: Final[set[str]] = set()
        self.start(plan.all_rings)
        self._statements(plan.kernel.body.statements)
        if staged:
            self.write("ttng.async_tma_store_wait {pendings = 0 : i32}")

    def types(self, text: str) -> str:
        return self._plan.halves.text(text, self._group)

    def _await(self, copy: Copy) -> None:
        """Wait until a copy is done; its buffer is the next of its ring."""
        ring = self._plan.rings[copy]
        part = ring.part_of[copy]
        if part is ring.parts[0]:
            self.write(f"ttng.wait_barrier {self.barrier(ring, FULL)}, {self.at[ring][1]} : {BARRIER}")
            if ring.is_reused:
                self._free[ring] = self.barrier(ring, FREE)
        self.names[copy.buffer] = self.buffer(ring, part)
        for view in copy.views:
            self.copied(view)
        if part is ring.parts[-1]:
            self.advance(ring)

    def _release(self, copy: Copy) -> None:
        ring = self._plan.rings[copy]
        if ring.is_reused and ring.part_of[copy] is ring.parts[-1]:
            self.write(f"ttng.arrive_barrier {self._free[ring]}, 1 : {BARRIER}")

    def _statements(self, statements: list[Statement]) -> None:
        kept = [each for each in statements if each in self._staged]
        for each in statements:
            if each in kept[:1]:
                # What was stored before, in the last iteration, has left its buffers.
                self.write("ttng.async_tma_store_wait {pendings = 0 : i32}")
            if kept and each.name == "ttng.async_tma_store_wait":
                continue
            self._statement(each)
            for copy in self._ends.get(each, ()):
                self._release(copy)

    def _statement(self, statement: Statement) -> None:
        name = statement.name
        copy = self._copies.of.get(statement)
        if statement in self._copies.dropped or name in ("tt.return", "scf.yield"):
            return
        if copy is not None:
            self._await(copy)
        elif isinstance(statement, Loop):
            if rotation := rotation_of(statement, self._copies):
                self._rotated(statement, rotation)
            else:
                self._loop(statement)
        elif name == DOT:
            self._dot(statement)
        elif name == WAIT:
            self._wait(statement, 0)
        elif statement.is_alloc_of_tile:
            self._own.add(statement.result)
            self._stage(statement)
        elif name == STORE:
            self._store(statement)
        else:
            self.copied(statement)

    def _dot(self, statement: Statement, left: str = "", accumulator: str = "") -> None:
        """A matmul; `left` and `accumulator` in place of its operands."""
        a, b, c, *condition = statement.operands()
        a_type, b_type, type = statement.types
        if "isAsync = true" not in statement.attributes:
            raise Unfit("it has a matmul that is not waited for by a statement of its own")
        a_type = half_memory(a_type) if a in self._own else self.types(a_type)
        operands = [left or self.used(a), self.used(b), accumulator or self.used(c), *map(self.used, condition)]
        text = f"{DOT} {', '.join(operands)}{statement.attributes} : {a_type} * {b_type} -> {self.types(type)}"
        self.write(self.define(statement) + text)

    def _wait(self, statement: Statement, pending: int) -> None:
        """Wait until a matmul is done, and at most so many are not."""
        operands = statement.operands()
        type = self.types(statement.types[0])
        text = f"{WAIT} {self.used(operands[0])} {{pendings = {pending} : i32}} : {type}"
        self.names[statement.result] = self.emit(text)
        # The others are shared memory.
        for value, operand in zip(statement.values()[1:], operands[1:], strict=True):
            self.names[value] = self.used(operand)

    def _stage(self, statement: Statement) -> None:
        """Put a tile into shared memory: where it is stored from again and again, always into the same."""
        source, (tile, memory) = self.used(statement.operands()[0]), statement.types
        type = half_memory(memory)
        buffer = self._staged.get(statement)
        if buffer is None:
            self.write(self.define(statement) + f"ttg.local_alloc {source} : ({self.types(tile)}) -> {type}")
            return
        self.write(f"ttg.local_store {source}, {buffer} : {self.types(tile)} -> {mutable(type)}")
        self.names[statement.result] = buffer
        self._mutable.add(statement.result)

    def _store(self, statement: Statement) -> None:
        descriptor, *place, source = statement.operands()
        descriptor_type, type = map(half_memory, statement.types)
        if source not in self._own:
            raise Unfit("it stores what is no tile of its own")
        if source in self._mutable:
            type = mutable(type)
        where = [self.used(index) for index in place]
        if self._group:
            where[-2] = self.emit(f"arith.addi {where[-2]}, {self.integer(rows_of(type) * self._group)} : i32")
        self.write(
            f"{STORE} {self.used(descriptor)}[{', '.join(where)}] {self.used(source)}"
            f"{statement.attributes} : {descriptor_type}, {type}"
        )

    def _loop(self, loop: Loop) -> None:
        rings = self._plan.rings_in(loop.regions[0])
        count = len(loop.carried)
        types = [*map(self.types, loop.carried_types), *["i32"] * (2 * len(rings))]
        given = [*map(self.used, loop.given), *self.counters(rings)]
        name, carried = self.loop(loop, given, types)
        self.names.update(zip(loop.carried, carried[:count], strict=True))
        self.set_counters(rings, carried[count:])
        self._statements(loop.body)
        results = self.close(name, [*map(self.used, loop.yielded), *self.counters(rings)], types)
        self.names.update(zip(loop.values(), results[:count], strict=True))
        self.set_counters(rings, results[count:])

    def _rotated(self, loop: Loop, rotation: Rotation) -> None:
        """A loop of two matmuls, rotated; nothing of it where it has no iteration."""
        rings = self._plan.rings_in(loop.regions[0])
        types = [*map(self.types, loop.carried_types), *["i32"] * (2 * len(rings))]
        given = [*map(self.used, loop.given), *self.counters(rings)]
        condition = self.emit(f"arith.cmpi slt, {self.used(f'{loop.first}, {loop.last}')} : {loop.type}")
        name = self.fresh()
        self.write(f"{name}:{len(types)} = scf.if {condition} -> ({', '.join(types)}) {{")
        self.depth += 1
        results = [*self._rotated_body(loop, rotation), *self.counters(rings)]
        self.write(f"scf.yield {', '.join(results)} : {', '.join(types)}")
        self.depth -= 1
        self.write("} else {")
        self.depth += 1
        results = self.close(name, given, types)
        count = len(loop.carried)
        self.names.update(zip(loop.values(), results[:count], strict=True))
        self.set_counters(rings, results[count:])

    def _rotated_body(self, loop: Loop, rotation: Rotation) -> list[str]:
        """The results of the loop if it has an iteration."""
        first_dot, second_dot = rotation.dots
        first_wait, second_wait = rotation.waits
        first_copy, second_copy = rotation.copies
        left, _, total, *_ = second_dot.operands()
        left_type, _, total_type = map(self.types, second_dot.types)
        number = rotation.accumulator
        # The first iteration, up to its second matmul.
        self.names[loop.counter] = self.used(loop.first)
        self.names.update(zip(loop.carried, map(self.used, loop.given), strict=True))
        self._parts(rotation.beginning)
        self._await(first_copy)
        self._dot(first_dot)
        self._wait(first_wait, 0)
        self._release(first_copy)
        self._parts(rotation.middle)
        self._parts(rotation.update)
        # The others.
        rings = self._plan.rings_in(loop.regions[0])
        others = [index for index in range(len(loop.carried)) if index != number]
        types = [self.types(loop.carried_types[index]) for index in others]
        types += [left_type, total_type, *["i32"] * (2 * len(rings))]
        values = [self.used(loop.yielded[index]) for index in others]
        values += [self.used(left), self.used(total), *self.counters(rings)]
        begin = self.emit(f"arith.addi {self.used(f'{loop.first}, {loop.step}')} : {loop.type}")
        name, carried = self.loop(loop, values, types, begin)
        self.names.update({loop.carried[index]: value for index, value in zip(others, carried, strict=False)})
        kept, before = carried[len(others)], carried[len(others) + 1]
        self.set_counters(rings, carried[len(others) + 2 :])
        self._parts(rotation.beginning)
        self._await(first_copy)
        self._dot(first_dot)
        self._await(second_copy)
        self._dot(second_dot, kept, before)
        self._wait(first_wait, 1)
        self._release(first_copy)
        self._parts(rotation.middle)
        self._wait(second_wait, 0)
        self._release(second_copy)
        self.names[loop.carried[number]] = self.names[second_wait.result]
        self._parts(rotation.update)
        values = [self.used(loop.yielded[index]) for index in others]
        results = self.close(name, [*values, self.used(left), self.used(total), *self.counters(rings)], types)
        # The last second matmul.
        self.set_counters(rings, results[len(others) + 2 :])
        self._await(second_copy)
        self._dot(second_dot, results[len(others)], results[len(others) + 1])
        self._wait(second_wait, 0)
        self._release(second_copy)
        whole = results[: len(others)]
        whole.insert(number, self.names[second_wait.result])
        return whole

    def _parts(self, statements: list[Statement]) -> None:
        for each in statements:
            self._statement(each)
