"""A torch whose private names have changed loses one feature of the emulated GPU, with one warning."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.sampling import one_in

import tileir.bridge.emulated

pytest.importorskip("torch")
FOLDER = Path(tileir.bridge.emulated.__file__).parent

# What a script does, by the feature that it needs: each line is run by itself.
SCRIPT = {
    "a CUDA device": "(torch.ones(3, device='cuda') + torch.ones(3).cuda()).cpu().sum().item() == 6",
    "torch.set_default_device": "default_device()",
    "torch.func, torch.jit.script or torch.nested": "torch.func.grad(lambda x: torch.sin(x).sum())(ones(3)).is_cuda and torch.jit.script(double)(torch.nested.nested_tensor([torch.ones(2)], device='cuda')[0]).is_cuda",
    "DLPack, torch.save or torch.multiprocessing": "saved()",
    "torch.autograd": "custom_function() and checkpointed()",
    "torch.autograd.gradcheck": "torch.autograd.gradcheck(torch.sin, (ones(3, torch.float64),))",
    "torch.library": "custom_operator()",
    "accumulation in f32 and TF32, or torch.autocast": "autocast()",
    "torch.distributed": "torch.nn.DataParallel(torch.nn.Linear(2, 2).cuda())(torch.ones(2, 2, device='cuda')).is_cuda",
    "torch.cuda": "torch.cuda.nvtx.range_push('a') == 0 and torch.cuda.is_available() and torch.cuda.Stream().query()",
    "torch.cuda.CUDAGraph": "captured()",
}


def private_names() -> list[str]:
    """The private names of torch that modules here use."""
    names: set[str] = set()
    for path in sorted(FOLDER.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch.") and "._" in node.module:
                names.update([f"{node.module}.{alias.name}".removeprefix("torch.") for alias in node.names])
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                parts = ast.unparse(node).split(".")
                if parts[0] == "torch" and re.search(r"(^|\.)_[a-zA-Z]", ".".join(parts[1:])):
                    names.add(".".join(parts[1:]))

    return sorted(name for name in names if not any(other.startswith(f"{name}.") for other in names))


def test_private_names_are_looked_up_when_a_feature_is_installed():
    for path in sorted(FOLDER.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and not function.name.startswith("hook_"):
                found = [ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.Attribute)]
                assert not [name for name in found if re.match(r"torch\.(\w+\.)*_[a-zA-Z]", name)], path.name


def tried(names: list[str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", Path(__file__).with_name("torch_without_names.py")],
        input=json.dumps([names, SCRIPT]), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith('["'))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="tries each name in a forked child")
@pytest.mark.parametrize("part", one_in(4, range(4)))
def test_a_missing_name_costs_one_feature(part: int):
    found = {name: what for name, what in tried(private_names()[part::4]).items() if what is not None}
    warned = 0
    wrong = {}
    for name, (said, failed) in found.items():
        allowed = {feature for feature in SCRIPT if any(f": {feature} is not" in line for line in said)}
        # Without a device there is nothing.
        allowed |= set(SCRIPT) if "a CUDA device" in allowed else set()
        warned += len(said)
        if len(said) > 1 or not set(failed) <= allowed:
            wrong[name] = (said, failed)
    assert not wrong
    assert warned


def emulated(change: str) -> str:
    """Standard error of a script that imports a changed torch."""
    code = f"""
from tileir.bridge.hooks import after_import

def changed(torch):
    {change}

after_import("torch", changed)
import torch
print(torch.ones(2).tolist())
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TILEIR_EMULATE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, "[1.0, 1.0]\n"), done.stderr
    return done.stderr


def test_importing_torch_works_without_a_name_that_everything_needs():
    said = emulated("del torch._C.DisableTorchFunction")
    assert said.count("tileir: ") == 1 and ": RuntimeWarning: tileir: torch " in said
    assert "a CUDA device is not emulated (AttributeError: " in said


def test_a_torch_that_is_too_old_is_one_sentence():
    said = emulated("torch.__version__ = '2.4.1'")
    sentence = "tileir: torch 2.4.1 is too old for the emulated GPU: install torch 2.6 or newer"
    assert said.count("tileir: ") == 1 and sentence in said
