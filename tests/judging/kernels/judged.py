"""A module judged in children without confinement, and its steps by name."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tests.judging.kernels.forked import in_child

from tileir.judging.kernels.module import judge_module
from tileir.judging.model import JudgePlan, JudgeStage, SweepInput
from tileir.judging.server_pool.pool import request_for
from tileir.judging.server_pool.warm_up import warm_kernels

EXAMPLES = Path(__file__).parents[3] / "examples" / "judged"

DOUBLING = """
import cuda.tile as ct
import numpy

@ct.kernel
def double(x, out):
    place = ct.bid(0)
    ct.store(out, (place,), ct.load(x, (place,), (64,)) * 2)

def inputs(seed):
    return (numpy.random.default_rng(seed).standard_normal(100, dtype="f4"),)

def reference(x):
    return x * 2
"""
"""A reference and a kernel, without a candidate."""


def judged(source: str, reference: str = DOUBLING, **plan: Any) -> dict[str, JudgeStage]:
    """The steps of a candidate; without a reference of its own it is one in itself."""
    item = SweepInput("candidate.py", "kernels", source.encode(), reference.encode())
    plan.setdefault("trials", 2)
    # Which compiles in no time.
    plan.setdefault("backends", ("interpreter",))
    with tempfile.TemporaryDirectory() as scratch:
        request = request_for(item, JudgePlan(**plan), scratch)
        warm_kernels(request.imports)
        steps = judge_module(request.item, request.plan, scratch, in_child, request.reference)
    assert len({step.name for step in steps}) == len(steps)
    return {step.name: step for step in steps}


def outcomes(steps: dict[str, JudgeStage]) -> dict[str, str]:
    """What did not pass."""
    return {name: step.outcome for name, step in steps.items() if step.outcome not in ("passed", "skipped")}


def example(name: str, **plan: Any) -> dict[str, JudgeStage]:
    """One of the examples, against the reference of them all."""
    return judged((EXAMPLES / f"{name}.py").read_text(), (EXAMPLES / "softmax" / "reference.py").read_text(), **plan)
