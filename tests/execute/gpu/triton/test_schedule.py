"""The model: what it chooses for which programs, and that what it chooses fits and does not spill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.execute.gpu.triton.attention_programs import attention
from tests.execute.gpu.triton.product_programs import matmul

import tileir
from tileir.execute.gpu.triton.code import Schedule
from tileir.execute.gpu.triton.compiler import make
from tileir.execute.gpu.triton.program import Program
from tileir.execute.gpu.triton.schedule.features import Features, features_of
from tileir.execute.gpu.triton.schedule.model import RULES, schedule_for, shared_bytes, smaller, table
from tileir.execute.gpu.triton.toolchain import triton_target
from tileir.execute.launching.entries import select_entry
from tileir.types import f8E4M3FN

H200 = triton_target("sm_90")


def features(module: Any) -> Features:
    return features_of(Program(select_entry(module, None)).entry)


def chosen(module: Any, target: str = "sm_90") -> Schedule:
    return schedule_for(features(module), triton_target(target))


def test_every_setting_has_a_rule_that_always_holds() -> None:
    for name in Schedule._fields:
        nothing = tileir.parse("cuda_tile.module @m { entry @k() { return } }")
        assert any(rule.holds(features(nothing), H200) for rule in RULES[name]), name


@pytest.mark.parametrize(
    ("tile", "warps", "stages"),
    [
        ((64, 64, 32), 4, 5),
        ((128, 64, 64), 4, 3),
        ((64, 256, 64), 4, 4),
        ((128, 128, 32), 4, 5),
        ((128, 128, 64), 4, 3),
        ((128, 256, 64), 8, 4),
        ((256, 128, 64), 8, 4),
        ((128, 128, 128), 4, 3),
    ],
)
def test_products_get_what_was_fastest_on_an_h200(tile: tuple[int, int, int], warps: int, stages: int) -> None:
    found = chosen(matmul(*tile))
    assert (found.num_warps, found.num_stages) == (warps, stages)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("tile", [(128, 128, 128), (128, 256, 128), (256, 128, 128)])
def test_products_of_f8_with_promoted_sums_have_specialized_warps(tile: tuple[int, int, int]) -> None:
    """Sums take twice the registers: 128x128 of them are what two groups of warps hold."""
    made = make(select_entry(matmul(*tile, element=f8E4M3FN, transposed=True, persistent=True), None), H200)
    assert made.code is not None and made.code.schedule.warp_specialize and made.code.schedule.num_stages == 4
    assert not any("no warps are specialized" in note for note in made.code.notes), made.code.notes
    assert made.resources is not None and not made.resources.spills


def test_a_large_persistent_product_has_warps_that_load() -> None:
    found = chosen(matmul(128, 256, 64, persistent=True))
    assert found == Schedule(num_warps=8, num_stages=4, warp_specialize=True)
    assert not chosen(matmul(128, 256, 64)).warp_specialize
    assert not chosen(matmul(128, 256, 64, persistent=True, ordered=True)).warp_specialize
    without = schedule_for(features(matmul(128, 256, 64, persistent=True))._replace(may_specialize=False), H200)
    assert without == Schedule(num_warps=8, num_stages=4)


def test_a_gpu_without_tma_has_no_descriptors() -> None:
    found = chosen(matmul(128, 128, 32, persistent=True), "sm_80")
    assert not found.descriptors


def test_what_does_not_fit_gets_smaller_until_nothing_is_left() -> None:
    schedule: Schedule | None = chosen(matmul(128, 256, 64, persistent=True), "sm_100")
    seen = []
    while schedule is not None:
        seen.append(schedule)
        schedule = smaller(schedule)
    assert [each.num_stages for each in seen] == [4, 3, 2, 1, 1]
    assert not seen[-1].descriptors


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_stages_fit_in_shared_memory(target: str) -> None:
    gpu = triton_target(target)
    for m in (64, 128, 256):
        for n in (64, 128, 256):
            for k in (32, 64):
                found = features(matmul(m, n, k))
                schedule = schedule_for(found, gpu)
                assert schedule.num_stages == 1 or shared_bytes(found, schedule) <= gpu.shared


@pytest.mark.parametrize("tile", [(128, 256, 64)])
def test_a_product_of_a_large_tile_does_not_spill(tile: tuple[int, int, int]) -> None:
    made = make(select_entry(matmul(*tile), None), H200)
    assert made.resources is not None and not made.resources.spills
    assert made.resources.shared <= H200.shared


@pytest.mark.long
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("m", [64, 128, 256])
@pytest.mark.parametrize("n", [64, 128, 256])
@pytest.mark.parametrize("k", [32, 64, 128])
def test_no_product_spills(m: int, n: int, k: int, persistent: bool) -> None:
    made = make(select_entry(matmul(m, n, k, persistent=persistent), None), H200)
    assert made.resources is not None and not made.resources.spills
    assert made.resources.shared <= H200.shared


def test_the_table_in_the_documents_is_the_one_of_the_model() -> None:
    assert table() in (Path(__file__).parents[4] / "docs" / "internals" / "triton.md").read_text(encoding="utf-8")


def test_attention_has_warps_that_load_where_two_groups_have_rows() -> None:
    found = chosen(attention(4096, 128, 128, 128))
    assert (found.num_warps, found.warp_specialize) == (8, True)
    assert not chosen(attention(4096, 128, 64, 64)).warp_specialize
    assert not chosen(attention(4096, 128, 128, 128), "sm_80").warp_specialize
    assert not chosen(attention(4096, 128, 128, 128), "sm_100").warp_specialize


@pytest.mark.parametrize(("depth", "keys", "stages"), [(64, 128, 2), (64, 64, 2), (128, 64, 3)])
def test_attention_of_64_rows_has_as_many_tile_blocks_as_fit(depth: int, keys: int, stages: int) -> None:
    found = chosen(attention(4096, depth, 64, keys))
    assert (found.num_warps, found.num_stages) == (4, stages)
