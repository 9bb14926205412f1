"""Short ways to launch a kernel, for all launches but the first of their kind.

`usual_launch` writes a function for contiguous arrays of torch or CuPy and Python numbers; `GpuDirect` is for arguments
that cuTile has inspected.  Each function inspects arguments, finds the code, fills a record and calls the driver; it
leaves unusual launches to `GpuLauncher.launch_thoroughly`.  `repeated` launches again and again with the same
arguments: its record is filled once for each stream and only read afterwards, so threads may share it.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Sequence, Set
from typing import Any, Final, NamedTuple, TypeAlias

from tileir.execute.arguments.binding import Pointer, accepted_dtypes
from tileir.execute.binder import Slots, slots_of_numbers, slots_of_objects, torch_classes, torch_dtypes
from tileir.execute.engine.interface import Again, ArgumentKind, DirectLaunches, LaunchOptions
from tileir.execute.errors import BlockId
from tileir.execute.gpu.arrays import DeviceBuffer, cupy_stream, library_of, stream_handle, torch_stream
from tileir.execute.gpu.driver.library import OTHER_CONTEXT, driver
from tileir.execute.gpu.launch_record import CONFIGURATION, Record
from tileir.execute.gpu.loaded_code import LaunchedCode, Launching, NotDescribed
from tileir.ir.types import Type

Launcher: TypeAlias = Any  # A `GpuLauncher`; its module imports this one.
_UNUSUAL: Final = (
    TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError, LookupError, NotDescribed, struct.error,
)  # fmt: skip
"""Another number of arguments; a number that its type cannot hold; a tensor without accessible data; another thread
that has just taken the record; an array of which the driver makes no descriptor."""
_MOST_STREAMS: Final = 64  # That a repeated launch keeps records for.

_LAUNCH: Final = """\
try:
    {inspection}
    if of.forked: return False
    x, y, z = grid
    key = ({key},)
except unusual:
    return False
found = variants.get(key)
if found is None:
    found = find(key, grid, stream, {arguments})
    if found is None: return False
place, context, function, packer, spare, threads, shared, complete = found
try:
    record = spare.pop() if spare else Record(packer)
    pack(record.memory, 0, {packed})
    if complete is not None: complete(record, context, grid, stream, {arguments})
except unusual:
    return False
code = launch(record.configuration, function, record.parameters, None)
if code in other_context: code = launch_in(context, record, function)
spare.append(record)
if code: raise failed(code, place)
place.latest = name
return True"""
"""The driver checks anyway whether the context is current: another check would take a call."""


def _launch_function(kernel: Launcher, slots: Slots, inspection: list[str]) -> Callable[..., bool]:
    """A function: whether it launched; the lines `inspection` set `stream`, and `device` if arrays do not."""
    parts: Sequence[str] = kernel.key_parts
    # Of the extents and strides of an array all or nothing decides on the code.
    keys = [
        parts[number].format(a=name) if count == 1 else name if any(parts[number : number + count]) else ""
        for number, count, name in slots.keys
    ]
    slots.names |= {
        "Record": Record,
        "pack": slots.pack(),
        "unusual": _UNUSUAL,
        "variants": kernel.variants,
        "find": kernel.find,
        "of": driver(),
        "launch": driver().function("cuLaunchKernelEx"),
        "launch_in": kernel.launch_in,
        "other_context": OTHER_CONTEXT,
        "failed": kernel.error,
        "name": kernel.name,
    }
    text = _LAUNCH.format(
        inspection="\n    ".join([*slots.lines, *inspection]),
        key=", ".join(["device", *[part for part in (*keys, kernel.key_of_grid) if part]]),
        arguments=f"({''.join([f'{each}, ' for each in slots.given])})",
        packed=", ".join(["x, y, z, threads, 1, 1, shared, stream, 0, 0", *slots.values]),
    )
    return slots.function("grid, arguments, other", text.splitlines())


# --- arrays of a library, numbers of Python ---

UsualLaunch = Callable[[BlockId, tuple[object, ...], int | None], bool]
"""Of a grid, arguments and a stream, None for the current one: whether the kernel was launched."""


def no_usual_launch(grid: BlockId, arguments: object, stream: int | None) -> bool:
    """Where there is no short way: for kernels that were not launched yet too."""
    return False


class ArrayLibrary(NamedTuple):
    """Python code that inspects an array {a}, of the parameter of number {n}: whether it is `unusual`, and where it is.
    The address of an array without data is 0."""

    unusual: str
    device: str
    address: str
    stream: Callable[[], Callable[[int], int] | None]
    classes: Callable[[], tuple[object, ...]]  # No other classes: the data of another one may be elsewhere.
    dtypes: Callable[[Type], Set[object]]


# The class and the dtype are nearly always those of the launch before, so that `is` decides at once.
_USUAL_KIND: Final = (
    "(type({a}) is not plain and type({a}) not in classes)"
    " or ((dtype := {a}.dtype) is not dtype{n} and dtype not in dtypes{n})"
)

# What is in the memory of the host is on device -1 in torch.
_LIBRARIES: Final = {
    "torch": ArrayLibrary(
        f"{_USUAL_KIND} or not {{a}}.is_contiguous() or {{a}}.is_neg()",
        "{a}.get_device()",
        "{a}.data_ptr()",
        torch_stream,
        torch_classes,
        torch_dtypes,
    ),
    "cupy": ArrayLibrary(
        f"{_USUAL_KIND} or not {{a}}.flags.c_contiguous",
        "{a}.data.device_id",
        "{a}.data.ptr",
        cupy_stream,
        lambda: (sys.modules["cupy"].ndarray,),
        accepted_dtypes,
    ),
}


def library_among(arguments: tuple[object, ...]) -> ArrayLibrary | None:
    """The library whose arrays are among arguments, if it is one of those that are known here."""
    return next((found for value in arguments if (found := _LIBRARIES.get(library_of(value))) is not None), None)


def usual_launch(kernel: Launcher, library: ArrayLibrary, arguments: tuple[object, ...]) -> UsualLaunch:
    """The function for a kernel and for arrays of a library; `arguments` were launched."""
    stream_of, classes = library.stream(), library.classes()

    def array_checks(slots: Slots, number: int, pointee: Type) -> list[str]:
        taken = library.dtypes(pointee)
        seen = getattr(arguments[number], "dtype", None) if number < len(arguments) else None
        slots.names |= {f"dtypes{number}": taken, f"dtype{number}": seen if seen in taken else next(iter(taken))}
        unusual, device, address = [text.format(a=f"a{number}", n=number) for text in library[:3]]
        return [
            f"if {unusual}: return False",
            f"if {device} != device: return False" if slots.arrays else f"if (device := {device}) < 0: return False",
            f"if not (p{number} := {address}): return False",
        ]

    slots = slots_of_objects(kernel.packer.types, CONFIGURATION, "return False", array_checks)
    if slots is None or not slots.arrays or stream_of is None:
        # Nothing determines the GPU, or the stream.
        return no_usual_launch
    slots.names |= {"classes": classes, "plain": classes[0], "stream_of": stream_of}
    return _launch_function(kernel, slots, ["stream = stream_of(device) if other is None else other"])


# --- arguments that the caller has inspected ---


class GpuDirect(DirectLaunches):
    """Launches with tensors of one GPU; the numbers of a launch are the slots of a record, in order."""

    __slots__ = ("_device", "_kernel", "_options", "_run", "_slots")

    def __init__(self, kernel: Launcher, slots: Slots, options: LaunchOptions) -> None:
        self._kernel: Launcher = kernel
        self._slots: Slots = slots
        self._options: LaunchOptions = options
        self._device: int = -1
        self._run: Callable[..., bool] = no_usual_launch

    def launch(self, grid: BlockId, numbers: tuple[Any, ...], again: Again, memory: Sequence[int] = ()) -> None:
        if self._run(grid, numbers, self._device):
            return
        arguments, _ = again()
        self._kernel.launch_thoroughly(grid, arguments, self._options)
        stream_of = torch_stream()
        arrays: list[Any] = [each.array if isinstance(each, Pointer) else each for each in arguments]
        tensors = [each for each in arrays if library_of(each) == "torch"]
        if stream_of is not None and self._device < 0 and tensors:
            # All are on the same, or this would not be such a launch.
            self._device = int(tensors[0].get_device())
            self._slots.names["stream_of"] = stream_of
            inspection = ["device = other", "stream = stream_of(device)"]
            self._run = _launch_function(self._kernel, self._slots, inspection)


def direct_launches(kernel: Launcher, kind: Sequence[ArgumentKind], options: LaunchOptions) -> GpuDirect | None:
    """Direct launches of a kernel; None if there is no short way for arguments of this kind."""
    # The table of a list of arrays, which its length alone follows, is not on the GPU yet.
    if any(given is not None and given[0] == 1 for given in kind):
        return None
    slots = slots_of_numbers(kernel.packer.types, kind, CONFIGURATION, "return False")
    return None if slots is None else GpuDirect(kernel, slots, options)


def repeated(
    kernel: Launcher,
    code: LaunchedCode,
    launching: Launching,
    arguments: tuple[object, ...],
    options: LaunchOptions,
    function: Any,
) -> Callable[[], None] | None:
    """The launch, which checks tensors and the current stream; None if arrays cannot be inspected in little time."""
    place, bound = launching.place, launching.bound
    assert bound is not None, "the arguments were examined"
    moved: list[tuple[Callable[[], int], int]] = []
    libraries = set()
    for buffer, label in bound.buffers:
        value = arguments[label.number]
        array: Any = value.array if isinstance(value, Pointer) else value
        libraries.add(library_of(array))
        if not isinstance(buffer, DeviceBuffer) or libraries not in ({"torch"}, {"cupy"}):
            return None
        moved.append((array.data_ptr if "torch" in libraries else _address_of(array), buffer.address))
    of = driver()
    launch = of.function("cuLaunchKernelEx")
    named = 0 if options.stream is None else stream_handle(options.stream)
    stream_of = None
    if options.stream is None and libraries:
        stream_of = _LIBRARIES[libraries.pop()].stream()
    ordinal = place.ordinal
    records: dict[int, Record] = {}

    def made(stream: int) -> Record:
        record = Record(code.packer)
        code.fill(record, launching._replace(stream=stream), is_kept=True)
        if len(records) < _MOST_STREAMS:
            records[stream] = record
        return record

    def run() -> None:
        for at, address in moved:
            if at() != address:
                kernel.launch_thoroughly(launching.grid, arguments, options)
                return
        stream = named if stream_of is None else stream_of(ordinal)
        record = records.get(stream) or made(stream)
        failed = of.forked or launch(record.configuration, function, record.parameters, None)
        if failed:
            # In another context than the one that the function is for, the driver refuses it.
            if failed is not True and failed not in OTHER_CONTEXT:
                raise kernel.error(failed, place)
            kernel.launch_thoroughly(launching.grid, arguments, options)
            return
        place.latest = kernel.name

    if stream_of is None:
        made(named)
    return run


def _address_of(array: Any) -> Callable[[], int]:
    return lambda: int(array.data.ptr)
