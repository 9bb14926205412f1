"""Reading and writing through views.

Everything outside the tensor is padding to a load and nothing to a store, also when the whole tile is outside, where
the dialect leaves the behavior undefined.  Without a padding value it reads as zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy

from tileir.dialect.types import GatherScatterViewType, TileViewType
from tileir.execute.dtypes import (
    Array,
    bits_dtype,
    from_bits,
    from_memory,
    memory_bytes,
    memory_dtype,
    plain_memory,
    to_memory,
    value_dtype,
)
from tileir.execute.interpreter.compiler import BLOCK_SLOT, Compiler, Registers, Step
from tileir.execute.interpreter.pointers import atomic_kernel, combine_atomically, missed
from tileir.execute.interpreter.reading import BORROWED, KEPT, how_held
from tileir.execute.interpreter.shapes import tile_of
from tileir.execute.interpreter.views import TileView
from tileir.execute.memory import OutsideMemory
from tileir.execute.observing.observer import Access, TileBlock, overrides
from tileir.ir import floats
from tileir.ir.core import Operation
from tileir.ir.types import FloatType, IntegerType, Type


def padding_value(type: TileViewType) -> Array:
    """The view's padding value, an array without dimensions."""
    element = type.tensor.element
    keyword = type.padding.keyword if type.padding is not None else "zero"
    dtype = value_dtype(element)
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
    return from_bits(element, numpy.array(bits, bits_dtype(element)))


def _padding_tile(type: TileViewType) -> Array:
    value = padding_value(type)
    full: Array = numpy.empty(type.tile_shape, value.dtype)
    full[...] = value
    return full


def _indices(compiler: Compiler, operation: Operation) -> Callable[[Registers], list[Any]]:
    """The index of an access as numbers: unsigned, except that positions of a gather view may be negative."""
    values = operation.index
    slots = [compiler.slot(value) for value in values]
    view = cast(TileViewType, operation.view.type)
    if isinstance(view, GatherScatterViewType):
        sparse = view.sparse_dim
        return lambda registers: [
            registers[slot] if axis == sparse else int(registers[slot]) for axis, slot in enumerate(slots)
        ]
    moduli = [1 << cast(IntegerType, tile_of(value).element).width for value in values]

    def indices(registers: Registers) -> list[Any]:
        numbers = [int(registers[slot]) for slot in slots]
        if numbers and min(numbers) < 0:
            numbers = [number % modulus for number, modulus in zip(numbers, moduli, strict=True)]
        return numbers

    return indices


# Asks the observer about an access; the answer is None, or which elements may be touched.
ViewWatch = Callable[[TileBlock, TileView, "list[Any]"], "Array | None"]


def _watcher(compiler: Compiler, operation: Operation, kind: str, element: Type) -> ViewWatch | None:
    observer = compiler.options.observer
    if observer is None or not overrides(observer, "access"):
        return None
    ask = observer.access
    size = memory_bytes(element)

    def watch(block: TileBlock, view: TileView, index: list[Any]) -> Array | None:
        return ask(Access(kind, operation, block, size, lambda: view.reach(index), None, view, view.box(index), index))

    return watch


def _reach_allowed(view: TileView, index: list[Any], allowed: Array | None) -> tuple[Array, Array | None]:
    """The addresses of a tile, and which of them to touch."""
    addresses, inside = view.reach(index)
    if allowed is not None:
        inside = allowed if inside is None else numpy.logical_and(inside, allowed)
    return addresses, inside


def _slices(view: TileView, index: list[Any]) -> tuple[slice, ...]:
    return tuple(
        [
            slice(number * step, number * step + extent)
            for number, step, extent in zip(index, view.steps, view.shape, strict=True)
        ]
    )


def compile_load_view(compiler: Compiler, operation: Operation) -> Step:
    view_slot = compiler.slot(operation.view)
    result = compiler.slot(operation.results[0])
    type = cast(TileViewType, operation.view.type)
    element, shape = type.tensor.element, type.tile_shape
    dtype, plain = memory_dtype(element), plain_memory(element)
    padding = _padding_tile(type)
    indices = _indices(compiler, operation)
    watch = _watcher(compiler, operation, "read", element)
    sliced = not isinstance(type, GatherScatterViewType)
    held = how_held(compiler, operation)
    borrowed, kept = held == BORROWED, held == KEPT

    def load_by_address(block: TileBlock, view: TileView, index: list[Any], allowed: Array | None) -> Array:
        addresses, inside = _reach_allowed(view, index, allowed)
        try:
            if inside is None or inside.all():
                return from_memory(element, block.memory.gather(addresses, dtype))
            tile = padding.copy()
            if inside.any():
                tile[inside] = from_memory(element, block.memory.gather(addresses[inside], dtype))
            return tile
        except OutsideMemory as error:
            missed(error, operation, block, shape, inside)

    def load_edge(view: TileView, array: Array, index: list[Any]) -> Array:
        """A tile of which the tensor has a part only, or nothing."""
        part = array[_slices(view, index)]
        tile = padding.copy()
        tile[tuple([slice(extent) for extent in part.shape])] = from_memory(element, part)
        return tile

    def load(registers: Registers) -> None:
        view: TileView = registers[view_slot]
        index = indices(registers)
        block: TileBlock = registers[BLOCK_SLOT]
        allowed = watch(block, view, index) if watch is not None else None
        array = view.array
        if array is None or not sliced or allowed is not None:
            registers[result] = load_by_address(block, view, index, allowed)
            return
        known = view.kept.get((view, *index)) if kept else None
        if known is not None:
            registers[result] = known
            return
        try:
            tile = view.whole[tuple(index)]
        except (IndexError, OverflowError):
            registers[result] = load_edge(view, array, index)
            return
        if not borrowed or not view.orderly:
            # A copy: the memory may change while the tile is in use.
            tile = tile.copy() if plain else from_memory(element, tile)
        if kept and view.tensor.region is not None:
            view.tensor.region.keep((view, *index), tile)
        registers[result] = tile

    if not sliced or watch is not None or len(shape) != 2:
        return load
    first, second = (compiler.slot(value) for value in operation.index)

    def load_borrowed(registers: Registers) -> None:
        view: TileView = registers[view_slot]
        row, column = int(registers[first]), int(registers[second])
        if row >= 0 and column >= 0 and view.orderly:
            try:
                registers[result] = view.whole[row, column]
                return
            except IndexError:
                pass
        load(registers)

    def load_kept(registers: Registers) -> None:
        view: TileView = registers[view_slot]
        tile = view.kept.get((view, int(registers[first]), int(registers[second])))
        if tile is not None:
            registers[result] = tile
        else:
            load(registers)

    return load_borrowed if borrowed else load_kept if kept else load


def compile_store_view(compiler: Compiler, operation: Operation) -> Step:
    source = compiler.slot(operation.tile)
    view_slot = compiler.slot(operation.view)
    type = cast(TileViewType, operation.view.type)
    element, shape = type.tensor.element, type.tile_shape
    plain = plain_memory(element)
    indices = _indices(compiler, operation)
    watch = _watcher(compiler, operation, "write", element)
    sliced = not isinstance(type, GatherScatterViewType)

    def store(registers: Registers) -> None:
        view: TileView = registers[view_slot]
        value = registers[source]
        if not plain:
            value = to_memory(element, value)
        index = indices(registers)
        array = view.array
        block: TileBlock = registers[BLOCK_SLOT]
        region = view.tensor.region
        allowed = watch(block, view, index) if watch is not None else None
        if (
            array is not None
            and sliced
            and allowed is None
            and region is not None
            and region.writable
            and view.is_distinct()
        ):
            region.changed()
            try:
                view.whole[tuple(index)] = value
            except (IndexError, OverflowError):
                part = array[_slices(view, index)]
                part[...] = value[tuple([slice(extent) for extent in part.shape])]
            return
        addresses, inside = _reach_allowed(view, index, allowed)
        try:
            if inside is None or inside.all():
                block.memory.scatter(addresses, value)
            elif inside.any():
                block.memory.scatter(addresses[inside], value[inside])
        except OutsideMemory as error:
            missed(error, operation, block, shape, inside)

    return store


def compile_atomic_view(compiler: Compiler, operation: Operation) -> Step:
    view_slot = compiler.slot(operation.view)
    source = compiler.slot(operation.value)
    type = cast(TileViewType, operation.view.type)
    element, shape = type.tensor.element, type.tile_shape
    kernel = atomic_kernel(operation.mode, element)
    indices = _indices(compiler, operation)
    watch = _watcher(compiler, operation, "atomic", element)

    def reduce(registers: Registers) -> None:
        view: TileView = registers[view_slot]
        block: TileBlock = registers[BLOCK_SLOT]
        index = indices(registers)
        allowed = watch(block, view, index) if watch is not None else None
        addresses, inside = _reach_allowed(view, index, allowed)
        value = registers[source]
        try:
            if inside is None:
                combine_atomically(block, element, addresses.reshape(-1), value.reshape(-1), kernel)
            elif inside.any():
                combine_atomically(block, element, addresses[inside], value[inside], kernel)
        except OutsideMemory as error:
            missed(error, operation, block, shape, inside)

    return reduce
