"""What the model looks at in a program: its matmuls and loops, and how much they move and keep.

Triton's pipelines load for later iterations before earlier ones have stored, whatever memory they share.  A load waits
for a store of its own or an earlier iteration only if tokens in the loop lead from one to the other (`may_load_early`).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Final, NamedTuple

from tileir.dialect import ops
from tileir.dialect.attributes import hint_of
from tileir.dialect.types import TileType
from tileir.execute.analysis.token_order import OTHERS, TokenOrder
from tileir.execute.analysis.values import tile_of
from tileir.execute.dtypes import memory_bytes
from tileir.execute.gpu.triton.toolchain import triton_target
from tileir.ir.core import Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import MATRIX_PRODUCT
from tileir.ir.traversal import pre_order
from tileir.ir.types import F8E4M3FN, F8E5M2, F32, F64, FloatType
from tileir.ir.values import Value

MATMULS: Final = REGISTRY.with_traits(MATRIX_PRODUCT)
_LOADS: Final = (ops.LOAD_VIEW_TKO, ops.LOAD_PTR_TKO)
_STORES: Final = (ops.STORE_VIEW_TKO, ops.STORE_PTR_TKO)


def may_load_early(loop: Operation) -> bool:
    """Whether no load in a loop waits for a write or a fence of the loop, and none is more than a plain access."""
    loads = [each for each in pre_order(loop) if each.declaration in _LOADS]
    if any(load.keyword("memory_ordering_semantics") != "weak" for load in loads):
        return False
    order = TokenOrder(loop)
    return not any(order.after(token) & OTHERS for load in loads for token in load.operand_group("token"))


class Matmul(NamedTuple):
    m: int
    n: int
    k: int
    k_bytes: int  # Bytes of a row of the left operand, as it lies in memory.
    on_tensor_cores: bool
    is_promoted: bool = False  # Whether its sum is made of zero, and added to the accumulator (`promotes`).

    @property
    def accumulators(self) -> int:
        return self.m * self.n


class MatmulLoop(NamedTuple):
    """A `for` with matmuls in it, none of them in a loop further inside."""

    operation: Operation
    matmuls: tuple[Matmul, ...]
    stage_bytes: int  # Of the tiles that an iteration loads for its matmuls: what a stage holds in shared memory.
    accumulator_registers: int  # Of 32 bits, in all threads: what is carried around, and what matmuls make that is not.
    is_early: bool  # Whether loads of later iterations may be made before stores of earlier ones.
    is_chained: bool = False  # Whether there are two matmuls, and the second is of the result of the first.


class Features(NamedTuple):
    matmuls: tuple[Matmul, ...]
    loops: tuple[MatmulLoop, ...]
    persistent: Operation | None
    """The loop around the only loop with matmuls, where a tile block computes one tile after the other."""
    stored_bytes: int
    loaded_bytes: int
    reduces: bool
    row_loops: tuple[Operation, ...]
    """Loops without matmuls that load tiles, and may load those of later iterations early."""
    row_bytes: int
    occupancy: int  # How many tile blocks on a multiprocessor the program advises; 0 for no advice.
    may_specialize: bool = True  # Whether warps that do nothing but load have not been found impossible.


def features_of(entry: Operation, target: str = "", fast: bool = False) -> Features:
    """What matters of a kernel, for a GPU where that makes a difference."""
    operations = list(pre_order(entry))
    loads = [each for each in operations if each.declaration in _LOADS]
    stores = [each for each in operations if each.declaration in _STORES]
    outer = [each for each in operations if each.declaration is ops.FOR and _has_matmuls(each)]
    inner = [each for each in outer if not any(each is not other and each.is_ancestor_of(other) for other in outer)]
    loops = tuple([_matmul_loop(each, target, fast) for each in inner])
    tiles = [tile_of(each.results[0]) for each in loads]
    stored = [tile_of(each.tile if each.declaration is ops.STORE_VIEW_TKO else each.value) for each in stores]
    rows = [each for each in operations if each.declaration is ops.FOR and _is_row_loop(each)]
    return Features(
        tuple([matmul_of(each, target, fast) for each in operations if each.declaration in MATMULS]),
        loops,
        _persistent(loops),
        max(map(tile_bytes, stored), default=0),
        max(map(tile_bytes, tiles), default=0),
        any(each.declaration in (ops.REDUCE, ops.SCAN) for each in operations),
        tuple(rows),
        max([_loaded_bytes(each.regions[0].blocks[0]) for each in rows], default=0),
        hint_of(entry, "occupancy", target or "default") or 0,
    )


def promotes(operation: Operation, target: str, fast: bool) -> bool:
    """Whether tensor cores keep too little of the sum of a matmul for it to be added up over many."""
    left, total = tile_of(operation.operands[0]), tile_of(operation.acc)
    if operation.declaration is not ops.MMAF or left.element not in (F8E4M3FN, F8E5M2) or total.element is not F32:
        return False
    is_precise = not fast and "fast_acc" not in operation.attributes
    return is_precise and bool(target) and triton_target(target).has_short_accumulators


def matmul_of(operation: Operation, target: str = "", fast: bool = False) -> Matmul:
    left, accumulators = tile_of(operation.operands[0]), tile_of(operation.acc)
    *batch, m, n = accumulators.shape
    k = left.shape[-1]
    promoted = promotes(operation, target, fast)
    return Matmul(prod([*batch, m]), n, k, k * memory_bytes(left.element), left.element is not F32, promoted)


def tile_bytes(type: TileType) -> int:
    return type.count * memory_bytes(type.element)


def registers_of(type: TileType) -> int:
    """Of 32 bits, in all threads."""
    wide = 2 if type.element is F64 else 1
    half = 2 if isinstance(type.element, FloatType) and type.element.width == 16 else 1
    return type.count * wide // half


def _matmul_loop(operation: Operation, target: str, fast: bool) -> MatmulLoop:
    block = operation.regions[0].blocks[0]
    inside = [each for each in pre_order(operation) if each.declaration in MATMULS]
    carried = [each.type for each in block.arguments if isinstance(each.type, TileType) and each.type.shape]
    made = [
        tile_of(matmul.results[0])
        for matmul in inside
        if promotes(matmul, target, fast) or not any(user.declaration.is_terminator for user in matmul.results[0].users)
    ]
    return MatmulLoop(
        operation,
        tuple([matmul_of(each, target, fast) for each in inside]),
        _loaded_bytes(pre_order(operation)),
        sum(map(registers_of, carried)) + max(map(registers_of, made), default=0),
        may_load_early(operation),
        len(inside) == 2 and _is_made_of(inside[1].lhs, inside[0]),
    )


def _loaded_bytes(operations: Iterable[Operation]) -> int:
    return sum([tile_bytes(tile_of(each.results[0])) for each in operations if each.declaration in _LOADS])


def _is_made_of(value: Value, source: Operation) -> bool:
    pending, seen = [value], {value}
    while pending:
        maker = pending.pop().defining_operation
        if maker is source:
            return True
        found = [each for each in (maker.operands if maker is not None else ()) if each not in seen]
        seen.update(found)
        pending.extend(found)
    return False


def _has_matmuls(operation: Operation) -> bool:
    return any(each.declaration in MATMULS for each in pre_order(operation))


def _persistent(loops: tuple[MatmulLoop, ...]) -> Operation | None:
    """The loop around it: it carries nothing but tokens, so that its iterations are work of their own."""
    if len(loops) != 1:
        return None
    outer = loops[0].operation.parent_operation
    if outer is None or outer.declaration is not ops.FOR:
        return None
    carries = any(isinstance(each.type, TileType) for each in outer.results)
    return None if carries else outer


def _is_row_loop(loop: Operation) -> bool:
    block = loop.regions[0].blocks[0]
    loads = any(each.declaration in _LOADS and tile_of(each.results[0]).count > 1 for each in block)
    return loads and not _has_matmuls(loop) and may_load_early(loop)
