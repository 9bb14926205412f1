"""The interpreter, as the choice of an engine sees it; `kernel.py` has its kernels."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tileir.execute.engine.interface import Backend, KernelSettings, LaunchOptions
from tileir.ir.core import Operation

if TYPE_CHECKING:
    from tileir.execute.interpreter.kernel import InterpretedKernel
    from tileir.execute.memory import Region


class Interpreter(Backend):
    name: str = "interpreter"
    title: str = "the interpreter"
    summary: str = "the definition of what programs do, on NumPy"
    options: frozenset[str] = frozenset(("exact", "schedule", "observer", "sanitize"))
    is_native: bool = False

    def missing(self) -> str:
        return "" if _is_installed() else "it needs NumPy and ml_dtypes: pip install 'tileir[run]'"

    def facts(self) -> dict[str, str]:
        import ml_dtypes
        import numpy

        from tileir.execute.interpreter.frame import LARGEST_RANK

        return {
            "NumPy": numpy.__version__,
            "ml_dtypes": ml_dtypes.__version__,
            "tiles": f"of rank {LARGEST_RANK} at most",
        }

    def suits(self, entry: Operation, arguments: tuple[object, ...], options: LaunchOptions) -> bool:
        return True

    def prepare(self, entry: Operation, globals: dict[str, Region], settings: KernelSettings) -> InterpretedKernel:
        from tileir.execute.interpreter.kernel import InterpretedKernel

        return InterpretedKernel(entry, globals, settings.exact)


@cache
def _is_installed() -> bool:
    return find_spec("numpy") is not None and find_spec("ml_dtypes") is not None
