"""Scripts that launch Triton kernels as on a GPU: in a context, and as whole processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import triton
from tests.bridge.triton import triton_kernels as kernels
from tests.bridge.triton.processes import KERNELS, run

import tileir


def test_launches_in_a_context() -> None:
    with tileir.emulate():
        device = triton.runtime.driver.active.get_active_torch_device()
        x, y = torch.rand(1000, device=device), torch.rand(1000, device=device)
        out = torch.empty_like(x)
        assert out.device.type == "cuda"
        kernels.add[(8,)](x, y, out, 1000, BLOCK=128)
        assert torch.equal(out, x + y)
        out.zero_()
        kernels.add[lambda given: (triton.cdiv(1000, given["BLOCK"]), 1, 1)](x, y, out, 1000, 256, num_warps=1)
        assert torch.equal(out, x + y)
        kernels.add[(0,)](x, y, out, 1000, BLOCK=128)


def test_kernels_are_compiled_again_for_another_gpu() -> None:
    for target in ("h100", "b200", "h100"):
        with tileir.emulate(target=target):
            x = torch.ones(64, device="cuda")
            found = kernels.add[(1,)](x, x, x, 64, BLOCK=64)
            major, minor = torch.cuda.get_device_capability()
            assert found.metadata.target.arch == 10 * major + minor
            assert float(x[0]) == 2


def test_tuning_takes_a_configuration_and_leaves_results() -> None:
    with tileir.emulate():
        x, out = torch.rand(100, device="cuda"), torch.zeros(100, device="cuda")
        kernels.tuned[lambda given: (triton.cdiv(100, given["BLOCK"]),)](x, out, 100)
        assert kernels.tuned.best_config in kernels.tuned.configs
        torch.testing.assert_close(out, 3 * x)
        assert triton.testing.do_bench(lambda: kernels.sized[(1,)](x, out, 100), warmup=1, rep=1) > 0
        torch.testing.assert_close(out, 5 * x)


def test_a_captured_graph_launches_when_it_is_replayed() -> None:
    with tileir.emulate():
        x, out = torch.rand(64, device="cuda"), torch.zeros(64, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kernels.scaled[(1,)](x, out, 3.0, False, BLOCK=64)
        assert not out.any()
        graph.replay()
        torch.testing.assert_close(out, 6 * x)


def test_hooks_of_launches_are_called() -> None:
    seen: list[str] = []

    def enter(metadata: Any) -> None:
        seen.append(metadata.get()["name"])

    hooks = triton.knobs.runtime.launch_enter_hook
    hooks.add(enter)
    try:
        with tileir.emulate():
            x = torch.zeros(64, device="cuda")
            kernels.add[(1,)](x, x, x, 64, BLOCK=64)
    finally:
        hooks.remove(enter)
    assert seen == ["add"]


def test_outside_of_contexts_triton_is_asked_as_ever() -> None:
    with tileir.emulate():
        inside = triton.runtime.driver.active
        x = torch.zeros(64, device="cuda")
        kernels.add[(1,)](x, x, x, 64, BLOCK=64)
    if torch.cuda.is_available():
        assert triton.runtime.driver.active is not inside
    else:
        with pytest.raises(RuntimeError, match="active drivers"):
            kernels.add[(1,)](x, x, x, 64, BLOCK=64)


def test_scripts_run_unmodified_beside_cutile(tmp_path: Path) -> None:
    pytest.importorskip("cuda.tile")
    script = """
import torch, triton, cuda.tile as ct
from kernels import add

@ct.kernel
def double(x):
    ct.store(x, (0,), ct.load(x, (0,), (64,)) * 2)

x = torch.rand(64, device=triton.runtime.driver.active.get_active_torch_device())
out = torch.empty_like(x)
add[(1,)](x, x, out, 64, BLOCK=64)
ct.launch(torch.cuda.current_stream(), (1,), double, (out,))
print(torch.equal(out, 4 * x), out.device)
"""
    found = run(tmp_path, script)
    assert (found.returncode, found.stdout) == (0, "True cuda:0\n"), found.stderr


def test_a_tensor_of_the_cpu_is_refused_as_on_a_gpu(tmp_path: Path) -> None:
    script = "import torch\nfrom kernels import add\nx = torch.zeros(64)\nadd[(1,)](x, x, x, 64, BLOCK=64)\n"
    found = run(tmp_path, script)
    assert found.returncode == 1
    assert "argument 'x' is a tensor of the CPU" in found.stderr.splitlines()[-1]


def test_what_is_not_supported_is_named_with_its_line(tmp_path: Path) -> None:
    script = "import torch\nfrom kernels import unsupported\n"
    script += "unsupported[(1,)](torch.zeros(64, dtype=torch.int32, device='cuda'), BLOCK=64)\n"
    found = run(tmp_path, script)
    line = next(number for number, text in enumerate(KERNELS.splitlines(), 1) if "inline_asm" in text)
    assert found.returncode == 1
    assert f"kernels.py:{line}:" in found.stderr and "elementwise_inline_asm" in found.stderr
    # Neither Triton's nor tileir's frames are shown.
    assert "site-packages" not in found.stderr and "bridge" not in found.stderr


def test_a_script_without_triton_does_not_import_it(tmp_path: Path) -> None:
    script = "import sys, torch\nprint(torch.zeros(1, device='cuda').device, 'triton' in sys.modules)\n"
    assert run(tmp_path, script).stdout == "cuda:0 False\n"


@pytest.mark.long
def test_compiled_by_torch(tmp_path: Path) -> None:
    script = """
import torch

@torch.compile
def function(x, y):
    return torch.softmax(x * 2 + y, dim=-1).sum(0)

x, y = torch.rand(16, 300, device="cuda"), torch.rand(16, 300, device="cuda")
expected = torch.softmax(x * 2 + y, dim=-1).sum(0)
print(torch.allclose(function(x, y), expected, atol=1e-5))
"""
    found = run(tmp_path, script)
    assert found.stdout == "True\n", found.stderr


@pytest.mark.long
def test_a_script_that_inductor_wrote(tmp_path: Path) -> None:
    script = """
import torch, triton
import triton.language as tl
from torch._C import _cuda_getCurrentRawStream as get_raw_stream
from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.hints import DeviceProperties
from torch._inductor.runtime.triton_helpers import libdevice

triton_helpers.set_driver_to_gpu()
numbers = dict(regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, warp_size=32)
device = DeviceProperties(type="cuda", index=0, multi_processor_count=132, cc=90, major=9, **numbers)
kinds = {"source": "*fp32", "target": "*fp32", "xnumel": "i32", "XBLOCK": "constexpr"}

@triton_heuristics.pointwise(
    size_hints={"x": 128}, filename=__file__, min_elem_per_thread=0,
    triton_meta={"signature": kinds, "device": device, "constants": {}, "configs": [{}]},
    inductor_meta={"grid_type": "Grid1D", "kernel_name": "grown"},
)
@triton.jit
def grown(source, target, xnumel, XBLOCK: tl.constexpr):
    at = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
    found = tl.load(source + at, at < xnumel)
    tl.store(target + at, libdevice.exp(triton_helpers.maximum(found, 0.5)), at < xnumel)

x = torch.rand(100, device="cuda")
out = torch._C._dynamo.guards._empty_strided_cuda((100,), (1,), torch.float32)
grown.run(x, out, 100, stream=get_raw_stream(0))
print(torch.allclose(out, x.clamp(min=0.5).exp()), out.device)
"""
    found = run(tmp_path, script, "--sanitize")
    assert found.stdout == "True cuda:0\n", found.stderr
    assert "nothing found" in found.stderr
