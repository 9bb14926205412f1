"""How each operation is lowered, by mnemonic: the roster of the CPU engine."""

from __future__ import annotations

from typing import Final

from tileir.execute.cpu.lowering.aggregates import (
    lower_product,
    lower_reduce,
)
from tileir.execute.cpu.lowering.control import (
    lower_assert,
    lower_if,
    lower_leave,
    lower_loop,
    lower_print,
)
from tileir.execute.cpu.lowering.memory import (
    lower_alloca,
    lower_atomic,
    lower_load_pointers,
    lower_load_view,
    lower_store_pointers,
    lower_store_view,
)
from tileir.execute.cpu.lowering.tiles import (
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
    lower_promise,
    lower_repack,
    lower_reshape,
    lower_same,
)
from tileir.execute.cpu.lowering.walk import (
    PRODUCTS,
    VIEWS,
    Handlers,
)
from tileir.execute.interpreter.kernels import KERNELS

_NO_EFFECT: Final = (
    "barrier", "gdc_launch_dependents_tko", "gdc_wait_tko", "join_tokens", "make_token", "memory_fence_alias_tko",
)  # fmt: skip

HANDLERS: Final[Handlers] = {
    **dict.fromkeys(KERNELS, lower_elementwise),
    **dict.fromkeys(PRODUCTS, lower_product),
    **dict.fromkeys(_NO_EFFECT, lower_nothing),
    **dict.fromkeys(VIEWS, lower_let),
    "alloca": lower_alloca,
    "assert": lower_assert,
    "assume": lower_same,
    "assume_cond": lower_promise,
    "atomic_cas_tko": lower_atomic,
    "atomic_load_tko": lower_load_pointers,
    "atomic_red_view_tko": lower_atomic,
    "atomic_rmw_tko": lower_atomic,
    "atomic_store_tko": lower_store_pointers,
    "break": lower_leave,
    "broadcast": lower_broadcast,
    "cat": lower_cat,
    "constant": lower_constant,
    "continue": lower_leave,
    "extract": lower_extract,
    "for": lower_loop,
    "if": lower_if,
    "insert": lower_insert,
    "iota": lower_iota,
    "load_ptr_tko": lower_load_pointers,
    "load_view_tko": lower_load_view,
    "loop": lower_loop,
    "offset": lower_elementwise,
    "pack": lower_repack,
    "permute": lower_permute,
    "print_tko": lower_print,
    "reduce": lower_reduce,
    "reshape": lower_reshape,
    "return": lower_leave,
    "scan": lower_reduce,
    "select": lower_elementwise,
    "store_ptr_tko": lower_store_pointers,
    "store_view_tko": lower_store_view,
    "unpack": lower_repack,
    "unrealized_conversion_cast": lower_cast,
    "yield": lower_leave,
}
