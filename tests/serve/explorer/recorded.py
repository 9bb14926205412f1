"""Recorded launches to be looked at, and what an observer of its own notes about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

import tileir
from tileir.execute.observing.observer import Access, Observer
from tileir.execute.recording.recording import Recording, record
from tileir.serve.explorer.opening import recording_part
from tileir.serve.explorer.questions import Explorer

_EXAMPLES = Path(__file__).parents[3] / "examples"

_BOXES = """cuda_tile.module @kernels {
  entry @twice(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>) {
    %i, %j, %k = get_tile_block_id : tile<i32>
    %a = make_tensor_view %x, shape = [4, 10, 12], strides = [120, 12, 1] : tensor_view<4x10x12xf32, strides=[120,12,1]>
    %b = make_tensor_view %y, shape = [4, 10, 12], strides = [120, 12, 1] : tensor_view<4x10x12xf32, strides=[120,12,1]>
    %p = make_partition_view %a : partition_view<tile=(2x4x8), padding_value = zero, tensor_view<4x10x12xf32, strides=[120,12,1]>>
    %q = make_partition_view %b : partition_view<tile=(2x4x8), tensor_view<4x10x12xf32, strides=[120,12,1]>>
    %t, %t0 = load_view_tko weak %p[%k, %j, %i] : partition_view<tile=(2x4x8), padding_value = zero, tensor_view<4x10x12xf32, strides=[120,12,1]>>, tile<i32> -> tile<2x4x8xf32>, token
    %s = addf %t, %t : tile<2x4x8xf32>
    %t1 = store_view_tko weak %s, %q[%k, %j, %i] : tile<2x4x8xf32>, partition_view<tile=(2x4x8), tensor_view<4x10x12xf32, strides=[120,12,1]>>, tile<i32> -> token
    return
  }
}
"""


class Launch:
    """A kernel, a grid and arrays; each use gets arrays of its own."""

    def __init__(self, kernel: Any, grid: tuple[int, ...], arguments: list[Any]) -> None:
        self.kernel = kernel
        self.grid = grid
        self._arguments = arguments

    @property
    def arguments(self) -> list[Any]:
        return [one.copy() if isinstance(one, numpy.ndarray) else one for one in self._arguments]

    def recording(self, **options: Any) -> Recording:
        return record(self.kernel, self.grid, self.arguments, **options)

    def notes(self, **options: Any) -> Notes:
        """What a plain launch touches."""
        arguments = self.arguments
        notes = Notes([one for one in arguments if isinstance(one, numpy.ndarray)])
        self.kernel.launch(self.grid, arguments, observer=notes, **options)
        return notes


class Notes(Observer):
    """Every access of a launch: its block, its kind, and for each array the elements, by their place in it."""

    def __init__(self, arrays: list[Any]) -> None:
        self.arrays = arrays
        self.accesses: list[tuple[int, str, int, Any]] = []

    def access(self, access: Access) -> None:
        touched = access.touched.astype(numpy.int64)
        for number, array in enumerate(self.arrays):
            offsets = touched - array.ctypes.data
            if offsets.size and int(offsets.min()) >= 0 and int(offsets.max()) < array.nbytes:
                elements = numpy.unique(offsets // array.itemsize)
                self.accesses.append((access.block.number, access.kind, number, elements))

    def picture(self, array: int, quantity: str, kinds: tuple[str, ...] = ("read", "write", "atomic")) -> Any:
        """For each element the number of accesses, or the block of the last or first one (-1: none)."""
        flat = numpy.full(self.arrays[array].size, 0 if quantity == "count" else -1, numpy.int64)
        for block, kind, number, elements in self.accesses:
            if number != array or kind not in kinds:
                continue
            if quantity == "count":
                flat[elements] += 1
            elif quantity == "last":
                flat[elements] = block
            else:
                flat[elements] = numpy.where(flat[elements] == -1, block, flat[elements])
        return flat.reshape(self.arrays[array].shape)

    def conflicts(self, array: int) -> Any:
        """The elements that two blocks touch, one of them writing, and not both in one atomic step."""
        users: dict[int, set[tuple[int, str]]] = {}
        for block, kind, number, elements in self.accesses:
            if number == array:
                for element in elements.tolist():
                    users.setdefault(element, set()).add((block, kind))
        flat = numpy.zeros(self.arrays[array].size, numpy.bool_)
        for element, touching in users.items():
            flat[element] = any(
                one[0] != other[0]
                and (one[1], other[1]) != ("atomic", "atomic")
                and (one[1], other[1]) != ("read",) * 2
                for one in touching
                for other in touching
            )
        return flat.reshape(self.arrays[array].shape)


def example(name: str, grid: tuple[int, ...], *arguments: Any) -> Launch:
    return Launch(tileir.compile(tileir.load(_EXAMPLES / f"{name}.mlir"), entry=name), grid, list(arguments))


def vector_add(count: int = 1000) -> Launch:
    a = numpy.arange(count, dtype=numpy.float32)
    return example("vector_add", (-(-count // 128),), a, 2 * a, numpy.zeros_like(a), count)


def matmul(rows: int = 100, columns: int = 120, inner: int = 80) -> Launch:
    random = numpy.random.default_rng(1)
    a = random.standard_normal((rows, inner)).astype(numpy.float16)
    b = random.standard_normal((inner, columns)).astype(numpy.float16)
    c = numpy.zeros((rows, columns), numpy.float32)
    return example("matmul", (-(-rows // 64), -(-columns // 64)), a, b, c, rows, columns, inner)


def histogram(count: int = 1000, buckets: int = 50) -> Launch:
    values = numpy.random.default_rng(2).integers(0, buckets, count).astype(numpy.int32)
    return example("histogram", (-(-count // 128),), values, numpy.zeros(buckets, numpy.int32), count)


def racy(count: int = 512) -> Launch:
    return example(
        "racy", (-(-count // 128),), numpy.arange(count, dtype=numpy.int32), numpy.zeros(1, numpy.int32), count
    )


def boxes() -> Launch:
    """Tiles of three dimensions, some of which hang over the edges of their arrays."""
    x = numpy.arange(480, dtype=numpy.float32).reshape(4, 10, 12)
    return Launch(tileir.compile(tileir.parse(_BOXES), entry="twice"), (2, 3, 2), [x, numpy.zeros_like(x)])


def explorer_of(recording: Recording) -> Explorer:
    """An explorer that knows the recording alone."""
    return Explorer([recording_part(recording, "test")])
