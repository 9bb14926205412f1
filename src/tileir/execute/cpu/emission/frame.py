"""The frame of a function: what its first basic block does, before any tile block.

Scalars that a region hands on go through slots on the stack, which LLVM turns into registers again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tileir.execute.analysis.values import dtype_of
from tileir.execute.cpu.runtime import launch_record as slots
from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.casting import from_storage
from tileir.execute.cpu.vector.llvm import Register, storage_type
from tileir.ir.values import Value


class Frame:
    """Instructions at the beginning of a function that takes the launch record, each once."""

    def __init__(self, builder: Builder) -> None:
        self._builder: Builder = builder
        self._lines: dict[str, None] = {}

    @property
    def lines(self) -> list[str]:
        return list(self._lines)

    def add(self, instruction: str) -> None:
        self._lines[f"  {instruction}"] = None

    def slot_pointer(self, slot: int) -> str:
        """A pointer to a slot of the record."""
        self.add(f"%slot{slot} = getelementptr i64, ptr %record, i64 {slot}")
        return f"%slot{slot}"

    def record_slot(self, slot: int) -> str:
        """A slot of the record that does not change during the launch."""
        self.add(f"%record{slot} = load i64, ptr {self.slot_pointer(slot)}, align 8")
        return f"%record{slot}"

    def stack(self, type: str, count: int = 1, align: int = 64, name: str = "") -> str:
        """Memory on the stack, reserved once for the whole function; by its name all who ask get the same."""
        name = f"%{name or self._builder.fresh('stack')}"
        self.add(f"{name} = alloca {type}, i64 {count}, align {align}")
        return name

    def cleared_words(self, count: int, name: str = "") -> str:
        """Some i64s on the stack, which are 0 at first."""
        pointer = self.stack("i64", count, 8, name)
        self._builder.module.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        self.add(f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {8 * count}, i1 false)")
        return pointer

    def parameters(self, arguments: Sequence[Value]) -> dict[Value, Register]:
        """The arguments of the kernel."""
        with self._builder.into([]) as lines:
            found = {}
            for number, argument in enumerate(arguments):
                pointer = self.slot_pointer(slots.ARGUMENTS + number)
                dtype = dtype_of(argument)
                loaded = self._builder.emit(f"load {storage_type(dtype)}, ptr {pointer}, align 8")
                found[argument] = from_storage(self._builder, loaded, dtype)
        # The pointers are there already.
        self._lines |= dict.fromkeys(lines)
        return found

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Begin the frame of another function; the one at hand comes back afterwards."""
        before, self._lines = self._lines, {}
        yield
        self._lines = before
