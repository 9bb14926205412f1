"""A launch that is made again and again with the same arguments: its record is filled once.

What a call has to see is whether the arrays are still where they were.  Whatever is out of the ordinary (an array that
was moved, a context of `overlap`, a second thread that calls at the same time) goes the way of a single launch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from tileir.execute.arguments.array_memory import address_of
from tileir.execute.cpu.runtime import parallel_launch
from tileir.execute.cpu.runtime.binder import Binding
from tileir.execute.cpu.runtime.launch_record import ARGUMENTS, FAILED
from tileir.execute.cpu.runtime.loader import Loaded
from tileir.execute.overlap import overlapped

Where = tuple[Any, int, Any, int]
"""An array, the address it was seen at, what says how many bytes of memory it has, and how many they were.  Storage
that is kept is not given back, so that another tensor's is elsewhere."""


def places_of(arrays: Sequence[object]) -> tuple[list[Where], list[Where]] | None:
    """Where arrays of NumPy and tensors of torch are; None if there is something else among them."""
    found: list[Where] = []
    tensors: list[Where] = []
    for array in arrays:
        if type(array) is numpy.ndarray:
            found.append((array, address_of(array), array, array.nbytes))
        elif hasattr(array, "untyped_storage") and hasattr(array, "data_ptr"):
            storage = array.untyped_storage()
            tensors.append((array, array.data_ptr(), storage, storage.nbytes()))
        else:
            return None
    return found, tensors


class Repeated:
    """The launch; `once` makes it the long way, `failed` raises what went wrong, unless it is the version's mistake."""

    __slots__ = (
        "_scratch_bytes",
        "_arrays",
        "_bindings",
        "_failed",
        "_function",
        "_header",
        "_once",
        "_tensors",
        "_threads",
    )

    def __init__(
        self,
        function: Loaded,
        scratch_bytes: int,
        binding: Binding,
        threads: int,
        places: tuple[list[Where], list[Where]],
        once: Callable[[], None],
        failed: Callable[[Any], None],
    ) -> None:
        self._function: Loaded = function
        self._scratch_bytes: int = scratch_bytes
        self._header: Any = binding.record.slots[:ARGUMENTS]
        self._threads: int = threads
        self._arrays, self._tensors = places
        self._once: Callable[[], None] = once
        self._failed: Callable[[Any], None] = failed
        # Empty while a thread uses it.
        self._bindings: list[Binding] = [binding]

    def __call__(self) -> None:
        for array, address, _, size in self._arrays:
            if address_of(array) != address or array.nbytes != size:
                self._once()
                return
        for tensor, address, storage, size in self._tensors:
            if tensor.data_ptr() != address or storage.nbytes() != size:
                self._once()
                return
        if overlapped() is not None:
            self._once()
            return
        try:
            binding = self._bindings.pop()
        except IndexError:
            self._once()
            return
        record = binding.record
        slots = record.slots
        slots[:ARGUMENTS] = self._header
        # What an exception leaves behind may be in use: the calls after it take the long way.
        parallel_launch.run(self._function, record, self._scratch_bytes, self._threads, self)
        if slots[FAILED]:
            self._failed(slots)
            # The version for arrays that share memory has to run, now and from now on.
            self._once()
            return
        self._bindings.append(binding)
