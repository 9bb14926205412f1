"""Narrower numbers: an element type is replaced by the next one in all values at once that must agree about it."""

from __future__ import annotations

from typing import Final

from tileir.analyze.reducing.connections import CARRIES, Classes, carried_pairs, core_element, values_of
from tileir.analyze.reducing.program import Program
from tileir.analyze.reducing.removal import Edit
from tileir.analyze.reducing.retyping import retype, with_core_element
from tileir.dialect.ops import (
    EXTRACT,
    INSERT,
    LOAD_VIEW_TKO,
    MAKE_TENSOR_VIEW,
    OFFSET,
    REDUCE,
    SCAN,
    STORE_VIEW_TKO,
)
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import BF16, F16, F32, F64, I8, I16, I32, I64, Type
from tileir.ir.values import Value

_NARROWER: Final[dict[Type, tuple[Type, ...]]] = {
    F64: (F16, F32),
    F32: (F16,),
    BF16: (F16,),
    I64: (I8, I32),
    I32: (I8, I16),
    I16: (I8,),
}
# Operands that are no elements: indices, extents, offsets.
_OTHER: Final[dict[OperationDeclaration, tuple[str, ...]]] = {
    EXTRACT: ("indices",),
    INSERT: ("indices",),
    LOAD_VIEW_TKO: ("index",),
    STORE_VIEW_TKO: ("index",),
    MAKE_TENSOR_VIEW: ("dynamicShape", "dynamicStrides"),
    OFFSET: ("offset",),
}


def element_changes(program: Program) -> list[Edit]:
    """An element type in the whole program at once; then in each class of values that share one."""
    values = values_of(program)
    by_element: dict[Type, list[int]] = {}
    for address, value in enumerate(values):
        element = core_element(value.type)
        if element is not None and element in _NARROWER:
            by_element.setdefault(element, []).append(address)
    edits: list[Edit] = []
    for element, addresses in by_element.items():
        edits.extend([_narrowed(addresses, narrow) for narrow in _NARROWER[element]])
    for addresses in _classes(program, values):
        element = core_element(values[addresses[0]].type)
        if element is not None and len(addresses) < len(by_element.get(element, [])):
            edits.extend([_narrowed(addresses, narrow) for narrow in _NARROWER.get(element, ())])
    return edits


def _classes(program: Program, values: list[Value]) -> list[list[int]]:
    numbers = {value: address for address, value in enumerate(values)}
    found: Classes[int] = Classes()
    for address in range(len(values)):
        found.find(address)
    for operation in program.operations:
        for left, right in carried_pairs(operation):
            found.join(numbers[left], numbers[right])
        if operation.declaration not in CARRIES:
            first: dict[Type | None, Value] = {}
            for value in _elements(operation):
                leader = first.setdefault(core_element(value.type), value)
                found.join(numbers[leader], numbers[value])
    return found.all()


def _elements(operation: Operation) -> list[Value]:
    """The values of an operation that share element types where they have the same."""
    values: list[Value] = [*operation.operands, *operation.results]
    for name in _OTHER.get(operation.declaration, ()):
        for index in operation.operand_group(name):
            values.remove(index)
    if operation.declaration in (REDUCE, SCAN) and operation.regions[0].blocks:
        body = operation.regions[0].blocks[0]
        values.extend(body.arguments)
        if body.last is not None:
            values.extend(body.last.operands)
    return values


def _narrowed(addresses: list[int], narrow: Type) -> Edit:
    def edit(program: Program) -> bool:
        values = values_of(program)
        changes = {values[address]: with_core_element(values[address].type, narrow) for address in addresses}
        return retype(program.operations, changes)

    return edit
