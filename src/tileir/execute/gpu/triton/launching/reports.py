"""Memory of a GPU to which launches write prints and failed asserts; read when the launch is done.

`code.py` says how it is written.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy

from tileir.execute.dtypes import bits_dtype, value_dtype
from tileir.execute.errors import AssertionFailedError
from tileir.execute.gpu.arrays import is_capturing
from tileir.execute.gpu.driver.library import Driver, driver
from tileir.execute.gpu.output import DeviceOutput, asserted
from tileir.execute.gpu.triton.code import FAILURE_WORDS, OUTPUT_WORDS, POINTER, AssertSite, PrintSite, Slot
from tileir.execute.gpu.triton.launching.device_memory import reserve
from tileir.ir.types import FLOAT_TYPES, I1, I4, I8, I16, I32, I64, Type

_TYPES: Final[dict[str, Type]] = {
    POINTER: I64,
    **{each.text: each for each in (*FLOAT_TYPES.values(), I1, I4, I8, I16, I32, I64)},
}
_HEAD: Final = 4
_LOST: Final = "(what else this launch printed does not fit into the memory for it)\n"

_WORD: Final = 8
_WORDS: Final = {"failures": FAILURE_WORDS, "output": OUTPUT_WORDS}
_spare: Final[WeakKeyDictionary[Driver, dict[tuple[int, str], list[int]]]] = WeakKeyDictionary()
"""By context and kind, addresses of what no launch has."""


def failure(words: Any, sites: Sequence[AssertSite], device_output: DeviceOutput) -> AssertionFailedError | None:
    """The assert that failed, if one did."""
    is_there, number, x, y, z, element = [int(word) for word in words[:FAILURE_WORDS]]
    if not is_there:
        return None
    site = sites[number]
    position = ", ".join([str(int(each)) for each in numpy.unravel_index(element, site.shape)]) if site.shape else ""
    where = f" (at element [{position}])" if site.shape else ""
    return AssertionFailedError(f"failed: {site.words}{where}", asserted(site.words, device_output), (x, y, z))


def printed(words: Any, sites: Sequence[PrintSite]) -> str:
    """What was printed, tile block by tile block: `words` is all that was written, the first word included."""
    # Imported here: few kernels print.
    from tileir.execute.interpreter.printing import nested, parts_of

    used = int(words[0])
    found: list[tuple[tuple[int, int, int], str]] = []
    place = 1
    is_whole = True
    while place <= used:
        if place + _HEAD > len(words) or not words[place]:
            is_whole = False
            break
        number, x, y, z = [int(word) for word in words[place : place + _HEAD]]
        site = sites[number - 1]
        place += _HEAD
        texts: list[str] = []
        tiles = iter(site.tiles)
        for part in parts_of(site.text, [_TYPES[element] for element, _ in site.tiles]):
            if isinstance(part, str):
                texts.append(part)
                continue
            element, shape = next(tiles)
            count = prod(shape)
            texts.append(nested(_elements(words[place : place + count], element), shape, part))
            place += count
        found.append(((z, y, x), "".join(texts)))
    # Those of a tile block are in order; tile blocks run in any order.
    found.sort(key=lambda each: each[0])
    return "".join([text for _, text in found]) + ("" if is_whole else _LOST)


def _elements(words: Any, element: str) -> Any:
    """Elements of which the bits are given."""
    if element == POINTER:
        return words
    type = _TYPES[element]
    if type is I4:
        # A value is a number of 8 bits, with its sign.
        return (words.astype(numpy.int8) & 15 ^ 8) - 8
    return words.astype(bits_dtype(type)).view(value_dtype(type))


class Report:
    """What one launch has to say; `addresses` has for each slot where it is written."""

    def __init__(self, slots: Sequence[Slot], context: int, stream: int) -> None:
        self._slots: Final = slots
        self._context: Final = context
        self._is_kept: Final = is_capturing(stream)
        self.addresses: Final = [self._memory(slot, stream) for slot in slots]

    def _memory(self, slot: Slot, stream: int) -> int:
        spare = _spare.setdefault(driver(), {}).get((self._context, slot.kind))
        size = _WORD * _WORDS[slot.kind]
        # That of a graph is its own: it is launched again.
        address = spare.pop() if spare and not self._is_kept else reserve(size, f"the {slot.kind} of a kernel")
        driver().call("cuMemsetD8Async", "clearing memory", address, 0, size, stream)
        return address

    def give_back(self) -> None:
        """Have others use the memory: the launch is done."""
        if not self._is_kept:
            spare = _spare.setdefault(driver(), {})
            for slot, address in zip(self._slots, self.addresses, strict=True):
                spare.setdefault((self._context, slot.kind), []).append(address)

    def read(self, device_output: DeviceOutput) -> tuple[str, AssertionFailedError | None]:
        """What was printed, and the assert that failed, when the launch is done."""
        text, failed = "", None
        for slot, address in zip(self._slots, self.addresses, strict=True):
            if slot.kind == "failures":
                failed = failure(_words(address, FAILURE_WORDS), slot.content, device_output)
                continue
            used = int(_words(address, 1)[0])
            if used:
                text = printed(_words(address, min(1 + used, OUTPUT_WORDS)), slot.content)
        self.give_back()
        return text, failed


def _words(address: int, count: int) -> Any:
    found = numpy.empty(count, numpy.uint64)
    attempt = "reading what a kernel has to say"
    driver().call("cuMemcpyDtoH_v2", attempt, ctypes.c_void_p(found.ctypes.data), address, found.nbytes)
    return found
