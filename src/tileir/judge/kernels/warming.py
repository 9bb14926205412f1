"""What every child of a module with kernels needs, imported once by the process that forks them."""

from __future__ import annotations

import importlib
from typing import Any, Final

import numpy

from tileir.bridge.emulated.installation import install
from tileir.bridge.entry_points import hook_cutile
from tileir.bridge.launch import cutile, launch
from tileir.execute.errors import MissingDependencyError

_WARM: Final[list[str]] = []


def warm(*, with_torch: bool) -> None:
    """Import what modules will, as far as it is to be trusted, and compile a kernel; what is missing is not told."""
    if "cutile" not in _WARM:
        _WARM.append("cutile")
        try:
            tile = cutile()
        except MissingDependencyError:
            return
        hook_cutile(tile)
        install()
        _launch_one(tile)
    if with_torch and "torch" not in _WARM:
        _WARM.append("torch")
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
