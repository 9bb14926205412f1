"""Triton kernels of the tests: each with what it computes said in NumPy or torch by its test."""

from __future__ import annotations

import triton
import triton.language as tl

SCALE = tl.constexpr(2.0)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@triton.jit
def add_without_mask(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets) + tl.load(y + offsets))  # unmasked


@triton.jit
def copy_2d(x, out, rows, columns, x_row, x_column, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    mask = (r < rows) & (c < columns)
    found = tl.load(x + r * x_row + c * x_column, mask=mask, other=0.0)
    tl.store(out + r * columns + c, found, mask=mask)


@triton.jit
def scaled(x, out, factor, is_negated, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    found = tl.load(x + offsets) * factor * SCALE
    if is_negated:
        found = -found
    tl.store(out + offsets, found)


@triton.jit
def of_tuple(arrays, shift, extra, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    found = tl.load(arrays[0] + offsets) + shift[0] * tl.load(arrays[1] + offsets) + shift[1]
    if extra is not None:
        found += tl.load(extra + offsets)
    tl.store(arrays[2] + offsets, found)


@triton.jit
def to_float(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets).to(tl.float32))


@triton.jit
def pointers(table, out, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for number in range(COUNT):
        total += tl.load(tl.load(table + number).to(tl.pointer_type(tl.float32)) + offsets)
    tl.store(out + offsets, total)


@triton.jit
def copy_described(source, target, R: tl.constexpr, C: tl.constexpr):
    row, column = tl.program_id(0) * R, tl.program_id(1) * C
    target.store([row, column], source.load([row, column]) + 1.0)


@triton.jit
def row_sums(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    found = tl.load(x + row * columns + offsets, mask=offsets < columns, other=0.0)
    tl.store(out + row, tl.sum(found, axis=0))


@triton.jit
def row_sums_of_wrong_stride(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    found = tl.load(x + row * (columns + 1) + offsets, mask=offsets < columns, other=0.0)  # stride
    tl.store(out + row, tl.sum(found, axis=0))


@triton.jit
def total(x, out, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + offsets), axis=0))


@triton.jit
def total_without_atomics(x, out, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    before = tl.load(out)  # race
    tl.store(out, before + tl.sum(tl.load(x + offsets), axis=0))


@triton.jit
def shifted_in_place(x, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets + 1))  # neighbour


@triton.jit
def reversed_in_place(x, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    found = tl.load(x + offsets)
    tl.store(x + BLOCK - 1 - offsets, found)  # reversed


@triton.jit
def added_in_memory(x, out, steps, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for step in range(steps):
        tl.store(out + offsets, tl.load(out + offsets) + tl.load(x + step * BLOCK + offsets))


@triton.jit
def through_memory(x, scratch, out, BLOCK: tl.constexpr, WAITS: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(scratch + offsets, tl.load(x + offsets))
    if WAITS:
        tl.debug_barrier()
    tl.store(out + offsets, tl.load(scratch + BLOCK - 1 - offsets))  # unordered


@triton.jit
def unsupported(x, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    found = tl.load(x + offsets)
    text: tl.constexpr = "frobnicate.b32 $0, $1;"
    found = tl.inline_asm_elementwise(text, "=r,r", [found], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x + offsets, found)


@triton.autotune(configs=[triton.Config({"BLOCK": block}) for block in (64, 128)], key=["n"])
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n) * 3.0, mask=offsets < n)


@triton.heuristics({"BLOCK": lambda given: triton.next_power_of_2(given["n"])})
@triton.jit
def sized(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n) * 5.0, mask=offsets < n)


@triton.jit
def misspelled(x, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, ofsets)  # type: ignore  # noqa: F821  # misspelled


@triton.jit
def odd_shape(x, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.zeros((7,), tl.float32))


@triton.jit
def odd_helper(value):
    return value + tl.zeros((7,), tl.float32)  # odd


@triton.jit
def calls_a_helper(x, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, odd_helper(tl.load(x + offsets)))  # calls


@triton.jit
def rooted(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    found = tl.load(x + offsets)
    roots = tl.sqrt(found - 0.5)  # root
    tl.store(out + offsets, roots)
