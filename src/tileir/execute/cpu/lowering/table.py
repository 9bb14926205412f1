"""How each operation is lowered, by its declaration."""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.execute.cpu.lowering import control, memory, tiles
from tileir.execute.cpu.lowering.context import PRODUCTS, Handlers
from tileir.execute.cpu.matmul.recognize import lower_mma
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ELEMENTWISE

_WITHOUT_EFFECT: Final = (
    ops.BARRIER, ops.GDC_LAUNCH_DEPENDENTS_TKO, ops.GDC_WAIT_TKO, ops.JOIN_TOKENS, ops.MAKE_TOKEN,
    ops.MEMORY_FENCE_ALIAS_TKO,
)  # fmt: skip
_ON_SCALARS: Final = (
    ops.MAKE_TENSOR_VIEW, ops.MAKE_PARTITION_VIEW, ops.MAKE_STRIDED_VIEW, ops.MAKE_GATHER_SCATTER_VIEW,
    ops.GET_INDEX_SPACE_SHAPE, ops.GET_TENSOR_SHAPE, ops.GET_TILE_BLOCK_ID, ops.GET_NUM_TILE_BLOCKS, ops.GET_GLOBAL,
)  # fmt: skip

HANDLERS: Final[Handlers] = {
    **{each: tiles.lower_elementwise for each in REGISTRY.declarations() if each.has_trait(ELEMENTWISE)},
    **dict.fromkeys(PRODUCTS, lower_mma),
    **dict.fromkeys(_WITHOUT_EFFECT, tiles.lower_nothing),
    **dict.fromkeys(_ON_SCALARS, tiles.lower_scalar),
    **dict.fromkeys((ops.ATOMIC_CAS_TKO, ops.ATOMIC_RED_VIEW_TKO, ops.ATOMIC_RMW_TKO), memory.lower_atomic),
    **dict.fromkeys((ops.BREAK, ops.CONTINUE, ops.RETURN, ops.YIELD), control.lower_terminator),
    **dict.fromkeys((ops.MULTIMEM_REDUCE_VIEW_TKO, ops.MULTIMEM_STORE_VIEW_TKO), memory.lower_multimem),
    **dict.fromkeys((ops.LOAD_PTR_TKO, ops.ATOMIC_LOAD_TKO), memory.lower_load_pointers),
    **dict.fromkeys((ops.STORE_PTR_TKO, ops.ATOMIC_STORE_TKO), memory.lower_store_pointers),
    **dict.fromkeys((ops.ASSUME, ops.ASSUME_COND), tiles.lower_assume),
    **dict.fromkeys((ops.FOR, ops.LOOP), control.lower_loop),
    **dict.fromkeys((ops.BROADCAST, ops.PERMUTE, ops.RESHAPE), tiles.lower_map),
    **dict.fromkeys((ops.CONSTANT, ops.IOTA), tiles.lower_constant),
    **dict.fromkeys((ops.PACK, ops.UNPACK), tiles.lower_repack),
    **dict.fromkeys((ops.REDUCE, ops.SCAN), control.lower_reduce),
    ops.ALLOCA: memory.lower_alloca,
    ops.ASSERT: control.lower_assert,
    ops.CAT: tiles.lower_cat,
    ops.EXTRACT: tiles.lower_extract,
    ops.IF: control.lower_if,
    ops.INSERT: tiles.lower_insert,
    ops.LOAD_VIEW_TKO: memory.lower_load_view,
    ops.MULTIMEM_LOAD_REDUCE_VIEW_TKO: memory.lower_multimem_load,
    ops.PRINT_TKO: control.lower_print,
    ops.STORE_VIEW_TKO: memory.lower_store_view,
    ops.UNREALIZED_CONVERSION_CAST: tiles.lower_cast,
}
