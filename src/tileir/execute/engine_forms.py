"""The forms of a kernel that engines show side by side with the program: code, line by line, with where it is from.

An engine names its forms (`Engine.forms`), and its kernels give the text of one with the locations of the operations
that each line does the work of (`PreparedKernel.located`).  Who asks has given every operation a location of its own,
or wants the lines of the source.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tileir.ir.core import Operation
from tileir.ir.location import Location

_MOST_LINES: Final = 64
"""Lines that an operation without one of its own is said to be in: a constant may be in thousands."""


class EngineForm(NamedTuple):
    """A form that an engine shows of its kernels."""

    id: str
    """What it is asked for by, among the forms of all engines."""
    title: str
    language: str
    """What it is written in: "tile", "loops", "llvm", "assembly", or another word."""
    stage: str
    """What the kernel is asked for."""
    reason: str = ""
    """Why it cannot be shown on this machine, with what to do about it; empty if it can."""
    most_operations: int = 0
    """How many a kernel may have for it: beyond, compilers take minutes.  0 is any number."""


class LocatedText(NamedTuple):
    """Lines, and for each of them the locations of the operations it does the work of."""

    lines: list[str]
    locations: list[list[Location]]
    notes: list[str]
    """What is to be said about it, in sentences."""


def located_lines(
    entry: Operation, lines: list[str], operations: list[list[Operation]], notes: list[str] | None = None
) -> LocatedText:
    """Lines of a kernel with the operations that each does the work of.

    Some operations are no work: constants, views, broadcasts, tokens.  They are in the lines of those that use them,
    and those without results, as the end of a region, in the lines of what they stand in.
    """
    places: dict[Operation, list[int]] = {}
    for line, here in enumerate(operations):
        for operation in here:
            places.setdefault(operation, []).append(line)
    found = [[operation.location for operation in here] for here in operations]
    for operation in reversed(list(entry.walk())):
        if operation in places:
            continue
        near: list[Operation | None] = [user for result in operation.results for user in result.users]
        used: dict[int, None] = {}
        for other in dict.fromkeys(near if operation.results else [operation.parent_operation]):
            if len(used) >= _MOST_LINES:
                break
            if other is not None:
                used.update(dict.fromkeys(places.get(other, ())))
        places[operation] = list(used)[:_MOST_LINES]
        for line in places[operation]:
            found[line].append(operation.location)
    return LocatedText(lines, found, [] if notes is None else notes)
