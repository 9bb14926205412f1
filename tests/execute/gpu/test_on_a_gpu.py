"""Launches on a real GPU: what only hardware, a driver and a torch with CUDA can show."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy
import pytest

import tileir
from tileir.execute.engine.registry import find_engine, why_missing

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(why_missing(find_engine("tileiras"))), reason="needs an NVIDIA GPU"),
]

ROOT = Path(__file__).parents[3]

ADD = """
cuda_tile.module @kernels {
  entry @add(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %n: tile<i32>) {
    %x, %y, %z = get_tile_block_id : tile<i32>
    %va = make_tensor_view %a, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %vb = make_tensor_view %b, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %vc = make_tensor_view %c, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %pa = make_partition_view %va : partition_view<tile=(256), padding_value = zero, tensor_view<?xf32, strides=[1]>>
    %pb = make_partition_view %vb : partition_view<tile=(256), padding_value = zero, tensor_view<?xf32, strides=[1]>>
    %pc = make_partition_view %vc : partition_view<tile=(256), tensor_view<?xf32, strides=[1]>>
    %ta, %k1 = load_view_tko weak %pa[%x] : partition_view<tile=(256), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<256xf32>, token
    %tb, %k2 = load_view_tko weak %pb[%x] : partition_view<tile=(256), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<256xf32>, token
    %s = addf %ta, %tb : tile<256xf32>
    %k3 = store_view_tko weak %s, %pc[%x] : tile<256xf32>, partition_view<tile=(256), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
    return
  }
}
"""

PRINTING = """
cuda_tile.module @kernels {
  entry @k(%n: tile<i32>) {
    %t = print_tko "n is %i\\n", %n : tile<i32> -> token
    return
  }
}
"""

ASSERTING = """
cuda_tile.module @kernels {
  entry @k(%n: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %good = cmpi greater_than %n, %zero, signed : tile<i32> -> tile<i1>
    assert %good, "n is above zero" : tile<i1>
    return
  }
}
"""


def torch_with_cuda() -> Any:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    return torch


def added(a: Any, b: Any, c: Any, **options: Any) -> None:
    kernel = tileir.compile(tileir.parse(ADD))
    kernel.launch((len(a) + 255) // 256, (a, b, c, len(a)), **options)


def test_tensors_choose_the_gpu() -> None:
    torch = torch_with_cuda()
    a, b = torch.rand(1000, device="cuda"), torch.rand(1000, device="cuda")
    c = torch.zeros_like(a)
    added(a, b, c)
    assert torch.equal(c, a + b)


def test_a_kernel_runs_on_both_in_turn() -> None:
    torch = torch_with_cuda()
    kernel = tileir.compile(tileir.parse(ADD))
    for device in ("cpu", "cuda", "cpu", "cuda"):
        a, b = torch.rand(1000, device=device), torch.rand(1000, device=device)
        c = torch.zeros_like(a)
        kernel.launch(4, (a, b, c, 1000))
        assert torch.equal(c, a + b)


def test_host_and_gpu_arrays_together_are_refused() -> None:
    torch = torch_with_cuda()
    a = torch.rand(1000, device="cuda")
    with pytest.raises(tileir.LaunchError, match=r"host|GPU|CPU"):
        added(a, a.cpu(), torch.zeros_like(a))


def test_arrays_of_cupy_and_dlpack() -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    a, b = cupy.random.rand(1000, dtype=cupy.float32), cupy.random.rand(1000, dtype=cupy.float32)
    c = cupy.zeros_like(a)
    added(a, b, c)
    assert (c == a + b).all()

    class Shared:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __len__(self) -> int:
            return len(self.array)

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    torch = torch_with_cuda()
    x, y, z = torch.rand(1000, device="cuda"), torch.rand(1000, device="cuda"), torch.zeros(1000, device="cuda")
    added(Shared(x), Shared(y), Shared(z))
    assert torch.equal(z, x + y)


def test_the_current_stream_is_used() -> None:
    torch = torch_with_cuda()
    kernel = tileir.compile(tileir.parse(ADD))
    a, b, c = (torch.zeros(1 << 20, device="cuda") for _ in range(3))
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    bound = kernel.bind(4096, (a, b, c, 1 << 20))
    for launch in (lambda: kernel.launch(4096, (a, b, c, 1 << 20)), bound):
        for number in range(1, 20):
            with torch.cuda.stream(stream):
                # Busy for a while: a launch in another stream would not wait for what comes next.
                torch.cuda._sleep(2_000_000)
                a.fill_(number)
                b.fill_(1)
                launch()
                copied = c.clone()
            stream.synchronize()
            assert (copied == number + 1).all()


def test_a_captured_graph_replays_a_launch() -> None:
    torch = torch_with_cuda()
    kernel = tileir.compile(tileir.parse(ADD))
    a, b, c = (torch.zeros(1024, device="cuda") for _ in range(3))
    kernel.launch(4, (a, b, c, 1024))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel.launch(4, (a, b, c, 1024))
    a.fill_(2)
    b.fill_(3)
    graph.replay()
    torch.cuda.synchronize()
    assert (c == 5).all()


def test_host_arrays_are_copied_there_and_back() -> None:
    a, b = numpy.random.default_rng(0).random((2, 1000), numpy.float32)
    c = numpy.zeros(1000, numpy.float32)
    kernel = tileir.compile(tileir.parse(ADD), backend="tileiras")
    with pytest.warns(UserWarning, match="cop"):
        kernel.launch(4, (a, b, c, 1000))
    assert (c == a + b).all()


def test_what_a_kernel_prints_reaches_the_caller() -> None:
    kernel = tileir.compile(tileir.parse(PRINTING), backend="tileiras")
    said: list[str] = []
    kernel.launch(1, (7,), output=said.append)
    assert "".join(said) == "n is 7\n"


def test_an_assert_that_fails_is_an_error_at_the_operation() -> None:
    code = (
        "import sys, tileir\n"
        "kernel = tileir.compile(tileir.parse(sys.stdin.read()), backend='tileiras')\n"
        "kernel.launch(1, 1)\n"
        "try:\n"
        "    kernel.launch(1, -1)\n"
        "except tileir.ExecutionError as error:\n"
        "    print(type(error).__name__, error)\n"
        "try:\n"
        "    kernel.launch(1, 1)\n"
        "except tileir.TileIRError as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    # In a process of its own: no context of the GPU can be used after it.
    done = subprocess.run([sys.executable, "-c", code], input=ASSERTING, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "AssertionFailedError" in done.stdout and "n is above zero" in done.stdout
    assert "CUDA_ERROR_LAUNCH_FAILED" in done.stdout.splitlines()[-1], done.stdout


def test_threads_launch_at_once() -> None:
    torch = torch_with_cuda()
    kernel = tileir.compile(tileir.parse(ADD))
    right: list[bool] = []

    def work(number: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(100):
                a = torch.full((5000,), float(number), device="cuda")
                c = torch.zeros_like(a)
                kernel.launch(20, (a, a, c, 5000))
                right.append(bool((c == 2 * number).all()))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # A thread that ends in an exception has fewer.
    assert right == [True] * 800


def test_time_and_resources() -> None:
    torch = torch_with_cuda()
    kernel = tileir.compile(tileir.parse(ADD))
    a, b = torch.rand(1 << 24, device="cuda"), torch.rand(1 << 24, device="cuda")
    timing = kernel.time(1 << 16, (a, b, torch.zeros_like(a), 1 << 24), repeat=10)
    assert 0 < timing.best <= timing.median < 0.1
    assert timing.bandwidth is not None and timing.bandwidth > 1e11
    assert kernel.resources("sm_90").registers > 0


def test_examples_match_the_interpreter() -> None:
    done = subprocess.run(
        [sys.executable, "examples/run_all.py", "tileiras"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" ok") >= 12


def test_a_cutile_kernel_runs_on_the_gpu() -> None:
    torch = torch_with_cuda()
    ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")
    sys.path.insert(0, str(ROOT / "examples"))
    import cutile_kernels

    assert ct is not None
    a, b = torch.rand(1000, device="cuda"), torch.rand(1000, device="cuda")
    c = torch.zeros_like(a)
    for _ in range(3):
        c.zero_()
        tileir.launch(cutile_kernels.vector_add, (8,), (a, b, c))
        assert torch.equal(c, a + b)


def test_an_unmodified_script_runs_on_the_gpu() -> None:
    torch_with_cuda()
    pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")
    command = [sys.executable, "-m", "tileir", "emulate", "--backend", "tileiras", "examples/cutile_script.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert "ok" in done.stdout
