"""Where NVIDIA's assembler is, which version it has, and which versions of the bytecode it takes.

It is the one that TILEIR_TILEIRAS names, that of the installed package `nvidia-cuda-tileiras`, or the first one on
PATH.  Asking it for its version takes a process, longer than a kernel from the cache takes to launch: `look` tells,
without one, that it is the tool it was.
"""

from __future__ import annotations

import os
import re
from functools import cached_property
from typing import Any, Final

from tileir.execute.cache.private_files import name_of, stamp_of
from tileir.execute.errors import CompilationError, MissingDependencyError
from tileir.execute.gpu.nvidia_packages import find_tool
from tileir.ir.versions import VERSIONS, Version, version_text

VARIABLE: Final = "TILEIR_TILEIRAS"
CUDA_VARIABLES: Final = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")
"""Where the assembler looks for its libraries first."""
INSTALL: Final = "pip install 'tileir[tileiras]'"
MISSING: Final = f"NVIDIA's assembler, tileiras, is not installed: {INSTALL}"

_SECONDS: Final = 30.0
"""How long it may take to say what it is: it takes milliseconds, on a machine with nothing else to do."""

_tools: dict[str, Assembler] = {}


class Assembler:
    """An assembler: a program on this machine."""

    def __init__(self, path: str, look: str) -> None:
        self.path: Final = path
        self.look: Final = look

    @cached_property
    def version(self) -> str:
        """As `13.4.92`."""
        said = self._said("--version")
        found = re.search(r"\bV(\d+(?:\.\d+)+)", said) or re.search(r"\brelease (\d+(?:\.\d+)+)", said)
        if found is None:
            raise CompilationError(f"{self._called} is no assembler for Tile IR: it does not say its version")
        return found[1]

    @cached_property
    def bytecode_version(self) -> Version:
        """The newest version of the bytecode that it takes."""
        if "--list-versions" in self._help:
            listed = self._said("--list-versions").split()
        else:
            # The first ones did not say; each took the versions up to its own.
            own = tuple([int(number) for number in self.version.split(".")[:2]])
            listed = [version_text(version) for version in VERSIONS if version <= own]
        known = [version for version in VERSIONS if version_text(version) in listed]
        if not known:
            raise CompilationError(
                f"the assembler '{self.path}', version {self.version}, takes no version of the bytecode that tileir "
                f"writes: it takes {', '.join(listed) or 'none'}"
            )
        return known[-1]

    @cached_property
    def targets(self) -> list[str]:
        """The GPUs that it makes code for."""
        return re.findall(r"=(sm_\d+)", self._help)

    @cached_property
    def misleading(self) -> tuple[str, ...]:
        """Variables of the environment to keep from it: they name another CUDA, whose libraries it would use instead of
        those that it was installed with, and fail without a word."""
        root = os.path.dirname(os.path.dirname(self.path))
        for folder in ("lib", "lib64", "bin", os.path.join("nvvm", "lib64"), os.path.join("nvvm", "bin")):
            try:
                names = os.listdir(os.path.join(root, folder))
            except OSError:
                continue
            if any("nvvm" in name and ("libnvvm" in name or name.endswith(".dll")) for name in names):
                return CUDA_VARIABLES
        return ()

    @property
    def has_remarks(self) -> bool:
        return "--remarks=" in self._help

    @cached_property
    def _help(self) -> str:
        return self._said("--help")

    @property
    def _called(self) -> str:
        """Its path, with who chose it: a variable that was set long ago is easily forgotten."""
        return f"'{self.path}', which {VARIABLE} names," if os.environ.get(VARIABLE) == self.path else f"'{self.path}'"

    def _said(self, option: str) -> str:
        # Imported here: a kernel from the cache needs no process.
        from tileir.execute.gpu.command import run_command

        try:
            outcome = run_command([self.path, option], time_limit=_SECONDS)
        except OSError as error:
            raise CompilationError(f"the assembler {self._called} cannot be run: {error.strerror or error}") from None
        if outcome.status != 0:
            how = "does not end" if outcome.timed_out else f"ends with status {outcome.status}"
            raise CompilationError(f"{self._called} is no assembler for Tile IR: it {how} when asked for {option}")
        return outcome.output


def find_assembler() -> Assembler:
    """The assembler of this machine; refused, with what to install, where there is none."""
    found = installed_assembler()
    if found is None:
        raise MissingDependencyError(MISSING)
    return found


def installed_assembler() -> Assembler | None:
    """The assembler of this machine; None where there is none, refused where one is named that cannot be used."""
    named = os.environ.get(VARIABLE)
    path = named or find_tool("tileiras")
    if not path:
        return None
    try:
        look = name_of([stamp_of(path, os.stat(path))])
    except OSError as error:
        where = f"{VARIABLE} names '{path}'" if named else f"the assembler is '{path}'"
        raise MissingDependencyError(f"{where}, which cannot be used: {error.strerror or error}") from None
    found = _tools.get(look)
    if found is None:
        found = _tools.setdefault(look, Assembler(path, look))
    return found


def why_missing() -> str:
    """Why there is no assembler, with what to do about it; empty if there is one."""
    return "" if os.environ.get(VARIABLE) or find_tool("tileiras") else MISSING


def is_made_by(description: dict[str, Any], tool: Assembler | None) -> bool:
    """Whether what the cache has is what an assembler would make; it is, where there is none."""
    return tool is None or description.get("look") == tool.look or description.get("version") == tool.version
