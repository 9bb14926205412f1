"""Launches whose arguments somebody else has looked at: those of cuTile's kernels that are like one before.

`numbers` has for an array its address, the parameters that follow it as bytes, 8 for each, and its size, and for a
scalar its value: the slots of a record, in order.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tileir.execute.arguments.binding import Pointer
from tileir.execute.binder import Slots, slots_of_numbers
from tileir.execute.engine.interface import Again, DirectLaunches, Given, LaunchOptions
from tileir.execute.errors import BlockId, LaunchError
from tileir.execute.gpu.arrays import library_of, torch_stream
from tileir.execute.gpu.driver.devices import Device
from tileir.execute.gpu.driver.library import OTHER_CONTEXT, Driver
from tileir.execute.gpu.loading import Found, NotDescribed, VariantKey
from tileir.execute.gpu.packing import CONFIGURATION, Packer, Record
from tileir.execute.launching.generated_functions import generated
from tileir.ir.types import Type

Fill = Callable[..., None]
"""Of the memory of a record, x, y, z, the stream and the numbers."""

Pack = Callable[..., "tuple[Found, Record] | None"]
"""Of the number of the GPU, x, y, z, the stream and the numbers: what is launched, and the record that was filled."""

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

        @property
        def variants(self) -> dict[Any, Found]: ...

        def find(self, key: Any, grid: BlockId, stream: int | None, values: tuple[Any, ...]) -> Found | None: ...

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
        self._launch_thoroughly(grid, again)

    def _launch_thoroughly(self, grid: BlockId, again: Again) -> None:
        arguments, _ = again()
        self._kernel.launch_thoroughly(grid, arguments, self._options)
        self._stream_of = torch_stream()
        for value in arguments:
            array: Any = value.array if isinstance(value, Pointer) else value
            if library_of(array) == "torch":
                # All are on the same, or this would not be such a launch.
                self._ready = self._kernel.ready(int(array.get_device()))
                return


class VariedDirect(GpuDirect):
    """Such launches of a kernel that has several codes."""

    __slots__ = ("_pack",)

    def __init__(self, kernel: Launcher, pack: Callable[[Launcher], Pack], options: LaunchOptions) -> None:
        super().__init__(kernel, _no_fill, options)
        self._pack: Pack = pack(kernel)

    def launch(self, grid: BlockId, numbers: tuple[Any, ...], again: Again, memory: Sequence[int] = ()) -> None:
        ready = self._ready
        if ready is not None and self._stream_of is not None and not ready.of.forked:
            ordinal = ready.place.ordinal
            x, y, z = grid
            packed = self._pack(ordinal, x, y, z, self._stream_of(ordinal), numbers)
            if packed is not None:
                found, record = packed
                code = ready.launch(record.configuration, found.function, record.parameters, None)
                if code in OTHER_CONTEXT:
                    code = ready.launch_in(found.context, record, found.function)
                found.spare.append(record)
                if code:
                    raise self._kernel.error(code, found.place)
                found.place.latest = self._kernel.name
                return
        self._launch_thoroughly(grid, again)


def _no_fill(*arguments: object) -> None:
    raise AssertionError("records of such kernels are filled by `pack`")


def _slots(types: Sequence[Type], kind: Sequence[Given], refusal: str) -> Slots | None:
    if any(given is not None and given[0] == _A_TABLE for given in kind):
        return None
    return slots_of_numbers(types, kind, CONFIGURATION, refusal)


def fill_function(types: Sequence[Type], kind: Sequence[Given]) -> Fill | None:
    """What fills a record; None if there is no short way for arguments of this kind."""
    slots = _slots(types, kind, "raise OverflowError")
    if slots is None:
        return None
    lines = [
        "def fill(memory, x, y, z, stream, numbers):",
        *([f"    [{', '.join(slots.inputs)}] = numbers"] if slots.inputs else []),
        *[f"    {check}" for check in slots.checks],
        f"    pack(memory, 0, {', '.join(['x, y, z, 1, 1, 1, 0, stream, 0, 0', *slots.values])})",
    ]
    return generated("fill", lines, {"pack": slots.pack()})


def pack_function(types: Sequence[Type], kind: Sequence[Given], key: VariantKey) -> Callable[[Launcher], Pack] | None:
    """What finds the code for a launch and fills a record, for a kernel; None if there is no short way."""
    slots = _slots(types, kind, "return None")
    if slots is None:
        return None
    given = f"({''.join([f'{each}, ' for each in slots.given])})"
    values = ["x, y, z, found.threads, 1, 1, found.shared, stream, 0, 0", *slots.values]
    lines = [
        "def pack_launch(device, x, y, z, stream, numbers):",
        *([f"    [{', '.join(slots.inputs)}] = numbers"] if slots.inputs else []),
        *[f"    {check}" for check in slots.checks],
        f"    key = {key.text('device', slots.key_parts(key.part))}",
        "    found = variants.get(key)",
        "    if found is None:",
        f"        found = find(key, (x, y, z), stream, {given})",
        "        if found is None: return None",
        "    try:",
        "        record = found.spare.pop() if found.spare else found.make_record()",
        # Another thread that has just taken the record.
        "    except IndexError:",
        "        record = found.make_record()",
        "    try:",
        f"        pack(record.memory, 0, {', '.join(values)})",
        "        if found.complete is not None:",
        f"            found.complete(record, found.context, (x, y, z), stream, {given})",
        # A number that its type cannot hold.
        "    except (error, OverflowError, not_described):",
        "        found.spare.append(record)",
        "        return None",
        "    return found, record",
    ]
    names = {**slots.names, "pack": slots.pack(), "error": struct.error, "not_described": NotDescribed}

    def for_kernel(kernel: Launcher) -> Pack:
        return generated("pack_launch", lines, {**names, "variants": kernel.variants, "find": kernel.find})

    return for_kernel
