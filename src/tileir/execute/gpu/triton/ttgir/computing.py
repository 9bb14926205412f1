"""A group of warps that computes: half of the rows."""

from __future__ import annotations

import re
from typing import Final

from tileir.execute.gpu.triton.ttgir.chaining import PROMOTION, Chain, chain_of, promoted_after
from tileir.execute.gpu.triton.ttgir.copies import Copy, Part, Ring
from tileir.execute.gpu.triton.ttgir.halves import half_memory, rows_of
from tileir.execute.gpu.triton.ttgir.plan import STAGED, STORE, Plan, mutable
from tileir.execute.gpu.triton.ttgir.rotation import Rotation, rotation_of
from tileir.execute.gpu.triton.ttgir.text import Loop, Statement, Unfit, split_list
from tileir.execute.gpu.triton.ttgir.writing import BARRIER, RingBarriers, Writer

_DOT: Final = re.compile(
    r"ttng\.warp_group_dot (%\S+), (%\S+), (%[^\s,]+)((?:, %\S+)?)((?: \{[^{}]*\})?) : (.*) \* (.*) -> (.*)"
)
_NEVER: Final = 1 << 30


class Computing(Writer):
    """A group that computes."""

    def __init__(
        self,
        plan: Plan,
        group: int,
        buffers: dict[Part, str],
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
        self._sums: Final[dict[str, str]] = {}
        """What products are added to when they are done, by their results."""
        self._constants: Final = {
            each.result: int(each.text.split()[1])
            for each in plan.kernel.body.walk()
            if re.fullmatch(r"arith\.constant -?\d+ : i\d+", each.text)
        }
        self.start(plan.all_rings)
        self._statements(plan.kernel.body.statements)
        if staged:
            self.write("ttng.async_tma_store_wait {pendings = 0 : i32}")

    def types(self, text: str) -> str:
        return self._plan.halves.text(text, self._group)

    # --- copies ---

    def _await(self, copy: Copy) -> None:
        """Wait until a copy is done; its buffer is the next of its ring."""
        ring, part = self._plan.rings[copy], self._plan.parts[copy]
        if part is ring.parts[0]:
            self.write(f"ttng.wait_barrier {self.full(ring)}, {self.at[ring][1]} : {BARRIER}")
            if ring.is_reused:
                self._free[ring] = self.free(ring)
        self.names[copy.buffer] = self.buffer(ring, part)
        for view in copy.views:
            self.copied(view)
        if part is ring.parts[-1]:
            self.advance(ring)

    def _release(self, copy: Copy) -> None:
        """Say that its buffer may hold the next tile."""
        ring = self._plan.rings[copy]
        if ring.is_reused and self._plan.parts[copy] is ring.parts[-1]:
            self.write(f"ttng.arrive_barrier {self._free[ring]}, 1 : {BARRIER}")

    # --- statements ---

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
            elif self._is_ahead(statement) and (chain := chain_of(statement, self._copies)):
                self._chained(statement, chain)
            else:
                self._loop(statement)
        elif name == "ttng.warp_group_dot":
            self._product(statement)
        elif name == "ttng.warp_group_dot_wait":
            self._wait(statement, 0)
        elif found := STAGED.fullmatch(statement.text):
            self._own.add(statement.result)
            self._stage(statement, found)
        elif found := STORE.fullmatch(statement.text):
            self._store(found)
        else:
            self.copied(statement)

    def _product(self, statement: Statement, left: str = "", sum: str = "") -> None:
        """A product; `left` and `sum` in place of its operands."""
        found = _DOT.fullmatch(statement.text)
        if found is None:
            raise Unfit("it has a product of an unusual kind")
        a, b, c, condition, attributes, a_type, b_type, type = found.groups()
        if "isAsync = true" not in attributes:
            raise Unfit("it has a product that is not waited for by a statement of its own")
        a_type = half_memory(a_type) if a in self._own else self.types(a_type)
        type = self.types(type)
        sum = sum or self.used(c)
        most = promoted_after(statement)
        if most:
            # Tensor cores add up f8 with few bits: each product begins with nothing, and is added when it is done.
            if most < rows_of(b_type):
                raise Unfit("it has a product that is added up in parts")
            attributes = PROMOTION.sub(f"maxNumImpreciseAcc = {_NEVER} : i32", attributes)
            self._sums[statement.result] = sum
            sum = self.emit(f"arith.constant dense<0.0> : {type}")
        operands = f"{left or self.used(a)}, {self.used(b)}, {sum}{self.used(condition)}"
        text = f"ttng.warp_group_dot {operands}{attributes} : {a_type} * {b_type} -> {type}"
        self.write(self.define(statement) + text)

    def _wait(self, statement: Statement, pending: int) -> None:
        """Wait until a product is done, and at most so many are not."""
        operands = statement.operands()
        type = self.types(split_list(statement.text.partition("} : ")[2])[0])
        done = self.emit(f"ttng.warp_group_dot_wait {self.used(operands[0])} {{pendings = {pending} : i32}} : {type}")
        sum = self._sums.get(operands[0])
        if sum is not None:
            done = self.emit(f"arith.addf {sum}, {done} : {type}")
        self.names[statement.result] = done
        # The others are shared memory.
        for value, operand in zip(statement.values()[1:], operands[1:], strict=True):
            self.names[value] = self.used(operand)

    def _stage(self, statement: Statement, found: re.Match[str]) -> None:
        """Put a tile into shared memory: where it is stored from again and again, always into the same."""
        type, source = half_memory(found[3]), self.used(found[1])
        buffer = self._staged.get(statement)
        if buffer is None:
            text = f"ttg.local_alloc {source} : ({self.types(found[2])}) -> {type}"
            self.write(self.define(statement) + text)
            return
        self.write(f"ttg.local_store {source}, {buffer} : {self.types(found[2])} -> {mutable(type)}")
        self.names[statement.result] = buffer
        self._mutable.add(statement.result)

    def _store(self, found: re.Match[str]) -> None:
        descriptor, place, source, options, descriptor_type, type = found.groups()
        if source not in self._own:
            raise Unfit("it stores what is no tile of its own")
        type = half_memory(type)
        if source in self._mutable:
            type = mutable(type)
        where = [self.used(index) for index in place.split(", ")]
        if self._group:
            where[-2] = self.emit(f"arith.addi {where[-2]}, {self.integer(rows_of(type) * self._group)} : i32")
        self.write(
            f"ttng.async_tma_copy_local_to_global {self.used(descriptor)}[{', '.join(where)}] {self.used(source)}"
            f"{options} : {half_memory(descriptor_type)}, {type}"
        )

    # --- loops ---

    def _loop(self, loop: Loop) -> None:
        """A loop as it is."""
        rings = self._plan.rings_in(loop.regions[0])
        types = [*map(self.types, loop.types), *["i32"] * (2 * len(rings))]
        counter = self.names[loop.counter] = self.fresh()
        bounds = f"{counter} = {self.used(f'{loop.first} to {loop.last} step {loop.step}')}"
        given = [*map(self.used, loop.given), *self.counters(rings)]
        if not given:
            self.write(f"scf.for {bounds} : {loop.type} {{")
            self.depth += 1
            self._statements(loop.body)
            self.depth -= 1
            self.write("}")
            return
        name, carried = self.loop(bounds, loop.type, given, types)
        count = len(loop.carried)
        self.names.update(zip(loop.carried, carried[:count], strict=True))
        self.set_counters(rings, carried[count:])
        self._statements(loop.body)
        results = self.close(name, [*map(self.used, loop.yielded), *self.counters(rings)], types)
        self.names.update(zip(loop.values(), results[:count], strict=True))
        self.set_counters(rings, results[count:])

    def _is_ahead(self, loop: Loop) -> bool:
        """Whether the tiles of the next iteration are loaded while those of this one are in use."""
        return all(ring.depth > 1 for ring in self._plan.rings_in(loop.regions[0]))

    def _chained(self, loop: Loop, chain: Chain) -> None:
        """A loop of one product that adds to a sum: waited for when the next one has started."""
        rings = self._plan.rings_in(loop.regions[0])
        count = len(loop.carried)
        types = [*map(self.types, loop.types), *["i32"] * (3 * len(rings))]
        counter = self.names[loop.counter] = self.fresh()
        bounds = f"{counter} = {self.used(f'{loop.first} to {loop.last} step {loop.step}')}"
        before = [self.at[ring][0] for ring in rings]
        given = [*map(self.used, loop.given), *self.counters(rings), *before]
        name, carried = self.loop(bounds, loop.type, given, types)
        self.names.update(zip(loop.carried, carried[:count], strict=True))
        before = carried[count + 2 * len(rings) :]
        self.set_counters(rings, carried[count:])
        now = [self.at[ring][0] for ring in rings]
        for each in loop.body:
            if each is chain.wait:
                self._wait(each, 1)
                is_later = self.emit(f"arith.cmpi ne, {counter}, {self.used(loop.first)} : {loop.type}")
                self._release_all(rings, before, is_later)
            else:
                self._statement(each)
        yielded = [*map(self.used, loop.yielded), *self.counters(rings), *now]
        results = self.close(name, yielded, types)
        self.names.update(zip(loop.values(), results[:count], strict=True))
        self.set_counters(rings, results[count:])
        total, type = results[chain.sum_number], types[chain.sum_number]
        done = self.emit(f"ttng.warp_group_dot_wait {total} {{pendings = 0 : i32}} : {type}")
        self.names[loop.values()[chain.sum_number]] = done
        has_run = self.emit(f"arith.cmpi slt, {self.used(f'{loop.first}, {loop.last}')} : {loop.type}")
        self._release_all(rings, results[count + 2 * len(rings) :], has_run)

    def _release_all(self, rings: list[Ring], indices: list[str], condition: str) -> None:
        """Say that buffers may hold the next tiles, if a condition holds."""
        for ring, index in zip(rings, indices, strict=True):
            self.write(f"ttng.arrive_barrier {self.free(ring, index)}, 1, {condition} : {BARRIER}")

    def _rotated(self, loop: Loop, rotation: Rotation) -> None:
        """A loop of two products, rotated; nothing of it where it has no iteration."""
        rings = self._plan.rings_in(loop.regions[0])
        types = [*map(self.types, loop.types), *["i32"] * (2 * len(rings))]
        given = [*map(self.used, loop.given), *self.counters(rings)]
        first, last = self._constants.get(loop.first), self._constants.get(loop.last)
        runs = first is not None and last is not None and first < last
        name = ""
        if not runs:
            condition = self.emit(f"arith.cmpi slt, {self.used(f'{loop.first}, {loop.last}')} : {loop.type}")
            name = self.fresh()
            self.write(f"{name}:{len(types)} = scf.if {condition} -> ({', '.join(types)}) {{")
            self.depth += 1
        results = [*self._rotated_body(loop, rotation), *self.counters(rings)]
        if not runs:
            self.write(f"scf.yield {', '.join(results)} : {', '.join(types)}")
            self.depth -= 1
            self.write("} else {")
            self.depth += 1
            results = self.close(name, given, types)
        count = len(loop.carried)
        self.names.update(zip(loop.values(), results[:count], strict=True))
        self.set_counters(rings, results[count:])

    def _rotated_body(self, loop: Loop, rotation: Rotation) -> list[str]:
        """What the loop gives if it has an iteration."""
        first_product, second_product = rotation.products
        first_wait, second_wait = rotation.waits
        first_copy, second_copy = rotation.copies
        found = _DOT.fullmatch(second_product.text)
        assert found is not None, "a product has been seen to be one"
        left, total = found[1], found[3]
        left_type, total_type = self.types(found[6]), self.types(found[8])
        number = rotation.sum_number
        # The first iteration, up to its second product.
        self.names[loop.counter] = self.used(loop.first)
        self.names.update(zip(loop.carried, map(self.used, loop.given), strict=True))
        self._parts(rotation.beginning)
        self._await(first_copy)
        self._product(first_product)
        self._wait(first_wait, 0)
        self._release(first_copy)
        self._parts(rotation.middle)
        self._parts(rotation.update)
        # The others.
        rings = self._plan.rings_in(loop.regions[0])
        others = [index for index in range(len(loop.carried)) if index != number]
        types = [self.types(loop.types[index]) for index in others]
        types += [left_type, total_type, *["i32"] * (2 * len(rings))]
        values = [self.used(loop.yielded[index]) for index in others]
        values += [self.used(left), self.used(total), *self.counters(rings)]
        begin = self.emit(f"arith.addi {self.used(f'{loop.first}, {loop.step}')} : {loop.type}")
        counter = self.names[loop.counter] = self.fresh()
        bounds = f"{counter} = {begin} to {self.used(f'{loop.last} step {loop.step}')}"
        name, carried = self.loop(bounds, loop.type, values, types)
        self.names.update({loop.carried[index]: value for index, value in zip(others, carried, strict=False)})
        kept, before = carried[len(others)], carried[len(others) + 1]
        self.set_counters(rings, carried[len(others) + 2 :])
        self._parts(rotation.beginning)
        self._await(first_copy)
        self._product(first_product)
        self._await(second_copy)
        self._product(second_product, kept, before)
        self._wait(first_wait, 1)
        self._release(first_copy)
        self._parts(rotation.middle)
        self._wait(second_wait, 0)
        self._release(second_copy)
        self.names[loop.carried[number]] = self.names[second_wait.result]
        self._parts(rotation.update)
        values = [self.used(loop.yielded[index]) for index in others]
        results = self.close(name, [*values, self.used(left), self.used(total), *self.counters(rings)], types)
        # The last second product.
        self.set_counters(rings, results[len(others) + 2 :])
        self._await(second_copy)
        self._product(second_product, results[len(others)], results[len(others) + 1])
        self._wait(second_wait, 0)
        self._release(second_copy)
        whole = results[: len(others)]
        whole.insert(number, self.names[second_wait.result])
        return whole

    def _parts(self, statements: list[Statement]) -> None:
        for each in statements:
            self._statement(each)
