"""Kernels whose TTIR is kept beside this file as each version of Triton writes it.

    python tests/ttir/versions/kernels.py

writes the file of the version that is installed.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy
import triton
import triton.language as tl

from tileir.bridge.triton.resolving import resolved

FOLDER = Path(__file__).parent


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def matmul(a, b, c, M, N, K, TILE: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)[:, None]
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)[None, :]
    total = tl.zeros((TILE, TILE), tl.float32)
    for k in range(0, K, TILE):
        depth = k + tl.arange(0, TILE)
        left = tl.load(a + rows * K + depth[None, :], mask=(rows < M) & (depth[None, :] < K), other=0.0)
        right = tl.load(b + depth[:, None] * N + columns, mask=(depth[:, None] < K) & (columns < N), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + rows * N + columns, total, mask=(rows < M) & (columns < N))


@triton.jit
def doubled(x, out, M, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [ROWS, COLUMNS])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [ROWS, COLUMNS])
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    target.store([row, column], source.load([row, column]) * 2.0)


@triton.jit
def counted(x, counts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    steps = 0
    while steps * BLOCK < n:
        steps += 1
    found = tl.load(x + at, mask=at < n, other=0.0) > 0.5
    tl.atomic_add(counts, tl.sum(found.to(tl.int32), axis=0))
    tl.atomic_max(counts + 1, steps)


@triton.jit
def incremented(x, out, M, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Triton 3.9 has no block pointers any more."""
    source = tl.make_block_ptr(x, (M, N), (N, 1), (0, 0), (ROWS, COLUMNS), (1, 0))
    target = tl.make_block_ptr(out, (M, N), (N, 1), (0, 0), (ROWS, COLUMNS), (1, 0))
    found = tl.load(source, boundary_check=(0, 1), padding_option="zero")
    tl.store(target, found + 1.0, boundary_check=(0, 1))


@triton.jit
def unchecked(x, out, M, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    source = tl.make_block_ptr(x, (M, N), (N, 1), (0, 0), (ROWS, COLUMNS), (1, 0))
    target = tl.make_block_ptr(out, (M, N), (N, 1), (0, 0), (ROWS, COLUMNS), (1, 0))
    found = tl.load(source)
    tl.store(target, found, boundary_check=(0, 1))


def main() -> None:
    x, counts = numpy.zeros(4096, numpy.float32), numpy.zeros(2, numpy.int32)
    launches = {
        softmax: (x, x, 100, 128),
        matmul: (x, x, x, 33, 50, 40, 16),
        doubled: (x, x, 20, 40, 16, 32),
        counted: (x, counts, 100, 64),
        incremented: (x, x, 5, 6, 8, 8),
        unchecked: (x, x, 5, 6, 8, 8),
    }
    texts = []
    for kernel, arguments in launches.items():
        if kernel in (incremented, unchecked) and triton.__version__ >= "3.9":
            continue
        text = resolved(kernel, (1,), arguments, {})[0].ttir.generic
        # Paths are those of the machine that wrote it.
        text = re.sub(r'"[^"]*?/((?:triton/language/)?\w+\.py)"', r'"\1"', text)
        if kernel not in (softmax, unchecked):
            # Few with locations are enough.
            text = re.sub(r" loc\(.*?\)+(?=$|[,)])|^#loc.*\n", "", text, flags=re.MULTILINE)
        texts.append(text)
    number = ".".join(triton.__version__.split(".")[:2])
    (FOLDER / f"{number}.ttir").write_text("// -----\n".join(texts), encoding="utf-8")


if __name__ == "__main__":
    main()
