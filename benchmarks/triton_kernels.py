"""The same matmul and softmax for Triton's interpreter mode; needs triton, and TRITON_INTERPRET=1 before the import."""

from __future__ import annotations

from typing import Any

import numpy
import triton
import triton.language as tl


class HostTensor:
    """A NumPy array with what Triton's interpreter asks of a tensor, so that the comparison needs no torch."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.dtype = f"torch.{array.dtype.name}"

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def untyped_storage(self) -> HostTensor:
        return self

    def cpu(self) -> HostTensor:
        return self

    def new_empty(self, *shape: int, device: str = "cpu") -> HostTensor:
        return HostTensor(numpy.empty(0, self.array.dtype))

    def set_(self, storage: HostTensor, *place: object) -> None:
        self.array = storage.array

    def storage_offset(self) -> int:
        return 0

    def size(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def stride(self) -> tuple[int, ...]:
        return tuple([stride // self.array.itemsize for stride in self.array.strides])

    def copy_(self, other: HostTensor) -> None:
        """The results are in place already."""


@triton.jit  # type: ignore[untyped-decorator,misc,unused-ignore]
def _matmul(a, b, c, size, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inner = tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), tl.float32)
    for k in range(0, size, TILE):
        x = tl.load(a + row[:, None] * size + (k + inner)[None, :])
        y = tl.load(b + (k + inner)[:, None] * size + column[None, :])
        total += tl.dot(x, y, input_precision="ieee")
    tl.store(c + row[:, None] * size + column[None, :], total)


@triton.jit  # type: ignore[untyped-decorator,misc,unused-ignore]
def _softmax(x, y, width, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0)
    column = tl.arange(0, TILE)
    inside = column < width
    values = tl.load(x + row * width + column, mask=inside, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * width + column, powers / tl.sum(powers, axis=0), mask=inside)


def matmul(a: Any, b: Any, c: Any, tile: int) -> None:
    size = a.shape[0]
    _matmul[(size // tile, size // tile)](HostTensor(a), HostTensor(b), HostTensor(c), size, TILE=tile)


def softmax(x: Any, y: Any, tile: int) -> None:
    _softmax[(x.shape[0],)](HostTensor(x), HostTensor(y), x.shape[1], TILE=tile)
