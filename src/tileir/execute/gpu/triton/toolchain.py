"""Which Triton is installed, or in the folder that TILEIR_TRITON names, and its GPUs; it is not imported.

Code for GPUs of AMD is compiled and not run: it is untested.
"""

from __future__ import annotations

import os
import re
from importlib.machinery import PathFinder
from typing import Final, NamedTuple

from tileir.execute.cache.private_files import name_of, stamp_of
from tileir.execute.errors import CompilationError, MissingDependencyError
from tileir.execute.gpu.gpus import target_named
from tileir.execute.gpu.targets import ARCHITECTURES
from tileir.ir.diagnostics import OptionError

VARIABLE: Final = "TILEIR_TRITON"
INSTALL: Final = "pip install 'tileir[triton]'"
MISSING: Final = f"Triton is not installed: {INSTALL}"
OLDEST: Final = (3, 4)

_VERSION: Final = re.compile(r"""^__version__\s*=\s*['"](\d+)\.(\d+)([^'"]*)['"]""", re.MULTILINE)

_found: dict[str, Triton] = {}

STAGES: Final = ("schedule", "tile", "ttir", "ttgir", "llvm", "ptx", "cubin")
"""The first is what was decided, the second the tile program that is lowered, with what does not fit split."""
AMD_STAGES: Final = ("schedule", "tile", "ttir", "ttgir", "llvm", "amdgcn", "hsaco")
_MADE_AS: Final = {"sm_88": "sm_86"}
_SINCE: Final = {"sm_103": (3, 6), "sm_107": (3, 9), "sm_110": (3, 7), "sm_121": (3, 6)}
NOT_RUN: Final = "nobody has run code that is made of tile programs for GPUs of AMD"


class Triton(NamedTuple):
    folder: str
    version: str
    number: tuple[int, int]
    stamp: str  # A file stamp: whether it is unchanged, without reading it.


def installed_triton() -> Triton | None:
    """The Triton of this machine; None where there is none, refused where one is named that cannot be used."""
    named = os.environ.get(VARIABLE)
    folder = os.path.abspath(named) if named else _installed()
    if not folder:
        return None
    path = os.path.join(folder, "triton", "__init__.py")
    try:
        stamp = name_of([stamp_of(path, os.stat(path))])
        found = _found.get(stamp)
        if found is None:
            with open(path, encoding="utf-8", errors="replace") as file:
                found = _found.setdefault(stamp, _read(folder, file.read(), stamp))
    except OSError as error:
        where = f"{VARIABLE} names '{named}'" if named else f"Triton is in '{folder}'"
        raise MissingDependencyError(
            f"{where}, which has no package 'triton' that can be used: {error.strerror or error}"
        ) from None
    return found


def find_triton() -> Triton:
    """The Triton of this machine; refused, with what to install, where there is none, or one that is too old."""
    reason = why_missing()
    found = None if reason else installed_triton()
    if found is None:
        raise MissingDependencyError(reason)
    return found


def why_missing() -> str:
    """Why there is no Triton that can be used, with what to do about it; empty if there is one."""
    try:
        found = installed_triton()
    except MissingDependencyError as error:
        return error.message
    if found is None or found.number >= OLDEST:
        return MISSING if found is None else ""
    oldest = ".".join([str(number) for number in OLDEST])
    return f"Triton {found.version} in '{found.folder}' is too old, the oldest that serves is {oldest}: {INSTALL}"


def _installed() -> str:
    """The folder that has the package; empty if none has."""
    found = PathFinder.find_spec("triton")
    # A folder of that name is no package.
    return os.path.dirname(os.path.dirname(found.origin)) if found is not None and found.origin else ""


def _read(folder: str, text: str, stamp: str) -> Triton:
    found = _VERSION.search(text)
    if found is None:
        raise MissingDependencyError(f"the package 'triton' in '{folder}' does not report its version: {INSTALL}")
    return Triton(folder, f"{found[1]}.{found[2]}{found[3]}", (int(found[1]), int(found[2])), stamp)


class TritonTarget(NamedTuple):
    name: str
    shared: int  # Bytes of shared memory that a tile block may have at most.
    has_tma: bool = False
    has_wgmma: bool = False  # Matmuls by groups of warps, out of shared memory.
    has_short_accumulators: bool = False  # Whether tensor cores keep less than f32 of accumulators of f8.

    @property
    def is_amd(self) -> bool:
        return self.name.startswith("gfx")

    @property
    def stages(self) -> tuple[str, ...]:
        return AMD_STAGES if self.is_amd else STAGES

    @property
    def code(self) -> str:
        """The target that Triton gets: it may be older code of the same generation, which runs there too."""
        return _MADE_AS.get(self.name, self.name)


_NVIDIA: Final = [
    TritonTarget(name, has.shared_memory_per_block, has.has_tma, has.has_wgmma, has.has_short_accumulators)
    for name, has in ARCHITECTURES.items()
]
_AMD: Final = [TritonTarget("gfx90a", 64 << 10), TritonTarget("gfx942", 64 << 10), TritonTarget("gfx950", 160 << 10)]
TRITON_TARGETS: Final = {each.name: each for each in (*_NVIDIA, *_AMD)}


def triton_target(text: object) -> TritonTarget:
    """The target that a text names: `sm_90`, in all spellings there are, or `gfx942`."""
    name = text.strip().lower() if isinstance(text, str) else ""
    names = ", ".join([each.name for each in _AMD])
    if name.startswith("gfx") and name not in TRITON_TARGETS:
        raise OptionError(f"'{text}' is no GPU of AMD that Tile IR is compiled for: choose one of {names}")
    try:
        return TRITON_TARGETS[name if name in TRITON_TARGETS else target_named(text)]
    except OptionError as error:
        raise OptionError(f"{error.message}, or of AMD's {names}") from None


def check_target(target: TritonTarget, triton: Triton) -> None:
    """Raise an error for a GPU that a version of Triton does not know."""
    since = _SINCE.get(target.name, OLDEST)
    if triton.number < since:
        first = ".".join(map(str, since))
        raise CompilationError(
            f"Triton {triton.version} makes no code for {target.name}: {first} and newer do, {INSTALL} --upgrade"
        )
