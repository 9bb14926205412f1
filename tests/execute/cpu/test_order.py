"""Tile blocks may run in any order, unless the kernel could tell."""

from __future__ import annotations

import pytest

import tileir
from tileir.execute.cpu.ir.memory_hints import may_change_order

TENSOR = "tensor_view<64x64xf32, strides=[64,1]>"
VIEW = f"partition_view<tile=(16x16), {TENSOR}>"
TILE = "tile<16x16xf32>"


def may_change_with(body: str) -> bool:
    """Whether the tile blocks of a matmul with a further operation may run in any order."""
    views = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [64, 64], strides = [64, 1] : {TENSOR}\n"
        f"%v{x} = make_partition_view %t{x} : {VIEW}\n"
        for x in "abc"
    )
    module = tileir.parse(f"""cuda_tile.module @m {{
      entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %d: tile<ptr<i32>>, %n: tile<i32>) {{
        %x, %y, %z = get_tile_block_id : tile<i32>
        %zero = constant <i32: 0> : tile<i32>
        %nothing = constant <f32: 0.0> : {TILE}
        {views}
        %left, %k0 = load_view_tko weak %va[%y, %zero] : {VIEW}, tile<i32> -> {TILE}, token
        %right, %k1 = load_view_tko weak %vb[%zero, %x] : {VIEW}, tile<i32> -> {TILE}, token
        %product = mmaf %left, %right, %nothing : {TILE}, {TILE}, {TILE}
        %k2 = store_view_tko weak %product, %vc[%y, %x] : {TILE}, {VIEW}, tile<i32> -> token
        {body}
        return
      }}
    }}""")
    entry = next(operation for operation in module.walk() if operation.name == "cuda_tile.entry")
    return may_change_order(entry)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "%v, %k = load_ptr_tko weak %d : tile<ptr<i32>> -> tile<i32>, token",
        "%k = store_ptr_tko weak %d, %n : tile<ptr<i32>>, tile<i32> -> token",
        "%k = gdc_wait_tko -> token",
    ],
)
def test_any_order_where_none_can_be_told(body: str) -> None:
    assert may_change_with(body)


@pytest.mark.parametrize(
    "body",
    [
        "%v, %k = load_ptr_tko acquire device %d : tile<ptr<i32>> -> tile<i32>, token",
        "%k = store_ptr_tko release device %d, %n : tile<ptr<i32>>, tile<i32> -> token",
        f"%v, %k = load_view_tko relaxed device %va[%x, %y] : {VIEW}, tile<i32> -> {TILE}, token",
        f"%k = store_view_tko release device %left, %vc[%y, %x] : {TILE}, {VIEW}, tile<i32> -> token",
        "%v, %k = atomic_load_tko weak device %d : tile<ptr<i32>> -> tile<i32>, token",
        "%k = atomic_store_tko relaxed device %d, %n : tile<ptr<i32>>, tile<i32> -> token",
        "%v, %k = atomic_rmw_tko relaxed device %d, add, %n : tile<ptr<i32>>, tile<i32> -> tile<i32>, token",
        "%v, %k = atomic_cas_tko relaxed device %d, %n, %n : tile<ptr<i32>>, tile<i32> -> tile<i32>, token",
        f"%k = atomic_red_view_tko relaxed device %vc[%y, %x], addf, %left : {TILE}, {VIEW}, tile<i32> -> token",
        '%k = print_tko "%d", %n : tile<i32> -> token',
        '%i = trunci %n : tile<i32> -> tile<i1> assert %i, "even" : tile<i1>',
        "%k = barrier block -> token",
    ],
    ids=lambda body: body.split("=")[-1 if "assert" in body else 1].split()[0],
)
def test_blocks_keep_their_order_where_it_can_be_told(body: str) -> None:
    assert not may_change_with(body)
