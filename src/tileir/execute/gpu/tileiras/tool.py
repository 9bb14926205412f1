"""NVIDIA's assembler: where it is, its version, which versions of the bytecode it takes, and its options.

It is the one that TILEIR_TILEIRAS names, that of the package `nvidia-cuda-tileiras`, or the first on PATH.  Its version
takes a process, longer than a cached launch; `stamp`, a file stamp, shows without one that the tool is the same.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Final, NamedTuple

from tileir.execute.cache.private_files import name_of, stamp_of
from tileir.execute.errors import CompilationError, MissingDependencyError
from tileir.execute.gpu.nvidia_tools import find_tool
from tileir.execute.gpu.targets import host_here
from tileir.forking import cached_property
from tileir.ir.diagnostics import OptionError
from tileir.ir.versions import VERSIONS, Version, version_text

TIME_LIMIT: Final = 120.0
MEMORY_LIMIT: Final = 16 << 30
HOSTS: Final = ("x86_64", "aarch64")
SYSTEMS: Final = ("linux", "windows")

SASS: Final = "sass-"  # What begins the names of stages that are code for a GPU, which is named behind it.

VARIABLE: Final = "TILEIR_TILEIRAS"
CUDA_VARIABLES: Final = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")  # Where the assembler looks for its libraries first.
INSTALL: Final = "pip install 'tileir[tileiras]'"
MISSING: Final = f"NVIDIA's assembler, tileiras, is not installed: {INSTALL}"
_SECONDS: Final = 30.0
"""The time limit for its version and options: it takes milliseconds, on a machine with nothing else to do."""
_tools: dict[str, Assembler] = {}


class AssemblyOptions(NamedTuple):
    """The assembler's options beside the GPU; `checked` validates them."""

    opt_level: int = 3
    lineinfo: bool = False  # Whether profilers and debuggers find the lines of the source in the code.
    host: str = ""  # The kind of machine that launches: one of `HOSTS`, by default this one.
    system: str = ""  # Its operating system: one of `SYSTEMS`, by default this one.
    remarks: bool = False  # Whether it reports its choices.
    time_limit: float = TIME_LIMIT  # Seconds.
    memory_limit: int = MEMORY_LIMIT  # Bytes.
    numbered: bool = False  # Whether the lines of `lineinfo` are numbers of operations and not lines of the source.

    def checked(self) -> AssemblyOptions:
        """The options, with what is left to this machine; refused if they make no sense."""
        if self.opt_level not in (0, 1, 2, 3) or isinstance(self.opt_level, bool):
            raise OptionError(f"the optimization level is {self.opt_level!r}: choose one from 0 to 3")
        for what, limit, advice in (
            ("time", self.time_limit, "give seconds, as in 60"),
            ("memory", self.memory_limit, "give a number of bytes"),
        ):
            if not isinstance(limit, (int, float)) or isinstance(limit, bool) or not limit > 0:
                raise OptionError(f"the {what} limit of the assembler is {limit!r}: {advice}")
        host = self.host or host_here()
        if host not in HOSTS:
            raise OptionError(f"'{host}' is no machine that launches kernels: choose the host {' or '.join(HOSTS)}")
        system = self.system or ("windows" if sys.platform == "win32" else "linux")
        if system not in SYSTEMS:
            raise OptionError(f"'{system}' is no system that launches kernels: choose {' or '.join(SYSTEMS)}")
        return self._replace(host=host, system=system)


class Assembler:
    def __init__(self, path: str, stamp: str) -> None:
        self.path: Final = path
        self.stamp: Final = stamp

    @cached_property
    def version(self) -> str:
        """As `13.4.92`."""
        output = self._output("--version")
        found = re.search(r"\bV(\d+(?:\.\d+)+)", output) or re.search(r"\brelease (\d+(?:\.\d+)+)", output)
        if found is None:
            raise CompilationError(f"{self._called} is no assembler for Tile IR: it does not report its version")
        return found[1]

    @cached_property
    def bytecode_version(self) -> Version:
        if "--list-versions" in self._help:
            listed = self._output("--list-versions").split()
        else:
            # The first ones did not list them; each took the versions up to its own.
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
        return re.findall(r"=(sm_\d+)", self._help)

    @cached_property
    def misleading(self) -> tuple[str, ...]:
        """Variables to keep from it: they name another CUDA, with whose libraries it fails without a word."""
        # Imported here: a kernel from the cache needs no process.
        from pathlib import Path

        root = Path(self.path).parent.parent
        folders = ("lib", "lib64", "bin", "nvvm/lib64", "nvvm/bin")
        has_own = any(any(root.glob(f"{each}/{name}")) for each in folders for name in ("*libnvvm*", "*nvvm*.dll"))
        return CUDA_VARIABLES if has_own else ()

    @property
    def has_remarks(self) -> bool:
        return "--remarks=" in self._help

    @cached_property
    def _help(self) -> str:
        return self._output("--help")

    @property
    def _called(self) -> str:
        """Its path, with the variable that names it: one that was set long ago is easily forgotten."""
        return f"'{self.path}', which {VARIABLE} names," if os.environ.get(VARIABLE) == self.path else f"'{self.path}'"

    def _output(self, option: str) -> str:
        # Imported here: a kernel from the cache needs no process.
        from tileir.processes.command import run_command

        try:
            outcome = run_command([self.path, option], time_limit=_SECONDS)
        except OSError as error:
            raise CompilationError(f"the assembler {self._called} cannot be run: {error.strerror or error}") from None
        if outcome.status != 0:
            how = "does not end" if outcome.timed_out else f"ends with status {outcome.status}"
            raise CompilationError(f"{self._called} is no assembler for Tile IR: it {how} with the option {option}")
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
        stamp = name_of([stamp_of(path, os.stat(path))])
    except OSError as error:
        where = f"{VARIABLE} names '{path}'" if named else f"the assembler is '{path}'"
        raise MissingDependencyError(f"{where}, which cannot be used: {error.strerror or error}") from None
    return _tools.setdefault(stamp, Assembler(path, stamp))


def why_missing() -> str:
    """Why there is no assembler, with what to do about it; empty if there is one."""
    return "" if os.environ.get(VARIABLE) or find_tool("tileiras") else MISSING
