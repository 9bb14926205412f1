"""Try a script with an emulated GPU, each time in a child whose torch lacks one name; run by test_torch_versions.py.

Standard input is a JSON list: the names, and the lines of the script by feature.  A line of output is a name, and the
warnings and the features that failed; None for a name that this torch does not have.
"""

from __future__ import annotations

import io
import json
import os
import sys
import warnings

import torch
import torch._functorch.vmap
import torch.jit._builtins
import torch.utils._device
import torch.utils.checkpoint

import tileir


def ones(count, dtype=None):
    return torch.ones(count, dtype=dtype, device="cuda", requires_grad=True)


def double(x):
    return x * 2


def default_device():
    with torch.device("cuda"):
        return torch.ones(2).is_cuda


def saved():
    file = io.BytesIO()
    torch.save(torch.ones(2, device="cuda"), file)
    file.seek(0)
    return torch.load(file).is_cuda


def custom_function():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(context, gradient):
            assert gradient.is_cuda and context.saved_tensors[0].is_cuda
            return gradient * 2

    x = ones(3)
    Double.apply(x).sum().backward()
    return x.grad.is_cuda


def checkpointed():
    x = ones(3)
    torch.utils.checkpoint.checkpoint(torch.sigmoid, x, use_reentrant=False).sum().backward()
    return x.grad.is_cuda


def custom_operator():
    @torch.library.custom_op("tests::double", mutates_args=(), device_types="cuda")
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    return twice(torch.ones(2, device="cuda")).is_cuda


def autocast():
    x = torch.ones(2, 2, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        return (x @ x).dtype is torch.bfloat16


def captured():
    graph, x = torch.cuda.CUDAGraph(), torch.ones(2, device="cuda")
    with torch.cuda.graph(graph):
        y = x + 1
    x.fill_(4)
    graph.replay()
    return y.tolist() == [5, 5]


def try_all(broken, script):
    owner, name = torch, broken
    while "." in name:
        part, _, name = name.partition(".")
        owner = getattr(owner, part)
    if not hasattr(owner, name):
        return None  # This version does not have it.
    original = getattr(owner, name)
    delattr(owner, name)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with tileir.emulate():
            said = [str(warning.message) for warning in found]
            # torch itself still needs it.
            if not hasattr(owner, name):
                setattr(owner, name, original)
            failed = []
            for feature, line in script.items():
                try:
                    good = eval(line)
                except Exception:
                    good = False
                if not good:
                    failed.append(feature)
    return [said, failed]


names, script = json.load(sys.stdin)
# Children need not import what torch imports when it is first used.
torch.utils.checkpoint.checkpoint(double, torch.ones(2, requires_grad=True), use_reentrant=False).sum().backward()
torch.func.grad(lambda x: torch.sin(x).sum())(torch.ones(2))
torch.jit.script(double)
for name in names:
    sys.stdout.flush()
    if os.fork() == 0:
        print(json.dumps([name, try_all(name, script)]), flush=True)
        os._exit(0)
    os.wait()
