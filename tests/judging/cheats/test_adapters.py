"""The adapters of examples/judging, on tasks of our own in the formats of others."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.optional import needs

if not hasattr(os, "fork"):
    pytest.skip("candidates run in forks, which this system lacks", allow_module_level=True)
needs("cuda.tile")
needs("torch")
needs("triton")

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "examples" / "judging"
SOFTMAX = ROOT / "examples" / "judged"

MODEL = """
import torch

class Model(torch.nn.Module):
    def __init__(self, features, scale):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(features))
        self.scale = scale

    def forward(self, x):
        return x * self.weight * self.scale

batch, features = 4096, 393216

def get_inputs():
    return [torch.rand(batch, features)]

def get_init_inputs():
    return [features, 3.0]
"""
KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def scaled(x, weight, out, columns, scale, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside, row = i < columns, tl.program_id(0) * columns
    tl.store(out + row + i, tl.load(x + row + i, mask=inside) * tl.load(weight + i, mask=inside) * scale, mask=inside)
"""
MODEL_NEW = (
    KERNEL
    + """
class ModelNew(torch.nn.Module):
    def __init__(self, features, scale):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(features))
        self.scale = scale

    def forward(self, x):
        out = torch.empty_like(x)
        scaled[(x.shape[0],)](x, self.weight, out, x.shape[1], self.scale, BLOCK=64)
        return out
"""
)
TASK_YML = """
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "task.py", "source": "task.py"}
  - {"name": "utils.py", "source": "../utils.py"}
  - {"name": "reference.py", "source": "reference.py"}
lang: "py"
tests:
  - {"size": 8, "seed": 4242}
  - {"size": 33, "seed": 5236}
  - {"size": 16, "seed": 1001}
  - {"size": 17, "seed": 1002}
  - {"size": 1000, "seed": 1003}
"""
REFERENCE = """
import torch
from task import input_t
from utils import make_match_reference

def generate_input(size: int, seed: int) -> input_t:
    made = torch.Generator(device="cuda")
    made.manual_seed(seed)
    return (torch.randn(size, size, device="cuda", generator=made), torch.ones(size, device="cuda"))

def ref_kernel(data: input_t):
    x, weight = data
    return x * weight * 2

check_implementation = make_match_reference(ref_kernel, rtol=1e-3, atol=1e-3)
"""
SUBMISSION = (
    KERNEL
    + """
from task import input_t

def custom_kernel(data: input_t):
    x, weight = data
    out = torch.empty_like(x)
    scaled[(x.shape[0],)](x, weight, out, x.shape[1], 2.0, BLOCK=64)
    return out
"""
)


@pytest.fixture(autouse=True)
def _examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))


def _adapter(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


def test_kernelbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = _adapter("kernelbench", monkeypatch)
    problem = tmp_path / "1_Scaled.py"
    problem.write_text(MODEL)
    found = adapter.judge(problem, MODEL_NEW.encode(), 48, backend="interpreter")
    assert found.accepted, str(found)
    lazy = MODEL + "ModelNew = Model\n"
    assert adapter.judge(problem, lazy.encode(), 48, backend="interpreter").reason == "cheat:no-kernel"


def test_gpu_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("yaml", reason="task.yml is YAML: pip install pyyaml")
    adapter = _adapter("gpu_mode", monkeypatch)
    problem = tmp_path / "scale_py"
    problem.mkdir()
    (problem / "task.yml").write_text(TASK_YML)
    (problem / "reference.py").write_text(REFERENCE)
    (problem / "task.py").write_text("import torch\ninput_t = tuple\n")
    (tmp_path / "utils.py").write_text("def make_match_reference(reference, **tolerance):\n    return reference\n")
    found = adapter.judge(problem, SUBMISSION.encode(), backend="interpreter")
    assert found.accepted, str(found)
    wrong = SUBMISSION.replace("2.0, BLOCK", "2.1, BLOCK")
    assert adapter.judge(problem, wrong.encode(), backend="interpreter").reason == "wrong-result"
    assert adapter.tolerance_of(REFERENCE) == {"rtol": 1e-3, "atol": 1e-3}


@pytest.mark.parametrize(
    ("name", "package", "install"),
    [("openenv_environment", "openenv", "openenv-core"), ("inspect_scorer", "inspect_ai", "inspect-ai")],
)
def test_a_missing_package_is_named(name: str, package: str, install: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"is not installed: pip install {install}"):
        _adapter(name, monkeypatch)


def test_openenv(monkeypatch: pytest.MonkeyPatch) -> None:
    needs("openenv.core")
    adapter = _adapter("openenv_environment", monkeypatch)
    environment = adapter.KernelEnvironment(SOFTMAX / "softmax", most_steps=2, backend="interpreter")
    assert "def reference" in environment.reset().task and "held_out" not in environment.reset().task
    cheating = environment.step(adapter.KernelAction(source=(SOFTMAX / "softmax_cheating.py").read_text()))
    assert (cheating.reward, cheating.done, cheating.reason) == (0.0, False, "cheat:no-kernel")
    good = environment.step(adapter.KernelAction(source=(SOFTMAX / "softmax_good.py").read_text()))
    assert good.reward > 0.6 and good.done and environment.state.step_count == 2


def test_inspect_ai(monkeypatch: pytest.MonkeyPatch) -> None:
    needs("inspect_ai")
    adapter = _adapter("inspect_scorer", monkeypatch)
    assert [sample.id for sample in adapter.kernel_task().dataset] == ["softmax"]
    assert adapter.code_in("text\n```python\nx = 1\n```\nmore\n```py\ny = 2\n```\n") == "y = 2\n"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_an_adapter_has_at_most_100_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 100
