"""The text of TTIR, written operation by operation.

Each method writes one operation and gives its result.  Spellings that differ between versions of Triton stand here and
nowhere else.  `TtirBuilder` has what all programs have; `operations.py` has the rest of TTIR's operations.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tileir.execute.gpu.triton.ttir.values import Shape, TtirValue, bits_of, is_float, type_text
from tileir.ir.core import Operation

_INDENT: Final = "  "


class Line:
    """A line of text, and the operation of the tile program that it is of."""

    __slots__ = ("operation", "text")

    def __init__(self, text: str, operation: Operation | None) -> None:
        self.text: str = text
        self.operation: Operation | None = operation


class TtirBuilder:
    """Writes the body of a function."""

    def __init__(self) -> None:
        self.operation: Operation | None = None
        """What is being lowered."""
        self._constants: Final[dict[tuple[str, str], TtirValue]] = {}
        self._prologue: Final[list[Line]] = []
        """Constants, which stand before everything else."""
        self._lines: Final[list[Line]] = []
        self._depth: int = 2
        self._count: int = 0
        self._combining: int = 0
        self._reshaped: Final[set[str]] = set()

    # --- text ---

    def write(self, text: str) -> None:
        """A line at the present depth."""
        self._lines.append(Line(_INDENT * self._depth + text, self.operation))

    def fresh(self, element: str, shape: Shape = ()) -> TtirValue:
        """A value with a name of its own."""
        self._count += 1
        return TtirValue(f"%{self._count}", element, shape)

    def emit(self, text: str, element: str, shape: Shape = ()) -> TtirValue:
        """A line with one result: `%7 = TEXT`."""
        result = self.fresh(element, shape)
        self.write(f"{result.name} = {text}")
        return result

    def lines(self) -> list[Line]:
        """All that was written, constants first."""
        return [*self._prologue, *self._lines]

    @contextmanager
    def indented(self) -> Iterator[None]:
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    @contextmanager
    def combiner(self) -> Iterator[None]:
        """Inside the region of a reduction or scan, which has its constants itself."""
        self._combining += 1
        with self.indented():
            yield
        self._combining -= 1

    @property
    def is_combining(self) -> bool:
        return self._combining > 0

    # --- constants ---

    def integer(self, number: int, element: str = "i32", shape: Shape = ()) -> TtirValue:
        """An integer, by its value modulo two to the number of bits."""
        bits = bits_of(element)
        number &= (1 << bits) - 1
        if bits == 1:
            return self._constant("true" if number else "false", element, shape)
        signed = number - (1 << bits) if number >> (bits - 1) else number
        return self._constant(str(signed), element, shape)

    def float_bits(self, bits: int, element: str, shape: Shape = ()) -> TtirValue:
        """A float, by its bits."""
        return self._constant(float_text(bits, element), element, shape)

    def float(self, number: float, element: str, shape: Shape = ()) -> TtirValue:
        """A float that its type holds exactly."""
        if math.isnan(number) or math.isinf(number):
            raise ValueError("give NaNs and infinities by their bits")
        return self._constant(_decimal(number), element, shape)

    def zero(self, element: str, shape: Shape = ()) -> TtirValue:
        return self.float(0.0, element, shape) if is_float(element) else self.integer(0, element, shape)

    def _constant(self, text: str, element: str, shape: Shape) -> TtirValue:
        type = type_text(element, shape)
        known = self._constants.get((text, type))
        if known is not None and not self._combining:
            return known
        result = self.fresh(element, shape)
        if element == "i1" and not shape:
            line = f"{result.name} = arith.constant {text}"
        elif shape:
            line = f"{result.name} = arith.constant dense<{text}> : {type}"
        else:
            line = f"{result.name} = arith.constant {text} : {type}"
        if self._combining:
            self.write(line)
        else:
            self._prologue.append(Line(_INDENT * 2 + line, self.operation))
            self._constants[text, type] = result
        return result

    # --- shapes ---

    def splat(self, value: TtirValue, shape: Shape) -> TtirValue:
        """A scalar as a tensor; itself where the shape is none."""
        if not shape:
            return value
        return self.emit(
            f"tt.splat {value.name} : {value.type} -> {type_text(value.element, shape)}", value.element, shape
        )

    def broadcast(self, value: TtirValue, shape: Shape) -> TtirValue:
        if value.shape == shape:
            return value
        type = type_text(value.element, shape)
        return self.emit(f"tt.broadcast {value.name} : {value.type} -> {type}", value.element, shape)

    def expand(self, value: TtirValue, axis: int) -> TtirValue:
        """A dimension of one element more."""
        shape = (*value.shape[:axis], 1, *value.shape[axis:])
        if not value.shape:
            return self.splat(value, shape)
        type = type_text(value.element, shape)
        text = f"tt.expand_dims {value.name} {{axis = {axis} : i32}} : {value.type} -> {type}"
        return self.emit(text, value.element, shape)

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
        type = type_text(value.element, shape)
        made = self.emit(f"tt.reshape {value.name} : {value.type} -> {type}", value.element, shape)
        self._reshaped.add(made.name)
        return made

    def is_reshaped(self, value: TtirValue) -> bool:
        """Whether a value is the result of `tt.reshape`."""
        return value.name in self._reshaped

    def transpose(self, value: TtirValue, order: Sequence[int]) -> TtirValue:
        """Dimension i of the result is dimension `order[i]` of the value."""
        if list(order) == list(range(len(order))):
            return value
        shape = tuple([value.shape[axis] for axis in order])
        listed = ", ".join(map(str, order))
        text = f"tt.trans {value.name} {{order = array<i32: {listed}>}} : {value.type} -> "
        return self.emit(text + type_text(value.element, shape), value.element, shape)

    def join(self, left: TtirValue, right: TtirValue) -> TtirValue:
        """Two tensors with a last dimension more, which chooses between them."""
        shape = (*left.shape, 2)
        text = f"tt.join {left.name}, {right.name} : {left.type} -> {type_text(left.element, shape)}"
        return self.emit(text, left.element, shape)

    def split(self, value: TtirValue) -> tuple[TtirValue, TtirValue]:
        """The two tensors that differ in the last dimension."""
        shape = value.shape[:-1]
        first, second = self.fresh(value.element, shape), self.fresh(value.element, shape)
        self.write(f"{first.name}, {second.name} = tt.split {value.name} : {value.type} -> {first.type}")
        return first, second

    def gather(self, value: TtirValue, places: TtirValue) -> TtirValue:
        """Elements of a vector by their places."""
        types = f"({value.type}, {places.type}) -> {type_text(value.element, places.shape)}"
        text = f"tt.gather {value.name}[{places.name}] {{axis = 0 : i32}} : {types}"
        return self.emit(text, value.element, places.shape)

    def range(self, count: int) -> TtirValue:
        """0, 1, .. of i32."""
        type = type_text("i32", (count,))
        return self.emit(f"tt.make_range {{end = {count} : i32, start = 0 : i32}} : {type}", "i32", (count,))

    # --- arithmetic ---

    def binary(self, name: str, left: TtirValue, right: TtirValue) -> TtirValue:
        """`arith.addi` and its like: two operands and a result of one type."""
        return self.emit(f"{name} {left.name}, {right.name} : {left.type}", left.element, left.shape)

    def immediate(self, name: str, left: TtirValue, number: int) -> TtirValue:
        """`arith.andi` and its like, with the same integer for all elements."""
        return self.binary(name, left, self.integer(number, left.element, left.shape))

    def unary(self, name: str, value: TtirValue) -> TtirValue:
        return self.emit(f"{name} {value.name} : {value.type}", value.element, value.shape)

    def compare(self, predicate: str, left: TtirValue, right: TtirValue) -> TtirValue:
        """`slt` of integers, `olt` of floats, ..."""
        name = "arith.cmpf" if left.is_float else "arith.cmpi"
        return self.emit(f"{name} {predicate}, {left.name}, {right.name} : {left.type}", "i1", left.shape)

    def select(self, condition: TtirValue, yes: TtirValue, no: TtirValue) -> TtirValue:
        types = yes.type if condition.shape == () else f"{condition.type}, {yes.type}"
        text = f"arith.select {condition.name}, {yes.name}, {no.name} : {types}"
        return self.emit(text, yes.element, yes.shape)

    def convert(self, name: str, value: TtirValue, element: str) -> TtirValue:
        """`arith.extsi` and its like."""
        if value.element == element:
            return value
        type = type_text(element, value.shape)
        return self.emit(f"{name} {value.name} : {value.type} to {type}", element, value.shape)

    def bitcast(self, value: TtirValue, element: str) -> TtirValue:
        """The same bits as another type; pointers too."""
        if value.element == element:
            return value
        type = type_text(element, value.shape)
        return self.emit(f"tt.bitcast {value.name} : {value.type} -> {type}", element, value.shape)

    def reinterpret(self, name: str, value: TtirValue, element: str, attributes: str = "") -> TtirValue:
        """`tt.int_to_ptr` and `tt.ptr_to_int`."""
        type = type_text(element, value.shape)
        return self.emit(f"{name} {value.name}{attributes} : {value.type} -> {type}", element, value.shape)

    def fma(self, left: TtirValue, right: TtirValue, addend: TtirValue) -> TtirValue:
        text = f"math.fma {left.name}, {right.name}, {addend.name} : {left.type}"
        return self.emit(text, left.element, left.shape)

    def fp_to_fp(self, value: TtirValue, element: str) -> TtirValue:
        """To and from the floats of eight bits, to nearest."""
        rounding = ", rounding = rtne" if bits_of(element) < value.bits else ""
        type = type_text(element, value.shape)
        return self.emit(f"tt.fp_to_fp {value.name}{rounding} : {value.type} -> {type}", element, value.shape)

    def assembly(self, instruction: str, values: Sequence[TtirValue], element: str) -> TtirValue:
        """An instruction of PTX for each element; types of 16, 32 and 64 bits: `add.rz.f32 $0, $1, $2;`."""
        shape = values[0].shape
        operands = ", ".join([f"${number}" for number in range(len(values) + 1)])
        constraints = ",".join(["=" + _register(element), *[_register(value.element) for value in values]])
        attributes = f'{{constraints = "{constraints}", packed_element = 1 : i32, pure = true}}'
        text = f'tt.elementwise_inline_asm "{instruction} {operands};" {attributes} '
        text += ", ".join([value.name for value in values])
        text += f" : {', '.join([value.type for value in values])} -> {type_text(element, shape)}"
        return self.emit(text, element, shape)

    def external(self, symbol: str, values: Sequence[TtirValue]) -> TtirValue:
        """A function of the GPU's library for each element, of the type of the first operand."""
        element, shape = values[0].element, values[0].shape
        attributes = f'{{libname = "", libpath = "", pure = true, symbol = "{symbol}"}}'
        types = ", ".join([value.type for value in values])
        text = f"tt.extern_elementwise {', '.join([value.name for value in values])} {attributes}"
        return self.emit(f"{text} : ({types}) -> {type_text(element, shape)}", element, shape)

    # --- memory ---

    def advance(self, pointer: TtirValue, offset: TtirValue) -> TtirValue:
        """A pointer so many elements further."""
        text = f"tt.addptr {pointer.name}, {offset.name} : {pointer.type}, {offset.type}"
        return self.emit(text, pointer.element, pointer.shape)


def _register(element: str) -> str:
    """The kind of register that holds an element, as a constraint of assembly."""
    if element in ("f32", "f64"):
        return "f" if element == "f32" else "d"
    return {16: "h", 32: "r", 64: "l"}[bits_of(element)]


def _decimal(number: float) -> str:
    """As MLIR reads it: a float has a point."""
    text = repr(number)
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        return text if "." in mantissa else f"{mantissa}.0e{exponent}"
    return text


def float_text(bits: int, element: str) -> str:
    """A float constant: in decimals where that is exact and short, else by its bits."""
    formats = {"f32": ("<I", "<f"), "f64": ("<Q", "<d"), "f16": ("<H", "<e")}
    if element in formats:
        raw, real = formats[element]
        number = struct.unpack(real, struct.pack(raw, bits))[0]
        if math.isfinite(number):
            return _decimal(number)
    if element == "bf16":
        number = struct.unpack("<f", struct.pack("<I", bits << 16))[0]
        if math.isfinite(number):
            return _decimal(number)
    return f"0x{bits:0{bits_of(element) // 4}X}"
