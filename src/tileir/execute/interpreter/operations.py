"""How each operation is compiled, by mnemonic: the roster of the interpreter."""

from __future__ import annotations

from typing import Final

import tileir.dialect.ops  # noqa: F401  (registers the declarations)
from tileir.execute.errors import LaunchError
from tileir.execute.interpreter import aggregates, control_flow, pointers, printing, shapes, views
from tileir.execute.interpreter.accumulation import compile_product
from tileir.execute.interpreter.compiler import CompileOperation, Compiler, Roster, Step, copy_step
from tileir.execute.interpreter.elementwise import compile_elementwise
from tileir.execute.interpreter.kernels import KERNELS
from tileir.ir.core import Operation
from tileir.ir.declaration import PURE, REGISTRY


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


OPERATIONS: Final[dict[str, CompileOperation]] = {
    **dict.fromkeys(KERNELS, compile_elementwise),
    "mmaf": compile_product,
    # core
    "broadcast": shapes.compile_broadcast,
    "cat": shapes.compile_cat,
    "constant": shapes.compile_constant,
    "extract": shapes.compile_extract,
    "get_global": shapes.compile_get_global,
    "get_num_tile_blocks": shapes.compile_grid_size,
    "get_tile_block_id": shapes.compile_block_id,
    "insert": shapes.compile_insert,
    "iota": shapes.compile_iota,
    "offset": shapes.compile_offset,
    "permute": shapes.compile_permute,
    "reduce": aggregates.compile_reduce,
    "reshape": shapes.compile_reshape,
    "scan": aggregates.compile_scan,
    "select": shapes.compile_select,
    # control flow
    "assert": control_flow.compile_assert,
    "break": control_flow.compile_break,
    "continue": control_flow.compile_continue,
    "for": control_flow.compile_for,
    "if": control_flow.compile_if,
    "loop": control_flow.compile_loop,
    "return": control_flow.compile_return,
    "yield": control_flow.compile_yield,
    # memory
    "alloca": pointers.compile_alloca,
    "atomic_cas_tko": pointers.compile_atomic_cas,
    "atomic_load_tko": pointers.compile_load,
    "atomic_red_view_tko": views.compile_atomic_view,
    "atomic_rmw_tko": pointers.compile_atomic_rmw,
    "atomic_store_tko": pointers.compile_store,
    "barrier": pointers.compile_token,
    "gdc_launch_dependents_tko": pointers.compile_token,
    "gdc_wait_tko": pointers.compile_token,
    "join_tokens": pointers.compile_token,
    "load_ptr_tko": pointers.compile_load,
    "make_token": pointers.compile_token,
    "memory_fence_alias_tko": pointers.compile_token,
    "store_ptr_tko": pointers.compile_store,
    # views
    "get_index_space_shape": views.compile_index_space_shape,
    "get_tensor_shape": views.compile_tensor_shape,
    "load_view_tko": views.compile_load_view,
    "make_gather_scatter_view": views.compile_tile_view,
    "make_partition_view": views.compile_tile_view,
    "make_strided_view": views.compile_tile_view,
    "make_tensor_view": views.compile_tensor_view,
    "store_view_tko": views.compile_store_view,
    # miscellaneous
    "assume": shapes.compile_same,
    "assume_cond": _ignored,
    "print_tko": printing.compile_print,
    "unrealized_conversion_cast": _compile_cast,
}

# What may run earlier than where it stands: it cannot fail and has no effect.
_MAY_FAIL: Final = ("extract", "insert", "get_tile_block_id", "divi", "remi")
MOVABLE: Final = frozenset(
    [
        declaration.mnemonic
        for declaration in REGISTRY.declarations()
        if declaration.traits & PURE and declaration.mnemonic not in _MAY_FAIL and not declaration.is_terminator
    ]
    + ["assume", "get_index_space_shape", "get_tensor_shape", "make_tensor_view"]
)

ROSTER: Final = Roster(OPERATIONS, MOVABLE)
