"""What becomes of the main patterns: their TTIR, the instructions that matter, and no spills."""

from __future__ import annotations

import pytest
from tests.execute.gpu.triton.golden_programs import FOLDER, KERNELS, entry_of, options_of, ttir

from tileir.execute.gpu.triton.code import Limits
from tileir.execute.gpu.triton.compiler import make, stage_text
from tileir.execute.gpu.triton.toolchain import triton_target

AGAIN = "python -m tests.execute.gpu.triton.golden_programs writes them anew"


@pytest.mark.parametrize("name", KERNELS)
def test_ttir_is_what_is_kept(name: str) -> None:
    assert ttir(name) == (FOLDER / f"{name}.ttir").read_text("utf-8"), AGAIN


def test_nothing_is_kept_of_what_there_is_not() -> None:
    assert sorted([path.stem for path in FOLDER.iterdir()]) == sorted(KERNELS)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["matmul", "attention", "matmul_large"])
def test_products_are_those_of_warp_groups_and_tiles_come_by_the_accelerator(triton: None, name: str) -> None:
    entry = entry_of(name)
    code = stage_text(entry, triton_target("sm_90"), options_of(name, entry), "ptx", Limits())
    assert "wgmma.mma_async.sync.aligned" in code and "cp.async.bulk.tensor" in code


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [name for name in KERNELS if name != "matmul_persistent"])
def test_no_example_spills(triton: None, name: str) -> None:
    entry = entry_of(name)
    resources = make(entry, triton_target("sm_90"), options_of(name, entry)).resources
    assert resources is not None and not resources.spills and not resources.stack, resources


@pytest.mark.long
@pytest.mark.parametrize("target", ["sm_80", "sm_100"])
@pytest.mark.parametrize("name", KERNELS)
def test_no_example_spills_on_other_gpus(triton: None, name: str, target: str) -> None:
    entry = entry_of(name)
    resources = make(entry, triton_target(target), options_of(name, entry)).resources
    assert resources is not None and not resources.spills, resources
