"""TTIR's operations beyond those of every program: control flow, reductions, products, memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tileir.execute.gpu.triton.ttir.builder import TtirBuilder
from tileir.execute.gpu.triton.ttir.values import Shape, TtirValue, pointee_of, type_text


class TtirOperations(TtirBuilder):
    """A builder for one version of Triton."""

    def __init__(self, version: tuple[int, ...]) -> None:
        super().__init__()
        self.version: Final = version

    # --- control flow ---

    @contextmanager
    def for_loop(
        self,
        start: TtirValue,
        end: TtirValue,
        step: TtirValue,
        initial: Sequence[TtirValue],
        attributes: str = "",
    ) -> Iterator[tuple[TtirValue, list[TtirValue], list[TtirValue]]]:
        """`scf.for`: gives its counter, the carried values inside, and the results; the body ends with `yields`."""
        counter = self.fresh(start.element)
        carried = [self.fresh(value.element, value.shape) for value in initial]
        results = [self.fresh(value.element, value.shape) for value in initial]
        names = ", ".join([result.name for result in results])
        text = f"{names} = " if results else ""
        text += f"scf.for {counter.name} = {start.name} to {end.name} step {step.name}"
        if initial:
            pairs = [f"{inside.name} = {given.name}" for inside, given in zip(carried, initial, strict=True)]
            types = ", ".join([value.type for value in initial])
            text += f" iter_args({', '.join(pairs)}) -> ({types})"
        self.write(f"{text} : {counter.type} {{")
        with self.indented():
            yield counter, carried, results
        self.write(f"}} {attributes}".rstrip())

    def yields(self, values: Sequence[TtirValue]) -> None:
        if values:
            self.write(f"scf.yield {', '.join([v.name for v in values])} : {', '.join([v.type for v in values])}")
        else:
            self.write("scf.yield")

    # --- memory ---

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

    # --- products ---

    def dot(
        self,
        left: TtirValue,
        right: TtirValue,
        accumulator: TtirValue,
        precision: str = "ieee",
        imprecise: int = 0,
    ) -> TtirValue:
        attributes = f", inputPrecision = {precision}"
        if imprecise:
            attributes += f" {{maxNumImpreciseAcc = {imprecise} : i32}}"
        text = f"tt.dot {left.name}, {right.name}, {accumulator.name}{attributes} : "
        types = f"{left.type} * {right.type} -> {type_text(accumulator.element, accumulator.shape)}"
        return self.emit(text + types, accumulator.element, accumulator.shape)
