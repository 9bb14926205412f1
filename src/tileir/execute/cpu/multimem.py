"""Kernels that access several devices: the interpreter runs them, as no code is generated for multicast memory."""

from __future__ import annotations

from typing import NoReturn

from tileir.execute.engine.interface import LaunchOptions
from tileir.execute.errors import BlockId, LaunchError
from tileir.execute.interpreter.kernel import InterpretedKernel
from tileir.execute.overlap import overlapped


class MultimemKernel(InterpretedKernel):
    """A kernel with multicast pointers, or made from them, in the CPU backend."""

    def launch(self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions) -> None:
        launches = overlapped()
        if launches is not None:
            launches.wait_for_all()
        super().launch(grid, arguments, options)

    def dump(self, stage: str, *, sanitize: bool = False, unchecked: bool = False) -> NoReturn:
        raise LaunchError("the kernel accesses several devices: the interpreter runs it, and there is no code")
