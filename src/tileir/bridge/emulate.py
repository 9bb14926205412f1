"""`emulate`: cuTile's own launches, run here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tileir.bridge.launch import cutile, launch


@contextmanager
def emulate(backend: str = "auto", *, exact: bool = False, **options: Any) -> Iterator[None]:
    """Within this context `cuda.tile.launch(stream, grid, kernel, args)` runs kernels here instead of on a GPU.

    Streams are ignored: a launch is over when it returns.  Where torch has no GPU, `torch.cuda.current_stream()` and
    `torch.cuda.synchronize()` do nothing instead of failing, so that a script needs no change but the device of its
    tensors.  The arguments are those of `tileir.launch`, and hold for each launch.  Contexts may be nested; the
    innermost one counts.  It also works as a decorator of a function.
    """
    tile = cutile()

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
    torch = _Torch()
    try:
        yield
    finally:
        torch.restore()
        _replace(emulated, replaced)


def _replace(old: object, new: object) -> None:
    """Put one function in the place of another, also where modules have imported it by name."""
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if isinstance(names, dict) and names.get("launch") is old:
            names["launch"] = new


class _Torch:
    """The functions for streams of a torch that was imported and has no GPU, made harmless."""

    def __init__(self) -> None:
        self._saved: dict[str, Any] = {}
        self._module: Any = getattr(sys.modules.get("torch"), "cuda", None)
        if self._module is None or self._module.is_available():
            return
        for name in ("current_stream", "synchronize"):
            self._saved[name] = getattr(self._module, name)
            setattr(self._module, name, _nothing)

    def restore(self) -> None:
        for name, function in self._saved.items():
            setattr(self._module, name, function)


def _nothing(*arguments: object, **keywords: object) -> None:
    return None
