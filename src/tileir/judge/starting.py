"""How another Python is started that judges: with the modules of this one, and without its secrets."""

from __future__ import annotations

import os
import sys
from typing import Final

_KEPT: Final = ("PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "SYSTEMROOT", "HOME", "USER", "TILEIR_LIBCUDA")
_KEPT_BEGINNINGS: Final = ("LC_", "PYTHON", "CUDA_", "NVIDIA_", "TILEIR_TILEIRAS")
_SET: Final = {
    # One program, one processor: as many are judged at once as there are processors.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # What foreign programs are compiled to is not kept for others.
    "TILEIR_CACHE": "0",
    "PYTHONHASHSEED": "0",
}
_START: Final = "import sys; sys.path[:] = {path!r}; from {module} import main; main({argument!r})"


def command(module: str, argument: str) -> list[str]:
    """What starts a Python that calls `main` of a module."""
    path = [os.path.abspath(each) for each in sys.path]
    return [sys.executable, "-c", _START.format(path=path, module=module, argument=argument)]


def environment() -> dict[str, str]:
    """What of the environment is for a program that is judged: nothing that may be a secret."""
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_BEGINNINGS)}
    return {**kept, **_SET}
