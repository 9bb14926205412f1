"""LLVM IR as text: values, and a function under construction.

Text, because it is many times as fast to make as objects of a binding, and LLVM parses it in no time.

A value is an SSA name or a literal with a NumPy dtype and a width: 0 is a scalar, n a vector of n lanes.

| dtype                                  | LLVM                          |
|----------------------------------------|-------------------------------|
| bool_                                  | i1                            |
| int8 uint8 .. int64 uint64             | i8 .. i64                     |
| float16                                | half                          |
| float32 float64                        | float double                  |
| bfloat16 and the eight- and four-bit floats | i16, i8: their bit pattern |

LLVM's own bfloat is never used: its conversion instruction flushes subnormal numbers on some machines and calls a
function that is not there on others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy

from tileir.execute.dtypes import Array, DType

_TYPES: Final[dict[str, str]] = {
    "bool": "i1",
    "int8": "i8",
    "uint8": "i8",
    "int16": "i16",
    "uint16": "i16",
    "int32": "i32",
    "uint32": "i32",
    "int64": "i64",
    "uint64": "i64",
    "float16": "half",
    "float32": "float",
    "float64": "double",
    "bfloat16": "i16",
    "float8_e4m3fn": "i8",
    "float8_e5m2": "i8",
    "float8_e8m0fnu": "i8",
    "float4_e2m1fn": "i8",
}
_FLOATS: Final = {"float16": "u2", "float32": "u4", "float64": "u8"}


_SCALARS: Final[dict[DType, str]] = {}


def scalar_type(dtype: DType) -> str:
    """The LLVM type of one element in a register."""
    found = _SCALARS.get(dtype)
    if found is None:
        # NumPy makes the name of a dtype up each time it is asked.
        found = _SCALARS[dtype] = _TYPES[dtype.name]
    return found


def value_type(dtype: DType, width: int) -> str:
    """The LLVM type of a value: a vector where the width is not 0."""
    return f"<{width} x {scalar_type(dtype)}>" if width else scalar_type(dtype)


def storage_type(dtype: DType) -> str:
    """The LLVM type of one element in memory: truth values take a byte."""
    return "i8" if dtype.name == "bool" else _TYPES[dtype.name]


class Register:
    """A value: SSA name or literal, dtype, width."""

    __slots__ = ("dtype", "name", "width")

    def __init__(self, name: str, dtype: DType, width: int = 0) -> None:
        self.name: str = name
        self.dtype: DType = dtype
        self.width: int = width

    @property
    def type(self) -> str:
        return value_type(self.dtype, self.width)

    @property
    def typed(self) -> str:
        """As an operand: its type and its name."""
        return f"{self.type} {self.name}"

    def __repr__(self) -> str:
        return self.typed


def literal(value: Any, dtype: DType, width: int = 0) -> Register:
    """A constant, the same in all lanes.  Floats are written by their bits."""
    text = literal_text(value, dtype)
    if width:
        text = f"splat ({scalar_type(dtype)} {text})"
    return Register(text, dtype, width)


def literal_text(value: Any, dtype: DType) -> str:
    """One constant without its type."""
    if dtype.kind in "iu":
        return str(int(value))
    name = dtype.name
    if name == "bool":
        return "true" if value else "false"
    if name == "float16":
        return f"0xH{int(numpy.float16(value).view(numpy.uint16)):04X}"
    if name == "float32" or name == "float64":
        # LLVM writes a float with the bits of the double that equals it.
        if name == "float32" and value != value:
            # Widened by hand: a conversion would make a signalling NaN quiet.
            pattern = int(numpy.asarray(value, numpy.float32).view(numpy.uint32))
            return f"0x{(pattern >> 31) << 63 | 0x7FF << 52 | (pattern & 0x7FFFFF) << 29:016X}"
        return f"0x{int(numpy.asarray(value, numpy.float64).view(numpy.uint64)):016X}"
    return str(int(numpy.asarray(value, dtype).view(f"u{dtype.itemsize}")))


class Module:
    """The text around the functions: declarations and constant tables, each once."""

    def __init__(self) -> None:
        self.native_half: bool = True
        """Whether the machine converts between f16 and f32; where not, LLVM would call functions that are not there."""
        self.native_fma: bool = True
        """Whether the machine has fused multiply-add; where not, LLVM would call the C library for every lane."""
        self.native_scale: bool = False
        """Whether the machine has AVX-512's scaling by powers of two and its first guesses of reciprocals and roots."""
        self.native_extremes: bool = False
        """Whether the machine's maxima and minima order zeros, and give the number where one operand is a quiet NaN."""
        self.fast: bool = False
        """Whether functions may be near the interpreter's results instead of equal to them."""
        self.symbols: set[str] = set()
        """The functions beside the kernel's that the text has already."""
        self._declarations: dict[str, None] = {}
        self._tables: dict[tuple[str, bytes], str] = {}
        self.functions: list[str] = []
        self.likely: bool = False
        """Whether some branch carries `!prof !3`: it is nearly always taken."""

    def declare(self, declaration: str) -> None:
        """Ask for an external function or intrinsic, as in `declare float @llvm.fma.f32(float, float, float)`."""
        self._declarations[declaration] = None

    @property
    def declarations(self) -> list[str]:
        return list(self._declarations)

    def table(self, array: Array) -> str:
        """The name of a constant array that holds these elements in row-major order, aligned to 64 bytes."""
        flat = numpy.ascontiguousarray(array).reshape(-1)
        key = (flat.dtype.name, flat.tobytes())
        found = self._tables.get(key)
        if found is None:
            found = self._tables[key] = f"@table{len(self._tables)}"
        return found

    def text(self) -> str:
        parts = []
        for (name, data), symbol in self._tables.items():
            # Bytes, so that no element type needs its own notation; the element type is in the load.
            content = "".join([f"\\{byte:02X}" for byte in data])
            parts.append(f'{symbol} = private unnamed_addr constant [{len(data)} x i8] c"{content}", align 64 ; {name}')
        likely = ['!3 = !{!"branch_weights", i32 1048575, i32 1}'] if self.likely else []
        return "\n".join([*parts, *self._declarations, *self.functions, *likely, ""])


class Builder:
    """A function being written: instructions go to the current list of lines."""

    def __init__(self, module: Module) -> None:
        self.module: Module = module
        self.lines: list[str] = []
        self.answer: tuple[bool, list[Register]] = (True, [])
        """What `tracing` tells a kernel that asks whether a mask is set anywhere, and the masks it asked about."""
        self.products: dict[str, tuple[Register, Register]] | None = None
        """While multiplications and additions of doubles may be fused: the factors of the products, by name."""
        self._count: int = 0

    def fresh(self, hint: str = "v") -> str:
        """A new name, without a sigil."""
        self._count += 1
        return f"{hint}{self._count}"

    def emit(self, instruction: str) -> str:
        """Append an instruction with a result; gives its name."""
        name = f"%{self.fresh()}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def value(self, instruction: str, dtype: DType, width: int = 0) -> Register:
        """Append an instruction; gives its result as a value."""
        return Register(self.emit(instruction), dtype, width)

    def do(self, instruction: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {instruction}")

    def label(self, name: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{name}:")

    def call(self, result: str, function: str, arguments: Iterable[str], attributes: str = "") -> str:
        """Call an intrinsic or external function, declared on the way; arguments are typed operands."""
        operands = list(arguments)
        types = ", ".join([operand_type(operand) for operand in operands])
        self.module.declare(f"declare {result} @{function}({types})")
        text = f"call {result} @{function}({', '.join(operands)}){attributes}"
        if result == "void":
            self.do(text)
            return ""
        return self.emit(text)

    def splat(self, value: Register, width: int) -> Register:
        """A scalar in all lanes."""
        if not width or value.width:
            return value
        if not value.name.startswith("%"):
            return Register(f"splat ({value.type} {value.name})", value.dtype, width)
        vector = value_type(value.dtype, width)
        first = self.emit(f"insertelement {vector} poison, {value.typed}, i64 0")
        text = f"shufflevector {vector} {first}, {vector} poison, <{width} x i32> zeroinitializer"
        return self.value(text, value.dtype, width)


def operand_type(operand: str) -> str:
    """The type in front of a typed operand."""
    if operand.startswith("<"):
        return operand[: operand.index(">") + 1]
    return operand.split(" ", 1)[0]
