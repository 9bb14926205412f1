"""Records filled from arguments that somebody has looked at already.

Whoever launches the same kernel again and again with arguments of one kind (the cuTile bridge, a bound launch) knows
of each what the kernel takes: where it is, its size, and the extents and strides that follow the pointer, as bytes.
What is left to do for a launch is to put them into its record and to see whether arrays share memory.

The function that does it is written for the kind, as that of `binding` is written for a kernel.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from tileir.dialect.types import TileType
from tileir.execute.cpu.native.binding import HEADER, HEADER_FORMAT, Binder
from tileir.execute.cpu.native.record import REGION_WORDS, SLOT_BYTES
from tileir.execute.engine.interface import Given
from tileir.execute.launching.generated_functions import generated
from tileir.ir.types import F32, F64, IntegerType

Fill = Callable[..., "bool | None"]
"""Of slots, count, x, y, z, chunk and the numbers of the arguments: whether arrays share memory of which the kernel
writes to one; None if `arguments.bind` has to look at them."""

_FLOATS: Final = {F32: "f4x", F64: "d"}


def filling(binder: Binder, kind: Sequence[Given]) -> Fill | None:
    """What fills the records of a kernel for arguments of a kind; None if it takes something else."""
    names: dict[str, Any] = {}
    parameters: list[str] = []
    checks: list[str] = []
    values: list[str] = []
    layout = [HEADER_FORMAT]
    arrays: dict[int, bool] = {}
    place = 0
    for given in kind:
        if given is not None:
            words, arrays[place] = given
            parameters += [f"p{place}", f"b{place}", f"n{place}"]
            checks.append(f"q{place} = p{place} + n{place}")
            values += [f"p{place}", f"b{place}"]
            layout.append(f"Q{SLOT_BYTES * words}s")
            place += 1 + words
            continue
        if place >= len(binder.types):
            return None
        type = binder.types[place]
        element = type.element if isinstance(type, TileType) else None
        parameters.append(f"s{place}")
        if isinstance(element, IntegerType):
            low, high = -(1 << (element.width - 1)), (1 << element.width) - 1
            checks.append(f"if not {low} <= s{place} <= {high}: return None")
            values.append(f"s{place} & {high}")
            layout.append("Q")
        elif element is not None and element in _FLOATS:
            values.append(f"s{place}")
            layout.append(_FLOATS[cast(Any, element)])
        else:
            return None
        place += 1
    if place != len(binder.types) or list(arrays) != binder.layout.pointers:
        return None
    for number, writable in arrays.items():
        values.append(f"p{number}, q{number}, {int(writable)}")
        layout.append(f"{REGION_WORDS}Q")
    names["pack"] = struct.Struct("".join(layout)).pack_into
    meets = binder.meetings(names)
    # Where some of what is shared is not to be written to, a table says which.
    shared = meets if all(arrays.values()) else f"None if {meets} else False"
    lines = [
        f"def fill({', '.join(['slots, count, x, y, z, chunk', *parameters])}):",
        "    try:",
        *[f"        {check}" for check in checks],
        f"        pack(slots, 0, {', '.join([HEADER, *values])})",
        # A float that its type cannot hold.
        "    except OverflowError:",
        "        return None",
        f"    return {shared}",
    ]
    return generated("fill", lines, names)
