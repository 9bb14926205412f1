"""What code of Triton takes beside the arguments of a kernel, filled into the record of a launch."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tileir.execute.errors import BlockId
from tileir.execute.gpu.launched_code import Complete
from tileir.execute.gpu.packing import Hidden, LaunchForm, Packer, Record
from tileir.execute.gpu.triton.code import Code, Slot
from tileir.execute.gpu.triton.launching.tensor_maps import MAP_ALIGNMENT, MAP_BYTES, TensorMaps
from tileir.execute.gpu.triton.sites import REPORTED
from tileir.execute.memory import Region

_ARGUMENT: Final = "argument"
_DESCRIPTOR: Final = "descriptor"
_NOTHING: Final = "nothing"
_SCRATCH: Final = "scratch"


def launch_form(code: Code) -> LaunchForm:
    """How code is launched."""
    return LaunchForm(code.threads, code.shared, code.cluster, tuple([_source(slot) for slot in code.slots]))


def _source(slot: Slot) -> int | Hidden:
    if slot.kind == _ARGUMENT:
        return int(slot.content)
    return Hidden(MAP_BYTES, MAP_ALIGNMENT) if slot.kind == _DESCRIPTOR else Hidden()


class HiddenParameters:
    """Fills what is not arguments; called for each launch."""

    def __init__(
        self,
        packer: Packer,
        slots: Sequence[Slot],
        globals: Mapping[str, Region],
        signed: Callable[[Sequence[Any]], list[int]],
    ) -> None:
        self._globals: Final = globals
        descriptors = [number for number, slot in enumerate(slots) if slot.kind == _DESCRIPTOR]
        self._maps: Final = TensorMaps([slots[number].content for number in descriptors], signed)
        # Records have parameters of one alignment one behind the other.
        self._maps_place: Final = packer.places[descriptors[0]] if descriptors else 0
        self._pack_maps: Final = struct.Struct(f"{MAP_BYTES * len(descriptors)}s").pack_into
        words = [number for number, slot in enumerate(slots) if slot.kind not in (_ARGUMENT, _DESCRIPTOR)]
        self._words: Final = [slots[number] for number in words]
        self._words_place: Final = packer.places[words[0]] if words else 0
        self._pack_words: Final = struct.Struct(f"<{len(words)}Q").pack_into
        self._addresses: Final[dict[int, list[int]]] = {}
        """By context, those that are the same in each launch."""
        self._has_words: Final = any(slot.kind != _NOTHING for slot in self._words)
        self._reported: Final = [number for number, slot in enumerate(self._words) if slot.kind in REPORTED]
        self._scratch: Final = [number for number, slot in enumerate(self._words) if slot.kind == _SCRATCH]

    def complete(self) -> Complete | None:
        """What fills them; None if there is nothing to fill."""
        if self._has_words:
            return self
        return self._only_maps() if self._maps_place else None

    def _only_maps(self) -> Complete:
        """The same for code that takes descriptors and no more, as most does: it is part of each launch."""
        maps, pack, place = self._maps, self._pack_maps, self._maps_place
        key, known, make = maps.key, maps.known, maps.encoded

        def complete(
            record: Record, context: int, grid: BlockId, stream: int, values: Sequence[Any], is_kept: bool = False
        ) -> None:
            found = known.get(key(values))
            pack(record.memory, place, make(values) if found is None else found)

        return complete

    def __call__(
        self, record: Record, context: int, grid: BlockId, stream: int, values: Sequence[Any], is_kept: bool = False
    ) -> None:
        if self._maps_place:
            self._pack_maps(record.memory, self._maps_place, self._maps.encoded(values))
        if self._has_words:
            addresses = self._addresses.get(context)
            if addresses is None:
                addresses = self._addresses[context] = [self._address(slot, context) for slot in self._words]
            if self._scratch:
                addresses = self._with_scratch(addresses, context, grid, stream, is_kept)
            if self._reported:
                from tileir.execute.gpu.triton.launching.reports import Report

                addresses = list(addresses)
                report = Report([self._words[number] for number in self._reported], context, stream)
                for number, address in zip(self._reported, report.addresses, strict=True):
                    addresses[number] = address
                record.report = report
            self._pack_words(record.memory, self._words_place, *addresses)

    def _address(self, slot: Slot, context: int) -> int:
        """The address that a word is in every launch in a context; 0 for what depends on the launch."""
        # Imported where it is used: most kernels need no such memory, and a first launch is to be short.
        from tileir.execute.gpu.triton.launching.own_memory import global_address, table_address

        if slot.kind == "global":
            return global_address(self._globals, str(slot.content), context)
        if slot.kind == "table":
            return table_address(bytes(slot.content), context)
        return 0

    def _with_scratch(self, addresses: list[int], context: int, grid: BlockId, stream: int, is_kept: bool) -> list[int]:
        from tileir.execute.gpu.triton.launching.own_memory import scratch_address

        found = list(addresses)
        blocks = grid[0] * grid[1] * grid[2]
        places: list[tuple[int, int]] = []
        total = 0
        for number in self._scratch:
            size, alignment = self._words[number].content
            total += -total % alignment
            places.append((number, total))
            total += blocks * size
        start = scratch_address(total, context, stream, is_kept)
        for number, place in places:
            found[number] = start + place
        return found
