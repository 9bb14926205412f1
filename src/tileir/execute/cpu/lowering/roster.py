"""How each operation is lowered, by its declaration: the roster of the CPU engine."""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.execute.cpu.lowering.aggregates import lower_product, lower_reduce
from tileir.execute.cpu.lowering.control import lower_assert, lower_if, lower_loop, lower_print, lower_terminator
from tileir.execute.cpu.lowering.memory import (
    lower_alloca,
    lower_atomic,
    lower_load_pointers,
    lower_load_view,
    lower_store_pointers,
    lower_store_view,
)
from tileir.execute.cpu.lowering.tiles import (
    lower_assume,
    lower_assume_cond,
    lower_broadcast,
    lower_cast,
    lower_cat,
    lower_constant,
    lower_elementwise,
    lower_extract,
    lower_insert,
    lower_iota,
    lower_let,
    lower_nothing,
    lower_permute,
    lower_repack,
    lower_reshape,
)
from tileir.execute.cpu.lowering.walk import PRODUCTS, Handlers
from tileir.ir.declaration import ELEMENTWISE, REGISTRY

_WITHOUT_EFFECT: Final = (
    ops.BARRIER, ops.GDC_LAUNCH_DEPENDENTS_TKO, ops.GDC_WAIT_TKO, ops.JOIN_TOKENS, ops.MAKE_TOKEN,
    ops.MEMORY_FENCE_ALIAS_TKO,
)  # fmt: skip
_ON_SCALARS: Final = (
    ops.MAKE_TENSOR_VIEW, ops.MAKE_PARTITION_VIEW, ops.MAKE_STRIDED_VIEW, ops.MAKE_GATHER_SCATTER_VIEW,
    ops.GET_INDEX_SPACE_SHAPE, ops.GET_TENSOR_SHAPE, ops.GET_TILE_BLOCK_ID, ops.GET_NUM_TILE_BLOCKS, ops.GET_GLOBAL,
)  # fmt: skip

HANDLERS: Final[Handlers] = {
    **{each: lower_elementwise for each in REGISTRY.declarations() if each.has_trait(ELEMENTWISE)},
    **dict.fromkeys(PRODUCTS, lower_product),
    **dict.fromkeys(_WITHOUT_EFFECT, lower_nothing),
    **dict.fromkeys(_ON_SCALARS, lower_let),
    **dict.fromkeys((ops.ATOMIC_CAS_TKO, ops.ATOMIC_RED_VIEW_TKO, ops.ATOMIC_RMW_TKO), lower_atomic),
    **dict.fromkeys((ops.BREAK, ops.CONTINUE, ops.RETURN, ops.YIELD), lower_terminator),
    **dict.fromkeys((ops.LOAD_PTR_TKO, ops.ATOMIC_LOAD_TKO), lower_load_pointers),
    **dict.fromkeys((ops.STORE_PTR_TKO, ops.ATOMIC_STORE_TKO), lower_store_pointers),
    **dict.fromkeys((ops.FOR, ops.LOOP), lower_loop),
    **dict.fromkeys((ops.PACK, ops.UNPACK), lower_repack),
    **dict.fromkeys((ops.REDUCE, ops.SCAN), lower_reduce),
    ops.ALLOCA: lower_alloca,
    ops.ASSERT: lower_assert,
    ops.ASSUME: lower_assume,
    ops.ASSUME_COND: lower_assume_cond,
    ops.BROADCAST: lower_broadcast,
    ops.CAT: lower_cat,
    ops.CONSTANT: lower_constant,
    ops.EXTRACT: lower_extract,
    ops.IF: lower_if,
    ops.INSERT: lower_insert,
    ops.IOTA: lower_iota,
    ops.LOAD_VIEW_TKO: lower_load_view,
    ops.PERMUTE: lower_permute,
    ops.PRINT_TKO: lower_print,
    ops.RESHAPE: lower_reshape,
    ops.STORE_VIEW_TKO: lower_store_view,
    ops.UNREALIZED_CONVERSION_CAST: lower_cast,
}
