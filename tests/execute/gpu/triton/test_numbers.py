"""Arithmetic, conversions and comparisons in TTIR: every operation, element type and attribute, against the interpreter.

The TTIR is run with NumPy (`ttir_model.py`): what it computes without instructions for it must be the interpreter's
bits, and functions and approximations are as near as their library has them.
"""

from __future__ import annotations

import re
import zlib
from functools import cache
from typing import Any

import numpy
import pytest
from tests.execute.cpu.elementwise import Case, operand_arrays, pattern, same_numbers
from tests.execute.cpu.operations import FLOATS, INTEGERS, POINTEES, all_operations, case_of
from tests.execute.gpu.triton import ttir_model

import tileir
from tileir.dialect.construct import element as element_named
from tileir.execute.arithmetic.conversion import unpack
from tileir.execute.dtypes import from_memory, to_bits, value_dtype
from tileir.execute.entries import select_entry
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.elementwise import ELEMENTWISE
from tileir.execute.gpu.triton.lowering.roster import HANDLERS
from tileir.execute.gpu.triton.options import CodeOptions, Schedule, Specialization
from tileir.execute.gpu.triton.program import Program
from tileir.execute.gpu.triton.ttir.values import TtirValue, value_element
from tileir.ir.core import Operation
from tileir.ir.types import F4E2M1FN, FloatType

FUNCTIONS = re.compile(r"(exp|exp2|log|log2|sin|cos|tan|sinh|cosh|tanhf?|rsqrt|pow|powf|atan2|fpowi) ")


@cache
def operations() -> list[tuple[str, Operation, Case]]:
    """Every operation on numbers, on parameters: nothing is known of them."""
    texts = [(text, op) for text, op in all_operations() if op.declaration in ELEMENTWISE]
    parameters = [f"%{letter}_{name}: tile<2x{name}>" for name in (*FLOATS, *INTEGERS, "i4") for letter in "abc"]
    parameters += [f"%a_ptr_{name}: tile<2xptr<{name}>>" for name in POINTEES]
    # Every operand is another parameter.
    written = [text.replace("tile<16x", "tile<2x").replace("select %a_i1", "select %c_i1") for text, _ in texts]
    lines = [f"%r{number} = {text}\n" for number, text in enumerate(written)]
    module: Any = tileir.parse(
        f"cuda_tile.module @m {{ entry @k({', '.join(parameters)}) {{\n{''.join(lines)}return }} }}"
    )
    (kernel,) = module.regions[0].blocks[0].operations
    body = [operation for operation in kernel.regions[0].blocks[0].operations if operation.results]
    return [(text, made, case_of(text, op)) for (text, op), made in zip(texts, body, strict=True)]


@cache
def nothing() -> Program:
    return Program(select_entry(tileir.parse("cuda_tile.module @m { entry @k() { return } }"), None))


def lowered(operation: Operation, target: str, fast: bool = False) -> tuple[str, str]:
    """The TTIR of an operation on `%a`, `%b` and `%c`, and the name of its result."""
    options = CodeOptions(fast=fast)
    lowering = Lowering(nothing(), target, Schedule(), Specialization(), options, (3, 9, 0), HANDLERS)
    for name, operand in zip("abc", operation.operands, strict=False):
        lowering.values[operand] = TtirValue(f"%{name}", *lowering.type_of(operand))
    lowering.operation(operation)
    return "\n".join([line.text for line in lowering.build.lines()]), lowering.value(operation.results[0]).name


def held(element: Any, array: Any) -> Any:
    """Values as TTIR holds them."""
    dtype = ttir_model.dtype_of(value_element(element))
    if element is F4E2M1FN:
        return to_bits(element, array).view(numpy.int8)
    return array.view(dtype)


def differences(text: str, operation: Operation, case: Case, target: str, count: int, units: int = 0) -> list[str]:
    """Where the TTIR of an operation gives another number than the interpreter."""
    arrays = operand_arrays(case.operands, count, zlib.crc32(text.encode()))
    values = [from_memory(element, array) for element, array in zip(case.operands, arrays, strict=True)]
    with numpy.errstate(all="ignore"):
        expected = numpy.broadcast_to(numpy.asarray(case.kernel(*values)), values[0].shape)
    ttir, name = lowered(operation, target)
    operands = zip("abc", case.operands, values, strict=False)
    given = {f"%{letter}": held(element, value) for letter, element, value in operands}
    found = numpy.broadcast_to(ttir_model.run(ttir, given)[name], expected.shape)
    wanted = held(case.result, numpy.ascontiguousarray(expected))
    if case.result is F4E2M1FN or not isinstance(case.result, FloatType) or wanted.dtype.kind == "i":
        wrong = wanted != found
    else:
        found = found.view(value_dtype(case.result))
        wrong = ~same_numbers(case.result, expected, found)
        if units and wrong.any():
            near = abs(_ordered(expected) - _ordered(found)) <= units
            wrong &= ~near
    return [
        f"{case.name}: {[pattern(v[i]) for v in values]} gives {pattern(found[i])}, not {pattern(wanted[i])}"
        for i in numpy.flatnonzero(wrong)[:3]
    ]


def _ordered(array: Any) -> Any:
    """The places of floats among all floats."""
    bits = numpy.ascontiguousarray(array).view(f"i{array.dtype.itemsize}").astype(numpy.int64)
    return numpy.where(bits < 0, -(bits & numpy.iinfo(f"i{array.dtype.itemsize}").max), bits)


def _allowed(text: str) -> int:
    """Units in the last place: functions of f16 and bf16 are rounded twice."""
    return 1 if FUNCTIONS.match(text) else 0


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "gfx942"])
def test_every_operation_gives_the_bits_of_the_interpreter(target: str) -> None:
    wrong = []
    for number, (text, operation, case) in enumerate(operations()):
        if number % 3 != ("sm_80", "sm_90", "gfx942").index(target):
            continue
        try:
            wrong += differences(text, operation, case, target, 1 << 10, _allowed(text))
        except tileir.TileIRError as error:
            assert target == "gfx942" and "has no instruction for" in str(error), text
    assert not wrong, "\n".join(wrong)


# --- bytes ---


@pytest.mark.parametrize("element", ["i1", "i4", "f4E2M1FN", "i16", "bf16", "f32", "tf32", "i64", "f64"])
@pytest.mark.parametrize("count", [16, 64])
def test_bytes_of_tiles_are_in_the_order_of_memory(element: str, count: int) -> None:
    kind: Any = element_named(element)
    size = count * (32 if element == "tf32" else kind.width) // 8
    module: Any = tileir.parse(
        f"cuda_tile.module @m {{ entry @k(%a: tile<{size}xi8>) {{\n"
        f"%u = unpack %a : tile<{size}xi8> -> tile<{count}x{element}>\n"
        f"%p = pack %u : tile<{count}x{element}> -> tile<{size}xi8>\nreturn }} }}"
    )
    (kernel,) = module.regions[0].blocks[0].operations
    unpacking, packing, _ = kernel.regions[0].blocks[0].operations
    data = numpy.random.default_rng(size).integers(-128, 128, size, numpy.int8)
    (text, name), values = lowered(unpacking, "sm_90"), unpack(kind)(data)
    found = ttir_model.run(text, {"%a": data})[name]
    assert found.tobytes() == held(kind, values).tobytes()
    text, name = lowered(packing, "sm_90")
    assert (ttir_model.run(text, {"%a": found})[name] == data).all()
