"""Kernels of groups of warps run with NumPy, a group after the other: what `specialize` writes.

Everything that is asynchronous happens as late, or as early, as it may: a product reads its operands when it is waited
for, a store reads shared memory when it is, and a copy writes its buffer at once.  So what is waited for too late, or
whose buffer is free too early, gives other results; and where all groups wait for each other there is an assertion.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy
from tests.execute.gpu.triton import ttir_model
from tests.execute.gpu.triton.evaluating import Descriptor, Evaluation, Memory
from tests.execute.gpu.triton.ttir_text import Node, read

from tileir.execute.gpu.triton.lowering.lower import Lowered

_LAYOUT = re.compile(r", #(?:ttg\.\w+<\{[^{}]*\}>|\w+)")
_MEMORY = re.compile(r"memdesc<((?:\d+x)+)(\w+)>")
_PARAMETER = re.compile(r"(%parameter\d+): ([^%]*?)(?:, (?=%)|\)(?: attributes \{.*\})? \{$)")


class Barrier:
    """An mbarrier."""

    def __init__(self) -> None:
        self.count = self.missing = self.bytes = self.phase = 0

    def start(self, count: int) -> None:
        self.count = self.missing = count

    def arrive(self, count: int) -> None:
        assert self.missing >= count, "more arrive than are awaited"
        self.missing -= count
        self.turn()

    def turn(self) -> None:
        if not self.missing and not self.bytes:
            self.missing = self.count
            self.phase += 1

    def has_passed(self, parity: int) -> bool:
        return self.phase & 1 != parity


class Matmul:
    """A product under way."""

    def __init__(self, left: Any, right: Any, total: Any) -> None:
        self.left, self.right, self.total = left, right, total
        self.value: Any = None

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("a product is used before it is waited for")

    shape = property(__array__)

    def finish(self) -> None:
        total = self.total.value if isinstance(self.total, Matmul) else self.total
        assert total is not None, "a product before the one that it adds to"
        made = self.left.astype(numpy.float64) @ self.right.astype(numpy.float64) + total.astype(numpy.float64)
        self.value = made.astype(total.dtype)


class Turns:
    """Lets one group run at a time: the first, of those that do not wait."""

    def __init__(self, order: Sequence[int]) -> None:
        self._order = order
        self._change = threading.Condition()
        self._waits: dict[int, Callable[[], bool] | None] = dict.fromkeys(order)
        self._now = order[0]
        self.error: BaseException | None = None

    def run(self, groups: Sequence[Callable[[], None]]) -> None:
        threads = [threading.Thread(target=self._one, args=(number, each)) for number, each in enumerate(groups)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.error is not None:
            raise self.error

    def _one(self, number: int, group: Callable[[], None]) -> None:
        try:
            self._await_turn(number)
            group()
        except BaseException as error:
            self.error = self.error or error
        with self._change:
            del self._waits[number]
            self._pass_on()

    def wait(self, number: int, condition: Callable[[], bool]) -> None:
        """Have others run until a condition holds."""
        with self._change:
            self._waits[number] = condition
            self._pass_on()
        self._await_turn(number)
        self._waits[number] = None

    def _pass_on(self) -> None:
        for each in self._order:
            if each in self._waits:
                condition = self._waits[each]
                if self.error is not None or condition is None or condition():
                    self._now = each
                    break
        else:
            if self._waits:
                self.error = AssertionError("all groups wait for each other")
                self._now = next(iter(self._waits))
        self._change.notify_all()

    def _await_turn(self, number: int) -> None:
        with self._change:
            self._change.wait_for(lambda: self._now == number)
        if self.error is not None:
            raise self.error


class Group(Evaluation):
    """The statements of one group, or those before all groups."""

    def __init__(self, before: Evaluation, turns: Turns, number: int) -> None:
        super().__init__(before.memory, before.block, before.grid)
        self.values.update(before.values)
        self._turns = turns
        self._number = number
        self._products: list[Matmul] = []
        self._stores: list[tuple[Any, Any, Any]] = []

    # --- shared memory ---

    def do_ttg_local_alloc(self, node: Node) -> list[Any]:
        extents, element = _MEMORY.findall(node.rest)[-1]
        shape = tuple(map(int, extents.split("x")[:-1]))
        if element == "i64":
            return [[Barrier() for _ in range(shape[0])]]
        made = numpy.full(shape, numpy.nan, ttir_model.dtype_of(element))
        given = self.names(node.rest.partition(" : ")[0])
        if given:
            made[...] = given[0]
        return [made]

    def do_ttg_local_store(self, node: Node) -> list[Any]:
        value, buffer = self.names(node.rest)
        buffer[...] = value
        return []

    def do_ttg_memdesc_index(self, node: Node) -> list[Any]:
        buffers, index = self.names(node.rest)
        return [buffers[int(index[0])]]

    def do_ttg_memdesc_trans(self, node: Node) -> list[Any]:
        return [self.names(node.rest)[0].T]

    def do_ttg_convert_layout(self, node: Node) -> list[Any]:
        return self.names(node.rest)

    # --- barriers ---

    def do_ttng_init_barrier(self, node: Node) -> list[Any]:
        self.names(node.rest)[0].start(int(node.rest.split(", ")[1].split()[0]))
        return []

    def do_ttng_wait_barrier(self, node: Node) -> list[Any]:
        barrier, parity = self.names(node.rest)
        while not barrier.has_passed(int(parity[0])):
            self._turns.wait(self._number, lambda: bool(barrier.has_passed(int(parity[0]))))
        return []

    def do_ttng_arrive_barrier(self, node: Node) -> list[Any]:
        barrier, *condition = self.names(node.rest)
        if not condition or condition[0].reshape(-1)[0]:
            barrier.arrive(int(node.rest.split(", ")[1].split()[0]))
            # Whoever waited for it may be faster than this group.
            self._turns.wait(self._number, lambda: True)
        return []

    def do_ttng_barrier_expect(self, node: Node) -> list[Any]:
        barrier = self.names(node.rest)[0]
        barrier.bytes += int(node.rest.split(", ")[1])
        barrier.arrive(1)
        return []

    # --- copies ---

    def do_ttng_async_tma_copy_global_to_local(self, node: Node) -> list[Any]:
        descriptor, *places, buffer, barrier, _ = self.names(node.rest.partition(" : ")[0])
        addresses, inside = descriptor.elements([int(place[0]) for place in places])
        made = numpy.zeros(inside.shape, buffer.dtype)
        made[inside] = self.memory.load(addresses[inside], made.dtype)
        buffer[...] = made.reshape(buffer.shape)
        barrier.bytes -= buffer.nbytes
        barrier.turn()
        return []

    def do_ttng_async_tma_copy_local_to_global(self, node: Node) -> list[Any]:
        descriptor, *places, buffer = self.names(node.rest.partition(" : ")[0])
        self._stores.append((*descriptor.elements([int(place[0]) for place in places]), buffer))
        return []

    def do_ttng_async_tma_store_wait(self, node: Node) -> list[Any]:
        for addresses, inside, buffer in self._stores:
            self.memory.store(addresses[inside], buffer.reshape(inside.shape)[inside])
        self._stores.clear()
        return []

    def do_ttng_fence_async_shared(self, node: Node) -> list[Any]:
        return []

    # --- products ---

    def do_ttng_warp_group_dot(self, node: Node) -> list[Any]:
        made = Matmul(*self.names(node.rest.partition(" {")[0]))
        self._products.append(made)
        return [made]

    def do_ttng_warp_group_dot_wait(self, node: Node) -> list[Any]:
        (product,) = self.names(node.rest.partition(" {")[0])
        pending = re.search(r"pendings = (\d+)", node.rest)
        assert pending is not None
        while len(self._products) > int(pending[1]):
            self._products.pop(0).finish()
        is_done = isinstance(product, Matmul) and product not in self._products
        return [product.value if is_done else product]

    def end(self) -> None:
        assert not self._products, "a product is not waited for"
        assert not self._stores, "a store is not waited for"


def _plain(text: str) -> str:
    """Without layouts, and every value with a name of its own."""
    text = _LAYOUT.sub("", text.replace(", mutable>", ">"))
    text = re.sub(r"(%\w+):(\d+) = ", lambda f: ", ".join([f"{f[1]}_r{n}" for n in range(int(f[2]))]) + " = ", text)
    return re.sub(r"(%\w+)#(\d+)", r"\1_r\2", text)


def run_specialized(
    text: str, made: Lowered, grid: Sequence[int], blocks: Sequence[Sequence[int]], order: Sequence[int], *arrays: Any
) -> None:
    """Run some tile blocks of a specialized kernel; `order`: which groups run rather than others."""
    memory = Memory()
    numbers = [memory.add(array) for array in arrays]
    lines = _plain(text).splitlines()
    signature = next(line for line in lines if "tt.func" in line)
    start = lines.index(signature)
    middle = next(number for number, line in enumerate(lines) if "ttg.warp_specialize(" in line)
    captured = re.findall(r"%\w+", lines[middle])
    parts = [number for number, line in enumerate(lines) if re.match(r"    (default|partition\d+\(.*) ?\{$", line)]
    regions = []
    for number in parts:
        end = next(other for other in range(number, len(lines)) if lines[other].startswith("    }"))
        regions.append((re.findall(r"(%\w+): ", lines[number]), _function(lines[number + 1 : end])))
    opening = _function(lines[start + 1 : middle])
    types = dict(_PARAMETER.findall(signature))
    given: dict[str, Any] = {}
    for number, slot in enumerate(made.slots):
        name = f"%parameter{number}"
        if slot.kind == "descriptor":
            box = re.search(r"tensordesc<(?:tensor<)?((?:\d+x)+)", types[name])
            assert box is not None
            sizes = tuple(map(int, box[1].split("x")[:-1]))
            given[name] = Descriptor(slot.content._replace(box=sizes), numbers)
        else:
            given[name] = numpy.array([numbers[slot.content]], numpy.int64)
    for block in blocks:
        turns = Turns(order)
        first = Group(Evaluation(memory, block, grid), turns, 0)
        first.values.update(given)
        first.region(opening.body)
        groups = [Group(first, turns, number) for number in range(len(regions))]
        for group, (names, _) in zip(groups, regions, strict=True):
            group.values.update(zip(names, [first.values[name] for name in captured], strict=bool(names)))
        turns.run([_runner(group, function) for group, (_, function) in zip(groups, regions, strict=True)])
        for group in groups:
            group.end()


def _function(lines: list[str]) -> Any:
    kept = [line for line in lines if line.strip() not in ("ttg.warp_yield", "ttg.warp_return")]
    return read("\n".join(["tt.func public @part() {", *kept, "tt.return", "}"]))


def _runner(group: Group, function: Any) -> Callable[[], None]:
    def run() -> None:
        group.region(function.body)

    return run
