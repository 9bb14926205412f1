"""How each operation is lowered, by its declaration: the roster of the Triton engine."""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.execute.gpu.triton.lowering import (
    atomics,
    constants,
    control,
    fences,
    packing,
    pointers,
    printing,
    products,
    promises,
    reductions,
    shapes,
    tensors,
    transposes,
    views,
)
from tileir.execute.gpu.triton.lowering.context import Handlers
from tileir.execute.gpu.triton.lowering.elementwise import ELEMENTWISE

_WITHOUT_EFFECT: Final = (
    ops.BARRIER, ops.GDC_LAUNCH_DEPENDENTS_TKO, ops.GDC_WAIT_TKO, ops.JOIN_TOKENS, ops.MAKE_TOKEN,
)  # fmt: skip
_TILE_VIEWS: Final = (ops.MAKE_PARTITION_VIEW, ops.MAKE_STRIDED_VIEW, ops.MAKE_GATHER_SCATTER_VIEW)

HANDLERS: Final[Handlers] = {
    **ELEMENTWISE,
    **dict.fromkeys(_WITHOUT_EFFECT, shapes.lower_nothing),
    **dict.fromkeys((ops.GET_TILE_BLOCK_ID, ops.GET_NUM_TILE_BLOCKS), control.lower_block_ids),
    **dict.fromkeys(_TILE_VIEWS, tensors.lower_make_tile_view),
    ops.ALLOCA: pointers.lower_alloca,
    ops.ASSERT: printing.lower_assert,
    ops.ASSUME: promises.lower_assume,
    ops.ATOMIC_CAS_TKO: atomics.lower_atomic_cas,
    ops.ATOMIC_RED_VIEW_TKO: atomics.lower_atomic_view,
    ops.ATOMIC_RMW_TKO: atomics.lower_atomic_rmw,
    ops.BROADCAST: shapes.lower_broadcast,
    ops.CAT: shapes.lower_cat,
    ops.CONSTANT: constants.lower_constant,
    ops.EXTRACT: shapes.lower_extract,
    ops.FOR: control.lower_for,
    ops.GET_GLOBAL: pointers.lower_global,
    ops.GET_INDEX_SPACE_SHAPE: tensors.lower_index_space_shape,
    ops.GET_TENSOR_SHAPE: tensors.lower_tensor_shape,
    ops.IF: control.lower_if,
    ops.INSERT: shapes.lower_insert,
    ops.IOTA: constants.lower_iota,
    ops.LOAD_PTR_TKO: pointers.lower_load_pointers,
    ops.LOAD_VIEW_TKO: views.lower_load_view,
    ops.LOOP: control.lower_loop,
    ops.MAKE_TENSOR_VIEW: tensors.lower_make_tensor_view,
    ops.MEMORY_FENCE_ALIAS_TKO: fences.lower_alias_fence,
    ops.MMAF: products.lower_mmaf,
    ops.MMAF_SCALED: products.lower_mmaf_scaled,
    ops.MMAI: products.lower_mmai,
    ops.OFFSET: pointers.lower_offset,
    ops.PACK: packing.lower_pack,
    ops.PERMUTE: transposes.lower_permute,
    ops.PRINT_TKO: printing.lower_print,
    ops.REDUCE: reductions.lower_reduce,
    ops.RESHAPE: shapes.lower_reshape,
    ops.SCAN: reductions.lower_scan,
    ops.STORE_PTR_TKO: pointers.lower_store_pointers,
    ops.STORE_VIEW_TKO: views.lower_store_view,
    ops.UNPACK: packing.lower_unpack,
}
