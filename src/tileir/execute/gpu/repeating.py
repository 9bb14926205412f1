"""A launch that is made again and again with the same arguments: its record is filled once for each stream.

What a call has to see is whether tensors are still where they were, and which stream is current.  Nobody writes to a
record any more, so threads may share it.  Whatever is out of the ordinary goes the way of a single launch, as does a
launch in another context than the one the function is for: the driver refuses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tileir.execute.arguments.binding import Pointer
from tileir.execute.errors import LaunchError
from tileir.execute.gpu.arrays import DeviceBuffer, cupy_stream, library_of, stream_handle, torch_stream
from tileir.execute.gpu.driver.library import OTHER_CONTEXT, Driver
from tileir.execute.gpu.loading import LaunchedCode, Launching
from tileir.execute.gpu.packing import Record
from tileir.execute.launching.generated_functions import generated

_MOST_STREAMS: Final = 64
"""That records are kept for."""


def repeated(
    code: LaunchedCode,
    launching: Launching,
    arguments: tuple[object, ...],
    stream: object,
    function: Any,
    of: Driver,
    name: str,
    again: Callable[[], None],
    failed: Callable[[int], LaunchError],
) -> Callable[[], None] | None:
    """The launch; None if there are arrays that cannot be looked at in little time."""
    place, bound = launching.place, launching.bound
    assert bound is not None, "the arguments were looked at"
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
    records: dict[int, tuple[Any, Any]] = {}
    kept: list[Record] = []

    def made(current: int) -> tuple[Any, Any]:
        """What the driver takes for a launch in a stream."""
        record = code.packer.make()
        code.fill(record, launching._replace(stream=current), is_kept=True)
        found = (record.configuration, record.parameters)
        if len(kept) < _MOST_STREAMS:
            kept.append(record)
            records[current] = found
        return found

    names |= {
        "of": of,
        "place": place,
        "function": function,
        "records": records,
        "made": made,
        "launch": of.function("cuLaunchKernelEx"),
        "again": again,
        "failed": failed,
        "other_context": OTHER_CONTEXT,
        "name": name,
        "stream_of": find,
        "number": place.ordinal,
        "keep": (arguments, bound, kept),
    }
    lines = ["def run():"]
    if moved:
        lines += [f"    if {' or '.join(moved)}:", "        again()", "        return"]
    lines += ["    if of.forked:", "        again()", "        return"]
    if stream is None and find is not None:
        lines += [
            "    try:",
            "        configuration, parameters = records[stream_of(number)]",
            "    except KeyError:",
            "        configuration, parameters = made(stream_of(number))",
        ]
    else:
        names["configuration"], names["parameters"] = made(0 if stream is None else stream_handle(stream))
    lines += [
        "    code = launch(configuration, function, parameters, None)",
        "    if code in other_context:",
        "        again()",
        "        return",
        "    if code:",
        "        raise failed(code)",
        "    place.latest = name",
    ]
    run: Callable[[], None] = generated("run", lines, names)
    return run


def _address_of(array: Any) -> Callable[[], int]:
    """What tells the address of an array of CuPy."""
    return lambda: int(array.data.ptr)
