"""Memory of a GPU that launches write to what they print, and asserts that fail; read when the launch is done."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy

from tileir.execute.errors import AssertionFailedError
from tileir.execute.gpu.driver.library import Driver, driver
from tileir.execute.gpu.output import Speech
from tileir.execute.gpu.streams import is_capturing
from tileir.execute.gpu.triton.code import Slot
from tileir.execute.gpu.triton.launching.host_buffers import failure, printed
from tileir.execute.gpu.triton.launching.own_memory import reserve
from tileir.execute.gpu.triton.sites import FAILURE_WORDS, OUTPUT_WORDS

_WORD: Final = 8
_WORDS: Final = {"failures": FAILURE_WORDS, "output": OUTPUT_WORDS}

_spare: Final[WeakKeyDictionary[Driver, dict[tuple[int, str], list[int]]]] = WeakKeyDictionary()
"""By context and kind, addresses of what no launch has."""


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

    def read(self, speech: Speech) -> tuple[str, AssertionFailedError | None]:
        """What was printed, and the assert that failed, when the launch is done."""
        text, failed = "", None
        for slot, address in zip(self._slots, self.addresses, strict=True):
            if slot.kind == "failures":
                failed = failure(_words(address, FAILURE_WORDS), slot.content, speech)
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
