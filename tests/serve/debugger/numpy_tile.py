"""As much of `cuda.tile` as `variable_kernels` uses, in plain Python over NumPy: kernels are functions."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy

_T = TypeVar("_T")
_block: list[int] = [0, 0, 0]

bool_, int32, uint32, float32 = numpy.bool_, numpy.int32, numpy.uint32, numpy.float32
maximum, minimum, where = numpy.maximum, numpy.minimum, numpy.where


class Constant(Generic[_T]):
    """An annotation."""


def kernel(function: Any) -> Any:
    return function


def run(function: Any, block: int, args: tuple[Any, ...]) -> None:
    """Run one tile block of a kernel."""
    _block[0] = block
    with numpy.errstate(all="ignore"):
        function(*args)


def bid(axis: int) -> int:
    return _block[axis]


def static_iter(values: Any) -> Any:
    return values


def load(array: Any, index: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    return array[_slices(index, shape)].copy()


def store(array: Any, index: tuple[int, ...], tile: Any) -> None:
    shape = numpy.shape(tile) or (1,) * array.ndim
    array[_slices(index, shape)] = tile


def _slices(index: tuple[int, ...], shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple([slice(int(at) * extent, (int(at) + 1) * extent) for at, extent in zip(index, shape, strict=True)])


def full(shape: tuple[int, ...], value: Any, dtype: Any) -> Any:
    return numpy.full(shape, value, dtype)


def zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    return numpy.zeros(shape, dtype)


def arange(size: int, dtype: Any) -> Any:
    return numpy.arange(size, dtype=dtype)


def sum(tile: Any) -> Any:
    return tile.sum()


def max(tile: Any) -> Any:
    return tile.max()


def exp(tile: Any) -> Any:
    return numpy.exp(tile)


def astype(tile: Any, dtype: Any) -> Any:
    return numpy.asarray(tile).astype(dtype)
