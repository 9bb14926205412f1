"""Compile elementwise emissions to loops over arrays and compare with the interpreter's kernels.

A case is a name, the element types of its operands and result, a function that emits it and a kernel that defines it.
Many cases make one LLVM module; each is a function `void f(ptr a, ptr b, ptr c, ptr out, i64 steps)`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import llvmlite.binding as binding
import numpy

from tileir.execute.cpu.vector import instructions
from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.llvm import Register, storage_type
from tileir.execute.cpu.vector.module import Module
from tileir.execute.dtypes import (
    Array,
    bits_dtype,
    from_memory,
    is_float_dtype,
    memory_dtype,
    value_dtype,
)
from tileir.ir.types import F4E2M1FN, I1, Type

Emit = Callable[[Builder, list[Register]], Register]


class Case(NamedTuple):
    name: str
    operands: tuple[Type, ...]
    result: Type
    emit: Emit
    kernel: Callable[..., Any]


def function_text(module: Module, symbol: str, case: Case, width: int) -> str:
    """The loop of one case over `width` elements at a time, 0 for scalars."""
    builder = Builder(module)
    step = max(width, 1)
    builder.do("br label %loop")
    builder.label("loop")
    builder.do("%i = phi i64 [ 0, %entry ], [ %next, %latch ]")
    offset = builder.emit(f"mul i64 %i, {step}")
    operands = []
    for position, element in enumerate(case.operands):
        dtype = memory_dtype(element)
        kind = storage_type(dtype)
        address = builder.emit(f"getelementptr {kind}, ptr %p{position}, i64 {offset}")
        loaded = f"<{width} x {kind}>" if width else kind
        register = builder.value(f"load {loaded}, ptr {address}, align 1", dtype, width)
        operands.append(instructions.from_memory(builder, element, register))
    result = case.emit(builder, operands)
    assert result.dtype == value_dtype(case.result), (case.name, result.dtype)
    assert result.width == width, case.name
    stored = instructions.to_memory(builder, case.result, result)
    address = builder.emit(f"getelementptr {storage_type(stored.dtype)}, ptr %p3, i64 {offset}")
    builder.do(f"store {stored.typed}, ptr {address}, align 1")
    builder.do("br label %latch")
    builder.label("latch")
    builder.do("%next = add i64 %i, 1")
    builder.do("%more = icmp ult i64 %next, %steps")
    builder.do("br i1 %more, label %loop, label %done")
    builder.label("done")
    builder.do("ret void")
    body = "\n".join(builder.lines)
    return f"define void @{symbol}(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i64 %steps) {{\nentry:\n{body}\n}}"


def target_machine(cpu: str = "", features: str = "") -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple()
    if not cpu:
        cpu = binding.get_host_cpu_name()
        features = binding.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=cpu, features=features, opt=1, jit=True)


class Compiled:
    """The loops of cases, by number."""

    def __init__(self, cases: list[Case], width: int, native: bool = True, cpu: str = "") -> None:
        self.cases = cases
        self.width = width
        module = Module()
        module.native_half = module.native_fma = native
        for number, case in enumerate(cases):
            module.functions.append(function_text(module, f"f{number}", case, width))
        self.text = module.text()
        parsed = binding.parse_assembly(self.text)
        parsed.verify()
        self.machine = target_machine(cpu)
        self.engine = binding.create_mcjit_compiler(parsed, self.machine)
        self.engine.finalize_object()

    def run(self, number: int, arrays: list[Array]) -> Array:
        """The result in memory of a case on operands in memory, whose count is a multiple of the width."""
        address = self.engine.get_function_address(f"f{number}")
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)(address)
        count = arrays[0].size
        out: Array = numpy.zeros(count, memory_dtype(self.cases[number].result))
        pointers = [array.ctypes.data for array in arrays] + [None] * (3 - len(arrays))
        function(*pointers, out.ctypes.data, count // max(self.width, 1))
        return out

    def differences(self, number: int, arrays: list[Array]) -> list[str]:
        """Where a case differs from its kernel, in words; NaNs are equal."""
        case = self.cases[number]
        values = [from_memory(element, array) for element, array in zip(case.operands, arrays, strict=True)]
        with numpy.errstate(all="ignore"):
            expected = numpy.asarray(case.kernel(*values))
        expected = numpy.broadcast_to(expected, values[0].shape)
        found = self.run(number, arrays)
        found = found.view(value_dtype(case.result))
        wrong = ~same_numbers(case.result, expected, found)
        return [
            f"{case.name}: {[pattern(v[i]) for v in values]} gives {pattern(found[i])}, not {pattern(expected[i])}"
            for i in numpy.flatnonzero(wrong)[:3]
        ]


def pattern(value: Any) -> str:
    return f"{value} ({int(value.view(f'u{value.dtype.itemsize}')):#x})"


def same_numbers(element: Type, left: Array, right: Array) -> Array:
    left, right = numpy.ascontiguousarray(left), numpy.ascontiguousarray(right)
    bits = bits_dtype(element)
    equal: Array = left.view(bits) == right.view(bits)
    if is_float_dtype(left.dtype):
        with numpy.errstate(all="ignore"):
            equal = equal | (numpy.isnan(left.astype(numpy.float64)) & numpy.isnan(right.astype(numpy.float64)))
    return equal


# Operands


def special_patterns(element: Type) -> Array:
    """Patterns at which something changes: ends of the exponents, of the mantissa, of the range."""
    dtype = memory_dtype(element)
    bits = numpy.dtype(f"u{dtype.itemsize}")
    width = dtype.itemsize * 8
    if width == 8:
        return numpy.arange(256, dtype=numpy.uint8)
    found = {
        0,
        1,
        2,
        3,
        (1 << width) - 1,
        (1 << width) - 2,
        1 << (width - 1),
        (1 << (width - 1)) + 1,
        (1 << (width - 1)) - 1,
    }
    found |= {7, 8, 15, 16, 31, 32, 63, 64, 65}
    mantissa = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}.get(value_dtype(element).name)
    if mantissa is not None:
        bias = (1 << (width - mantissa - 2)) - 1
        exponents = [
            0,
            1,
            2,
            bias - 25,
            bias - 24,
            bias - 15,
            bias - 14,
            bias - 2,
            bias - 1,
            bias,
            bias + 1,
            bias + 2,
            bias + 7,
            bias + 8,
            bias + 14,
            bias + 15,
            bias + 31,
            bias + 63,
            bias * 2,
            bias * 2 + 1,
        ]
        full = (1 << mantissa) - 1
        for exponent in exponents:
            if 0 <= exponent <= 2 * bias + 1:
                for low in (
                    0,
                    1,
                    full,
                    full - 1,
                    full // 2,
                    full // 2 + 1,
                    full ^ (full >> 8),
                    5 << max(mantissa - 4, 0),
                ):
                    for sign in (0, 1 << (width - 1)):
                        found.add(sign | exponent << mantissa | low & full)
    return numpy.array(sorted(found), bits)


def operand_arrays(elements: tuple[Type, ...], count: int, seed: int) -> list[Array]:
    """Arrays in memory for a case: specials against specials, random patterns, random numbers of near magnitudes."""
    rng = numpy.random.default_rng(seed)
    arrays = []
    sets = [special_patterns(element) for element in elements]
    for position, (element, specials) in enumerate(zip(elements, sets, strict=True)):
        dtype = memory_dtype(element)
        bits = specials.dtype
        if len(elements) == 1:
            structured = specials
        elif specials.size * sets[1 - position if position < 2 else 0].size <= count // 2 and position < 2:
            first, second = numpy.meshgrid(sets[0], sets[1], indexing="ij")
            structured = (first if position == 0 else second).reshape(-1)
        else:
            structured = rng.choice(specials, count // 2)
        raw = rng.integers(0, 256, (count, dtype.itemsize), numpy.uint8).reshape(-1).view(bits)
        near = _near_one(element, rng, count)
        parts = [structured[: count // 2], raw[: count // 8], rng.choice(specials, count // 8), near]
        arrays.append(numpy.concatenate(parts)[:count].astype(bits))
    # All arrays line up: the structured parts have one length.
    shortest = min([array.size for array in arrays]) // 16 * 16
    return [_memory(element, array[:shortest]) for element, array in zip(elements, arrays, strict=True)]


def _memory(element: Type, patterns: Array) -> Array:
    array = patterns.view(memory_dtype(element)).copy()
    if element is I1:
        array = (array & 1).astype(numpy.uint8)
    return array


def _near_one(element: Type, rng: Any, count: int) -> Array:
    """Numbers whose sums, products and quotients neither overflow nor vanish."""
    dtype = memory_dtype(element)
    bits = numpy.dtype(f"u{dtype.itemsize}")
    if is_float_dtype(value_dtype(element)) and element is not F4E2M1FN:
        numbers = rng.standard_normal(count) * 2.0 ** rng.integers(-6, 7, count)
        return numbers.astype(numpy.float32).astype(value_dtype(element)).view(bits)
    return rng.integers(0, 20, count).astype(bits)
