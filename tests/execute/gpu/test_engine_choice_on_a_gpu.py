"""The faster of the engines for GPUs, on a GPU that is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tileir
from tileir.execute.gpu.driver.devices import why_no_gpu
from tileir.execute.gpu.driver.library import driver
from tileir.execute.gpu.engine_choice import ChosenKernel
from tileir.execute.gpu.targets import ASSEMBLER_DRIVER
from tileir.execute.gpu.tileiras import tool
from tileir.execute.gpu.triton import toolchain

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(why_no_gpu()), reason="needs an NVIDIA GPU"),
    pytest.mark.skipif(bool(toolchain.why_missing()), reason=toolchain.why_missing()),
    pytest.mark.skipif(bool(tool.why_missing()), reason=tool.why_missing()),
    pytest.mark.skipif(
        not why_no_gpu() and driver().version < ASSEMBLER_DRIVER, reason="NVIDIA's assembler needs a driver for CUDA 13"
    ),
]

EXAMPLES = Path(__file__).parents[3] / "examples"

SCALE = """cuda_tile.module @m {
  entry @double(%a: tile<ptr<f32>>) {
    %i = iota : tile<1024xi32>
    %p = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
    %q = broadcast %p : tile<1xptr<f32>> -> tile<1024xptr<f32>>
    %r = offset %q, %i : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
    %x, %t = load_ptr_tko weak %r : tile<1024xptr<f32>> -> tile<1024xf32>, token
    %y = addf %x, %x : tile<1024xf32>
    %s = store_ptr_tko weak %r, %y token=%t : tile<1024xptr<f32>>, tile<1024xf32> -> token
    return
  }
}"""


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="needs torch with CUDA: pip install torch")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEIR_GPU_BACKEND", raising=False)


def chosen(kernel: tileir.Kernel) -> ChosenKernel:
    (found,) = [each for each in kernel._prepared.values() if isinstance(each, ChosenKernel)]
    return found


def test_choice_is_made_and_kept(torch: Any) -> None:
    extents = 1024
    a = torch.randint(-4, 5, (extents, extents), device="cuda").half()
    b = torch.randint(-4, 5, (extents, extents), device="cuda").half()
    expected = a.float() @ b.float()
    for attempt in range(2):
        kernel = tileir.compile(tileir.load(EXAMPLES / "matmul.mlir"))
        for _ in range(3):
            c = torch.zeros(extents, extents, device="cuda")
            kernel.launch((extents // 64, extents // 64), (a, b, c, extents, extents, extents))
            assert torch.equal(c, expected)
        (choice,) = chosen(kernel).choices.values()
        assert set(choice.seconds) == {"tileiras", "triton"} and not choice.failures
        assert kernel.backend == choice.engine == min(choice.seconds, key=lambda name: choice.seconds[name])
        if not attempt:
            first = choice
    assert choice == first


def test_kernel_that_changes_its_array_does_so_once(torch: Any) -> None:
    kernel = tileir.compile(tileir.parse(SCALE))
    a = torch.rand(1024, device="cuda")
    for _ in range(3):
        expected = a + a
        kernel.launch(1, (a,))
        assert torch.equal(a, expected)
    assert next(iter(chosen(kernel).choices.values())).seconds


@pytest.mark.parametrize("name", ["tileiras", "triton"])
def test_environment_names_one(torch: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("TILEIR_GPU_BACKEND", name)
    kernel = tileir.compile(tileir.load(EXAMPLES / "vector_add.mlir"))
    a, b, c = torch.rand(1000, device="cuda"), torch.rand(1000, device="cuda"), torch.zeros(1000, device="cuda")
    kernel.launch(8, (a, b, c, 1000))
    assert torch.equal(c, a + b) and kernel.backend == name


def test_graph_is_captured_before_anything_is_chosen(torch: Any) -> None:
    kernel = tileir.compile(tileir.parse(SCALE))
    a = torch.ones(1024, device="cuda")
    for backend in ("tileiras", "triton"):
        # What is compiled while a graph is made would be in the way of it.
        tileir.compile(tileir.parse(SCALE), backend=backend).launch(1, (torch.ones(1024, device="cuda"),))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel.launch(1, (a,))
    assert not chosen(kernel).choices
    graph.replay()
    torch.cuda.synchronize()
    assert bool((a == 2).all())
