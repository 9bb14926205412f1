"""The arrays that pointers stay in, most likely: what an access is compared with first."""

from __future__ import annotations

from dataclasses import dataclass

from tileir.execute.analysis.aliasing import likely_origin
from tileir.execute.analysis.values import reserved_bytes
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.vector.builder import Number
from tileir.ir.core import Operation
from tileir.ir.values import BlockArgument, Value


@dataclass(eq=False, repr=False, slots=True)
class LikelyArray:
    """An array that pointers stay in, most likely: where it begins, how many bytes it has, and whether a kernel that
    compiles may write to it."""

    low: Number
    bytes: Number
    writable: bool


READABLE = 1
WRITABLE = 3
"""What `@bounds.find` says of memory, and what an access wants of it."""


def wanted_of(operation: Operation) -> int:
    return WRITABLE if operation.declaration.writes is not None else READABLE


def likely_array(emission: Emission, value: Value) -> LikelyArray | None:
    """The array that a pointer, or the pointer behind a view, most likely stays in."""
    source = likely_origin(emission.program.entry, value)
    if source is None:
        return None
    if isinstance(source, Operation):
        register = emission.scalars.get(source.results[0])
        return LikelyArray(register.name, max(reserved_bytes(source), 1), True) if register is not None else None
    if isinstance(source, BlockArgument):
        slot = emission.layout.of_parameter(source.index)
    else:
        slot = emission.layout.of_global(str(source).removeprefix("@"))
    frame = emission.frame
    low, high = frame.record_slot(slot), frame.record_slot(slot + 1)
    size = f"%array{slot}.bytes"
    frame.add(f"{size} = sub i64 {high}, {low}")
    # An argument that a kernel may write through has to be writable in every launch.
    return LikelyArray(low, size, source not in emission.constant_globals)


def places_in(emission: Emission, array: LikelyArray, size: int) -> Number:
    """How many places there are in an array for so many bytes, counting from its first byte."""
    if isinstance(array.bytes, int):
        return max(array.bytes - (size - 1), 0)
    emission.module.declare("declare i64 @llvm.usub.sat.i64(i64, i64)")
    name = f"{array.bytes}.{size}"
    emission.frame.add(f"{name} = call i64 @llvm.usub.sat.i64(i64 {array.bytes}, i64 {size - 1})")
    return name


def accessed_array(emission: Emission, operation: Operation) -> LikelyArray | None:
    """The array that an access through pointers is most likely to, where it may do what it does."""
    array = likely_array(emission, pointers_of(operation))
    return array if array is not None and (array.writable or operation.declaration.writes is None) else None


def pointers_of(operation: Operation) -> Value:
    """The pointers that an access goes through."""
    group = operation.declaration.reads or operation.declaration.writes
    assert group is not None
    return operation.operand_group(group)[0]
