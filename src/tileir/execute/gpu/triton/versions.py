"""Which Triton is installed, and what its versions spell differently.  It is looked at, and not imported.

It is the one in the folder that TILEIR_TRITON names, or the installed package `triton`.
"""

from __future__ import annotations

import os
import re
from importlib.machinery import PathFinder
from typing import Any, Final, NamedTuple

from tileir.execute.cache.private_files import name_of, stamp_of
from tileir.execute.errors import MissingDependencyError

VARIABLE: Final = "TILEIR_TRITON"
INSTALL: Final = "pip install 'tileir[triton]'"
MISSING: Final = f"Triton is not installed: {INSTALL}"
OLDEST: Final = (3, 4)

_VERSION: Final = re.compile(r"""^__version__\s*=\s*['"](\d+)\.(\d+)([^'"]*)['"]""", re.MULTILINE)

_found: dict[str, Triton] = {}


class Spelling(NamedTuple):
    """What versions of Triton write differently in TTIR."""

    bare_descriptors: bool = True
    """`!tt.tensordesc<128x64xf16>`; before 3.8 `!tt.tensordesc<tensor<128x64xf16>>`."""
    unsigned_loops: bool = True
    """`scf.for unsigned`, from 3.6 on."""
    negation: bool = True
    """Whether `arith.negf` is compiled, as from 3.9 on."""
    element_constants: bool = True
    """Whether constants with elements that differ are compiled, as from 3.9 on."""


class Triton:
    """A Triton on this machine."""

    def __init__(self, folder: str, version: str, number: tuple[int, int], look: str) -> None:
        self.folder: Final = folder
        """Where its package `triton` is."""
        self.version: Final = version
        """As `3.6.0`."""
        self.number: Final = number
        self.look: Final = look
        """What tells, without reading it, that it is what it was."""

    @property
    def spelling(self) -> Spelling:
        return spelling_of(self.number)


def spelling_of(number: tuple[int, int]) -> Spelling:
    """How a version writes TTIR, by the first two of its numbers."""
    return Spelling(number >= (3, 8), number >= (3, 6), number >= (3, 9), number >= (3, 9))


def installed_triton() -> Triton | None:
    """The Triton of this machine; None where there is none, refused where one is named that cannot be used."""
    named = os.environ.get(VARIABLE)
    folder = os.path.abspath(named) if named else _installed()
    if not folder:
        return None
    path = os.path.join(folder, "triton", "__init__.py")
    try:
        look = name_of([stamp_of(path, os.stat(path))])
        found = _found.get(look)
        if found is None:
            with open(path, encoding="utf-8", errors="replace") as file:
                found = _found.setdefault(look, _read(folder, file.read(), look))
    except OSError as error:
        where = f"{VARIABLE} names '{named}'" if named else f"Triton is in '{folder}'"
        raise MissingDependencyError(
            f"{where}, which has no package 'triton' that can be used: {error.strerror or error}"
        ) from None
    return found


def find_triton() -> Triton:
    """The Triton of this machine; refused, with what to install, where there is none, or one that is too old."""
    found = installed_triton()
    if found is None:
        raise MissingDependencyError(MISSING)
    reason = _too_old(found)
    if reason:
        raise MissingDependencyError(reason)
    return found


def why_missing() -> str:
    """Why there is no Triton that can be used, with what to do about it; empty if there is one."""
    try:
        found = installed_triton()
    except MissingDependencyError as error:
        return error.message
    return MISSING if found is None else _too_old(found)


def is_made_by(description: dict[str, Any], triton: Triton | None) -> bool:
    """Whether what the cache has is what a Triton would make; it is, where there is none."""
    return triton is None or description.get("look") == triton.look or description.get("version") == triton.version


def _too_old(found: Triton) -> str:
    if found.number >= OLDEST:
        return ""
    oldest = ".".join([str(number) for number in OLDEST])
    return f"Triton {found.version} in '{found.folder}' is too old, the oldest that serves is {oldest}: {INSTALL}"


def _installed() -> str:
    """The folder that has the package; empty if none has."""
    found = PathFinder.find_spec("triton")
    # A folder of that name is no package.
    return os.path.dirname(os.path.dirname(found.origin)) if found is not None and found.origin else ""


def _read(folder: str, text: str, look: str) -> Triton:
    found = _VERSION.search(text)
    if found is None:
        raise MissingDependencyError(f"the package 'triton' in '{folder}' does not say its version: {INSTALL}")
    return Triton(folder, f"{found[1]}.{found[2]}{found[3]}", (int(found[1]), int(found[2])), look)
