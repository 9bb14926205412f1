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
    return [sys.executable, "-c", _START.format(path=import_path(), module=module, argument=argument)]


def import_path() -> list[str]:
    """Where modules are found, without the directory that Python adds for a script or a prompt.

    Programs that are judged may read whatever is on it, and in that directory is what they are not to see: references,
    results, the work of others.  One that is in `PYTHONPATH`, too, was meant.
    """
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    added = {_real(os.curdir), _real(os.path.dirname(main)) if main else ""}
    meant = {_real(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each}
    found = {os.path.abspath(each): _real(each or os.curdir) for each in sys.path}
    return [path for path, real in found.items() if real not in added or real in meant or _has_packages(real)]


def _real(path: str) -> str:
    return os.path.realpath(path or os.curdir)


def _has_packages(path: str) -> bool:
    """Whether a directory is one of packages: modules that are started as scripts lie there, too."""
    installed = os.path.basename(path) in ("site-packages", "dist-packages")
    return installed or os.path.exists(os.path.join(path, "tileir", "__init__.py"))


def environment() -> dict[str, str]:
    """What of the environment is for a program that is judged: nothing that may be a secret."""
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_BEGINNINGS)}
    return {**kept, **_SET}
