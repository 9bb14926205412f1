"""TTIR's operations beyond those of every program: control flow, reductions, products."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tileir.execute.gpu.triton.ttir.memory import TtirMemory
from tileir.execute.gpu.triton.ttir.values import Shape, TtirValue, type_text

Combine = Callable[["list[TtirValue]", "list[TtirValue]"], "list[TtirValue]"]
"""How two elements, or two of each of several tiles, become one."""


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
