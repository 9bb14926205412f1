"""Watching a program run: the interface of the sanitizer, the trace and the NaN watch.

Subclass `Observer`, override what is needed and hand it to `Kernel.launch(..., observer=...)`.  The interpreter only
calls what a subclass overrides: a launch without an observer pays nothing, one that only watches memory does not pay
for values.

Order of the calls: `launch_started`, then for each tile block `block_started`, for each operation `before`, `access`
(once for each access to memory it makes) and `after`, then `block_finished`, at last `launch_finished` (also when an
error ends the launch).  Operations with regions are seen around what they contain; `after` is left out for one that a
`break`, `continue` or `return` inside it ended before it had results.
The body of `reduce` and `scan` runs on many elements at once: its operations are seen with whole slices as values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.errors import BlockId, ExecutionError
from tileir.execute.memory import Memory, Region
from tileir.ir.core import Operation
from tileir.ir.values import Value

# The address of the first element, the number of elements along each dimension, the bytes between them.
Box = tuple[int, tuple[int, ...], tuple[int, ...]]


@dataclass(slots=True, eq=False)
class TileBlock:
    """One tile block as it runs: where it is in the grid, and the memory it sees."""

    id: BlockId
    number: int  # The block's place in the grid, x fastest.
    grid: BlockId
    memory: Memory
    write: Callable[[str], object]
    observer: Observer | None = None
    switch: Callable[[], None] | None = None
    # What `alloca` reserved and is not given back yet.
    allocations: list[Region] = field(default_factory=list, init=False)


@dataclass(slots=True, eq=False)
class Access:
    """One access of a memory operation, before it happens.

    `kind` is "read", "write" or "atomic" (read and write in one step), `size` the bytes of an element, `shape` the
    shape of the tile.  `addresses` has that shape; elements where `mask` is false are not touched (None: all are),
    because the program masks them or because they lie outside a view's tensor.

    An access through a view has the `view`, None for pointers, and unless it gathers or scatters a `box`: the address
    of the first element within the tensor, how many there are along each dimension, and how many bytes apart.  `index`
    is then the index of the tile in the view.  A multimem operation makes one access for each `device`.  Addresses and
    mask of such an access are computed when they are read.
    """

    kind: str
    operation: Operation
    block: TileBlock
    size: int
    _addresses: Array | Callable[[], tuple[Array, Array | None]]
    _mask: Array | None
    view: object = None
    box: Box | None = None
    index: Sequence[int] = ()
    device: int = 0

    @property
    def addresses(self) -> Array:
        """The address of each element of the tile, uint64."""
        if not isinstance(self._addresses, numpy.ndarray):
            self._addresses, self._mask = self._addresses()
        return self._addresses

    @property
    def mask(self) -> Array | None:
        """Which elements of the tile are touched; None: all."""
        _ = self.addresses
        return self._mask

    @property
    def touched(self) -> Array:
        """The addresses of the elements that are touched, flat."""
        mask = self.mask
        return self.addresses.reshape(-1) if mask is None else self.addresses[mask]


def even_steps(places: Array) -> list[tuple[int, int]] | None:
    """Extents and strides of the tile's dimensions with more than one position; None if they are not even."""
    found: list[tuple[int, int]] = []
    for axis, extent in enumerate(places.shape):
        if extent > 1:
            steps = numpy.diff(places, axis=axis)
            found.append((extent, int(steps.item(0))))
            if not (steps == steps.item(0)).all():
                return None
    return found


class Observer:
    """What can be watched; every method does nothing here."""

    def launch_started(self, grid: BlockId, memory: Memory) -> None:
        """The arrays of the launch are known, nothing ran yet."""

    def launch_finished(self) -> None:
        """All blocks are done, or an error ended the launch."""

    def block_started(self, block: TileBlock) -> None:
        """A tile block begins."""

    def block_finished(self, block: TileBlock) -> None:
        """A tile block is done."""

    def watches(self, operation: Operation) -> bool:
        """Whether to call `before` and `after` for an operation; it is called once, when the launch is prepared."""
        return True

    def wants(self, operation: Operation) -> Sequence[Value]:
        """Values, computed by then, that `before` gets behind the operands of a watched operation."""
        return ()

    def token(self, operation: Operation, block: TileBlock, tokens: list[Any]) -> Any:
        """An operation that makes a token is about to run; returns the observer's value for its token.

        `tokens` are such values of its operands.  Control flow carries them along like any value; None is an unknown
        token.
        """
        return None

    def failed(self, error: ExecutionError, block: TileBlock) -> bool:
        """An error ended a tile block.  True: it is dealt with, and the other blocks go on."""
        return False

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        """An operation is about to run.  Tiles are NumPy arrays or scalars, tokens None, views their own objects."""

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        """An operation has run.  Change nothing, neither values nor arrays of the launch: tiles may share memory."""

    def access(self, access: Access) -> Array | None:
        """Memory is about to be accessed.

        None lets it happen; an array of truth values in the shape of the tile lets only these elements happen (others
        read as zero and are not written), so that a sanitizer can report what is wrong and go on.
        """
        return None


class Observers(Observer):
    """Several observers of one launch; tokens come from the first that overrides `token`."""

    def __init__(self, observers: list[Observer]) -> None:
        self._observers: list[Observer] = observers
        self._tokens: Observer | None = next((one for one in observers if overrides(one, "token")), None)
        self._watched: dict[Operation, list[Observer]] = {}
        # The range of the extra values that an observer requested, behind the operands.
        self._requested: dict[tuple[Operation, Observer], slice] = {}

    def launch_started(self, grid: BlockId, memory: Memory) -> None:
        for one in self._observers:
            one.launch_started(grid, memory)

    def launch_finished(self) -> None:
        for one in self._observers:
            one.launch_finished()

    def block_started(self, block: TileBlock) -> None:
        for one in self._observers:
            one.block_started(block)

    def block_finished(self, block: TileBlock) -> None:
        for one in self._observers:
            one.block_finished(block)

    def watches(self, operation: Operation) -> bool:
        watching = self._watched[operation] = [one for one in self._observers if one.watches(operation)]
        return bool(watching)

    def wants(self, operation: Operation) -> Sequence[Value]:
        requested: list[Value] = []
        for one in self._observers:
            values = one.wants(operation)
            if values:
                start = len(operation.operands) + len(requested)
                self._requested[operation, one] = slice(start, start + len(values))
                requested += values
        return requested

    def token(self, operation: Operation, block: TileBlock, tokens: list[Any]) -> Any:
        return self._tokens.token(operation, block, tokens) if self._tokens is not None else None

    def failed(self, error: ExecutionError, block: TileBlock) -> bool:
        return True in [one.failed(error, block) for one in self._observers]

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        if len(operands) == len(operation.operands):
            for one in self._watched.get(operation, ()):
                one.before(operation, block, operands)
            return
        own = operands[: len(operation.operands)]
        for one in self._watched.get(operation, ()):
            more = self._requested.get((operation, one))
            one.before(operation, block, own if more is None else own + operands[more])

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        for one in self._watched.get(operation, ()):
            one.after(operation, block, results)

    def access(self, access: Access) -> Array | None:
        allowed: Array | None = None
        for one in self._observers:
            answer = one.access(access)
            if answer is not None:
                allowed = answer if allowed is None else numpy.logical_and(allowed, answer)
        return allowed


class ObserverCallback(Observer):
    """Calls a function after each operation: `function(operation, block, operands, results)`.

    Of an operation with regions, the operations inside come first.  One that a `break`, `continue` or `return` ended is
    left out.
    """

    def __init__(self, function: Callable[[Operation, TileBlock, list[Any], list[Any]], object]) -> None:
        self._function: Callable[[Operation, TileBlock, list[Any], list[Any]], object] = function
        self._operands: dict[tuple[int, Operation], list[Any]] = {}

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        self._operands[block.number, operation] = operands

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        self._function(operation, block, self._operands.pop((block.number, operation), []), results)

    def block_finished(self, block: TileBlock) -> None:
        for key in [key for key in self._operands if key[0] == block.number]:
            del self._operands[key]


def overrides(observer: Observer, method: str) -> bool:
    """Whether an observer's class has its own version of a method."""
    return getattr(type(observer), method) is not getattr(Observer, method)
