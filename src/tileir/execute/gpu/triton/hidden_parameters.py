"""What code of Triton takes beside the arguments of a kernel, filled into the record of a launch.

Descriptors of tensors for TMA are made by the driver and kept for launches with the same arrays.  The driver has
dimensions in the other order, the contiguous one first, and strides in bytes, none for that one.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from tileir.execute.errors import BlockId
from tileir.execute.gpu.driver.library import INVALID_VALUE, driver
from tileir.execute.gpu.launch_record import Hidden, LaunchForm, Packer, Record
from tileir.execute.gpu.loaded_code import Complete, NotDescribed
from tileir.execute.gpu.triton.code import REPORTED, Code, Slot, TensorMap, arguments_of, evaluate
from tileir.execute.memory import Region

MAP_BYTES: Final = 128
MAP_ALIGNMENT: Final = 64

_NO_INTERLEAVE: Final = 0
_PROMOTION_128: Final = 2
_FILL_ZERO: Final = 0
_FILL_NAN: Final = 1
_STRIDE_UNIT: Final = 16
_MOST_KEPT: Final = 256

_ARGUMENT: Final = "argument"
_DESCRIPTOR: Final = "descriptor"
_NOTHING: Final = "nothing"
_SCRATCH: Final = "scratch"


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


def launch_form(code: Code) -> LaunchForm:
    kinds = {_DESCRIPTOR: Hidden(MAP_BYTES, MAP_ALIGNMENT)}
    sources = [int(each.content) if each.kind == _ARGUMENT else kinds.get(each.kind, Hidden()) for each in code.slots]
    return LaunchForm(code.threads, code.shared, code.cluster, tuple(sources))


class HiddenParameters:
    """Fills what is not arguments; called for each launch."""

    def __init__(
        self,
        packer: Packer,
        slots: Sequence[Slot],
        globals: Mapping[str, Region],
        signed: Callable[[Sequence[Any]], list[int]],
    ) -> None:
        """`signed` makes numbers of arguments."""
        self._globals: Final = globals
        self._signed: Final = signed
        descriptors = [number for number, slot in enumerate(slots) if slot.kind == _DESCRIPTOR]
        self._maps: Final[list[TensorMap]] = [slots[number].content for number in descriptors]
        parts = [value for each in self._maps for value in (each.base, *each.shape, *each.strides)]
        numbers = sorted({number for value in parts for number in arguments_of(value)})
        # The arguments that descriptors depend on; if it is one, the key is that and no tuple, which is as good.
        self._key: Final[Callable[[Sequence[Any]], Any]] = itemgetter(*numbers) if numbers else len
        self._encoded: Final[dict[Any, bytes]] = {}
        # Records have parameters of one alignment one behind the other.
        self._maps_place: Final = packer.places[descriptors[0]] if descriptors else 0
        self._pack_maps: Final = struct.Struct(f"{MAP_BYTES * len(descriptors)}s").pack_into
        words = [number for number, slot in enumerate(slots) if slot.kind not in (_ARGUMENT, _DESCRIPTOR)]
        self._words: Final = [slots[number] for number in words]
        self._words_place: Final = packer.places[words[0]] if words else 0
        self._pack_words: Final = struct.Struct(f"<{len(words)}Q").pack_into
        self._addresses: Final[dict[int, list[int]]] = {}  # By context, those that are the same in each launch.
        self._has_words: Final = any(slot.kind != _NOTHING for slot in self._words)
        self._reported: Final = [number for number, slot in enumerate(self._words) if slot.kind in REPORTED]
        self._scratch: Final = [number for number, slot in enumerate(self._words) if slot.kind == _SCRATCH]

    def complete(self) -> Complete | None:
        """What fills them; None if there is nothing to fill."""
        return self if self._has_words or self._maps_place else None

    def __call__(
        self, record: Record, context: int, grid: BlockId, stream: int, values: Sequence[Any], is_kept: bool = False
    ) -> None:
        if self._maps_place:
            self._pack_maps(record.memory, self._maps_place, self._descriptors(values))
        if not self._has_words:
            return
        addresses = self._addresses.get(context)
        if addresses is None:
            addresses = self._addresses[context] = [self._address(slot, context) for slot in self._words]
        if self._scratch:
            addresses = self._with_scratch(addresses, context, grid, stream, is_kept)
        if self._reported:
            from tileir.execute.gpu.triton.device_memory import Report

            addresses = list(addresses)
            record.report = report = Report([self._words[number] for number in self._reported], context, stream)
            for number, address in zip(self._reported, report.addresses, strict=True):
                addresses[number] = address
        self._pack_words(record.memory, self._words_place, *addresses)

    def _descriptors(self, values: Sequence[Any]) -> bytes:
        """All of them for the arguments of a launch, one behind the other."""
        key = self._key(values)
        found = self._encoded.get(key)
        if found is None:
            numbers = self._signed(values)
            found = b"".join([encode(each, numbers) for each in self._maps])
            if len(self._encoded) >= _MOST_KEPT:
                self._encoded.clear()
            self._encoded[key] = found
        return found

    def _address(self, slot: Slot, context: int) -> int:
        """The address that a word is in every launch in a context; 0 for what depends on the launch."""
        # Imported where it is used: most kernels need no such memory, and a first launch is to be short.
        from tileir.execute.gpu.triton.device_memory import global_address, table_address

        if slot.kind == "global":
            return global_address(self._globals, str(slot.content), context)
        if slot.kind == "table":
            return table_address(bytes(slot.content), context)
        return 0

    def _with_scratch(self, addresses: list[int], context: int, grid: BlockId, stream: int, is_kept: bool) -> list[int]:
        from tileir.execute.gpu.triton.device_memory import scratch_address

        found, total = list(addresses), 0
        for number in self._scratch:
            size, alignment = self._words[number].content
            found[number] = total + -total % alignment
            total = found[number] + grid[0] * grid[1] * grid[2] * size
        start = scratch_address(total, context, stream, is_kept)
        for number in self._scratch:
            found[number] += start
        return found
