"""A launch that is made again and again with the same arguments: its record is filled once.

What a call has to see is whether the arrays are still where they were.  Whatever is out of the ordinary (an array that
was moved, a context of `overlap`, a second thread that calls at the same time) goes the way of a single launch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from tileir.execute.arguments.array_memory import address_of
from tileir.execute.cpu.runtime.launch_record import ARGUMENTS, Record
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
    """The launch; `run` makes it with the record, and says whether that was enough; `once` makes it the long way."""

    def __init__(
        self,
        record: Record,
        places: tuple[list[Where], list[Where]],
        run: Callable[[Record, object], bool],
        once: Callable[[], None],
    ) -> None:
        self._header: Any = record.slots[:ARGUMENTS]
        self._arrays, self._tensors = places
        self._run: Callable[[Record, object], bool] = run
        self._once: Callable[[], None] = once
        # Empty while a thread uses it.
        self._records: list[Record] = [record]

    def __call__(self) -> None:
        if not self._is_made():
            self._once()

    def _is_made(self) -> bool:
        """Make the launch, unless something is out of the ordinary."""
        for array, address, _, size in self._arrays:
            if address_of(array) != address or array.nbytes != size:
                return False
        for tensor, address, storage, size in self._tensors:
            if tensor.data_ptr() != address or storage.nbytes() != size:
                return False
        if overlapped() is not None:
            return False
        try:
            record = self._records.pop()
        except IndexError:
            return False
        record.slots[:ARGUMENTS] = self._header
        # What an exception leaves behind may be in use: the calls after it take the long way, as they do where arrays
        # share memory.
        if not self._run(record, self):
            return False
        self._records.append(record)
        return True
