"""A launch that is made again and again with the same arguments: its record is filled once.

What a call has to see is whether tensors are still where they were, which stream is current, and which context.
Whatever is out of the ordinary goes the way of a single launch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tileir.execute.arguments import BoundArguments, Pointer
from tileir.execute.errors import BlockId, LaunchError
from tileir.execute.generated_functions import generated
from tileir.execute.gpu.arrays import DeviceBuffer
from tileir.execute.gpu.driver.devices import Device
from tileir.execute.gpu.driver.library import Driver
from tileir.execute.gpu.packing import Packer, Record
from tileir.execute.gpu.streams import cupy_stream, library_of, stream_handle, torch_stream


def repeated(
    packer: Packer,
    grid: BlockId,
    arguments: tuple[object, ...],
    stream: object,
    bound: BoundArguments,
    place: Device,
    function: Any,
    of: Driver,
    name: str,
    again: Callable[[], None],
    failed: Callable[[int], LaunchError],
) -> Callable[[], None] | None:
    """The launch; None if there are arrays that cannot be looked at in little time."""
    names: dict[str, Any] = {}
    moved: list[str] = []
    libraries = set()
    for buffer, label in bound.buffers:
        value = arguments[label.number]
        array: Any = value.array if isinstance(value, Pointer) else value
        library = library_of(array)
        if not isinstance(buffer, DeviceBuffer) or library not in ("torch", "cupy"):
            return None
        libraries.add(library)
        names[f"at{label.number}"] = array.data_ptr if library == "torch" else _address_of(array)
        names[f"p{label.number}"] = buffer.address
        moved.append(f"at{label.number}() != p{label.number}")
    if len(libraries) > 1:
        return None
    find = torch_stream() if "torch" in libraries else cupy_stream() if "cupy" in libraries else None
    fixed = 0 if stream is None else stream_handle(stream)
    record = Record(len(packer.types))
    packer.fill(record, grid, fixed, bound.values)
    records = [record]
    names |= {
        "pop": records.pop,
        "give": records.append,
        "of": of,
        "place": place,
        "context": place.context,
        "function": function,
        "get_current": of.function("cuCtxGetCurrent"),
        "launch": of.function("cuLaunchKernelEx"),
        "again": again,
        "failed": failed,
        "name": name,
        "stream_of": find,
        "number": place.ordinal,
        "keep": (arguments, bound),
    }
    lines = ["def run():"]
    if moved:
        lines += [f"    if {' or '.join(moved)}:", "        again()", "        return"]
    lines += [
        "    try:",
        "        record = pop()",
        "    except IndexError:",
        # Another thread is in the middle of it.
        "        again()",
        "        return",
    ]
    if stream is None and find is not None:
        lines += [
            "    if (stream := stream_of(number)) != record.stream:",
            "        record.set_stream(stream)",
        ]
    lines += [
        "    if of.forked or get_current(record.current_reference) or record.current.value != context:",
        "        give(record)",
        "        again()",
        "        return",
        "    code = launch(record.configuration, function, record.parameters, None)",
        "    give(record)",
        "    if code:",
        "        raise failed(code)",
        "    place.latest = name",
    ]
    run: Callable[[], None] = generated("run", lines, names)
    return run


def _address_of(array: Any) -> Callable[[], int]:
    """What tells the address of an array of CuPy."""
    return lambda: int(array.data.ptr)
