"""Launches whose arguments somebody else has looked at: those of cuTile's kernels that are like one before.

`numbers` has for an array its address, the parameters that follow it as bytes, 8 for each, and its size, and for a
scalar its value: the slots of a record, in order.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tileir.dialect.types import TileType
from tileir.execute.arguments import Pointer
from tileir.execute.engine import Again, DirectLaunches, Given, LaunchOptions
from tileir.execute.errors import BlockId, LaunchError
from tileir.execute.generated_functions import generated
from tileir.execute.gpu.driver.devices import Device
from tileir.execute.gpu.driver.errors import OTHER_CONTEXT
from tileir.execute.gpu.driver.library import Driver
from tileir.execute.gpu.packing import CONFIGURATION, THREADS, Packer, Record, scalar_slot
from tileir.execute.gpu.streams import library_of, torch_stream
from tileir.ir.types import Type

Fill = Callable[..., None]
"""Of the memory of a record, x, y, z, the stream and the numbers."""

_A_TABLE: Final = 1
"""The parameters that follow a list of arrays: how many there are.  Its table is not on the GPU yet."""


class Ready(NamedTuple):
    """What launches on a GPU need that was launched on before."""

    place: Device
    context: int
    function: Any
    of: Driver
    launch: Any
    launch_in: Callable[[int, Record, Any], int]


if TYPE_CHECKING:
    from typing import Protocol

    class Launcher(Protocol):
        """A kernel, as these launches use it."""

        @property
        def name(self) -> str: ...

        @property
        def packer(self) -> Packer: ...

        def ready(self, ordinal: int) -> Ready | None: ...

        def launch_thoroughly(self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions) -> None: ...

        def error(self, code: int, place: Device) -> LaunchError: ...


class GpuDirect(DirectLaunches):
    """Launches with tensors of one GPU."""

    __slots__ = ("_fill", "_kernel", "_options", "_packer", "_ready", "_stream_of")

    def __init__(self, kernel: Launcher, fill: Fill, options: LaunchOptions) -> None:
        self._kernel: Launcher = kernel
        self._packer: Packer = kernel.packer
        self._fill: Fill = fill
        self._options: LaunchOptions = options
        self._ready: Ready | None = None
        self._stream_of: Callable[[int], int] | None = None

    def launch(self, grid: BlockId, numbers: tuple[Any, ...], again: Again, memory: Sequence[int] = ()) -> None:
        ready = self._ready
        if ready is not None and self._stream_of is not None and not ready.of.forked:
            place, context, function, _, launch, launch_in = ready
            record = self._packer.take()
            x, y, z = grid
            try:
                self._fill(record.memory, x, y, z, self._stream_of(place.ordinal), numbers)
            except (struct.error, OverflowError):
                # A number that its type cannot hold.
                self._packer.give(record)
            else:
                code = launch(record.configuration, function, record.parameters, None)
                if code in OTHER_CONTEXT:
                    code = launch_in(context, record, function)
                self._packer.give(record)
                if code:
                    raise self._kernel.error(code, place)
                place.latest = self._kernel.name
                return
        arguments, _ = again()
        self._kernel.launch_thoroughly(grid, arguments, self._options)
        self._stream_of = torch_stream()
        for value in arguments:
            array: Any = value.array if isinstance(value, Pointer) else value
            if library_of(array) == "torch":
                # All are on the same, or this would not be such a launch.
                self._ready = self._kernel.ready(int(array.get_device()))
                return


def fill_function(types: Sequence[Type], kind: Sequence[Given]) -> Fill | None:
    """What fills a record; None if there is no short way for arguments of this kind."""
    names: dict[str, Any] = {}
    taken: list[str] = []
    values: list[str] = []
    layout = [CONFIGURATION]
    place = 0
    for number, given in enumerate(kind):
        if given is not None:
            count, _ = given
            if count == _A_TABLE:
                return None
            taken += [f"p{number}", f"b{number}", f"s{number}"]
            values += [f"p{number}", f"b{number}"]
            layout.append(f"Q{8 * count}s")
            place += 1 + count
            continue
        type = types[place]
        slot = scalar_slot(type.element, f"n{number}") if isinstance(type, TileType) else None
        if slot is None:
            return None
        taken.append(f"n{number}")
        values.append(slot[1])
        layout.append(slot[2])
        place += 1
    if place != len(types):
        return None
    names["pack"] = struct.Struct("".join(layout)).pack_into
    lines = [
        "def fill(memory, x, y, z, stream, numbers):",
        *([f"    [{', '.join(taken)}] = numbers"] if taken else []),
        f"    pack(memory, 0, {', '.join(['x, y, z', THREADS, 'stream, 0, 0', *values])})",
    ]
    return generated("fill", lines, names)
