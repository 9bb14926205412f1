"""A recording beside another engine: every value that the engine computes, written down by the kernel itself.

The launch begins again with the memory that it began with when it was recorded, on the other engine and with probes in
the kernel; afterwards memory is put back.  Addresses are the same in both runs, so tables of pointers work too.

A copy of the kernel gets three more parameters, a log, the number of a tile block and the size of the log, and after
each operation a probe: the tile block of that number appends the operation's result to the log.  Its first eight bytes
count how many were requested, which is where the next entry begins; an entry begins at a multiple of 16 with the number
of its probe (8 bytes, from 1), its elements follow 16 bytes later.  What does not fit is left out and still counted: a
log too small holds the beginning of the run.

A probe uses its value once more, which may change how a compiler orders and fuses the code around it.  Engines that are
bit for bit the same with any code, as the interpreter and the CPU backend are, do not show it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any, Final, cast

import numpy

from tileir.analyze.comparing.comparison import ArrayDifference, differing_arrays
from tileir.analyze.comparing.recordings import MOST_BYTES, ValueComparison
from tileir.analyze.comparing.widened import compared_element, float_element, in_reduction
from tileir.dialect.builder import Builder
from tileir.dialect.ops import CONSTANT
from tileir.dialect.types import PointerType, TileType, pointer_error, pointer_type, scalar_tile, tile_type
from tileir.execute.arguments.binding import Pointer
from tileir.execute.dtypes import Array, from_memory, memory_bytes, memory_dtype
from tileir.execute.engine.interface import Backend, LaunchOptions
from tileir.execute.engine.registry import find_engine, why_missing
from tileir.execute.errors import ExecutionError, LaunchError
from tileir.execute.launching.entries import select_entry
from tileir.execute.launching.kernel import Kernel, compile
from tileir.execute.recording.recording import Recording
from tileir.execute.sanitizer.number_watch import PRODUCTS
from tileir.ir.attributes import type_attribute
from tileir.ir.core import Operation
from tileir.ir.traversal import ancestors, clone
from tileir.ir.types import I8, I32, I64, Type, function_type
from tileir.ir.values import Value

_ALIGNMENT: Final = 16
_HEAD: Final = 16
_MOST_PROBES: Final = 400
"""Probes are code to be compiled: of more values only floats, and then the first ones."""


def why_not(engine: Backend, recording: Recording) -> str:
    """Why a recording cannot be compared with an engine; empty if it can."""
    if missing := why_missing(engine):
        return missing
    if recording.failure:
        return "the launch failed"
    if engine.on_gpu and recording.launch.memory.has_tables:
        return "the launch reads addresses from memory, which are others on a GPU"
    return engine.refusal(recording.program.entry, LaunchOptions())


class EngineComparison(ValueComparison):
    """A recording beside the same launch on another engine."""

    missing = "is not recorded by the kernel at this step"

    def __init__(self, recording: Recording, engine: str) -> None:
        super().__init__(recording)
        found = find_engine(engine)
        if reason := why_not(found, recording):
            raise LaunchError(f"{found.called} cannot be compared: {reason}")
        self.engine: Backend = found
        self.id = found.name
        self.title = f"on {found.called}"
        self.criterion = (
            f"The launch is run again on {found.called}, from the same memory; the kernel records its values. "
            "Every difference counts."
        )
        self._probed: ProbedKernel = ProbedKernel(recording.program.entry)
        self._kernel: Kernel = compile(
            self._probed.module,
            entry=recording.program.entry.symbol_name,
            backend=found.name,
            exact=recording.launch.exact,
        )
        self._entries: tuple[int, dict[int, list[Array]]] = (-1, {})
        self._arrays: list[ArrayDifference] | None = None
        if self._probed.left_out:
            self.notes.append(f"{self._probed.left_out} values are not compared: the kernel has too many.")
        products = [one for one in recording.program.operations if one.declaration in PRODUCTS]
        if products and not recording.launch.exact:
            self.notes.append(
                "Backends add up matmuls of floats in their own orders, unless the kernel is compiled with exact=True."
            )

    def array_differences(self) -> list[ArrayDifference]:
        if self._arrays is None:
            self._launch(-1, 0)
        assert self._arrays is not None
        return self._arrays

    def searched_blocks(self) -> int:
        # The whole launch runs for each, and where no array differs, hardly a value does.
        return 8 if self.array_differences() else 1

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
                self._kernel.launch(recording.grid, (*arguments, *probes), memory=memory, output=lambda text: None)
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
            address, dtype = int(value), memory_dtype(element.pointee)
            region = launch.memory.find(address)
            array: Array = numpy.empty(0, dtype)
            if region is not None:
                count = (region.end - address) // dtype.itemsize
                array = numpy.ndarray((count,), dtype, region.data, address - region.start)
                array.flags.writeable = region.writable
            found.append(array if region is None else Pointer(array))
        return found


@dataclass(slots=True, eq=False)
class Probe:
    """A result of an operation that is written down."""

    value: Value
    """In the program that was copied."""
    result: Value
    """In the copy."""
    element: Type
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """What an entry takes in the log."""
        size = _HEAD + prod(self.shape) * memory_bytes(self.element)
        return -(-size // _ALIGNMENT) * _ALIGNMENT


class ProbedKernel:
    def __init__(self, entry: Operation) -> None:
        mapping: dict[Value, Value] = {}
        self.module: Operation = clone([entry, *ancestors(entry)][-1], mapping)
        self.entry: Operation = select_entry(self.module, entry.symbol_name)
        self.probes: list[Probe] = []
        self.left_out: int = 0
        """How many values have no probe, as there are too many."""
        chosen = _chosen(entry)
        if len(chosen) > _MOST_PROBES:
            preferred = [value for value in chosen if float_element(value) is not None][:_MOST_PROBES]
            self.left_out = len(chosen) - len(preferred)
            chosen = preferred
        for value in chosen:
            type = cast(TileType, value.type)
            self.probes.append(Probe(value, mapping[value], type.element, type.shape))
        body = self.entry.regions[0].blocks[0]
        log = body.add_argument(scalar_tile(pointer_type(I8)))
        requested = body.add_argument(scalar_tile(I32))
        limit = body.add_argument(scalar_tile(I64))
        inputs = tuple([argument.type for argument in body.arguments])
        self.entry.set_attribute("function_type", type_attribute(function_type(inputs, ())))
        # There is one for each parameter, and none has a meaning.
        self.entry.set_attribute("arg_attrs", None)
        b = Builder(block=body, before=body.first)
        x, y, z = b.get_tile_block_id()
        width, height, _ = b.get_num_tile_blocks()
        block = b.addi(x, b.muli(width, b.addi(y, b.muli(height, z))))
        chosen = b.cmpi(block, requested, "equal", "signed")
        for number, probe in enumerate(self.probes, 1):
            operation = probe.result.defining_operation
            assert operation is not None and operation.parent is not None
            _write_down(Builder(block=operation.parent, before=operation.next), number, probe, log, chosen, limit)

    def arguments(self, size: int, block: int) -> list[Any]:
        """The arguments after those of the kernel: an empty log of so many bytes comes first."""
        log = numpy.zeros(size + _ALIGNMENT, numpy.int8)
        return [log, block, log.size]

    def entries(self, log: Array) -> list[tuple[Probe, Array]]:
        """What was written down, in order: the probe, and the elements as the interpreter has them."""
        used = int(log[:8].view(numpy.int64)[0]) + _ALIGNMENT
        found = []
        at = _ALIGNMENT
        while at < min(used, log.size):
            number = int(log[at : at + 8].view(numpy.int64)[0])
            if not number:
                break
            probe = self.probes[number - 1]
            size = prod(probe.shape) * memory_bytes(probe.element)
            content = log[at + _HEAD : at + _HEAD + size].view(memory_dtype(probe.element)).reshape(probe.shape)
            found.append((probe, from_memory(probe.element, content)))
            at += probe.bytes
        return found


def _chosen(entry: Operation) -> list[Value]:
    """The values to write down: tiles that are results, outside of the bodies of reductions."""
    computed = [each for each in entry.walk() if each.declaration is not CONSTANT and not in_reduction(each)]
    elements = [(result, compared_element(result)) for operation in computed for result in operation.results]
    return [result for result, element in elements if element is not None and pointer_error(element) is None]


def _write_down(b: Builder, number: int, probe: Probe, log: Value, chosen: Value, limit: Value) -> None:
    with b.if_(chosen):
        size = b.constant(probe.bytes, I64)
        counter = b.ptr_to_ptr(log, scalar_tile(pointer_type(I64)))
        before, _ = b.atomic_rmw_tko(
            counter, size, memory_ordering_semantics="relaxed", memory_scope="device", mode="add"
        )
        start = b.addi(before, b.constant(_ALIGNMENT, I64))
        fits = b.cmpi(b.addi(start, size), limit, "less_than_or_equal", "signed")
        with b.if_(fits):
            head = b.ptr_to_ptr(b.offset(log, start), scalar_tile(pointer_type(I64)))
            b.store_ptr_tko(head, b.constant(number, I64), memory_ordering_semantics="weak")
            begin = b.offset(log, b.addi(start, b.constant(_HEAD, I64)))
            pointers = b.ptr_to_ptr(begin, scalar_tile(pointer_type(probe.element)))
            if probe.shape:
                count = prod(probe.shape)
                places = b.iota(tile_type((count,), I32))
                row = b.broadcast(b.reshape(pointers, (1,)), (count,))
                pointers = b.reshape(b.offset(row, places), probe.shape)
            b.store_ptr_tko(pointers, probe.result, memory_ordering_semantics="weak")
