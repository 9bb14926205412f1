"""Macro-kernels alone: their code, and operands packed by NumPy in the layout that a plan names."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy

from tileir.execute.cpu.matmul.macrokernel import MacroKernel, Operands
from tileir.execute.cpu.matmul.microkernel import configure, release
from tileir.execute.cpu.matmul.plan import AMX_BYTES, TILE_BYTES, Layout, Plan
from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.module import Module

BFLOAT16 = numpy.dtype(ml_dtypes.bfloat16)


def text_of(plan: Plan, extent: int = 0) -> str:
    """A worker whose record has A, its row stride, B, C and whether there are special values."""
    builder = Builder(Module())
    a, row, b, c, special = (builder.word("%record", slot) for slot in range(5))
    left, right, result = (builder.pointer(word) for word in (a, b, c))
    found = builder.emit(f"icmp ne i64 {special}, 0")
    if plan.kind == "amx":
        configure(builder)
    rows = result, plan.n * plan.acc_dtype.itemsize
    k = str(extent) if extent else plan.k
    MacroKernel(builder, plan, Operands(left, row, right, *rows, *rows, k, plan.m, plan.n, found)).emit()
    if plan.kind == "amx":
        release(builder)
    builder.do("ret i64 0")
    builder.module.add(["define i64 @worker(ptr %record, ptr %scratch) {", "entry:", *builder.lines, "}"])
    return builder.module.text()


def multiplied(code: Any, plan: Plan, a: Any, b: Any, c: Any) -> Any:
    """C + A * B; the rows of A lie apart in memory unless they are packed, k may go on beyond the plan."""
    left = numpy.zeros((a.shape[0], a.shape[1] + 3), plan.a_dtype)
    left[:, : a.shape[1]] = a.astype(plan.a_dtype)
    row, right = left.strides[0], packed(plan, 1, b)
    special = is_special(plan, right)
    if plan.kind == "amx":
        left = packed(plan, 0, a)
        special |= is_special(plan, left)
    result = aligned(c.size, plan.acc_dtype)
    result[:] = c.astype(plan.acc_dtype).reshape(-1)
    words = [left.ctypes.data, row, right.ctypes.data, result.ctypes.data, special]
    record = numpy.array(words, numpy.int64)
    assert code.call(record.ctypes.data, 0) == 0
    return result.reshape(c.shape)


def positions(plan: Plan, side: int, shape: tuple[int, int]) -> Any:
    """Where the elements of A or B are, in elements."""
    layout, builder, k = Layout(plan, side), Builder(Module()), shape[1 - side]
    size, group = layout.dtype.itemsize, layout.group
    found = [
        [int(layout.offset(builder, i // group, j, k)) // size + i % group for j in range(shape[1])]
        for i in range(shape[0])
    ]
    return numpy.array(found)


def packed(plan: Plan, side: int, matrix: Any) -> Any:
    dtype = BFLOAT16 if plan.parts == 2 else (plan.a_dtype, plan.b_dtype)[side]
    found = aligned(matrix.size * plan.parts, dtype)
    places = positions(plan, side, matrix.shape)
    parts = parts_of(matrix) if plan.parts == 2 else [matrix.astype(dtype)]
    for number, part in enumerate(parts):
        found[places + number * (TILE_BYTES if side else plan.mr * AMX_BYTES) // dtype.itemsize] = part
    return found


def parts_of(array: Any) -> list[Any]:
    """The high and the low half of f16 as bf16."""
    wide = array.astype(numpy.float32)
    high = (wide.view(numpy.uint32) & 0xFFFF0000).view(numpy.float32)
    rest = wide - high
    low = numpy.where(numpy.isnan(rest), numpy.float32(0), rest)
    return [high.astype(BFLOAT16), low.astype(BFLOAT16)]


def is_special(plan: Plan, elements: Any) -> bool:
    numbers = elements.astype(numpy.float32) if plan.guard else elements
    if plan.guard == "infinite":
        return not numpy.isfinite(numbers).all()
    return plan.guard == "subnormal" and bool(((numbers != 0) & (abs(numbers) < 2.0**-126)).any())


def aligned(count: int, dtype: Any) -> Any:
    raw = numpy.zeros(count * dtype.itemsize + 64, numpy.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + count * dtype.itemsize].view(dtype)
