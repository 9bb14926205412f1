"""A launch that is tried: how far it reaches beyond its arrays, and over which tiles of its views.

Accesses outside of the arrays are left out, so that one trial finds all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, cast

import numpy

from tileir.dialect import ops
from tileir.dialect.types import DYNAMIC, TensorViewType, TileViewType
from tileir.execute.analysis.pointer_origins import origin_of_access
from tileir.execute.arguments.array_memory import byte_range
from tileir.execute.arguments.binding import ArgumentLabel
from tileir.execute.dtypes import Array
from tileir.execute.errors import BlockId, ExecutionError
from tileir.execute.memory import Memory, Region
from tileir.execute.observing.observer import Access, Observer, TileBlock
from tileir.ir.core import Operation
from tileir.ir.values import OperationResult, Value

_MOST_STEPS: Final = 300_000
"""Operations of loops that a trial goes through, and its accesses: a second or two."""
_STEPS_OF_ACCESS: Final = 10
_ELEMENTS_OF_STEP: Final = 64


class Rejected(Exception):
    """A choice of integers leads nowhere; the message explains why."""


class TooSlow(Rejected):
    """A trial takes too long."""


class TrialObserver(Observer):
    """Watches a trial.  The arrays lie far apart in memory that is reserved for them."""

    def __init__(self) -> None:
        self.needed: dict[int, int] = {}
        """The bytes that the array of an argument must have at least."""
        self.stray: str = ""
        """An access that no larger array would help."""
        self.spaces: dict[int, int] = {}
        """How many tiles there are along the axes of the grid that count tiles of views."""
        self.stored: int = 1
        """How many tiles the view has that is stored to."""
        self.views: bool = False
        self.beyond: bool = False
        """Whether an index lies outside of the index space of its view."""
        self.extents: dict[Value, int] = {}
        """How large extents must be for that not to happen, by the parameter that holds them."""
        self._steps: int = 0
        self._weights: dict[Operation, int] = {}
        self._starts: dict[int, tuple[int, Region]] = {}
        self._origin: Callable[[Operation], str] = cache(origin_of_access)

    def launch_started(self, grid: BlockId, memory: Memory) -> None:
        for region in memory.regions:
            for label in region.labels:
                if isinstance(label, ArgumentLabel) and label.number >= 0:
                    self._starts[label.number] = (region.start, region)

    def watches(self, operation: Operation) -> bool:
        block = operation.parent
        if block is None or block.first is not operation:
            return False
        owner = block.parent_operation
        if owner is None or not owner.declaration.is_loop:
            return False
        self._weights[operation] = len(block)
        return True

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        self._count(self._weights[operation])

    def block_started(self, block: TileBlock) -> None:
        self._count(1)

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > _MOST_STEPS:
            raise TooSlow("it takes too long")

    def failed(self, error: ExecutionError, block: TileBlock) -> bool:
        # The sanitizer reports it in a later run.
        return True

    def access(self, access: Access) -> Array | None:
        if access.view is not None:
            self._note_view(access)
        touched = access.touched
        self._count(_STEPS_OF_ACCESS + touched.size // _ELEMENTS_OF_STEP)
        if not touched.size:
            return None
        number = self._array(access, int(touched[0]))
        if number is None:
            # What 'alloca' reserved and globals have the size they have.
            if access.block.memory.owners(touched, access.size).min() >= 0:
                return None
            self.stray = self.stray or f"'{access.operation.declaration.mnemonic}' goes to an address of no array"
            return numpy.zeros(access.addresses.shape, numpy.bool_)
        start, region = self._starts[number]
        low, high = int(touched.min()), int(touched.max()) + access.size
        if start <= low and high <= region.end:
            return None
        if low < start:
            self.stray = self.stray or f"'{access.operation.declaration.mnemonic}' goes before argument {number}"
        self._need(number, high - start)
        last = numpy.uint64(max(region.end - access.size, 0))
        inside: Array = (access.addresses >= numpy.uint64(start)) & (access.addresses <= last)
        return inside

    def _need(self, number: int, size: int) -> None:
        self.needed[number] = max(self.needed.get(number, 0), size)

    def _array(self, access: Access, address: int) -> int | None:
        """The argument whose array an access belongs to: where its pointer comes from, else the one before it."""
        origin = self._origin(access.operation)
        if origin:
            return self._named(origin)
        region = access.block.memory.find(address)
        if region is not None:
            return next((number for number, (_, known) in self._starts.items() if known is region), None)
        before = [(start, number) for number, (start, _) in self._starts.items() if start <= address]
        return max(before)[1] if before else None

    def _named(self, origin: str) -> int | None:
        """The argument with an array that is an origin, if it is one."""
        return next((number for number in self._starts if origin == f"argument {number}"), None)

    def _note_view(self, access: Access) -> None:
        view: Any = access.view
        self.views = True
        tensor = view.tensor
        number = self._named(self._origin(access.operation))
        if number is not None and 0 not in tensor.shape:
            start, region = self._starts[number]
            strides = tuple([stride * tensor.size for stride in tensor.strides])
            _, end = byte_range(tensor.address, tensor.shape, strides, tensor.size)
            if end > region.end:
                self._need(number, end - start)
        if access.box is None:
            return
        space = view.index_space()
        if access.kind != "read":
            self.stored = max(self.stored, int(numpy.prod(space)))
        for dimension, (count, index, step) in enumerate(zip(access.box[1], access.index, view.steps, strict=True)):
            # The index is outside of the index space: which parameter would have to be larger?
            self.beyond |= count == 0
            parameter = extent_parameter(access.operation, dimension) if count == 0 else None
            if parameter is not None:
                self.extents[parameter] = max(self.extents.get(parameter, 0), (int(index) + 1) * step)
        for extent, value in zip(space, access.operation.index, strict=False):
            axis = block_axis(value)
            if axis is not None:
                self.spaces[axis] = min(self.spaces.get(axis, extent), extent)


# --- where indices and extents come from ---

SAME_VALUE: Final = (ops.ASSUME, ops.EXTI, ops.TRUNCI, ops.RESHAPE, ops.BROADCAST)


def dynamic_axes(numbers: tuple[int, ...]) -> list[int]:
    """The dimensions whose extents or strides are operands."""
    return [axis for axis, number in enumerate(numbers) if number == DYNAMIC]


def extent_parameter(access: Operation, axis: int) -> Value | None:
    """The parameter that is the extent of the tensor along a dimension of the tiles that an operation accesses."""
    view = next((value for value in access.operands if isinstance(value.type, TileViewType)), None)
    maker = view.defining_operation if view is not None else None
    tensor = maker.operands[0].defining_operation if maker is not None and maker.operands else None
    if view is None or tensor is None or tensor.declaration is not ops.MAKE_TENSOR_VIEW:
        return None
    along = cast(TileViewType, view.type).dim_map[axis]
    dynamic = dynamic_axes(cast(TensorViewType, tensor.results[0].type).shape)
    if along not in dynamic:
        return None
    return parameter_of(tensor.dynamic_shape[dynamic.index(along)])


def parameter_of(value: Value) -> Value:
    """What a value is another name of."""
    while True:
        operation = value.defining_operation
        if operation is None or operation.declaration not in SAME_VALUE:
            return value
        value = operation.operands[0]


def block_axis(value: Value) -> int | None:
    """The axis of the grid along which a value is the coordinate of the tile block."""
    source = parameter_of(value)
    if isinstance(source, OperationResult) and source.operation.declaration is ops.GET_TILE_BLOCK_ID:
        return source.index
    return None
