"""What a process does before it forks children that judge: import and build all that they need."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import numpy

from tileir.analyze.cost.costs import cost
from tileir.analyze.cost.processor import processor
from tileir.analyze.cost.targets import ProcessorTarget, target_named, target_names
from tileir.bridge.emulate import emulate
from tileir.bridge.emulated.installation import install
from tileir.bridge.entry_points import hook_cutile, hook_triton
from tileir.bridge.launch import cutile, launch, prepared
from tileir.execute.arguments.binding import Pointer
from tileir.execute.errors import MissingDependencyError
from tileir.execute.launching.entries import check_grid
from tileir.judging.kernels.launches import bytecode_of, described_launch, kept_launch
from tileir.judging.kernels.runs import seed_everything
from tileir.judging.kernels.tampering import remember
from tileir.judging.kernels.values import dump
from tileir.judging.model import MODULES, JudgePlan, SweepInput, seed_program
from tileir.judging.server_pool.pool import Request
from tileir.judging.verdicts.launches import ready, subject_of
from tileir.judging.verdicts.programs import parts_of
from tileir.judging.verdicts.work import Work

_SMALL: Final = b'{"family": "memory", "seed": 1, "size": 16}'
"""The seed of a program that is judged before the first."""


def warm_up(request: Request, known: set[tuple[str, JudgePlan]]) -> bool:
    """Judge a small program if the plan is not `known`, so that children find all imported; whether it was new."""
    item, plan = request.item, request.plan
    is_new = item.kind in MODULES and warm_kernels(request.imports)
    if (item.kind, plan) in known:
        return is_new
    known.add((item.kind, plan))
    warm_steps(plan)
    return True


def warm_steps(plan: JudgePlan) -> None:
    small = SweepInput("warm", "program", seed_program(_SMALL).text().encode())
    for part in parts_of(plan):
        if not part.processes:
            part.task(Work(small, plan, os.getcwd(), lambda message: None))
    if any(isinstance(target_named(name), ProcessorTarget) for name in plan.cost if name in target_names()):
        # It is measured, which takes a second.
        processor()


_warm: Final[set[str]] = set()


def warm_kernels(imports: Sequence[str]) -> bool:
    """Import what modules with kernels will, if it is there and to be trusted, and compile a kernel; whether there was
    something to do."""
    names = [name for name in ("cuda.tile", *imports) if name not in _warm]
    for name in names:
        _warm.add(name)
        with suppress(ImportError, MissingDependencyError):
            module = importlib.import_module(name)
            if name == "triton":
                hook_triton(module)
            elif name == "cuda.tile":
                hook_cutile(cutile())
                install()
                _launch_one(module)
    if names:
        remember()
    return bool(names)


def _launch_one(ct: Any) -> None:
    """Much of cuTile and of the engines is imported and built when a kernel is first compiled."""

    def sums(x: Any, out: Any) -> None:
        block = ct.bid(0)
        tile = ct.load(x, (block, 0), (1, 16), padding_mode=ct.PaddingMode.NEG_INF)
        powers = ct.exp(tile - ct.max(tile, axis=1, keepdims=True))
        total = ct.zeros((1, 1), ct.float32)
        for _ in range(ct.num_tiles(x, 1, (1, 16))):
            total = total + ct.sum(powers, axis=1, keepdims=True)
        ct.store(out, (block, 0), powers / total)

    x = numpy.ones((2, 15), numpy.float32)
    seed_everything(0)
    kernel = ct.kernel(sums)
    for backend in ("auto", "interpreter"):
        launch(kernel, 2, (x, numpy.empty_like(x)), backend=backend, threads=1, sanitize="all")
    # Of modules that were imported by that.
    hook_cutile(ct)
    with emulate(backend="interpreter"):
        ct.launch(None, (2,), ct.kernel(sums), (x, numpy.empty_like(x)))
    compiled, description = prepared(kernel, (x, numpy.empty_like(x)), "interpreter", False, False)
    described_launch(compiled, (2, 1, 1), description.values, bytecode_of(compiled))


def warm_launch() -> None:
    """As a child reads a launch that another one has kept, and does it again."""
    subject = subject_of(SweepInput("warm", "seed", _SMALL))
    launch = subject.launches(0)[0]
    values = [Pointer(each) if isinstance(each, numpy.ndarray) else each for each in launch.arguments()]
    compiled = ready(subject.module, launch, "interpreter")
    kept = kept_launch(dump(described_launch(compiled, check_grid(launch.grid), values, bytecode_of(compiled))))
    for engine in ("auto", "interpreter"):
        kept.kernel(engine).launch(kept.launch.grid, kept.launch.arguments(), sanitize="all")
    cost(kept.kernel("auto"), kept.launch.grid, kept.launch.arguments(), assemble=False)
