"""Values out of the middle of a kernel, on any engine: the kernel itself writes them down.

A copy of the kernel gets three more parameters, a log, the number of a tile block and the size of the log, and behind
each operation a probe: the tile block of that number appends the operation's result to the log.

The log is bytes.  Its first eight count how many were requested, which is where the next entry begins; an entry begins
at a multiple of 16 with the number of its probe (8 bytes, from 1), its elements follow 16 bytes later.  What does not
fit is left out and still counted: a log too small holds the beginning of the run.

A probe uses its value once more, which may change how a compiler orders and fuses the code around it.  Engines that are
bit for bit the same with any code, as the interpreter and the CPU engine are, do not show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Final, cast

import numpy

from tileir.analyze.comparing.widened import compared_element, float_element, in_reduction
from tileir.dialect.builder import Builder
from tileir.dialect.ops import CONSTANT
from tileir.dialect.types import TileType, pointer_error, pointer_type, scalar_tile, tile_type
from tileir.execute.dtypes import Array, from_memory, memory_bytes, memory_dtype
from tileir.execute.launching.entries import select_entry
from tileir.ir.attributes import type_attribute
from tileir.ir.core import Operation
from tileir.ir.traversal import ancestors, clone
from tileir.ir.types import I8, I32, I64, Type, function_type
from tileir.ir.values import Value

_ALIGNMENT: Final = 16
_HEAD: Final = 16
_MOST_PROBES: Final = 400
"""Probes are code to be compiled: of more values only floats, and then the first ones."""


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
    """A copy of a kernel with probes."""

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
        """The arguments behind those of the kernel: an empty log of so many bytes comes first."""
        log = numpy.zeros(size + _ALIGNMENT, numpy.int8)
        return [log, block, log.size]

    def entries(self, log: Array) -> list[tuple[Probe, Array]]:
        """What was written down, in order: the probe, and the elements as the interpreter has them."""
        used = int(log[:8].view(numpy.int64)[0]) + _ALIGNMENT
        found, at = [], _ALIGNMENT
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
