"""What one execution of an operation computes, whatever the values are.

Each floating-point operation counts one for each element of its result, a fused multiply-add two; comparisons and
conversions are counted by themselves and are no part of that sum.  A product of an M x K and a K x N matrix is 2 M N K.
A reduction or scan of N elements runs its region N - 1 times.
"""

from __future__ import annotations

from math import prod
from typing import Final, cast

from tileir.dialect.ops import CMPF, FTOF, FTOI, ITOF, REDUCE, SCAN
from tileir.dialect.types import TileType
from tileir.ir.core import Block, Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ADDITION_COST, MATRIX_PRODUCT, ElementCost
from tileir.ir.types import Type
from tileir.ir.values import Value

Kind = tuple[str, str, str]
"""A group of `GROUPS`, the mnemonic, the element type."""


def cost_of(kind: Kind) -> ElementCost:
    """What an element of the operation of a kind takes."""
    found = REGISTRY.find(f"cuda_tile.{kind[1]}")
    return found.cost if found is not None else ADDITION_COST


FLOATING: Final = "floating"
MATRIX: Final = "matrix"
INTEGER: Final = "integer"
COMPARING: Final = "comparing"
CONVERTING: Final = "converting"

_CONVERSIONS: Final = (FTOF, FTOI, ITOF)


def _tile(value: Value) -> TileType:
    return cast(TileType, value.type)


def computed(operation: Operation, times: int, into: dict[Kind, int]) -> None:
    """Add what executions of an operation compute; control flow and what is in it are left out."""
    declaration = operation.declaration
    mnemonic = declaration.mnemonic
    if declaration.has_trait(MATRIX_PRODUCT):
        left, right = _tile(operation.operands[0]), _tile(operation.operands[1])
        amount = 2 * prod(left.shape) * right.shape[-1]
        _add(
            into,
            (MATRIX, mnemonic, f"{left.element.spelling} -> {_tile(operation.results[0]).element.spelling}"),
            times * amount,
        )
    elif declaration in (REDUCE, SCAN):
        source = _tile(operation.operands[0])
        dim = operation.dim
        rows = prod(source.shape) // source.shape[dim]
        block_computes(operation.regions[0].blocks[0], times * (prod(source.shape) - rows), into)
    elif declaration in _CONVERSIONS:
        names = f"{_element(operation.operands[0]).spelling} -> {_element(operation.results[0]).spelling}"
        _add(into, (CONVERTING, mnemonic, names), times * prod(_tile(operation.results[0]).shape))
    elif declaration is CMPF:
        _add(into, (COMPARING, mnemonic, _element(operation.operands[0]).spelling), times * _count(operation))
    elif declaration.chapter == "Floating point":
        amount = _count(operation) * declaration.cost.flops
        _add(into, (FLOATING, mnemonic, _element(operation.results[0]).spelling), times * amount)
    elif declaration.chapter in ("Integer", "Bitwise"):
        _add(into, (INTEGER, mnemonic, _element(operation.operands[0]).spelling), times * _count(operation))


def block_computes(block: Block, times: int, into: dict[Kind, int]) -> None:
    """Add what executions of the operations that stand in a block compute."""
    for operation in block:
        computed(operation, times, into)


def _element(value: Value) -> Type:
    return _tile(value).element


def _count(operation: Operation) -> int:
    return prod(_tile(operation.results[0]).shape)


def _add(into: dict[Kind, int], kind: Kind, amount: int) -> None:
    into[kind] = into.get(kind, 0) + amount
