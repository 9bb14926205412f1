"""The text of TTIR, the language that Triton compiles, written operation by operation.

Each method of `TtirBuilder` writes one operation and returns its result.  A number instead of an operand is a constant
of the type of the other one.  Spellings that differ between versions of Triton stand here and nowhere else.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from tileir.execute.gpu.triton.lowering.ttir_values import Shape, TtirValue, bits_of, is_float, pointee_of, type_text
from tileir.ir.core import Operation

_REGISTERS: Final = {"f32": "f", "f64": "d"}
_REGISTERS_BY_BITS: Final = {16: "h", 32: "r", 64: "l"}
"""The kinds of registers that hold elements, as constraints of assembly."""
_INDENT: Final = "  "
_FORMATS: Final = {"f32": ("<I", "<f"), "f64": ("<Q", "<d"), "f16": ("<H", "<e")}
Operand = TtirValue | float
Combine = Callable[["list[TtirValue]", "list[TtirValue]"], "list[TtirValue]"]
"""How two elements, or two of each of several tiles, become one."""


def _names(values: Sequence[TtirValue | None]) -> str:
    return ", ".join([value.name for value in values if value is not None])


def _types(values: Sequence[TtirValue]) -> str:
    return ", ".join([value.type for value in values])


def _pairs(left: Sequence[TtirValue], right: Sequence[TtirValue]) -> str:
    return ", ".join([f"{one.name} = {other.name}" for one, other in zip(left, right, strict=True)])


def _block(arguments: Sequence[TtirValue]) -> str:
    return f"^bb0({', '.join([f'{value.name}: {value.type}' for value in arguments])}):"


class Line(NamedTuple):
    """A line of text, and the operation of the tile program that it is of."""

    text: str
    operation: Operation | None


class TtirBuilder:
    """Writes the body of a function, for one version of Triton."""

    def __init__(self, version: tuple[int, ...]) -> None:
        self.version: Final = version
        self.operation: Operation | None = None
        self._constants: Final[dict[tuple[str, str], TtirValue]] = {}
        self._prologue: Final[list[Line]] = []  # Constants, which stand before everything else.
        self._lines: Final[list[Line]] = []
        self._depth: int = 2
        self._count: int = 0
        self._combining: int = 0
        self.reshaped: Final[set[str]] = set()

    def write(self, text: str) -> None:
        self._lines.append(Line(_INDENT * self._depth + text, self.operation))

    def fresh(self, element: str, shape: Shape = ()) -> TtirValue:
        self._count += 1
        return TtirValue(f"%{self._count}", element, shape)

    def _fresh_like(self, values: Sequence[TtirValue]) -> list[TtirValue]:
        return [self.fresh(value.element, value.shape) for value in values]

    def emit(self, text: str, element: str, shape: Shape = ()) -> TtirValue:
        """A line with one result: `%7 = TEXT`."""
        result = self.fresh(element, shape)
        self.write(f"{result.name} = {text}")
        return result

    def _to(self, text: str, given: TtirValue, element: str, shape: Shape) -> TtirValue:
        return self.emit(f"{text} : {given.type} -> {type_text(element, shape)}", element, shape)

    def lines(self) -> list[Line]:
        return [*self._prologue, *self._lines]

    @contextmanager
    def _indented(self) -> Iterator[None]:
        self._depth += 1
        yield
        self._depth -= 1

    @property
    def is_combining(self) -> bool:
        """Whether this is in the region of a reduction or scan, which has its constants itself."""
        return self._combining > 0

    def integer(self, number: int, element: str = "i32", shape: Shape = ()) -> TtirValue:
        """An integer, by its value modulo two to the number of bits."""
        bits = bits_of(element)
        number &= (1 << bits) - 1
        if bits == 1:
            return self._constant("true" if number else "false", element, shape)
        signed = number - (1 << bits) if number >> (bits - 1) else number
        return self._constant(str(signed), element, shape)

    def float_bits(self, bits: int, element: str, shape: Shape = ()) -> TtirValue:
        return self._constant(float_text(bits, element), element, shape)

    def pattern(self, bits: int, element: str, shape: Shape = ()) -> TtirValue:
        return self.float_bits(bits, element, shape) if is_float(element) else self.integer(bits, element, shape)

    def number(self, number: float, element: str, shape: Shape = ()) -> TtirValue:
        """A number that its type holds exactly."""
        if not is_float(element):
            return self.integer(int(number), element, shape)
        if not math.isfinite(number):
            raise ValueError("give NaNs and infinities by their bits")
        return self._constant(_decimal(float(number)), element, shape)

    def zero(self, element: str, shape: Shape = ()) -> TtirValue:
        return self.number(0, element, shape)

    def _like(self, operand: Operand, other: TtirValue) -> TtirValue:
        return operand if isinstance(operand, TtirValue) else self.number(operand, other.element, other.shape)

    def _constant(self, text: str, element: str, shape: Shape) -> TtirValue:
        type = type_text(element, shape)
        known = self._constants.get((text, type))
        if known is not None and not self._combining:
            return known
        result = self.fresh(element, shape)
        typed = text if type == "i1" else f"dense<{text}> : {type}" if shape else f"{text} : {type}"
        line = f"{result.name} = arith.constant {typed}"
        if self._combining:
            self.write(line)
        else:
            self._prologue.append(Line(_INDENT * 2 + line, self.operation))
            self._constants[text, type] = result
        return result

    def splat(self, value: TtirValue, shape: Shape) -> TtirValue:
        """A scalar as a tensor; itself where the shape is none."""
        return self._to(f"tt.splat {value.name}", value, value.element, shape) if shape else value

    def broadcast(self, value: TtirValue, shape: Shape) -> TtirValue:
        return value if value.shape == shape else self._to(f"tt.broadcast {value.name}", value, value.element, shape)

    def expand(self, value: TtirValue, axis: int) -> TtirValue:
        shape = (*value.shape[:axis], 1, *value.shape[axis:])
        if not value.shape:
            return self.splat(value, shape)
        return self._to(f"tt.expand_dims {value.name} {{axis = {axis} : i32}}", value, value.element, shape)

    def along(self, value: TtirValue, axis: int, shape: Shape) -> TtirValue:
        """A vector along one dimension of a shape, repeated along the others."""
        for other in range(len(shape)):
            if other != axis:
                value = self.expand(value, other)
        return self.broadcast(value, shape)

    def reshape(self, value: TtirValue, shape: Shape) -> TtirValue:
        """The same elements in the same order; a scalar is a tensor of one element."""
        if value.shape == shape:
            return value
        if not value.shape:
            return self.splat(value, shape)
        if not shape:
            return self.emit(f"tt.unsplat {value.name} : {value.type}", value.element)
        made = self._to(f"tt.reshape {value.name}", value, value.element, shape)
        self.reshaped.add(made.name)
        return made

    def transpose(self, value: TtirValue, order: Sequence[int]) -> TtirValue:
        """Dimension i of the result is dimension `order[i]` of the value."""
        if list(order) == sorted(order):
            return value
        shape = tuple([value.shape[axis] for axis in order])
        listed = ", ".join(map(str, order))
        return self._to(f"tt.trans {value.name} {{order = array<i32: {listed}>}}", value, value.element, shape)

    def join(self, left: TtirValue, right: TtirValue) -> TtirValue:
        """Two tensors with a last dimension more, which chooses between them."""
        return self._to(f"tt.join {left.name}, {right.name}", left, left.element, (*left.shape, 2))

    def split(self, value: TtirValue) -> tuple[TtirValue, TtirValue]:
        shape = value.shape[:-1]
        first, second = self.fresh(value.element, shape), self.fresh(value.element, shape)
        self.write(f"{first.name}, {second.name} = tt.split {value.name} : {value.type} -> {first.type}")
        return first, second

    def gather(self, value: TtirValue, places: TtirValue) -> TtirValue:
        types = f"({value.type}, {places.type}) -> {type_text(value.element, places.shape)}"
        text = f"tt.gather {value.name}[{places.name}] {{axis = 0 : i32}} : {types}"
        return self.emit(text, value.element, places.shape)

    def range(self, count: int) -> TtirValue:
        type = type_text("i32", (count,))
        return self.emit(f"tt.make_range {{end = {count} : i32, start = 0 : i32}} : {type}", "i32", (count,))

    def apply(self, name: str, first: TtirValue, *others: Operand) -> TtirValue:
        """`arith.addi` and its like: operands and a result of one type."""
        values = [first, *[self._like(other, first) for other in others]]
        return self.emit(f"{name} {_names(values)} : {first.type}", first.element, first.shape)

    def compare(self, predicate: str, left: TtirValue, right: Operand) -> TtirValue:
        right = self._like(right, left)
        name = "arith.cmpf" if left.is_float else "arith.cmpi"
        return self.emit(f"{name} {predicate}, {left.name}, {right.name} : {left.type}", "i1", left.shape)

    def select(self, condition: TtirValue, yes: Operand, no: Operand) -> TtirValue:
        like = yes if isinstance(yes, TtirValue) else no
        assert isinstance(like, TtirValue)
        yes, no = self._like(yes, like), self._like(no, like)
        types = yes.type if condition.shape == () else f"{condition.type}, {yes.type}"
        return self.emit(f"arith.select {_names((condition, yes, no))} : {types}", yes.element, yes.shape)

    def convert(self, name: str, value: TtirValue, element: str) -> TtirValue:
        if value.element == element:
            return value
        type = type_text(element, value.shape)
        return self.emit(f"{name} {value.name} : {value.type} to {type}", element, value.shape)

    def bitcast(self, value: TtirValue, element: str) -> TtirValue:
        """The same bits as another type; pointers too."""
        return value if value.element == element else self.reinterpret("tt.bitcast", value, element)

    def reinterpret(self, name: str, value: TtirValue, element: str, attributes: str = "") -> TtirValue:
        return self._to(f"{name} {value.name}{attributes}", value, element, value.shape)

    def fp_to_fp(self, value: TtirValue, element: str) -> TtirValue:
        """To and from the floats of eight bits, to nearest."""
        rounding = ", rounding = rtne" if bits_of(element) < value.bits else ""
        return self.reinterpret("tt.fp_to_fp", value, element, rounding)

    def assembly(self, instruction: str, values: Sequence[TtirValue], element: str) -> TtirValue:
        """An instruction of PTX for each element; types of 16, 32 and 64 bits: `add.rz.f32 $0, $1, $2;`."""
        operands = ", ".join([f"${number}" for number in range(len(values) + 1)])
        elements = [element, *[value.element for value in values]]
        registers = [_REGISTERS.get(each) or _REGISTERS_BY_BITS[bits_of(each)] for each in elements]
        constraints = f"={','.join(registers)}"
        return self._assembly(f"{instruction} {operands};", constraints, values, element, values[0].shape, "true")

    def effect(
        self, instructions: str, constraints: str, values: Sequence[TtirValue], element: str, shape: Shape = ()
    ) -> TtirValue:
        """Instructions of PTX with a side effect, for each element; not merged or removed."""
        return self._assembly(instructions, constraints, values, element, shape, "false")

    def _assembly(
        self, text: str, constraints: str, values: Sequence[TtirValue], element: str, shape: Shape, is_pure: str
    ) -> TtirValue:
        attributes = f'{{constraints = "{constraints}", packed_element = 1 : i32, pure = {is_pure}}}'
        operands = f" {_names(values)} : {_types(values)}" if values else ""
        text = f'tt.elementwise_inline_asm "{text}" {attributes}{operands} -> {type_text(element, shape)}'
        return self.emit(text, element, shape)

    def external(self, symbol: str, values: Sequence[TtirValue]) -> TtirValue:
        """A function of the GPU's library for each element, of the type of the first operand."""
        attributes = f'{{libname = "", libpath = "", pure = true, symbol = "{symbol}"}}'
        text = f"tt.extern_elementwise {_names(values)} {attributes} : ({_types(values)}) -> {values[0].type}"
        return self.emit(text, values[0].element, values[0].shape)

    def dot(
        self, left: TtirValue, right: TtirValue, total: TtirValue, precision: str = "ieee", imprecise: int = 0
    ) -> TtirValue:
        attributes = f", inputPrecision = {precision}"
        attributes += f" {{maxNumImpreciseAcc = {imprecise} : i32}}" if imprecise else ""
        types = f"{left.type} * {right.type} -> {total.type}"
        return self.emit(f"tt.dot {_names((left, right, total))}{attributes} : {types}", total.element, total.shape)

    def advance(self, pointer: TtirValue, offset: TtirValue) -> TtirValue:
        text = f"tt.addptr {pointer.name}, {offset.name} : {pointer.type}, {offset.type}"
        return self.emit(text, pointer.element, pointer.shape)

    def load(self, pointer: TtirValue, mask: TtirValue | None = None, other: TtirValue | None = None) -> TtirValue:
        """Elements by their addresses; where the mask is false, `other`."""
        text = f"tt.load {_names((pointer, mask, other))} : {pointer.type}"
        return self.emit(text, pointee_of(pointer.element), pointer.shape)

    def store(self, pointer: TtirValue, value: TtirValue, mask: TtirValue | None = None) -> None:
        self.write(f"tt.store {_names((pointer, value, mask))} : {pointer.type}")

    def descriptor_type(self, box: Shape, element: str) -> str:
        block = "x".join([*map(str, box), element])
        return f"!tt.tensordesc<{block}>" if self.version >= (3, 8) else f"!tt.tensordesc<tensor<{block}>>"

    def descriptor_load(
        self, descriptor: TtirValue, coordinates: Sequence[TtirValue], element: str, shape: Shape
    ) -> TtirValue:
        """A tile at coordinates; the shape may lack the first dimensions of the box where these have one element."""
        return self._to(f"tt.descriptor_load {descriptor.name}[{_names(coordinates)}]", descriptor, element, shape)

    def descriptor_store(self, descriptor: TtirValue, coordinates: Sequence[TtirValue], value: TtirValue) -> None:
        text = f"{descriptor.name}[{_names(coordinates)}], {value.name} : {descriptor.type}, {value.type}"
        self.write(f"tt.descriptor_store {text}")

    def atomic(self, text: str, pointer: TtirValue, *operands: TtirValue | None) -> TtirValue:
        """`tt.atomic_rmw` or `tt.atomic_cas`: what was there before; where a mask, the last, is false, anything."""
        values = [pointer, *[each for each in operands if each is not None]]
        types = f"({_types(values)}) -> {values[1].type}"
        return self.emit(f"tt.atomic_{text}, {_names(values)} : {types}", values[1].element, values[1].shape)

    def barrier(self) -> None:
        """Have all threads of a tile block wait, and see what each has written; loops with one are not pipelined."""
        self.write("ttg.barrier local|global_read|global_write" if self.version >= (3, 7) else "gpu.barrier")

    @contextmanager
    def for_loop(
        self, start: TtirValue, end: TtirValue, step: TtirValue, initial: Sequence[TtirValue], attributes: str = ""
    ) -> Iterator[tuple[TtirValue, list[TtirValue], list[TtirValue]]]:
        """`scf.for`: yields its counter, the carried values inside, and the results; the body ends with `yields`."""
        counter = self.fresh(start.element)
        carried, results = self._fresh_like(initial), self._fresh_like(initial)
        text = f"{_names(results)} = " if results else ""
        text += f"scf.for {counter.name} = {start.name} to {end.name} step {step.name}"
        text += f" iter_args({_pairs(carried, initial)}) -> ({_types(initial)})" if initial else ""
        self.write(f"{text} : {counter.type} {{")
        with self._indented():
            yield counter, carried, results
        self.write(f"}} {attributes}".rstrip())

    @contextmanager
    def while_loop(
        self, running: TtirValue, initial: Sequence[TtirValue]
    ) -> Iterator[tuple[list[TtirValue], list[TtirValue]]]:
        """`scf.while` until a bit is clear: the carried values inside, and the results; the body `yields` values and
        the bit."""
        given = [*initial, running]
        before, inside, results = [self._fresh_like(given) for _ in range(3)]
        types = _types(given)
        self.write(f"{_names(results)} = scf.while ({_pairs(before, given)}) : ({types}) -> ({types}) {{")
        # The bit comes last: nothing uses its result, so MLIR removes that, and Triton 3.6 takes the position of a
        # carried value for that of its result.
        with self._indented():
            self.write(f"scf.condition({before[-1].name}) {_names(before)} : {types}")
        self.write("} do {")
        self.write(_block(inside))
        with self._indented():
            yield inside[:-1], results[:-1]
        self.write("}")

    def choose(
        self,
        condition: TtirValue,
        types: Sequence[tuple[str, Shape]],
        then: Callable[[], Sequence[TtirValue]],
        otherwise: Callable[[], Sequence[TtirValue]],
    ) -> list[TtirValue]:
        """`scf.if`: each branch is written by a function that returns its values, of the given types."""
        results = [self.fresh(element, shape) for element, shape in types]
        text = f"scf.if {condition.name}"
        self.write(f"{_names(results)} = {text} -> ({_types(results)}) {{" if results else f"{text} {{")
        for branch, ending in ((then, "} else {"), (otherwise, "}")):
            with self._indented():
                values = branch()
                if values:
                    self.yields(values)
            self.write(ending)
        return results

    def yields(self, values: Sequence[TtirValue]) -> None:
        self.write(f"scf.yield {_names(values)} : {_types(values)}" if values else "scf.yield")

    def reduce(self, values: Sequence[TtirValue], axis: int, combine: Combine) -> list[TtirValue]:
        """All elements along a dimension, which goes, combined: `combine(earlier, later)`."""
        shape = (*values[0].shape[:axis], *values[0].shape[axis + 1 :])
        return self._combined("tt.reduce", f"axis = {axis} : i32", values, shape, combine)

    def scan(self, values: Sequence[TtirValue], axis: int, reverse: bool, combine: Combine) -> list[TtirValue]:
        """At each position along a dimension, the elements up to it combined: `combine(before, element)`."""
        attributes = f"axis = {axis} : i32, reverse = {'true' if reverse else 'false'}"
        return self._combined("tt.scan", attributes, values, values[0].shape, combine)

    def _combined(
        self, name: str, attributes: str, values: Sequence[TtirValue], shape: Shape, combine: Combine
    ) -> list[TtirValue]:
        results = [self.fresh(value.element, shape) for value in values]
        left, right = [[self.fresh(value.element) for value in values] for _ in range(2)]
        self.write(f'{_names(results)} = "{name}"({_names(values)}) <{{{attributes}}}> ({{')
        self.write(_block([*left, *right]))
        self._combining += 1
        with self._indented():
            made = combine(left, right)
            self.write(f"{name}.return {_names(made)} : {_types(made)}")
        self._combining -= 1
        self.write(f"}}) : ({_types(values)}) -> ({_types(results)})")
        return results


def _decimal(number: float) -> str:
    """As MLIR reads it: a float has a point."""
    mantissa, mark, exponent = repr(number).partition("e")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}{mark}{exponent}"


def float_text(bits: int, element: str) -> str:
    """A float constant: in decimals where that is exact and short, else by its bits."""
    form, pattern = (_FORMATS["f32"], bits << 16) if element == "bf16" else (_FORMATS.get(element), bits)
    number = struct.unpack(form[1], struct.pack(form[0], pattern))[0] if form is not None else math.inf
    return _decimal(number) if math.isfinite(number) else f"0x{bits:0{bits_of(element) // 4}X}"
