"""Lowering of what is read and written through views: by descriptors where they serve, else by addresses."""

from __future__ import annotations

from tileir.execute.gpu.triton.lowering import descriptors, elements
from tileir.execute.gpu.triton.lowering.accesses import access_of
from tileir.execute.gpu.triton.lowering.addresses import addresses, inside
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.fences import wait_for_others
from tileir.execute.gpu.triton.lowering.ordered import ordered_load, ordered_store
from tileir.ir.core import Operation


def lower_load_view(lowering: Lowering, operation: Operation) -> None:
    wait_for_others(lowering, operation)
    build = lowering.build
    access = access_of(lowering, operation)
    by = descriptors.described(lowering, operation, access)
    if by is not None:
        value = descriptors.load(lowering, access, by)
    else:
        pointers, mask = addresses(lowering, access), inside(lowering, access)
        other = elements.padding(build, access.type, pointers.shape) if mask is not None else None
        if operation.memory_ordering_semantics == "weak":
            loaded = build.load(pointers, mask, other)
        else:
            loaded = ordered_load(lowering, operation, pointers, mask, other)
        value = elements.from_memory(build, access.type.tensor.element, loaded)
    lowering.result(operation, value)


def lower_store_view(lowering: Lowering, operation: Operation) -> None:
    wait_for_others(lowering, operation)
    build = lowering.build
    access = access_of(lowering, operation)
    value = lowering.value(operation.tile)
    by = descriptors.described(lowering, operation, access)
    if by is not None:
        descriptors.store(lowering, access, by, value)
        return
    stored = elements.to_memory(build, access.type.tensor.element, value)
    pointers, mask = addresses(lowering, access), inside(lowering, access)
    if operation.memory_ordering_semantics == "weak":
        build.store(pointers, stored, mask)
    else:
        ordered_store(lowering, operation, pointers, stored, mask)
