"""`emulate`: cuTile's own launches, run here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tileir.bridge.launch import _cutile, launch


@contextmanager
def emulate(backend: str = "interpreter", *, exact: bool = False, **options: Any) -> Iterator[None]:
    """Within this context `cuda.tile.launch(stream, grid, kernel, args)` runs kernels here instead of on a GPU.

    Streams are ignored: a launch is over when it returns.  The arguments are those of `tileir.launch`, and hold for
    each launch.  Contexts may be nested; the innermost one counts.  It also works as a decorator of a function.
    """
    tile = _cutile()

    def emulated(
        stream: object,
        grid: tuple[int, ...],
        kernel: Any,
        kernel_args: tuple[object, ...],
        /,
        *,
        programmatic_dependent_launch: bool = False,
    ) -> None:
        launch(kernel, grid, kernel_args, backend, exact=exact, **options)

    replaced = tile.launch
    _replace(replaced, emulated)
    try:
        yield
    finally:
        _replace(emulated, replaced)


def _replace(old: object, new: object) -> None:
    """Put one function in the place of another, also where modules have imported it by name."""
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if isinstance(names, dict) and names.get("launch") is old:
            names["launch"] = new
