"""Views: a tensor over memory, tiles over a tensor.

A tensor view is a NumPy array over the caller's memory, so a tile that lies within the tensor is a slice of it, and a
tile over the edge is what the slice leaves of it, with padding around.  A tensor whose shape and strides reach beyond
its array cannot be one NumPy array (the program may never touch what lies outside): there each access goes by address.

`view_accesses.py` reads and writes through them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import prod
from operator import lt, mul
from typing import Any, cast

import numpy

from tileir.dialect.types import (
    DYNAMIC,
    GatherScatterViewType,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
    TileViewType,
)
from tileir.execute.dtypes import (
    Array,
    memory_bytes,
    memory_dtype,
    scalar_array,
    value_dtype,
)
from tileir.execute.interpreter.compiler import BLOCK_SLOT, LARGEST_RANK, Compiler, Registers, Step
from tileir.execute.interpreter.shapes import tile_of
from tileir.execute.memory import Memory, Region, are_distinct
from tileir.execute.observing.observer import Box
from tileir.ir.core import Operation
from tileir.ir.types import IntegerType, Type
from tileir.ir.values import Value

# Positions and extents beyond this are all alike: nothing is there.
_FAR = 1 << 62


def _wrapped(number: int) -> numpy.int64:
    """A number modulo 2^64, as the signed NumPy scalar with these bits."""
    return numpy.int64((number + (1 << 63)) % (1 << 64) - (1 << 63))


class TensorView:
    """Memory seen as a tensor: `strides` counts elements.  `array` is None if it does not fit its region."""

    __slots__ = ("address", "array", "element", "region", "shape", "size", "strides")

    def __init__(
        self, memory: Memory, element: Type, address: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        self.element: Type = element
        self.address: int = address
        self.shape: tuple[int, ...] = shape
        self.strides: tuple[int, ...] = strides
        self.size: int = memory_bytes(element)
        self.region: Region | None = memory.find(address)
        self.array: Array | None = self._whole()

    def _whole(self) -> Array | None:
        region = self.region
        if region is None or 0 in self.shape:
            return None
        # Where there is one position only the stride does not matter, and may be larger than NumPy takes.
        byte_strides = tuple(
            [stride * self.size if extent > 1 else 0 for extent, stride in zip(self.shape, self.strides, strict=True)]
        )
        last = sum([(extent - 1) * stride for extent, stride in zip(self.shape, byte_strides, strict=True)])
        if self.address + last + self.size > region.end:
            return None
        if prod(self.shape) * self.size > sys.maxsize or len(self.shape) > LARGEST_RANK:
            # With strides of zero a tensor may have more elements than there are addresses.
            return None
        return numpy.ndarray(
            self.shape, memory_dtype(self.element), region.data, self.address - region.start, byte_strides
        )


class TileView:
    """Tiles over a tensor.  In order of the tile's dimensions: `extents` and `strides` of the tensor, `steps` between
    tiles; `sparse` is the dimension whose positions an access lists, -1 for none; `orderly` tells that the elements of
    a tile lie in memory in the order they have in a copy, perhaps with gaps, as BLAS wants them; `whole` is the tiles
    that lie within the tensor, by index."""

    __slots__ = (
        "_bytes", "_distinct", "array", "extents", "kept", "orderly", "shape", "sparse", "steps", "strides", "tensor",
        "whole",
    )  # fmt: skip

    def __init__(self, tensor: TensorView, type: TileViewType) -> None:
        axes = tuple(range(len(type.tile_shape)))
        self.steps: tuple[int, ...] = type.tile_shape
        self.sparse: int = -1
        if isinstance(type, PartitionViewType):
            axes = type.dim_map
        elif isinstance(type, StridedViewType):
            axes = type.dim_map
            self.steps = type.traversal_strides
        elif isinstance(type, GatherScatterViewType):
            # Its indices count elements in every dimension, as cuTile's advanced indexing does.
            self.sparse = type.sparse_dim
            self.steps = (1,) * len(axes)
        self.tensor: TensorView = tensor
        self.shape: tuple[int, ...] = type.tile_shape
        self.extents: tuple[int, ...] = tuple([tensor.shape[axis] for axis in axes])
        self.strides: tuple[int, ...] = tuple([tensor.strides[axis] for axis in axes])
        array = tensor.array
        if array is not None and axes != tuple(range(len(axes))):
            array = array.transpose(axes)
        self.array: Array | None = array
        self.whole: Array = self._all_whole()
        self.orderly: bool = array is not None and self._lies_orderly(array)
        # Strides and steps in bytes, once somebody asks for a box.
        self._bytes: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        # Once somebody stores.
        self._distinct: bool | None = True if self.orderly else None
        # Filled by loads, emptied by whatever writes to the region.
        self.kept: dict[object, Array] = tensor.region.kept if tensor.region is not None else {}

    def _lies_orderly(self, array: Array) -> bool:
        needed = array.itemsize
        if not array.flags.aligned or array.strides[-1:] not in ((), (needed,)):
            return False
        for extent, stride in zip(reversed(self.shape), reversed(array.strides), strict=True):
            if stride < needed:
                return False
            needed = stride * extent
        return True

    def is_distinct(self) -> bool:
        """Whether no two elements of a tile share memory; the order in which NumPy stores a tile is its own."""
        if self._distinct is None:
            self._distinct = are_distinct(self.strides, map(min, self.shape, self.extents))
        return self._distinct

    def _all_whole(self) -> Array:
        array, region, shape = self.array, self.tensor.region, self.shape
        none = (0,) * len(shape)
        if array is None or region is None or self.sparse >= 0:
            return numpy.empty(none)
        counts = [
            (extent - wanted) // step + 1 if extent >= wanted else 0
            for extent, wanted, step in zip(array.shape, shape, self.steps, strict=True)
        ]
        # A single tile needs no way to the next, which may be further than NumPy goes.
        ways = [
            stride * step if count > 1 else 0
            for count, stride, step in zip(counts, array.strides, self.steps, strict=True)
        ]
        offset = self.tensor.address - region.start
        try:
            return numpy.ndarray((*counts, *shape), array.dtype, region.data, offset, (*ways, *array.strides))
        except ValueError:
            # More dimensions than NumPy has, or elements than it counts: tiles are found one by one.
            return numpy.empty(none)

    def index_space(self) -> list[int]:
        """The number of tiles along each dimension."""
        return [-(-extent // step) for extent, step in zip(self.extents, self.steps, strict=True)]

    def positions(self, index: list[Any]) -> list[Array]:
        """For each dimension the positions in the tensor that a tile covers; those outside are negative or too big."""
        found = []
        for axis, (number, extent, step) in enumerate(zip(index, self.shape, self.steps, strict=True)):
            if axis == self.sparse:
                found.append(numpy.asarray(number).astype(numpy.int64))
            else:
                found.append(min(int(number) * step, _FAR) + numpy.arange(extent, dtype=numpy.int64))
        return found

    def reach(self, index: list[Any]) -> tuple[Array, Array | None]:
        """The address of each element of a tile, and which of them lie in the tensor (None: all)."""
        rank = len(self.shape)
        offsets: Array = numpy.zeros(self.shape, numpy.int64)
        inside: Array | None = None
        for axis, positions in enumerate(self.positions(index)):
            along = [1] * rank
            along[axis] = -1
            offsets = offsets + (positions * _wrapped(self.strides[axis] * self.tensor.size)).reshape(along)
            within = (positions >= 0) & (positions < min(self.extents[axis], _FAR))
            if not within.all():
                inside = within.reshape(along) if inside is None else inside & within.reshape(along)
        if inside is not None:
            inside = numpy.broadcast_to(inside, self.shape)
        return offsets.view(numpy.uint64) + numpy.uint64(self.tensor.address), inside

    def box(self, index: list[Any]) -> Box | None:
        """The part of a tile that lies in the tensor; None for a tile of listed positions."""
        if self.sparse >= 0:
            return None
        plan = self._bytes
        if plan is None:
            strides = tuple([stride * self.tensor.size for stride in self.strides])
            plan = self._bytes = (strides, tuple(map(mul, self.steps, strides)))
        strides, steps = plan
        address = self.tensor.address + sum(map(mul, index, steps))
        if all(map(lt, index, self.whole.shape)):
            return address, self.shape, strides
        counts = [
            max(min(wanted, extent - number * step), 0)
            for number, step, wanted, extent in zip(index, self.steps, self.shape, self.extents, strict=True)
        ]
        return address, tuple(counts), strides


def compile_tensor_view(compiler: Compiler, operation: Operation) -> Step:
    base = compiler.slot(operation.operands[0])
    result = compiler.slot(operation.results[0])
    type = cast(TensorViewType, operation.results[0].type)
    shape = _numbers(compiler, operation.dynamic_shape, type.shape)
    strides = _numbers(compiler, operation.dynamic_strides, type.strides)
    element = type.element

    def make(registers: Registers) -> None:
        memory = registers[BLOCK_SLOT].memory
        registers[result] = TensorView(memory, element, int(registers[base]), shape(registers), strides(registers))

    return make


def _numbers(
    compiler: Compiler, values: list[Value], static: tuple[int, ...]
) -> Callable[[Registers], tuple[int, ...]]:
    """Extents or strides: those of the type, with the operands, read as unsigned, where it has `?`."""
    if not values:
        return lambda registers: static
    slots = iter([compiler.slot(value) for value in values])
    modulus = 1 << cast(IntegerType, tile_of(values[0]).element).width
    plan = [next(slots) if number == DYNAMIC else -1 for number in static]

    def numbers(registers: Registers) -> tuple[int, ...]:
        return tuple(
            [int(registers[slot]) % modulus if slot >= 0 else number for slot, number in zip(plan, static, strict=True)]
        )

    return numbers


def compile_tile_view(compiler: Compiler, operation: Operation) -> Step:
    source, result = compiler.slot(operation.operands[0]), compiler.slot(operation.results[0])
    type = cast(TileViewType, operation.results[0].type)

    def make(registers: Registers) -> None:
        registers[result] = TileView(registers[source], type)

    return make


def _shape_step(compiler: Compiler, operation: Operation, shape: Callable[[Any], list[int]]) -> Step:
    source = compiler.slot(operation.operands[0])
    results = []
    for result in operation.results:
        element = cast(IntegerType, tile_of(result).element)
        results.append((compiler.slot(result), element, value_dtype(element).type, 1 << (element.width - 1)))

    def step(registers: Registers) -> None:
        for number, (slot, element, scalar, limit) in zip(shape(registers[source]), results, strict=True):
            # What does not fit is undefined; it wraps.
            registers[slot] = scalar(number) if number < limit else scalar_array(element, number)[()]

    return step


def compile_index_space_shape(compiler: Compiler, operation: Operation) -> Step:
    return _shape_step(compiler, operation, lambda view: cast(TileView, view).index_space())


def compile_tensor_shape(compiler: Compiler, operation: Operation) -> Step:
    return _shape_step(compiler, operation, lambda tensor: list(cast(TensorView, tensor).shape))
