"""Which tiles are in registers at the same time; the figures of compiled kernels are in benchmarks/lint_registers.py."""

from __future__ import annotations

import pytest

import tileir
from tileir.analyze.cost.live_tiles import LiveTiles, live_tiles, register_capacity
from tileir.execute.gpu.targets import ARCHITECTURES
from tileir.ir.core import Operation
from tileir.ir.traversal import functions

SM_80, SM_90, SM_100 = [ARCHITECTURES[name] for name in ("sm_80", "sm_90", "sm_100")]


def entry_of(body: str, parameters: str = "%p: tile<ptr<f32>>, %n: tile<i32>") -> Operation:
    text = f"entry @k({parameters}) {{\n{body}\nreturn\n}}"
    return functions(tileir.parse(text, verify=True))[0]


def live(body: str, architecture: str = "sm_90", parameters: str = "%p: tile<ptr<f32>>, %n: tile<i32>") -> LiveTiles:
    found = live_tiles(entry_of(body, parameters), ARCHITECTURES[architecture])
    assert found is not None
    return found


LOAD = """
%tensor = make_tensor_view %p, shape = [4096], strides = [1] : tensor_view<4096xf32, strides=[1]>
%view = make_partition_view %tensor : partition_view<tile=(1024), tensor_view<4096xf32, strides=[1]>>
%zero = constant <i32: 0> : tile<i32>
%one = constant <i32: 1> : tile<i32>
%a, %ta = load_view_tko weak %view[%zero] : partition_view<tile=(1024), tensor_view<4096xf32, strides=[1]>>, tile<i32> -> tile<1024xf32>, token
%b, %tb = load_view_tko weak %view[%one] : partition_view<tile=(1024), tensor_view<4096xf32, strides=[1]>>, tile<i32> -> tile<1024xf32>, token
"""
STORE = "%ts = store_view_tko weak {}, %view[%zero] : tile<1024xf32>, partition_view<tile=(1024), tensor_view<4096xf32, strides=[1]>>, tile<i32> -> token"
REDUCE = """
%sum = reduce {} dim=0 identities=[0.0 : f32] : tile<1024xf32> -> tile<f32> (%e: tile<f32>, %f: tile<f32>) {{
  %g = addf %e, %f : tile<f32>
  yield %g : tile<f32>
}}
%sum_1 = reshape %sum : tile<f32> -> tile<1xf32>
%all = broadcast %sum_1 : tile<1xf32> -> tile<1024xf32>
"""


def test_what_is_computed_element_by_element_takes_no_whole_tiles() -> None:
    body = LOAD + "%c = addf %a, %b : tile<1024xf32>\n" + STORE.format("%c")
    assert live_tiles(entry_of(body), SM_90) is None


def test_a_tile_that_is_used_after_a_reduction_stays() -> None:
    body = LOAD + REDUCE.format("%a") + "%c = mulf %b, %all : tile<1024xf32>\n" + STORE.format("%c")
    found = live(body)
    assert found.registers == 2048
    assert found.operation.name == "cuda_tile.reduce"
    assert [registers for _, registers in found.tiles] == [1024, 1024]


def test_a_tile_that_a_reduction_uses_last_is_alone() -> None:
    body = LOAD + "%m = mulf %a, %b : tile<1024xf32>\n" + REDUCE.format("%m") + STORE.format("%all")
    assert live(body).registers == 1024


def test_constants_and_indices_take_nothing() -> None:
    body = (
        LOAD
        + "%k = constant <f32: 2.0> : tile<1024xf32>\n%i = iota : tile<1024xi32>\n%j = addi %i, %i : tile<1024xi32>\n"
        + REDUCE.format("%a")
        + "%w = itof %j signed : tile<1024xi32> -> tile<1024xf32>\n%c = fma %all, %k, %w : tile<1024xf32>\n"
        + STORE.format("%c")
    )
    assert live(body).registers == 1024


def test_a_loop_keeps_what_it_uses_of_before() -> None:
    body = (
        LOAD
        + """
%r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%c = %a) -> (tile<1024xf32>) {
  %d = mulf %c, %b : tile<1024xf32>
  continue %d : tile<1024xf32>
}
"""
        + STORE.format("%r")
    )
    assert live(body).registers == 2048


PRODUCT = """
%a = constant <{0}: 1.0> : tile<{1}x64x{0}>
%b = constant <{0}: 1.0> : tile<64x128x{0}>
%none = constant <f32: 0.0> : tile<{1}x128xf32>
%zero = constant <i32: 0> : tile<i32>
%one = constant <i32: 1> : tile<i32>
%r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %none) -> (tile<{1}x128xf32>) {{
  %d = mmaf %a, %b, %s : tile<{1}x64x{0}>, tile<64x128x{0}>, tile<{1}x128xf32>
  continue %d : tile<{1}x128xf32>
}}
%tensor = make_tensor_view %p, shape = [128, 128], strides = [128, 1] : tensor_view<128x128xf32, strides=[128,1]>
%view = make_partition_view %tensor : partition_view<tile=({1}x128), tensor_view<128x128xf32, strides=[128,1]>>
%t = store_view_tko weak %r, %view[%zero, %zero] : tile<{1}x128xf32>, partition_view<tile=({1}x128), tensor_view<128x128xf32, strides=[128,1]>>, tile<i32> -> token
"""


def test_sums_are_in_registers_but_for_gpus_with_a_memory_for_them() -> None:
    body = PRODUCT.format("f16", 128)
    assert live(body).registers == 128 * 128
    assert live(body, "sm_80").registers == 128 * 128
    assert live_tiles(entry_of(body), SM_100) is None


def test_sums_of_f8_are_there_twice_where_tensor_cores_keep_too_little() -> None:
    assert live(PRODUCT.format("f8E4M3FN", 128)).registers == 2 * 128 * 128


@pytest.mark.parametrize(("element", "rows"), [("f32", 128), ("f16", 8)])
def test_products_without_tensor_cores_take_their_factors_to_the_threads(element: str, rows: int) -> None:
    found = live(PRODUCT.format(element, rows))
    assert found.factors > 0
    assert found.operation.name == "cuda_tile.mmaf"


def test_room_depends_on_warps_and_tile_blocks() -> None:
    assert register_capacity(SM_90) == 128 * 255
    assert register_capacity(SM_90, occupancy=4) == 128 * 128
    assert register_capacity(SM_80, warps=8) == 256 * 255
    # Beside eight warps that compute there are those that load.
    assert register_capacity(SM_90, warps=8) == 256 * 170


def test_deep_nests_take_linear_time() -> None:
    depth = 300
    body = "%zero = constant <i32: 0> : tile<i32>\n%one = constant <i32: 1> : tile<i32>\n"
    body += "".join([f"for %i{k} in (%zero to %n, step %one) : tile<i32> {{\n" for k in range(depth)])
    body += "%y = addi %n, %n : tile<i32>\n" + "continue\n}\n" * depth
    assert live_tiles(entry_of(body), SM_90) is None
