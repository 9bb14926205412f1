"""What the model looks at in a program: its products and loops, and how much they move and keep."""

from __future__ import annotations

from typing import Final, NamedTuple

from tileir.dialect.attributes import hint_of
from tileir.dialect.ops import (
    CAT,
    FOR,
    LOAD_PTR_TKO,
    LOAD_VIEW_TKO,
    MMAF,
    MMAF_SCALED,
    PERMUTE,
    REDUCE,
    SCAN,
    STORE_PTR_TKO,
    STORE_VIEW_TKO,
)
from tileir.dialect.types import PartitionViewType, TileType
from tileir.execute.dtypes import memory_bytes
from tileir.execute.gpu.triton.schedule.early_loads import may_load_early
from tileir.execute.gpu.triton.targets import triton_target
from tileir.ir.core import Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import MATRIX_PRODUCT
from tileir.ir.traversal import pre_order
from tileir.ir.types import F8E4M3FN, F8E5M2, F32, F64, FloatType
from tileir.ir.values import Value

PRODUCTS: Final = REGISTRY.with_traits(MATRIX_PRODUCT)
_LOADS: Final = (LOAD_VIEW_TKO, LOAD_PTR_TKO)
_STORES: Final = (STORE_VIEW_TKO, STORE_PTR_TKO)
_MOST_STEPS: Final = 64
"""How far a value is followed back to the load that it comes from."""


class Product(NamedTuple):
    """A matrix product."""

    m: int
    """With the batch, if there is one."""
    n: int
    k: int
    k_bytes: int
    """Bytes of a row of the left factor, as it lies in memory."""
    on_tensor_cores: bool
    is_promoted: bool = False
    """Whether its sum is made of zero, and added to the accumulator (`promotes`)."""

    @property
    def sums(self) -> int:
        return self.m * self.n


class ProductLoop(NamedTuple):
    """A `for` with products in it, none of them in a loop further inside."""

    operation: Operation
    products: tuple[Product, ...]
    stage_bytes: int
    """Of the tiles that an iteration loads for its products: what a stage holds in shared memory."""
    sum_registers: int
    """Of 32 bits, in all threads: what is carried around, and what products make that is not."""
    is_early: bool
    """Whether loads of later iterations may be made before stores of earlier ones."""
    is_chained: bool = False
    """Whether there are two products, and the second is of what the first gives."""


class Features(NamedTuple):
    """What matters of a program."""

    products: tuple[Product, ...]
    loops: tuple[ProductLoop, ...]
    persistent: Operation | None
    """The loop around the only loop with products, where a tile block computes one tile after the other."""
    stored_bytes: int
    """Of the largest tile that is stored."""
    loaded_bytes: int
    """Of the largest tile that is loaded."""
    widest: int
    """Elements of the largest tile that is loaded or stored."""
    reduces: bool
    transposes: bool
    row_loops: tuple[Operation, ...]
    """Loops without products that load tiles, and may load those of later iterations early."""
    row_bytes: int
    """What an iteration of them loads, at most."""
    occupancy: int
    """How many tile blocks on a multiprocessor the program advises; 0 for no advice."""
    may_specialize: bool = True
    """Whether warps that do nothing but load have not been found impossible."""


def features_of(entry: Operation, target: str = "", fast: bool = False) -> Features:
    """What matters of a kernel, for a GPU where that makes a difference."""
    operations = list(pre_order(entry))
    loads = [each for each in operations if each.declaration in _LOADS]
    stores = [each for each in operations if each.declaration in _STORES]
    loops = tuple(
        [_product_loop(each, target, fast) for each in operations if each.declaration is FOR and _is_innermost(each)]
    )
    tiles = [_tile(each.results[0]) for each in loads]
    stored = [_tile(each.operand_group(_stored_name(each))[0]) for each in stores]
    rows = [each for each in operations if each.declaration is FOR and _is_row_loop(each)]
    return Features(
        tuple([product_of(each, target, fast) for each in operations if each.declaration in PRODUCTS]),
        loops,
        _persistent(operations, loops),
        max(map(tile_bytes, stored), default=0),
        max(map(tile_bytes, tiles), default=0),
        max([each.count for each in (*tiles, *stored)], default=1),
        any(each.declaration in (REDUCE, SCAN) for each in operations),
        any(each.declaration in (PERMUTE, CAT) or _is_turned(each) for each in operations),
        tuple(rows),
        max([_loaded_bytes(each) for each in rows], default=0),
        hint_of(entry, "occupancy", target or "default") or 0,
    )


def promotes(operation: Operation, target: str, fast: bool) -> bool:
    """Whether tensor cores keep too little of the sum of a product for it to be added up over many."""
    left, total = _tile(operation.operands[0]), _tile(operation.acc)
    if operation.declaration is not MMAF or left.element not in (F8E4M3FN, F8E5M2) or total.element is not F32:
        return False
    return not (fast or "fast_acc" in operation.attributes) and bool(target) and triton_target(target).has_short_sums


def product_of(operation: Operation, target: str = "", fast: bool = False) -> Product:
    left, sums = _tile(operation.operands[0]), _tile(operation.acc)
    batch = left.shape[0] if len(left.shape) == 3 else 1
    on_tensor_cores = left.element is not F32
    k = left.shape[-1]
    return Product(
        batch * sums.shape[-2],
        sums.shape[-1],
        k,
        k * memory_bytes(left.element),
        on_tensor_cores,
        promotes(operation, target, fast),
    )


def tile_bytes(type: TileType) -> int:
    return type.count * memory_bytes(type.element)


def registers_of(type: TileType) -> int:
    """Of 32 bits, in all threads."""
    wide = 2 if type.element is F64 else 1
    half = 2 if isinstance(type.element, FloatType) and type.element.width == 16 else 1
    return type.count * wide // half


def _product_loop(operation: Operation, target: str, fast: bool) -> ProductLoop:
    block = operation.regions[0].blocks[0]
    inside = [each for each in pre_order(operation) if each.declaration in PRODUCTS]
    loads = {load for product in inside for factor in _factors(product) for load in _loads_of(factor, operation)}
    carried = [each.type for each in block.arguments if isinstance(each.type, TileType) and each.type.shape]
    made = [
        _tile(product.results[0])
        for product in inside
        if promotes(product, target, fast)
        or not any(user.declaration.is_terminator for user in product.results[0].users)
    ]
    return ProductLoop(
        operation,
        tuple([product_of(each, target, fast) for each in inside]),
        sum([tile_bytes(_tile(load.results[0])) for load in loads]),
        sum(map(registers_of, carried)) + max(map(registers_of, made), default=0),
        may_load_early(operation),
        len(inside) == 2 and _comes_from(_factors(inside[1])[0], inside[0]),
    )


def _comes_from(value: Value, source: Operation) -> bool:
    """Whether a value is made of what an operation gives."""
    pending, seen = [value], {value}
    while pending:
        maker = pending.pop().defining_operation
        if maker is source:
            return True
        fresh = [] if maker is None else [each for each in maker.operands if each not in seen]
        seen.update(fresh)
        pending.extend(fresh)
    return False


def _factors(product: Operation) -> list[Value]:
    scales = [product.lhs_scale, product.rhs_scale] if product.declaration is MMAF_SCALED else []
    return [product.lhs, product.rhs, *scales]


def _loads_of(value: Value, loop: Operation) -> list[Operation]:
    """The loads in a loop that a factor is made of, without those of other products."""
    found: list[Operation] = []
    pending, seen = [value], {value}
    while pending and len(seen) < _MOST_STEPS:
        maker = pending.pop().defining_operation
        if maker is None or maker.declaration in PRODUCTS or not _is_in(maker, loop):
            continue
        if maker.declaration in _LOADS:
            found.append(maker)
            continue
        fresh = [each for each in maker.operands if each not in seen and isinstance(each.type, TileType)]
        seen.update(fresh)
        pending.extend(fresh)
    return found


def _is_in(operation: Operation, loop: Operation) -> bool:
    parent = operation.parent_operation
    while parent is not None and parent is not loop:
        parent = parent.parent_operation
    return parent is loop


def _is_innermost(loop: Operation) -> bool:
    """Whether it has products, and they are in no other loop in it."""
    inside = [each for each in pre_order(loop) if each is not loop]
    has_products = any(each.declaration in PRODUCTS for each in inside)
    return has_products and not any(each.declaration is FOR and _has_products(each) for each in inside)


def _has_products(operation: Operation) -> bool:
    return any(each.declaration in PRODUCTS for each in pre_order(operation))


def _persistent(operations: list[Operation], loops: tuple[ProductLoop, ...]) -> Operation | None:
    """The loop around it: it carries nothing but tokens, so that its iterations are work of their own."""
    if len(loops) != 1:
        return None
    outer = loops[0].operation.parent_operation
    if outer is None or outer.declaration is not FOR:
        return None
    carries = any(isinstance(each.type, TileType) for each in outer.results)
    return None if carries else outer


def _is_row_loop(loop: Operation) -> bool:
    block = loop.regions[0].blocks[0]
    loads = any(each.declaration in _LOADS and _tile(each.results[0]).count > 1 for each in block)
    return loads and not _has_products(loop) and may_load_early(loop)


def _loaded_bytes(loop: Operation) -> int:
    block = loop.regions[0].blocks[0]
    return sum([tile_bytes(_tile(each.results[0])) for each in block if each.declaration in _LOADS])


def _is_turned(operation: Operation) -> bool:
    """Whether tiles are read or written across the order of memory."""
    if operation.declaration not in (LOAD_VIEW_TKO, STORE_VIEW_TKO):
        return False
    view = operation.view.type
    return isinstance(view, PartitionViewType) and list(view.dim_map) != sorted(view.dim_map)


def _stored_name(operation: Operation) -> str:
    return "tile" if operation.declaration is STORE_VIEW_TKO else "value"


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type
