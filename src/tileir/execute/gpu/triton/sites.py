"""Asserts and prints of a kernel, and how it writes what it has to say to memory of the GPU.

All is words of 64 bits, 0 before a launch.

    failures    1 once there is one, by compare and swap: who gets there first writes the rest
                number of the assert, x, y, z of the tile block, element, in row-major order

    output      how many words behind this one are used, by an atomic addition
                for each print: 1 + its number, x, y, z of the tile block, the elements of its tiles, in row-major
                order, each as its bits, in the lowest of the word; a print that does not fit into `OUTPUT_WORDS`, the
                first word included, is not written

The slots for them (`code.Slot`) have the sites as their content; `launching/host_buffers.py` reads what was written.
"""

from __future__ import annotations

from typing import Final, NamedTuple

FAILURE_WORDS: Final = 6
OUTPUT_WORDS: Final = 1 << 19
"""4 MiB."""

REPORTED: Final = frozenset(("failures", "output"))
"""The kinds of slots that are such memory."""

POINTER: Final = "ptr"
"""What stands for the type of elements that are pointers."""


class AssertSite(NamedTuple):
    """An assert of a kernel."""

    words: str
    shape: tuple[int, ...]


class PrintSite(NamedTuple):
    """A print of a kernel."""

    text: str
    tiles: tuple[tuple[str, tuple[int, ...]], ...]
    """The text of the element type of each, `POINTER` for pointers, and its shape."""
