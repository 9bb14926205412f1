"""TTIR's operations beyond those of every program: memory, control flow, reductions, matmuls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tileir.execute.gpu.triton.ttir.builder import TtirBuilder
from tileir.execute.gpu.triton.ttir.values import Shape, TtirValue, pointee_of, type_text

Combine = Callable[["list[TtirValue]", "list[TtirValue]"], "list[TtirValue]"]
"""How two elements, or two of each of several tiles, become one."""


class TtirMemory(TtirBuilder):
    """What reads and writes memory, for one version of Triton."""

    def __init__(self, version: tuple[int, ...]) -> None:
        super().__init__()
        self.version: Final = version

    def load(self, pointer: TtirValue, mask: TtirValue | None = None, other: TtirValue | None = None) -> TtirValue:
        """Elements by their addresses; where the mask is false, `other`."""
        operands = ", ".join([each.name for each in (pointer, mask, other) if each is not None])
        element = pointee_of(pointer.element)
        return self.emit(f"tt.load {operands} : {pointer.type}", element, pointer.shape)

    def store(self, pointer: TtirValue, value: TtirValue, mask: TtirValue | None = None) -> None:
        operands = ", ".join([each.name for each in (pointer, value, mask) if each is not None])
        self.write(f"tt.store {operands} : {pointer.type}")

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


class TtirOperations(TtirMemory):
    """A builder for one version of Triton."""

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

    @contextmanager
    def while_loop(
        self, running: TtirValue, initial: Sequence[TtirValue]
    ) -> Iterator[tuple[list[TtirValue], list[TtirValue]]]:
        """`scf.while` as long as a bit is set: gives the carried values inside, and the results.

        The body ends with `yields` of the values and the bit.
        """
        given = [*initial, running]
        before = [self.fresh(value.element, value.shape) for value in given]
        inside = [self.fresh(value.element, value.shape) for value in given]
        results = [self.fresh(value.element, value.shape) for value in given]
        types = ", ".join([value.type for value in given])
        pairs = [f"{name.name} = {value.name}" for name, value in zip(before, given, strict=True)]
        names = ", ".join([value.name for value in results])
        self.write(f"{names} = scf.while ({', '.join(pairs)}) : ({types}) -> ({types}) {{")
        # The bit comes last: nothing uses its result, so MLIR removes that, and Triton 3.6 takes the position of a
        # carried value for that of its result.
        with self.indented():
            self.write(f"scf.condition({before[-1].name}) {', '.join([value.name for value in before])} : {types}")
        self.write("} do {")
        self.write(f"^bb0({', '.join([f'{value.name}: {value.type}' for value in inside])}):")
        with self.indented():
            yield inside[:-1], results[:-1]
        self.write("}")

    def choose(
        self,
        condition: TtirValue,
        types: Sequence[tuple[str, Shape]],
        then: Callable[[], Sequence[TtirValue]],
        otherwise: Callable[[], Sequence[TtirValue]],
    ) -> list[TtirValue]:
        """`scf.if`: each branch is written by a function that gives its values, of the given types."""
        results = [self.fresh(element, shape) for element, shape in types]
        text = f"{', '.join([value.name for value in results])} = " if results else ""
        text += f"scf.if {condition.name}"
        if results:
            text += f" -> ({', '.join([value.type for value in results])})"
        self.write(f"{text} {{")
        with self.indented():
            self._branch(then())
        self.write("} else {")
        with self.indented():
            self._branch(otherwise())
        self.write("}")
        return results

    def _branch(self, values: Sequence[TtirValue]) -> None:
        if values:
            self.yields(values)

    def yields(self, values: Sequence[TtirValue]) -> None:
        if values:
            self.write(f"scf.yield {', '.join([v.name for v in values])} : {', '.join([v.type for v in values])}")
        else:
            self.write("scf.yield")

    # --- reductions and scans ---

    def reduce(self, values: Sequence[TtirValue], axis: int, combine: Combine) -> list[TtirValue]:
        """All elements along a dimension, which goes, combined: `combine(earlier, later)`."""
        shape = (*values[0].shape[:axis], *values[0].shape[axis + 1 :])
        return self._combined("tt.reduce", f"axis = {axis} : i32", values, shape, combine)

    def scan(self, values: Sequence[TtirValue], axis: int, reverse: bool, combine: Combine) -> list[TtirValue]:
        """At each place along a dimension, the elements up to it combined: `combine(before, element)`."""
        attributes = f"axis = {axis} : i32, reverse = {'true' if reverse else 'false'}"
        return self._combined("tt.scan", attributes, values, values[0].shape, combine)

    def _combined(
        self, name: str, attributes: str, values: Sequence[TtirValue], shape: Shape, combine: Combine
    ) -> list[TtirValue]:
        results = [self.fresh(value.element, shape) for value in values]
        left = [self.fresh(value.element) for value in values]
        right = [self.fresh(value.element) for value in values]
        names = ", ".join([value.name for value in results])
        operands = ", ".join([value.name for value in values])
        self.write(f'{names} = "{name}"({operands}) <{{{attributes}}}> ({{')
        self.write(f"^bb0({', '.join([f'{value.name}: {value.type}' for value in (*left, *right)])}):")
        with self.combiner():
            made = combine(left, right)
            types = ", ".join([value.type for value in made])
            self.write(f"{name}.return {', '.join([value.name for value in made])} : {types}")
        given = ", ".join([value.type for value in values])
        self.write(f"}}) : ({given}) -> ({', '.join([value.type for value in results])})")
        return results

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
