"""Choosing, timing and cuTile's launches on a GPU that is there."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import tileir
from tileir.execute.gpu.driver.devices import why_no_gpu

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(bool(why_no_gpu()), reason="needs an NVIDIA GPU")]

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="needs torch with CUDA: pip install torch")


def has_cutile() -> bool:
    try:
        return importlib.util.find_spec("cuda.tile") is not None
    except ModuleNotFoundError:
        return False


needs_cutile = pytest.mark.skipif(not has_cutile(), reason="cuTile's kernels need cuda-tile: pip install cuda-tile")


def test_each_launch_goes_where_its_arrays_are(torch: Any) -> None:
    kernel = tileir.compile(tileir.load(EXAMPLES / "vector_add.mlir"))
    for _ in range(3):
        for device in ("cpu", "cuda"):
            a, b = torch.rand(1000, device=device), torch.rand(1000, device=device)
            c = torch.zeros(1000, device=device)
            kernel.launch(8, (a, b, c, 1000))
            assert torch.equal(c, a + b)
    with pytest.raises(tileir.LaunchError, match="is on the host and argument 0 on a GPU"):
        kernel.launch(8, (a, b.cpu(), c, 1000))


def test_arrays_of_cupy_go_to_their_gpu() -> None:
    cupy = pytest.importorskip("cupy", reason="needs CuPy: pip install cupy-cuda13x")
    kernel = tileir.compile(tileir.load(EXAMPLES / "vector_add.mlir"))
    a, b, c = cupy.arange(1000, dtype="f4"), cupy.ones(1000, "f4"), cupy.zeros(1000, "f4")
    for _ in range(3):
        c.fill(0)
        kernel.launch(8, (a, b, c, 1000))
        assert bool((c == a + 1).all())


@pytest.mark.parametrize("flush_cache", [False, True])
def test_events_tell_times_and_shares_of_the_peak(torch: Any, flush_cache: bool) -> None:
    kernel = tileir.compile(tileir.load(EXAMPLES / "vector_add.mlir"), backend="tileiras")
    size = 1 << 22
    a, b, c = [torch.ones(size, device="cuda") for _ in range(3)]
    timing = kernel.time(size // 128, (a, b, c, size), repeat=20, flush_cache=flush_cache)
    assert timing.clock == "CUDA events" and timing.device == torch.cuda.get_device_name(0)
    assert timing.count == 20 and 0 < timing.best <= timing.median
    assert timing.work.footprint == 3 * 4 * size
    assert torch.equal(c, a + b)


def test_arrays_of_the_host_are_timed_without_their_copies() -> None:
    kernel = tileir.compile(tileir.load(EXAMPLES / "vector_add.mlir"), backend="tileiras")
    a, b, c = [numpy.ones(1 << 20, numpy.float32) for _ in range(3)]
    with pytest.warns(UserWarning, match="are on the host"):
        timing = kernel.time((1 << 20) // 128, (a, b, c, 1 << 20), repeat=5)
    assert (c == 2).all() and timing.clock == "CUDA events"


@needs_cutile
def test_kernel_of_cutile_runs_where_its_tensors_are(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from cutile_kernels import vector_add

    for _ in range(4):
        for device in ("cuda", "cpu"):
            a, b = torch.rand(1024, device=device), torch.rand(1024, device=device)
            c = torch.zeros(1024, device=device)
            tileir.launch(vector_add, (8,), (a, b, c))
            assert torch.equal(c, a + b)


@needs_cutile
def test_list_of_tensors_is_reached_through_a_table_on_the_gpu(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES.parent / "benchmarks"))
    from cutile_launches import list_of_arrays

    arrays = [torch.rand(1024, device="cuda") for _ in range(3)]
    for _ in range(3):
        out = torch.zeros(1024, device="cuda")
        tileir.launch(list_of_arrays, (8,), (arrays, out))
        assert torch.allclose(out, sum(arrays))


@needs_cutile
def test_operator_of_torch_runs_on_tensors_of_a_gpu(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from cutile_kernels import vector_add

    add = tileir.custom_op(vector_add, grid=lambda a: (a.shape[0] // 128,), outputs={"c": "a"})
    a, b = torch.rand(1024, device="cuda"), torch.rand(1024, device="cuda")
    for _ in range(3):
        assert torch.equal(add(a, b), a + b)


@needs_cutile
@pytest.mark.parametrize("form", [["-m", "tileir", "emulate", "--backend", "tileiras"], []])
def test_unmodified_script_runs_through_the_engine(torch: Any, form: list[str]) -> None:
    script = str(EXAMPLES / "cutile_script.py")
    if form:
        command = [sys.executable, *form, script]
    else:
        program = (
            "import runpy, sys, tileir\n"
            "with tileir.emulate(backend='tileiras'): runpy.run_path(sys.argv[1], run_name='__main__')"
        )
        command = [sys.executable, "-c", program.replace("sys.argv[1]", repr(script))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout == f"64 rows on {torch.cuda.get_device_name()}: ok\n", done.stderr
