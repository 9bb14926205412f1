"""Which parameters a kernel writes through, told from the program: read-only arrays may be given for the others."""

from __future__ import annotations

import pytest

import tileir
from tileir.execute.analysis.parameters import may_write

TENSOR = "tensor_view<8xi32, strides=[1]>"
VIEW = f"partition_view<tile=(8), {TENSOR}>"
POINTER = "tile<ptr<i32>>"
I32 = "tile<i32>"

# `%p` and `%v` lead to memory of the first parameter; `%x`, the third, is what is written.  The second is read only.
ACCESSES = {
    "load_ptr_tko": (f"%r, %k = load_ptr_tko weak %p : {POINTER} -> {I32}, token", False),
    "load_view_tko": (f"%r, %k = load_view_tko weak %v[%zero] : {VIEW}, {I32} -> tile<8xi32>, token", False),
    "atomic_load_tko": (f"%r, %k = atomic_load_tko relaxed device %p : {POINTER} -> {I32}, token", False),
    "store_ptr_tko": (f"%k = store_ptr_tko weak %p, %x : {POINTER}, {I32} -> token", True),
    "store_view_tko": (f"%k = store_view_tko weak %tile, %v[%zero] : tile<8xi32>, {VIEW}, {I32} -> token", True),
    "atomic_store_tko": (f"%k = atomic_store_tko relaxed device %p, %x : {POINTER}, {I32} -> token", True),
    "atomic_rmw_tko": (f"%r, %k = atomic_rmw_tko relaxed device %p, add, %x : {POINTER}, {I32} -> {I32}, token", True),
    "atomic_cas_tko": (f"%r, %k = atomic_cas_tko relaxed device %p, %x, %x : {POINTER}, {I32} -> {I32}, token", True),
    "atomic_red_view_tko": (
        f"%k = atomic_red_view_tko relaxed device %v[%zero], add, %tile : tile<8xi32>, {VIEW}, {I32} -> token",
        True,
    ),
}


@pytest.mark.parametrize("name", ACCESSES)
@pytest.mark.parametrize("in_branch", [False, True], ids=["straight", "in a branch"])
def test_a_parameter_is_written_through_where_an_access_to_it_writes(name: str, in_branch: bool) -> None:
    access, writes = ACCESSES[name]
    if in_branch:
        access = f"if %c {{ {access} }}"
    module = tileir.parse(f"""cuda_tile.module @m {{
      entry @k(%first: {POINTER}, %second: {POINTER}, %x: {I32}, %c: tile<i1>) {{
        %zero = constant <i32: 0> : {I32}
        %p = offset %first, %zero : {POINTER}, {I32} -> {POINTER}
        %tile = constant <i32: 1> : tile<8xi32>
        %t = make_tensor_view %first, shape = [8], strides = [1] : {TENSOR}
        %v = make_partition_view %t : {VIEW}
        %other, %seen = load_ptr_tko weak %second : {POINTER} -> {I32}, token
        {access}
        return
      }}
    }}""")
    entry = next(operation for operation in module.walk() if operation.name == "cuda_tile.entry")
    assert [may_write(entry, number) for number in range(3)] == [writes, False, False]
