"""Atomic operations at any address.

Machines have no atomic instructions for addresses that are no multiples of the element's size: some end the process
there, and where they work they may be slow for everybody.  Such an element is changed under a lock that the launch has.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.vector.builder import Loop
from tileir.execute.cpu.vector.llvm import Register


def at_any_address(
    emission: Emission, address: Register, size: int, emit: Callable[[], str], change: Callable[[str], str | None]
) -> str:
    """The old bits of an element that an atomic instruction accesses, which `emit` makes; elsewhere what `change` makes
    of the old bits takes their place, if it makes anything."""
    if size == 1:
        return emit()
    builder = emission.builder
    bits = f"i{8 * size}"
    rest = builder.emit(f"and i64 {address.name}, {size - 1}")
    even = builder.emit(f"icmp eq i64 {rest}, 0")

    def locked() -> list[str]:
        lock = emission.frame.slot_pointer(emission.layout.lock)

        def busy() -> str:
            pair = builder.emit(f"cmpxchg ptr {lock}, i64 0, i64 1 acquire monotonic, align 8")
            taken = builder.emit(f"extractvalue {{ i64, i1 }} {pair}, 1")
            return builder.emit(f"xor i1 {taken}, true")

        Loop(builder).write(lambda: None, busy)
        where = builder.pointer(address.name)
        old = builder.emit(f"load {bits}, ptr {where}, align 1")
        new = change(old)
        if new is not None:
            builder.do(f"store {bits} {new}, ptr {where}, align 1")
        builder.do(f"store atomic i64 0, ptr {lock} release, align 8")
        return [f"{bits} {old}"]

    (found,) = builder.branch(even, lambda: [f"{bits} {emit()}"], locked, likely=True)
    return found
