"""The process that starts children: it has everything imported and warm, so that a child costs no more than a fork.

It is started by `pool`, reads from standard input what to judge, writes verdicts to standard output, and ends when its
owner does.  It has one thread.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import os
import pickle
import shutil
from dataclasses import asdict
from typing import Any, Final

import numpy

from tileir.analyze.cost.processor import processor
from tileir.analyze.cost.targets import ProcessorTarget, target_named, target_names
from tileir.bridge.emulated.installation import install
from tileir.bridge.entry_points import hook_cutile
from tileir.bridge.launch import cutile, launch
from tileir.execute.errors import MissingDependencyError
from tileir.judge.model import MODULES, Item, Plan, Step, seed_program, verdict_of
from tileir.judge.server_pool.children import Children
from tileir.judge.server_pool.pool import Request
from tileir.judge.verdicts.causes import cause_of
from tileir.judge.verdicts.programs import parts_of
from tileir.judge.verdicts.work import Work
from tileir.processes.child import CAN_FORK, OwnerGone
from tileir.processes.linux import adopt_descendants
from tileir.processes.messages import read_frame, send

_SMALL: Final = b'{"family": "memory", "seed": 1, "size": 16}'
"""The seed of a program that is judged before the first."""


def main(root: str) -> None:
    """Serve until the owner is gone; scratch directories are made below `root`."""
    requests, verdicts = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    # Nothing that is printed here by mistake goes among the verdicts.
    os.dup2(2, 1)
    os.close(nothing)
    adopt_descendants()
    # What a child was in the middle of when it crashed is a part of its output.
    faulthandler.enable(all_threads=False)
    known: set[tuple[str, Plan]] = set()
    children = Children(root, requests)
    try:
        while (content := read_frame(requests)) is not None:
            # The owner is trusted, as it started this process.
            request: Request = pickle.loads(content)
            if CAN_FORK and warm_up(request, known):
                # Children that collect garbage would write to, and so copy, what they share with this process.
                gc.collect()
                gc.freeze()
            try:
                verdict = children.judge(request)
            except (OwnerGone, BrokenPipeError):
                raise
            except Exception as error:
                # A full disk, or a defect: of this item, and not of those that come after it.
                message = f"it cannot be judged: {type(error).__name__}: {error}"
                verdict = verdict_of(request.item, [Step("start", "crashed", message, cause_of(message))])
            send(verdicts, asdict(verdict))
    except (OwnerGone, BrokenPipeError, KeyboardInterrupt):
        return
    finally:
        children.end()
        # Also if the owner was killed, and cannot do it.
        shutil.rmtree(root, ignore_errors=True)


def warm_up(request: Request, known: set[tuple[str, Plan]]) -> bool:
    """Judge a small program with the plan, so that all that is imported or built on first use is there in children.

    `known` is what this process has judged so; return whether there was something to do."""
    item, plan = request.item, request.plan
    if item.kind in MODULES:
        warm_kernels(with_torch=request.with_torch)
    if (item.kind, plan) in known:
        return False
    known.add((item.kind, plan))
    small = Item("warm", "program", seed_program(_SMALL).text().encode())
    for part in parts_of(plan):
        if not part.processes:
            part.task(Work(small, plan, os.getcwd(), lambda message: None))
    if any(isinstance(target_named(name), ProcessorTarget) for name in plan.cost if name in target_names()):
        # It is measured, which takes a second.
        processor()
    return True


_warm: Final[set[str]] = set()


def warm_kernels(*, with_torch: bool) -> None:
    """Import what modules with kernels will, as far as it is to be trusted, and compile a kernel.

    What is missing is reported by the child that needs it."""
    if "cutile" not in _warm:
        _warm.add("cutile")
        try:
            tile = cutile()
        except MissingDependencyError:
            return
        hook_cutile(tile)
        install()
        _launch_one(tile)
    if with_torch and "torch" not in _warm:
        _warm.add("torch")
        try:
            importlib.import_module("torch")
        except ImportError:
            pass


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

    kernel = ct.kernel(sums)
    x = numpy.ones((2, 15), numpy.float32)
    for backend in ("auto", "interpreter"):
        launch(kernel, 2, (x, numpy.empty_like(x)), backend, num_threads=1)
