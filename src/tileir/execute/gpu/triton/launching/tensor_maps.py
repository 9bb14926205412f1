"""Descriptors of tensors for the tensor memory accelerator, made by the driver and kept for launches that are alike.

The driver has dimensions in the other order, the one whose elements are beside each other first, and strides in bytes,
none for that one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final

from tileir.execute.gpu.driver.errors import INVALID_VALUE
from tileir.execute.gpu.driver.library import driver
from tileir.execute.gpu.launched_code import NotDescribed
from tileir.execute.gpu.triton.code import TensorMap
from tileir.execute.gpu.triton.launch_values import arguments_of, evaluate

MAP_BYTES: Final = 128
MAP_ALIGNMENT: Final = 64

_NO_INTERLEAVE: Final = 0
_PROMOTION_128: Final = 2
_FILL_ZERO: Final = 0
_FILL_NAN: Final = 1
_STRIDE_UNIT: Final = 16
_MOST_KEPT: Final = 256
"""Launches with other arrays whose descriptors are kept."""


class TensorMaps:
    """The descriptors that the launches of some code take."""

    def __init__(self, maps: Sequence[TensorMap], signed: Callable[[Sequence[Any]], list[int]]) -> None:
        """`signed` makes numbers of arguments."""
        self._maps: Final = tuple(maps)
        self._signed: Final = signed
        numbers = sorted({number for each in maps for number in _arguments(each)})
        # With one number it gives that and no tuple, which is as good.
        self.key: Final[Callable[[Sequence[Any]], Any]] = itemgetter(*numbers) if numbers else len
        """What of the arguments they depend on."""
        self.known: Final[dict[Any, bytes]] = {}
        """By key: all of them, one behind the other."""

    def encoded(self, values: Sequence[Any]) -> bytes:
        """All of them for the arguments of a launch, one behind the other."""
        key = self.key(values)
        found = self.known.get(key)
        if found is None:
            numbers = self._signed(values)
            found = b"".join([encode(each, numbers) for each in self._maps])
            if len(self.known) >= _MOST_KEPT:
                self.known.clear()
            self.known[key] = found
        return found


def encode(map: TensorMap, numbers: Sequence[int]) -> bytes:
    """The descriptor for arguments; `NotDescribed` if the driver makes none."""
    try:
        base = evaluate(map.base, numbers)
        extents = [evaluate(value, numbers) for value in reversed(map.shape)]
        steps = [evaluate(value, numbers) * map.element_bytes for value in reversed(map.strides)]
    except OverflowError:
        raise NotDescribed from None
    # Nothing is ever a step away where there is one element: the driver is given what it takes.
    strides = [_STRIDE_UNIT if extent == 1 else step for extent, step in zip(extents, steps, strict=True)][1:]
    if any(number < 0 for number in (base, *extents, *strides)):
        raise NotDescribed
    rank = len(extents)
    raw: Any = (ctypes.c_char * (MAP_BYTES + MAP_ALIGNMENT))()
    start = ctypes.addressof(raw)
    start += -start % MAP_ALIGNMENT
    code = driver().function("cuTensorMapEncodeTiled")(
        start,
        map.element_type,
        rank,
        base,
        (ctypes.c_uint64 * rank)(*extents),
        (ctypes.c_uint64 * rank)(*strides),
        (ctypes.c_uint32 * rank)(*reversed(map.box)),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        _NO_INTERLEAVE,
        map.swizzle,
        _PROMOTION_128,
        _FILL_NAN if map.fill_nan else _FILL_ZERO,
    )
    if code == INVALID_VALUE:
        raise NotDescribed
    if code:
        raise driver().error("cuTensorMapEncodeTiled", code, "describing an array")
    return ctypes.string_at(start, MAP_BYTES)


def _arguments(map: TensorMap) -> set[int]:
    return {number for value in (map.base, *map.shape, *map.strides) for number in arguments_of(value)}
