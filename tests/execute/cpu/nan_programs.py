"""Kernels of elementwise operations on NaNs of every kind in every lane, and what docs/reference/numerics.md says of their bits.

    moves            absf, negf, select, bitcast: the bits of an operand, but for the sign in absf and negf
    maxf and minf    the canonical NaN, where the result is one
    all others       a quiet NaN

Tiles are read and written through views whose last tile is cut off, so that whole vectors, parts of vectors and masked
edges all take part; tiles without dimensions go through pointers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from typing import Any, NamedTuple, cast

import numpy
from tests.execute.cpu.operations import operations

import tileir
from tileir.dialect.types import TileType
from tileir.execute.dtypes import bits_dtype, memory_dtype
from tileir.ir import floats
from tileir.ir.core import Operation
from tileir.ir.types import FloatType, Type

Array = Any
EXTREMES = ("maxf", "minf", "maximumf", "minimumf")
MOVES = ("absf", "negf", "select", "bitcast")
GROUP = 12
"""Operations in one kernel."""
CUT = 3
"""Elements that the last tile lacks."""


# --- patterns ---


def has_payloads(element: Type) -> bool:
    """Whether a format has NaNs that are quiet and NaNs that are not."""
    return isinstance(element, FloatType) and element.name in ("f16", "bf16", "f32", "f64", "tf32", "f8E5M2")


def shift_of(element: Type) -> int:
    """Where the pattern of a format begins in memory."""
    return 13 if element.name == "tf32" else 0


@cache
def patterns(element: Type, few: bool = False) -> tuple[int, ...]:
    """Patterns in memory: NaNs, and numbers that compare in every way with each other."""
    if not isinstance(element, FloatType):
        width = 8 * memory_dtype(element).itemsize
        return (0, 1) if str(element) == "i1" else (0, 1, 3, (1 << width) - 1)
    form = floats.FORMATS[element.name]
    infinity = form.infinity if form.has_infinity else form.largest
    numbers = [0, 1, form.bias << form.mantissa_bits, infinity]
    found = numbers[:1] + numbers[2:] if few else numbers
    if has_payloads(element):
        quiet = 1 << (form.mantissa_bits - 1)
        found = [*found, infinity | 1, form.quiet_nan] if few else [
            *found, infinity | 1, infinity | (quiet - 1), form.quiet_nan, infinity | quiet | 1,
        ]  # fmt: skip
    elif form.nan_encoding != floats.NAN_NONE:
        found = [*found, form.quiet_nan]
    signs = (0, form.sign_mask) if form.has_sign else (0,)
    return tuple([(pattern | sign) << shift_of(element) for sign in signs for pattern in dict.fromkeys(found)])


def operand_arrays(elements: tuple[Type, ...], extent: int) -> list[Array]:
    """Every combination of patterns, in every lane of a vector."""
    rows = list(product(*[patterns(element, len(elements) > 2) for element in elements]))
    if extent <= 1:
        return [numpy.array([row[n] for row in rows], bits_dtype(element)) for n, element in enumerate(elements)]
    rows += rows[: -len(rows) % 64]
    turns = min(extent, 16)
    found = []
    for place, element in enumerate(elements):
        column = numpy.array([row[place] for row in rows], bits_dtype(element))
        # Turned by one lane after another.
        found.append(numpy.concatenate([numpy.roll(column, turn) for turn in range(turns + 1)])[:-CUT])
    return found


def is_nan(element: FloatType, bits: Array) -> Array:
    return ~numpy.isin(bits, _numbers(element)) if bits.dtype.itemsize == 1 else _above(element, bits)


@cache
def _numbers(element: FloatType) -> Array:
    form = floats.FORMATS[element.name]
    patterns = range(1 << form.width)
    return numpy.array([p for p in patterns if not floats.is_nan(form, p)], numpy.uint8)


def _above(element: FloatType, bits: Array) -> Array:
    form = floats.FORMATS[element.name]
    shift = shift_of(element)
    magnitude = bits & bits.dtype.type((form.sign_mask - 1) << shift | (1 << shift) - 1)
    return magnitude > bits.dtype.type(form.infinity << shift)


def is_signalling(element: FloatType, bits: Array) -> Array:
    if not has_payloads(element):
        return numpy.zeros(bits.shape, bool)
    form = floats.FORMATS[element.name]
    quiet = bits.dtype.type(1 << (form.mantissa_bits - 1 + shift_of(element)))
    return is_nan(element, bits) & (bits & quiet == 0)


# --- kernels ---


class Case(NamedTuple):
    text: str
    operation: Operation
    elements: tuple[Type, ...]
    result: Type

    @property
    def mnemonic(self) -> str:
        return self.operation.declaration.mnemonic

    def operands(self, program: Program) -> list[Array]:
        return program.arrays


def cases() -> Iterator[Case]:
    """The operations that take or give floats."""
    for text, operation in operations():
        elements = tuple([cast(TileType, operand.type).element for operand in operation.operands])
        result = cast(TileType, operation.results[0].type).element
        if any(has_payloads(element) for element in elements) or (has_payloads(result) and text.startswith("bitcast")):
            yield Case(text, operation, elements, result)


TRIVIAL = (
    "mulf %a, %one", "mulf %one, %a", "mulf %a, %minus", "divf %a, %one", "divf %a, %minus", "addf %a, %zero",
    "addf %a, %below", "addf %below, %a", "subf %a, %zero", "subf %a, %below", "subf %below, %a", "subf %zero, %a",
    "fma %a, %one, %below", "fma %a, %one, %zero", "fma %one, %below, %a", "fma %a, %minus, %below",
    "maxf %a, %zero", "maxf %a, %below", "maxf %zero, %a", "maxf %below, %a", "minf %a, %zero", "minf %a, %below",
    "minf %below, %a", "maxf %a, %one", "minf %one, %a", "maxf %a, %least", "minf %a, %most", "maxf %most, %a",
    "maxf %a, %nan", "minf %nan, %a", "maxf %a, %zero propagate_nan", "minf %below, %a propagate_nan",
    "maxf %a, %least propagate_nan", "maxf %a, %nan propagate_nan", "maxf %a, %a", "minf %a, %a propagate_nan",
    "pow %a, %one", "pow %a, %two", "remf %a, %most", "divf %a, %two", "mulf %two, %a", "addf %a, %a", "subf %a, %a",
    "mulf %a, %a", "maxf %a, %zero flush_to_zero", "addf %a, %below flush_to_zero", "mulf %a, %one flush_to_zero",
)  # fmt: skip
"""Operations that compilers like to leave out or to replace: an operand is a constant, or both are one."""
CONSTANTS = {"one": 1.0, "minus": -1.0, "two": 2.0, "zero": 0.0, "below": -0.0}


def constant_pattern(name: str, element: FloatType) -> int:
    form = floats.FORMATS[element.name]
    if name in ("most", "least"):
        return form.infinity | (form.sign_mask if name == "least" else 0)
    if name == "nan":
        return form.infinity | 1
    return floats.from_double(form, CONSTANTS[name])


def trivial_programs(element: FloatType, extent: int) -> Iterator[tuple[list[Trivial], Program]]:
    """Kernels of the operations above."""
    word = f"{extent}x{element}" if extent else str(element)
    constants = []
    for name in (*CONSTANTS, "most", "least", "nan"):
        pattern = constant_pattern(name, element)
        constants.append(
            f"%{name} = constant <{element}: 0x{pattern:0{2 * memory_dtype(element).itemsize}X}> : tile<{word}>"
        )
    texts = [text for text in TRIVIAL if element.name == "f32" or "flush" not in text]
    for start in range(0, len(texts), GROUP):
        part = texts[start : start + GROUP]
        lines = [
            f"%r{n} = {re.sub('%a(?![a-z])', f'%a_{element}', text)} : tile<{word}>" for n, text in enumerate(part)
        ]
        program = Program((element,), [element] * len(part), constants + lines, extent)
        yield [Trivial(text, element) for text in part], program


class Trivial:
    """One of them, and its operands."""

    def __init__(self, text: str, element: FloatType) -> None:
        self.text = text
        self.mnemonic = text.split()[0]
        self.result = element

    def operands(self, program: Program) -> list[Array]:
        (array,) = program.arrays
        found = []
        for name in _operands(self.text):
            found.append(array if name == "%a" else numpy.full_like(array, constant_pattern(name[1:], self.result)))
        return found


class Program:
    """A kernel of several operations on the same operands, for tiles of `extent` elements, none for no dimensions."""

    def __init__(self, elements: tuple[Type, ...], results: list[Type], lines: list[str], extent: int) -> None:
        self.elements = elements
        self.results = results
        self.extent = extent
        self.arrays = operand_arrays(elements, extent)
        names = "abc"[: len(elements)]
        parameters = [f"%{n}: tile<ptr<{e}>>" for n, e in zip(names, elements, strict=True)]
        parameters += [f"%out{number}: tile<ptr<{result}>>" for number, result in enumerate(results)]
        body = [self._load(n, e) for n, e in zip(names, elements, strict=True)]
        body += lines
        body += [self._store(f"out{number}", result, f"r{number}") for number, result in enumerate(results)]
        text = (
            f"cuda_tile.module @m {{ entry @k({', '.join(parameters)}) {{\n%x, %y, %z = get_tile_block_id : tile<i32>\n"
        )
        self.text = text + "\n".join(body) + "\nreturn } }"

    def _view(self, name: str, element: Type) -> tuple[str, str]:
        tensor = f"tensor_view<{self.arrays[0].size}x{element}, strides=[1]>"
        view = f"partition_view<tile=({self.extent}), {tensor}>"
        made = (
            f"%{name}_t = make_tensor_view %{name}, shape = [{self.arrays[0].size}], strides = [1] : {tensor}\n"
            f"%{name}_v = make_partition_view %{name}_t : {view}\n"
        )
        return made, view

    def _pointer(self, name: str, element: Type) -> str:
        return f"%{name}_p = offset %{name}, %x : tile<ptr<{element}>>, tile<i32> -> tile<ptr<{element}>>\n"

    def _load(self, name: str, element: Type) -> str:
        if not self.extent:
            types = f"tile<ptr<{element}>> -> tile<{element}>, token"
            return f"{self._pointer(name, element)}%{name}_{element}, %{name}_k = load_ptr_tko weak %{name}_p : {types}"
        made, view = self._view(name, element)
        types = f"{view}, tile<i32> -> tile<{self.extent}x{element}>, token"
        return f"{made}%{name}_{element}, %{name}_k = load_view_tko weak %{name}_v[%x] : {types}"

    def _store(self, name: str, element: Type, value: str) -> str:
        if not self.extent:
            types = f"tile<ptr<{element}>>, tile<{element}> -> token"
            return f"{self._pointer(name, element)}%{name}_k = store_ptr_tko weak %{name}_p, %{value} : {types}"
        made, view = self._view(name, element)
        types = f"tile<{self.extent}x{element}>, {view}, tile<i32> -> token"
        return f"{made}%{name}_k = store_view_tko weak %{value}, %{name}_v[%x] : {types}"

    def run(self, backend: str, cpu: str | None = None) -> list[Array]:
        """The patterns that each operation gives."""
        kernel = tileir.compile(tileir.parse(self.text), backend=backend, cpu=cpu)
        size = self.arrays[0].size
        inputs = [a.view(memory_dtype(e)) for a, e in zip(self.arrays, self.elements, strict=True)]
        outputs = [numpy.zeros(size, memory_dtype(result)) for result in self.results]
        kernel.launch(-(-size // max(self.extent, 1)), (*inputs, *outputs))
        return [out.view(bits_dtype(result)) for out, result in zip(outputs, self.results, strict=True)]


def programs(chosen: Iterable[Case], extent: int) -> Iterator[tuple[list[Case], Program]]:
    groups: dict[tuple[Type, ...], list[Case]] = {}
    for case in chosen:
        groups.setdefault(case.elements, []).append(case)
    word = f"{extent}x" if extent else ""
    for elements, group in groups.items():
        for start in range(0, len(group), GROUP):
            part = group[start : start + GROUP]
            lines = []
            for number, case in enumerate(part):
                text = case.text.replace("tile<16x", f"tile<{word}")
                # Operands are named by their place.
                names = iter([f"%{letter}_{element}" for letter, element in zip("abc", elements, strict=False)])
                text = re.sub(r"%\w+", lambda _: next(names), text)  # noqa: B023
                lines.append(f"%r{number} = {text}")
            yield part, Program(elements, [case.result for case in part], lines, extent)


def _operands(text: str) -> list[str]:
    return re.findall(r"%\w+", text.split(" : ")[0])
