"""Atomic updates of neighbours: as many elements as lie in 8 bytes, by one comparison and exchange.

That takes no longer than the one of an element, and is atomic for each of them.  It is tried where pointers are
computed, not read from memory; whether they are neighbours, begin at a multiple of 8 and are all wanted is asked for
the lanes of a vector at once, and where they are not its elements are updated one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final

from tileir.execute.analysis.values import pointee_of
from tileir.execute.cpu.emission import pointers
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.nests import LoopNest
from tileir.execute.cpu.loops.sinks import EXCHANGED_BYTES, Sink, Update, updated_together
from tileir.execute.cpu.vector.builder import Builder, Loop, Number
from tileir.execute.cpu.vector.lanes import shuffled
from tileir.execute.cpu.vector.llvm import Register, value_type
from tileir.execute.cpu.vector.tracing import trace
from tileir.execute.dtypes import memory_bytes, memory_dtype
from tileir.execute.interpreter.pointers import atomic_kernel
from tileir.ir.core import Operation

_WIDE: Final = f"i{8 * EXCHANGED_BYTES}"


def update_lanes(emission: Emission, sinks: list[Sink]) -> int:
    """The lanes of a nest with atomic updates; none where elements go one by one."""
    (sink,) = [each for each in sinks if isinstance(each, Update)]
    if emission.sanitize or sink.pointers is None or prod(sink.expression.shape) == 1:
        return 0
    return updated_together(sink.operation, sink.pointers, emission.target)


def update_neighbours(
    nest: LoopNest,
    sink: Update,
    addresses: Register,
    value: Register,
    mask: Register | None,
    one: Callable[[Register, Register, Register | None], object],
) -> None:
    """Update elements at the addresses of a vector; `one` does it for a single one: address, value and mask."""
    builder, operation = nest.builder, sink.operation
    element = pointee_of(operation.operands[0])
    lanes = nest.lanes
    addresses, value = builder.splat(addresses, lanes), builder.splat(value, lanes)
    mask = builder.splat(mask, lanes) if mask is not None else None

    def each() -> None:
        def lane(number: Number) -> None:
            address, single = (_lane(nest, vector, number) for vector in (addresses, value))
            one(address, single, _lane(nest, mask, number) if mask is not None else None)

        builder.count(0, lanes, 1, lane)

    size = memory_bytes(element)
    if lanes * size < EXCHANGED_BYTES:
        each()
        return
    are_near, where = pointers.neighbours(nest, addresses, size)
    first = builder.emit(f"extractelement {addresses.typed}, i64 0")
    answers = [are_near, builder.emit(f"icmp eq i64 {builder.emit(f'and i64 {first}, {EXCHANGED_BYTES - 1}')}, 0")]
    if mask is not None:
        answers.append(builder.call("i1", f"llvm.vector.reduce.and.v{lanes}i1", [mask.typed]))

    def together() -> None:
        count = EXCHANGED_BYTES // size
        for part in range(0, lanes, count):
            some = shuffled(builder, value, value, list(range(part, part + count)))
            _exchange(builder, builder.moved(where, part * size), some, operation)

    builder.branch(builder.all_of(answers), together, each, likely=True)


def _lane(nest: LoopNest, vector: Register, number: Number) -> Register:
    return nest.builder.value(f"extractelement {vector.typed}, i64 {number}", vector.dtype)


def _exchange(builder: Builder, where: str, value: Register, operation: Operation) -> None:
    element = pointee_of(operation.operands[0])
    dtype = memory_dtype(element)
    kernel = atomic_kernel(operation.keyword("mode"), element)

    def change(old: str) -> str:
        before = builder.value(f"bitcast {_WIDE} {old} to {value_type(dtype, value.width)}", dtype, value.width)
        return builder.emit(f"bitcast {trace(builder, kernel, [before, value]).typed} to {_WIDE}")

    exchange(builder, where, EXCHANGED_BYTES, pointers.order_of(operation), change)


def exchange(builder: Builder, where: str, size: int, order: str, change: Callable[[str], str]) -> str:
    """Replace bytes in memory by what `change` makes of their bits, as often as somebody else was faster; gives the old
    bits."""
    bits = f"i{8 * size}"
    failure = "acquire" if order in ("acquire", "acq_rel") else "monotonic"
    loop = Loop(builder)
    old = loop.carry(bits, builder.emit(f"load atomic {bits}, ptr {where} monotonic, align {size}"))
    pair = ""

    def attempt() -> None:
        nonlocal pair
        text = f"cmpxchg ptr {where}, {bits} {old}, {bits} {change(old)} {order} {failure}, align {size}"
        pair = builder.emit(text)

    def failed() -> str:
        loop.becomes(old, builder.emit(f"extractvalue {{ {bits}, i1 }} {pair}, 0"))
        done = builder.emit(f"extractvalue {{ {bits}, i1 }} {pair}, 1")
        return builder.emit(f"xor i1 {done}, true")

    loop.write(attempt, failed)
    return old
