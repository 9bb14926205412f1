"""How each operation is compiled: the roster of the interpreter."""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.execute.errors import LaunchError
from tileir.execute.interpreter import aggregates, control_flow, pointers, printing, shapes, view_accesses, views
from tileir.execute.interpreter.accumulation import compile_product
from tileir.execute.interpreter.compiler import Compiler, Operations, Roster, Step, copy_step
from tileir.execute.interpreter.elementwise import compile_elementwise
from tileir.execute.interpreter.kernels import KERNELS
from tileir.ir.core import Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import PURE


def _compile_cast(compiler: Compiler, operation: Operation) -> Step:
    """A cast that changes nothing; any other stands in for something that is not there."""
    sources, results = operation.operands, operation.results
    if [value.type for value in sources] != [value.type for value in results]:
        raise LaunchError(
            "'cuda_tile.unrealized_conversion_cast' stands in for a conversion: replace it before the program runs"
        )
    return copy_step([compiler.slot(value) for value in sources], [compiler.slot(value) for value in results], None)


def _ignored(compiler: Compiler, operation: Operation) -> None:
    """A promise; only the sanitizer looks at it."""


OPERATIONS: Final[Operations] = {
    **dict.fromkeys(KERNELS, compile_elementwise),
    ops.MMAF: compile_product,
    # core
    ops.BROADCAST: shapes.compile_broadcast,
    ops.CAT: shapes.compile_cat,
    ops.CONSTANT: shapes.compile_constant,
    ops.EXTRACT: shapes.compile_extract,
    ops.GET_GLOBAL: shapes.compile_get_global,
    ops.GET_NUM_TILE_BLOCKS: shapes.compile_grid_size,
    ops.GET_TILE_BLOCK_ID: shapes.compile_block_id,
    ops.INSERT: shapes.compile_insert,
    ops.IOTA: shapes.compile_iota,
    ops.OFFSET: shapes.compile_offset,
    ops.PERMUTE: shapes.compile_permute,
    ops.REDUCE: aggregates.compile_reduce,
    ops.RESHAPE: shapes.compile_reshape,
    ops.SCAN: aggregates.compile_scan,
    ops.SELECT: shapes.compile_select,
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
    ops.ATOMIC_RED_VIEW_TKO: view_accesses.compile_atomic_view,
    ops.ATOMIC_RMW_TKO: pointers.compile_atomic_rmw,
    ops.ATOMIC_STORE_TKO: pointers.compile_store,
    ops.BARRIER: pointers.compile_token,
    ops.GDC_LAUNCH_DEPENDENTS_TKO: pointers.compile_token,
    ops.GDC_WAIT_TKO: pointers.compile_token,
    ops.JOIN_TOKENS: pointers.compile_token,
    ops.LOAD_PTR_TKO: pointers.compile_load,
    ops.MAKE_TOKEN: pointers.compile_token,
    ops.MEMORY_FENCE_ALIAS_TKO: pointers.compile_token,
    ops.STORE_PTR_TKO: pointers.compile_store,
    # views
    ops.GET_INDEX_SPACE_SHAPE: views.compile_index_space_shape,
    ops.GET_TENSOR_SHAPE: views.compile_tensor_shape,
    ops.LOAD_VIEW_TKO: view_accesses.compile_load_view,
    ops.MAKE_GATHER_SCATTER_VIEW: views.compile_tile_view,
    ops.MAKE_PARTITION_VIEW: views.compile_tile_view,
    ops.MAKE_STRIDED_VIEW: views.compile_tile_view,
    ops.MAKE_TENSOR_VIEW: views.compile_tensor_view,
    ops.STORE_VIEW_TKO: view_accesses.compile_store_view,
    # miscellaneous
    ops.ASSUME: shapes.compile_same,
    ops.ASSUME_COND: _ignored,
    ops.PRINT_TKO: printing.compile_print,
    ops.UNREALIZED_CONVERSION_CAST: _compile_cast,
}

# What may run earlier than where it stands: it cannot fail and has no effect.
_MAY_FAIL: Final = (ops.EXTRACT, ops.INSERT, ops.GET_TILE_BLOCK_ID, ops.DIVI, ops.REMI)
MOVABLE: Final = frozenset(
    [
        declaration
        for declaration in REGISTRY.declarations()
        if declaration.traits & PURE and declaration not in _MAY_FAIL and not declaration.is_terminator
    ]
    + [ops.ASSUME, ops.GET_INDEX_SPACE_SHAPE, ops.GET_TENSOR_SHAPE, ops.MAKE_TENSOR_VIEW]
)

ROSTER: Final = Roster(OPERATIONS, MOVABLE)
