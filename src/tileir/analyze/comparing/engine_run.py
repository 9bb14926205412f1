"""A recording beside another engine: every value that the engine computes, written down by the kernel itself.

The launch begins again with the memory that it began with when it was recorded, on the other engine and with probes in
the kernel (`probes.py`); afterwards memory is put back.  Addresses are the same in both runs, so tables of pointers
work too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy

from tileir.analyze.comparing.comparison import ArrayDifference, differing_arrays
from tileir.analyze.comparing.probes import Probe, ProbedKernel
from tileir.analyze.comparing.recordings import MOST_BYTES, ValueComparison
from tileir.dialect.types import PointerType, TileType
from tileir.execute.arguments.binding import Pointer
from tileir.execute.dtypes import Array, memory_dtype
from tileir.execute.engine.interface import Engine, LaunchOptions
from tileir.execute.engine.registry import find_engine, why_missing
from tileir.execute.errors import ExecutionError, LaunchError
from tileir.execute.launching.kernel import Kernel, compile
from tileir.execute.recording.recording import Recording
from tileir.execute.sanitizer.number_watch import PRODUCTS


def why_not(engine: Engine, recording: Recording) -> str:
    """Why a recording cannot be compared with an engine; empty if it can."""
    missing = why_missing(engine)
    if missing:
        return missing
    if recording.failure:
        return "the launch failed"
    if engine.on_gpu and recording.launch.memory.has_tables:
        return "the launch reads addresses from memory, which are others on a GPU"
    return engine.refusal(recording.program.entry, LaunchOptions())


class EngineComparison(ValueComparison):
    """A recording beside the same launch on another engine."""

    missing = "is not written down by the kernel at this moment"

    def __init__(self, recording: Recording, engine: str) -> None:
        super().__init__(recording)
        found = find_engine(engine)
        reason = why_not(found, recording)
        if reason:
            raise LaunchError(f"{found.called} cannot be compared with: {reason}")
        self.engine: Engine = found
        self.id = found.name
        self.title = f"on {found.called}"
        self.criterion = (
            f"The launch is run again on {found.called}, from the same memory; the kernel writes its values down. "
            "Every difference counts."
        )
        self._probed: ProbedKernel = ProbedKernel(recording.program.entry)
        self._kernel: Kernel = compile(
            self._probed.module, recording.program.entry.symbol_name, found.name, exact=recording.launch.exact
        )
        self._entries: tuple[int, dict[int, list[Array]]] = (-1, {})
        self._arrays: list[ArrayDifference] | None = None
        if self._probed.left_out:
            self.notes.append(f"{self._probed.left_out} values are not compared, as the kernel has so many.")
        products = [one for one in recording.program.operations if one.declaration in PRODUCTS]
        if products and not recording.launch.exact:
            self.notes.append(
                "Engines add up products of floats in their own orders, unless the kernel is compiled with exact=True."
            )

    def array_differences(self) -> list[ArrayDifference]:
        if self._arrays is None:
            self._launch(-1, 0)
        assert self._arrays is not None
        return self._arrays

    def searched_blocks(self) -> int:
        # The whole launch runs for each, and where no array differs, hardly a value does.
        return 8 if self.array_differences() else 1

    # --- running ---

    def other_values(self, block: int) -> dict[int, list[Array]]:
        known, found = self._entries
        if known == block:
            return found
        program = self.recording.program
        counts = numpy.bincount(self.recording.steps(block), minlength=len(program.operations))
        size = 0
        for probe in self._probed.probes:
            owner = probe.value.defining_operation
            assert owner is not None
            size += probe.bytes * int(counts[program.operation_numbers[owner]])
        found = {}
        for probe, content in self._launch(block, min(size, MOST_BYTES)):
            found.setdefault(program.value_numbers[probe.value], []).append(content)
        self._entries = block, found
        return found

    def _launch(self, block: int, size: int) -> list[tuple[Probe, Array]]:
        recording = self.recording
        known = recording.launch.memory
        probes = self._probed.arguments(size, block)
        with self._from_the_beginning() as arguments:
            # All regions, for the engine: some are reached through addresses only.
            memory = [each.data for each in known.regions if known.has_tables and each.data.size]
            try:
                self._kernel.launch(recording.grid, *arguments, *probes, memory=memory, output=lambda text: None)
            except ExecutionError as error:
                raise LaunchError(f"{self.engine.called} ends the launch with an error: {error}") from error
            after = [array.contents().copy() for array in recording.arrays]
        if self._arrays is None:
            finals = [recording.final(array.number) for array in recording.arrays]
            self._arrays = differing_arrays(zip(recording.arrays, finals, after, strict=True))
        return self._probed.entries(probes[0])

    @contextmanager
    def _from_the_beginning(self) -> Iterator[list[Any]]:
        """The arguments of the launch, with memory as it was before; it is put back."""
        recording = self.recording
        recording.go_to(0)
        regions = recording.launch.memory.regions
        before = [region.data.copy() for region in regions]
        for name, region in self._kernel.globals.regions.items():
            content = recording.launch.globals[name].data
            if region.writable:
                region.data[: content.size] = content
        try:
            yield self._arguments()
        finally:
            for region, content in zip(regions, before, strict=True):
                if region.writable:
                    region.data[:] = content

    def _arguments(self) -> list[Any]:
        launch = self.recording.launch
        found: list[Any] = []
        parameters = self.recording.program.entry.regions[0].blocks[0].arguments
        for parameter, value in zip(parameters, launch.values, strict=True):
            element = cast(TileType, parameter.type).element
            if not isinstance(element, PointerType):
                found.append(value)
                continue
            address = int(value)
            region = launch.memory.find(address)
            dtype = memory_dtype(element.pointee)
            if region is None:
                found.append(numpy.empty(0, dtype))
                continue
            count = (region.end - address) // dtype.itemsize
            array: Array = numpy.ndarray((count,), dtype, region.data, address - region.start)
            array.flags.writeable = region.writable
            found.append(Pointer(array))
        return found
