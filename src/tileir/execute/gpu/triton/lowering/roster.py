"""How each operation is lowered, by its declaration: the roster of the Triton engine."""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.execute.gpu.triton.lowering import (
    constants,
    control,
    pointers,
    products,
    shapes,
    tensors,
    views,
)
from tileir.execute.gpu.triton.lowering.context import Handlers
from tileir.execute.gpu.triton.lowering.elementwise import ELEMENTWISE

_TILE_VIEWS: Final = (ops.MAKE_PARTITION_VIEW, ops.MAKE_STRIDED_VIEW, ops.MAKE_GATHER_SCATTER_VIEW)

HANDLERS: Final[Handlers] = {
    **ELEMENTWISE,
    **dict.fromkeys((ops.JOIN_TOKENS, ops.MAKE_TOKEN), shapes.lower_nothing),
    **dict.fromkeys((ops.GET_TILE_BLOCK_ID, ops.GET_NUM_TILE_BLOCKS), control.lower_block_ids),
    **dict.fromkeys(_TILE_VIEWS, tensors.lower_make_tile_view),
    ops.ASSUME: shapes.lower_assume,
    ops.BROADCAST: shapes.lower_broadcast,
    ops.CAT: shapes.lower_cat,
    ops.CONSTANT: constants.lower_constant,
    ops.CONTINUE: control.lower_continue,
    ops.EXTRACT: shapes.lower_extract,
    ops.FOR: control.lower_for,
    ops.GET_INDEX_SPACE_SHAPE: tensors.lower_index_space_shape,
    ops.GET_TENSOR_SHAPE: tensors.lower_tensor_shape,
    ops.INSERT: shapes.lower_insert,
    ops.IOTA: constants.lower_iota,
    ops.LOAD_VIEW_TKO: views.lower_load_view,
    ops.MAKE_TENSOR_VIEW: tensors.lower_make_tensor_view,
    ops.MMAF: products.lower_mmaf,
    ops.OFFSET: pointers.lower_offset,
    ops.PERMUTE: shapes.lower_permute,
    ops.RESHAPE: shapes.lower_reshape,
    ops.RETURN: control.lower_return,
    ops.STORE_VIEW_TKO: views.lower_store_view,
}
