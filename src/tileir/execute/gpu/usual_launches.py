"""Launches with arguments of the usual kinds, by a function that is written for the kernel.

As for the CPU: it knows contiguous arrays of torch or CuPy and numbers of Python, looks at them, fills a record and
calls the driver, all in one, and leaves everything else to those who look more closely.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence, Set
from typing import Any, Final

from tileir.execute.arguments.binding import accepted_dtypes
from tileir.execute.binder import Slots, slots_of_objects, torch_classes, torch_dtypes
from tileir.execute.errors import BlockId
from tileir.execute.gpu.arrays import cupy_stream, library_of, torch_stream
from tileir.execute.gpu.driver.library import OTHER_CONTEXT
from tileir.execute.gpu.loading import VariantKey
from tileir.execute.gpu.packing import CONFIGURATION
from tileir.execute.launching.generated_functions import generated
from tileir.ir.types import Type

UsualLaunch = Callable[[BlockId, tuple[object, ...], int | None], bool]
"""Of a grid, arguments and a stream, None for the current one: whether the kernel was launched.  If not, arguments have
to be looked at more closely."""


def no_usual_launch(grid: BlockId, arguments: tuple[object, ...], stream: int | None) -> bool:
    """Where there is no short way: for kernels that were not launched yet too."""
    return False


class ArrayLibrary:
    """How arrays of a library are looked at: Python code in which {a} is an array and {n} the number of its parameter.

    It is none of the usual kind if `unusual` holds; `device` and `address` tell where it is, the address of one without
    data is 0.
    """

    def __init__(
        self,
        unusual: str,
        device: str,
        address: str,
        stream: Callable[[], Callable[[int], int] | None],
        classes: Callable[[], tuple[object, ...]],
        dtypes: Callable[[Type], Set[object]],
    ) -> None:
        self.unusual: str = unusual
        self.device: str = device
        self.address: str = address
        self.stream: Callable[[], Callable[[int], int] | None] = stream
        self.classes: Callable[[], tuple[object, ...]] = classes
        self.dtypes: Callable[[Type], Set[object]] = dtypes


def _cupy_classes() -> tuple[object, ...]:
    cupy: Any = sys.modules["cupy"]
    return (cupy.ndarray,)


# The class and the dtype are nearly always those of the launch before, which `is` tells at once.
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
        _cupy_classes,
        accepted_dtypes,
    ),
}

_UNUSUAL: Final = "(TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError, LookupError)"


def library_among(arguments: tuple[object, ...]) -> ArrayLibrary | None:
    """The library whose arrays are among arguments, if it is one of those that are known here."""
    for value in arguments:
        found = _LIBRARIES.get(library_of(value))
        if found is not None:
            return found
    return None


def usual_launch(
    types: Sequence[Type],
    library: ArrayLibrary,
    arguments: tuple[object, ...],
    names: dict[str, Any],
    key: VariantKey | None = None,
) -> UsualLaunch:
    """The function for a kernel with parameters of these types, and for arrays of a library; `arguments` were launched.

    `names` are what it uses beside: `ready`, by the number of a GPU the GPU, its context and the kernel there; `spare`,
    the records that are free, and `make_record`; `of`, the driver, and its function `launch`; `launch_in`, which
    launches in a context that is not current; `failed`, which makes the error of a code; `name`.  For a kernel with a
    `key`, `variants` has by key what `ready` has for others, and the records; `find` finds what it has not; and
    `not_described` is what is raised where the driver makes no descriptor.
    """
    stream = library.stream()
    classes = library.classes()
    names |= {"classes": classes, "plain": classes[0], "stream_of": stream, "other_context": OTHER_CONTEXT}
    dtypes: dict[Type, Set[object]] = {}

    def array_checks(slots: Slots, number: int, pointee: Type) -> list[str]:
        if pointee not in dtypes:
            dtypes[pointee] = library.dtypes(pointee)
        names[f"dtypes{number}"] = dtypes[pointee]
        seen = getattr(arguments[number], "dtype", None) if number < len(arguments) else None
        names[f"dtype{number}"] = seen if seen in dtypes[pointee] else next(iter(dtypes[pointee]))
        unusual, device, address = [
            text.format(a=f"a{number}", n=number) for text in (library.unusual, library.device, library.address)
        ]
        return [
            f"if {unusual}: return False",
            f"if {device} != device: return False" if slots.arrays else f"if (device := {device}) < 0: return False",
            f"if not (p{number} := {address}): return False",
        ]

    slots = slots_of_objects(types, CONFIGURATION, "return False", array_checks)
    if slots is None or not slots.arrays or stream is None:
        # Nothing tells the GPU, or the stream.
        return no_usual_launch
    names["pack"] = slots.pack()
    values, given = slots.values, ", ".join(slots.given)
    unpacked = "".join([f"{name}, " for name in slots.inputs])
    looked_at = [f"        [{unpacked}] = arguments", *[f"        {check}" for check in slots.checks]]
    found_stream = "stream_of(device) if stream is None else stream"
    if key is None:
        lines = [
            "def run(grid, arguments, stream):",
            "    try:",
            *looked_at,
            "        place, context, function = ready[device]",
            "        if of.forked: return False",
            "        record = spare.pop() if spare else make_record()",
            "        x, y, z = grid",
            f"        pack(record.memory, 0, {', '.join(['x, y, z, 1, 1, 1, 0', found_stream, '0, 0', *values])})",
        ]
    else:
        packed = ["x, y, z, threads, 1, 1, shared, in_stream, 0, 0", *values]
        lines = [
            "def run(grid, arguments, stream):",
            "    try:",
            *looked_at,
            "        if of.forked: return False",
            "        x, y, z = grid",
            f"        key = {key.text('device', slots.key_parts(key.part))}",
            f"        in_stream = {found_stream}",
            f"    except {_UNUSUAL}:",
            "        return False",
            "    found = variants.get(key)",
            "    if found is None:",
            f"        found = find(key, grid, in_stream, ({given},))",
            "        if found is None: return False",
            "    place, context, function, spare, make_record, threads, shared, complete = found",
            "    try:",
            "        record = spare.pop() if spare else make_record()",
            f"        pack(record.memory, 0, {', '.join(packed)})",
            "        if complete is not None:",
            f"            complete(record, context, grid, in_stream, ({given},))",
            "    except not_described:",
            "        return False",
        ]
    lines += [
        # Another number of arguments; a float that its type cannot hold; a tensor whose data cannot be had; a GPU that
        # the kernel was not launched on; another thread that has just taken the record.
        f"    except {_UNUSUAL}:",
        "        return False",
        # Whether its context is current the driver sees anyway: to ask it takes a call.
        "    code = launch(record.configuration, function, record.parameters, None)",
        "    if code in other_context:",
        "        code = launch_in(context, record, function)",
        "    spare.append(record)",
        "    if code:",
        "        raise failed(code, place)",
        "    place.latest = name",
        "    return True",
    ]
    run: UsualLaunch = generated("run", lines, names)
    return run
