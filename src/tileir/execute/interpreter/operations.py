"""How each operation is compiled."""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.execute.errors import LaunchError
from tileir.execute.interpreter import aggregates, control_flow, pointers, printing, shapes, views
from tileir.execute.interpreter.compiler import Compiler, Operations, Step, copy_step
from tileir.execute.interpreter.kernels import KERNELS, compile_elementwise
from tileir.ir.core import Operation


def _compile_cast(compiler: Compiler, operation: Operation) -> Step:
    """A cast that changes nothing; any other stands in for something that is not there."""
    sources, results = operation.operands, operation.results
    if [value.type for value in sources] != [value.type for value in results]:
        raise LaunchError(
            "'cuda_tile.unrealized_conversion_cast' stands in for a conversion: replace it before the program runs"
        )
    return copy_step(compiler.slots_of(sources), compiler.slots_of(results), None)


def _compile_nothing(compiler: Compiler, operation: Operation) -> Step:
    """Tokens order what is in order anyway, and only the sanitizer checks promises."""
    return copy_step([], [], None)


OPERATIONS: Final[Operations] = {
    **dict.fromkeys(KERNELS, compile_elementwise),
    **dict.fromkeys(shapes.SHAPES, shapes.compile_shape),
    # core
    ops.EXTRACT: shapes.compile_extract,
    ops.GET_GLOBAL: shapes.compile_get_global,
    ops.GET_NUM_TILE_BLOCKS: shapes.compile_grid_size,
    ops.GET_TILE_BLOCK_ID: shapes.compile_block_id,
    ops.INSERT: shapes.compile_insert,
    ops.REDUCE: aggregates.compile_reduce,
    ops.SCAN: aggregates.compile_scan,
    # control flow
    ops.ASSERT: control_flow.compile_assert,
    ops.BREAK: control_flow.compile_break,
    ops.CONTINUE: control_flow.compile_continue,
    ops.FOR: control_flow.compile_for,
    ops.IF: control_flow.compile_if,
    ops.LOOP: control_flow.compile_loop,
    ops.RETURN: control_flow.compile_return,
    ops.YIELD: control_flow.compile_yield,
    # memory
    ops.ALLOCA: pointers.compile_alloca,
    ops.ATOMIC_CAS_TKO: pointers.compile_atomic_cas,
    ops.ATOMIC_LOAD_TKO: pointers.compile_load,
    ops.ATOMIC_RED_VIEW_TKO: views.compile_atomic_view,
    ops.ATOMIC_RMW_TKO: pointers.compile_atomic_rmw,
    ops.ATOMIC_STORE_TKO: pointers.compile_store,
    ops.BARRIER: _compile_nothing,
    ops.GDC_LAUNCH_DEPENDENTS_TKO: _compile_nothing,
    ops.GDC_WAIT_TKO: _compile_nothing,
    ops.JOIN_TOKENS: _compile_nothing,
    ops.LOAD_PTR_TKO: pointers.compile_load,
    ops.MAKE_TOKEN: _compile_nothing,
    ops.MEMORY_FENCE_ALIAS_TKO: _compile_nothing,
    ops.STORE_PTR_TKO: pointers.compile_store,
    # views
    ops.GET_INDEX_SPACE_SHAPE: views.compile_index_space_shape,
    ops.GET_TENSOR_SHAPE: views.compile_tensor_shape,
    ops.LOAD_VIEW_TKO: views.compile_load_view,
    ops.MAKE_GATHER_SCATTER_VIEW: views.compile_tile_view,
    ops.MAKE_PARTITION_VIEW: views.compile_tile_view,
    ops.MAKE_STRIDED_VIEW: views.compile_tile_view,
    ops.MAKE_TENSOR_VIEW: views.compile_tensor_view,
    ops.STORE_VIEW_TKO: views.compile_store_view,
    # miscellaneous
    ops.ASSUME_COND: _compile_nothing,
    ops.PRINT_TKO: printing.compile_print,
    ops.UNREALIZED_CONVERSION_CAST: _compile_cast,
}
