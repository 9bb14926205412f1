"""TTIR's operations on memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tileir.execute.gpu.triton.ttir.builder import TtirBuilder
from tileir.execute.gpu.triton.ttir.values import Shape, TtirValue, pointee_of, type_text


class TtirMemory(TtirBuilder):
    """What reads and writes memory, for one version of Triton."""

    def __init__(self, version: tuple[int, ...]) -> None:
        super().__init__()
        self.version: Final = version

    def load(
        self,
        pointer: TtirValue,
        mask: TtirValue | None = None,
        other: TtirValue | None = None,
        attributes: str = "",
    ) -> TtirValue:
        """Elements by their addresses; where the mask is false, `other`."""
        operands = ", ".join([each.name for each in (pointer, mask, other) if each is not None])
        element = pointee_of(pointer.element)
        return self.emit(f"tt.load {operands} {attributes}: {pointer.type}", element, pointer.shape)

    def store(self, pointer: TtirValue, value: TtirValue, mask: TtirValue | None = None, attributes: str = "") -> None:
        operands = ", ".join([each.name for each in (pointer, value, mask) if each is not None])
        self.write(f"tt.store {operands} {attributes}: {pointer.type}")

    def descriptor_type(self, box: Shape, element: str) -> str:
        """The type of a descriptor for TMA."""
        block = "x".join([*map(str, box), element])
        return f"!tt.tensordesc<{block}>" if self.version >= (3, 8) else f"!tt.tensordesc<tensor<{block}>>"

    def descriptor_load(
        self, descriptor: TtirValue, coordinates: Sequence[TtirValue], element: str, shape: Shape
    ) -> TtirValue:
        """A tile at a place; the shape may lack the first dimensions of the box where these have one element."""
        places = ", ".join([each.name for each in coordinates])
        type = type_text(element, shape)
        return self.emit(
            f"tt.descriptor_load {descriptor.name}[{places}] : {descriptor.type} -> {type}", element, shape
        )

    def descriptor_store(self, descriptor: TtirValue, coordinates: Sequence[TtirValue], value: TtirValue) -> None:
        places = ", ".join([each.name for each in coordinates])
        self.write(f"tt.descriptor_store {descriptor.name}[{places}], {value.name} : {descriptor.type}, {value.type}")

    # --- atomics and order ---

    def atomic(
        self, mode: str, ordering: str, scope: str, pointer: TtirValue, value: TtirValue, mask: TtirValue | None = None
    ) -> TtirValue:
        """`tt.atomic_rmw`: what was there before; where the mask is false, anything."""
        operands = [each for each in (pointer, value, mask) if each is not None]
        text = f"tt.atomic_rmw {mode}, {ordering}, {scope}, {', '.join([each.name for each in operands])}"
        types = f"({', '.join([each.type for each in operands])}) -> {value.type}"
        return self.emit(f"{text} : {types}", value.element, value.shape)

    def compare_and_swap(
        self, ordering: str, scope: str, pointer: TtirValue, expected: TtirValue, value: TtirValue
    ) -> TtirValue:
        """`tt.atomic_cas`: what was there before."""
        text = f"tt.atomic_cas {ordering}, {scope}, {pointer.name}, {expected.name}, {value.name}"
        types = f"({pointer.type}, {expected.type}, {value.type}) -> {value.type}"
        return self.emit(f"{text} : {types}", value.element, value.shape)

    def effect(
        self, instructions: str, constraints: str, values: Sequence[TtirValue], element: str, shape: Shape = ()
    ) -> TtirValue:
        """Instructions of PTX that do something beside their result, for each element; as often as they stand here."""
        attributes = f'{{constraints = "{constraints}", packed_element = 1 : i32, pure = false}}'
        operands = f" {', '.join([each.name for each in values])} : {', '.join([each.type for each in values])}"
        text = f'tt.elementwise_inline_asm "{instructions}" {attributes}{operands if values else ""}'
        return self.emit(f"{text} -> {type_text(element, shape)}", element, shape)

    def barrier(self) -> None:
        """Have all threads of a tile block wait for each other, and see what each of them has written.

        Loops with one are not pipelined.
        """
        self.write("ttg.barrier local|global_read|global_write" if self.version >= (3, 7) else "gpu.barrier")
