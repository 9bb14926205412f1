"""Views: a tensor over memory, tiles over a tensor; reading and writing through them.

A tensor view is a NumPy array over the caller's memory, so a tile that lies within the tensor is a slice of it, and a
tile over the edge is what the slice leaves of it, with padding around.  A tensor whose shape and strides go beyond
its array cannot be one NumPy array (the program may never touch what lies outside): there each access goes by address.

Everything outside the tensor is padding to a load and nothing to a store, also when the whole tile is outside, where
the dialect leaves the behavior undefined.  Without a padding value it reads as zero.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import prod
from operator import mul
from typing import Any, cast

import numpy

from tileir.dialect import ops
from tileir.dialect.types import (
    DYNAMIC,
    TensorViewType,
    TileViewType,
)
from tileir.execute import dtypes
from tileir.execute.analysis.values import tile_of
from tileir.execute.arguments.multicast import NOT_MULTICAST
from tileir.execute.arithmetic.elementary import float_binary
from tileir.execute.dtypes import Array
from tileir.execute.errors import ExecutionError
from tileir.execute.interpreter.frame import LARGEST_RANK, Frame
from tileir.execute.interpreter.pointers import atomic_kernel, combine_atomically, gather, reported_misses, scatter
from tileir.execute.memory import Memory, Region, are_distinct
from tileir.execute.observing.observer import Access, Box, Observer
from tileir.ir import floats
from tileir.ir.core import Operation
from tileir.ir.types import BF16, F16, F32, FloatType, IntegerType, Type
from tileir.ir.values import Value

# Limit for positions and extents: nothing lies beyond it.
_FAR = 1 << 62


def _wrapped(number: int) -> numpy.int64:
    """A number modulo 2^64, as the signed NumPy scalar with these bits."""
    return numpy.int64((number + (1 << 63)) % (1 << 64) - (1 << 63))


class TensorView:
    """Memory seen as a tensor: `strides` counts elements.  `array` is None if it does not fit its region."""

    __slots__ = ("address", "array", "devices", "element", "region", "shape", "size", "strides")

    def __init__(
        self, memory: Memory, element: Type, address: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        self.element: Type = element
        self.address: int = address
        self.shape: tuple[int, ...] = shape
        self.strides: tuple[int, ...] = strides
        self.size: int = dtypes.memory_bytes(element)
        self.region: Region | None = memory.find(address)
        self.array: Array | None = self._whole()
        # Of a multicast address, the tensor on each device.
        self.devices: list[TensorView] = [
            TensorView(memory, element, found, shape, strides) for found in memory.multicast_addresses(address)
        ]

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
            self.shape, dtypes.memory_dtype(self.element), region.data, self.address - region.start, byte_strides
        )


class TileView:
    """Tiles over a tensor.  In order of the tile's dimensions: `extents` and `strides` of the tensor, `steps` between
    tiles; `sparse` is the dimension whose positions an access lists, -1 for none."""

    __slots__ = ("_array", "devices", "extents", "shape", "sparse", "steps", "strides", "tensor")

    def __init__(self, tensor: TensorView, type: TileViewType) -> None:
        axes = type.dim_map
        self.steps: tuple[int, ...] = type.steps
        self.sparse: int = type.sparse_dim
        self.tensor: TensorView = tensor
        self.shape: tuple[int, ...] = type.tile_shape
        self.extents: tuple[int, ...] = tuple([tensor.shape[axis] for axis in axes])
        self.strides: tuple[int, ...] = tuple([tensor.strides[axis] for axis in axes])
        self._array: Array | None = tensor.array.transpose(axes) if tensor.array is not None else None
        self.devices: list[TileView] = [TileView(each, type) for each in tensor.devices]

    def part(self, index: list[Any]) -> Array | None:
        """The elements of a tile that lie in the tensor, as memory; None if they have to be found by address."""
        if self._array is None or self.sparse >= 0:
            return None
        firsts = map(mul, index, self.steps)
        slices: list[Any] = [slice(first, first + extent) for first, extent in zip(firsts, self.shape, strict=True)]
        # With the ellipsis it is an array even without dimensions.
        found: Array = self._array[(*slices, ...)]
        return found

    def is_distinct(self) -> bool:
        """Whether no two elements of a tile share memory."""
        return are_distinct(self.strides, map(min, self.shape, self.extents))

    def index_space(self) -> list[int]:
        return [-(-extent // step) for extent, step in zip(self.extents, self.steps, strict=True)]

    def addresses(self, index: list[Any]) -> tuple[Array, Array | None]:
        """The address of each element of a tile, and which of them lie in the tensor (None: all)."""
        offsets: Array = numpy.zeros(self.shape, numpy.int64)
        inside: Array = numpy.ones(self.shape, numpy.bool_)
        for axis, (number, extent, step) in enumerate(zip(index, self.shape, self.steps, strict=True)):
            # Positions in the tensor; those outside are negative or too big.
            if axis == self.sparse:
                positions = numpy.asarray(number).astype(numpy.int64)
            else:
                positions = min(int(number) * step, _FAR) + numpy.arange(extent, dtype=numpy.int64)
            positions = positions.reshape([-1 if each == axis else 1 for each in range(len(self.shape))])
            offsets = offsets + positions * _wrapped(self.strides[axis] * self.tensor.size)
            inside &= (positions >= 0) & (positions < min(self.extents[axis], _FAR))
        addresses = offsets.view(numpy.uint64) + numpy.uint64(self.tensor.address)
        return addresses, None if inside.all() else inside

    def box(self, index: list[Any]) -> Box | None:
        """The part of a tile that lies in the tensor; None for a tile of listed positions."""
        if self.sparse >= 0:
            return None
        strides = tuple([stride * self.tensor.size for stride in self.strides])
        firsts = [number * step for number, step in zip(index, self.steps, strict=True)]
        address = self.tensor.address + sum([first * stride for first, stride in zip(firsts, strides, strict=True)])
        counts = [
            max(min(extent, whole - first), 0)
            for extent, whole, first in zip(self.shape, self.extents, firsts, strict=True)
        ]
        return address, tuple(counts), strides


def run_tensor_view(operation: Operation, frame: Frame) -> None:
    type = cast(TensorViewType, operation.results[0].type)
    address = int(frame[operation.operands[0]])
    extents, distances = frame.program.prepared[operation]
    shape, strides = _numbers(frame, extents, type.shape), _numbers(frame, distances, type.strides)
    frame[operation.results[0]] = TensorView(frame.block.memory, type.element, address, shape, strides)


def _numbers(frame: Frame, values: list[Value], static: tuple[int, ...]) -> tuple[int, ...]:
    """Extents or strides: those of the type, with the operands where it has `?`."""
    given = iter([_unsigned(frame, value) for value in values])
    return tuple([next(given) if number == DYNAMIC else number for number in static])


def _unsigned(frame: Frame, value: Value) -> int:
    number = int(frame[value])
    return number if number >= 0 else number + (1 << cast(IntegerType, tile_of(value).element).width)


def run_tile_view(operation: Operation, frame: Frame) -> None:
    frame[operation.results[0]] = TileView(frame[operation.operands[0]], cast(TileViewType, operation.results[0].type))


def run_extents(operation: Operation, frame: Frame) -> None:
    view = frame[operation.operands[0]]
    numbers = view.shape if isinstance(view, TensorView) else view.index_space()
    # What does not fit is undefined; it wraps.
    elements = [tile_of(result).element for result in operation.results]
    frame.assign(operation.results, [dtypes.scalar_array(*each)[()] for each in zip(elements, numbers, strict=True)])


def padding_value(type: TileViewType) -> Array:
    """The view's padding value, an array without dimensions."""
    element = type.tensor.element
    keyword = type.padding.keyword if type.padding is not None else "zero"
    dtype = dtypes.value_dtype(element)
    if keyword == "zero" or not isinstance(element, FloatType):
        return numpy.zeros((), dtype)
    form = floats.FORMATS[element.name]
    number = {"neg_zero": -0.0, "nan": float("nan"), "pos_inf": float("inf"), "neg_inf": float("-inf")}[keyword]
    if not form.has_sign and keyword != "pos_inf":
        # No negative numbers: the nearest thing to minus zero is zero, to minus infinity a NaN.
        number = 0.0 if keyword == "neg_zero" else float("nan")
    try:
        bits = floats.from_double(form, number)
    except ValueError:
        # f4E2M1FN has neither NaN nor infinity.
        bits = 0
    return dtypes.from_bits(element, numpy.array(bits, dtypes.bits_dtype(element)))


def _viewed(operation: Operation, frame: Frame) -> tuple[TileView, list[Any], Any]:
    """The view of an access, its index as numbers, of which only positions of a gather view may be negative, and what
    else was prepared for the access."""
    viewed, indices, prepared = frame.program.prepared[operation]
    view: TileView = frame[viewed]
    index: list[Any]
    if view.sparse < 0:
        index = [_unsigned(frame, value) for value in indices]
    else:
        index = [value if axis == view.sparse else int(value) for axis, value in enumerate(frame.values_of(indices))]
    return view, index, prepared


def _allowed(
    operation: Operation, frame: Frame, kind: str, view: TileView, index: list[Any], device: int = 0
) -> Array | None:
    """Which elements the observer lets an access touch, None for all."""
    if not frame.program.observes_accesses:
        return None
    size, box = view.tensor.size, view.box(index)
    access = Access(kind, operation, frame.block, size, lambda: view.addresses(index), None, view, box, index, device)
    return cast(Observer, frame.program.options.observer).access(access)


def _addresses(view: TileView, index: list[Any], allowed: Array | None) -> tuple[Array, Array]:
    """The addresses of a tile, and which of them to touch."""
    addresses, inside = view.addresses(index)
    if inside is None:
        inside = numpy.ones(view.shape, numpy.bool_)
    return addresses, inside if allowed is None else numpy.logical_and(inside, allowed)


def _load(
    operation: Operation, frame: Frame, view: TileView, index: list[Any], allowed: Array | None, padding: Array
) -> Array:
    element = view.tensor.element
    part = view.part(index) if allowed is None else None
    # A copy: the memory may change while the tile is in use.
    if part is not None and part.shape == view.shape:
        return numpy.array(dtypes.from_memory(element, part))
    tile = numpy.full(view.shape, padding)
    if part is not None:
        tile[tuple([slice(extent) for extent in part.shape])] = dtypes.from_memory(element, part)
    else:
        addresses, inside = _addresses(view, index, allowed)
        tile[inside] = gather(operation, frame, element, addresses[inside], inside)
    return tile


def _combine(
    operation: Operation,
    frame: Frame,
    view: TileView,
    index: list[Any],
    allowed: Array | None,
    tile: Any,
    kernel: Callable[[Any, Any], Any],
) -> None:
    addresses, inside = _addresses(view, index, allowed)
    values = numpy.asarray(tile)
    with reported_misses(operation, frame.block, inside):
        combine_atomically(frame.block, view.tensor.element, addresses[inside], values[inside], kernel)


def run_load_view(operation: Operation, frame: Frame) -> None:
    view, index, padding = _viewed(operation, frame)
    allowed = _allowed(operation, frame, "read", view, index)
    tile = _load(operation, frame, view, index, allowed, padding)
    frame[operation.results[0]] = tile[()]


def run_store_view(operation: Operation, frame: Frame) -> None:
    view, index, stored = _viewed(operation, frame)
    allowed = _allowed(operation, frame, "write", view, index)
    element, tile = view.tensor.element, frame[stored]
    # Of elements that share memory the last one stays.
    part = view.part(index) if allowed is None and view.is_distinct() else None
    if part is None or not part.flags.writeable:
        scatter(operation, frame, element, *_addresses(view, index, allowed), tile)
    else:
        part[...] = dtypes.to_memory(element, numpy.asarray(tile))[tuple([slice(extent) for extent in part.shape])]


def run_atomic_view(operation: Operation, frame: Frame) -> None:
    view, index, kernel = _viewed(operation, frame)
    allowed = _allowed(operation, frame, "atomic", view, index)
    _combine(operation, frame, view, index, allowed, frame[operation.value], kernel)


# --- several devices ---


def multimem_kernel(reduction: str, element: Type, accumulates: bool) -> Callable[[Any, Any], Any]:
    """How multimem combines two values; a load `accumulates`: it adds f16 and bf16 in f32, and rounds the sum."""
    if not isinstance(element, FloatType):
        return atomic_kernel(reduction, element)
    if reduction == "add":
        return float_binary(ops.ADDF, F32 if accumulates and element in (F16, BF16) else element)
    # A number wins over a NaN.
    return numpy.fmin if reduction == "min" else numpy.fmax


def _on_each_device(operation: Operation, frame: Frame, kind: str) -> list[tuple[TileView, list[Any], Array | None]]:
    """The view of each device, the index, and which elements the observer lets the access touch there."""
    view, index, _ = _viewed(operation, frame)
    if not view.devices:
        raise ExecutionError(NOT_MULTICAST.format(view.tensor.address), operation, frame.block.id)
    return [
        (each, index, _allowed(operation, frame, kind, each, index, device)) for device, each in enumerate(view.devices)
    ]


def run_multimem_load(operation: Operation, frame: Frame) -> None:
    padding, kernel = frame.program.prepared[operation][2]
    found = [_load(operation, frame, *each, padding) for each in _on_each_device(operation, frame, "read")]
    element = tile_of(operation.results[0]).element
    is_sum = operation.reduction == "add" and element in (F16, BF16)
    total = found[0].astype(numpy.float32) if is_sum else found[0]
    for tile in found[1:]:
        total = kernel(total, tile.astype(total.dtype))
    frame[operation.results[0]] = total.astype(found[0].dtype)[()]


def run_multimem_store(operation: Operation, frame: Frame) -> None:
    for view, index, allowed in _on_each_device(operation, frame, "write"):
        scatter(operation, frame, view.tensor.element, *_addresses(view, index, allowed), frame[operation.tile])


def run_multimem_reduce(operation: Operation, frame: Frame) -> None:
    for view, index, allowed in _on_each_device(operation, frame, "atomic"):
        kernel = frame.program.prepared[operation][2]
        _combine(operation, frame, view, index, allowed, frame[operation.tile], kernel)
