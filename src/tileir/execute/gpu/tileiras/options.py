"""What is asked of the assembler beside the GPU."""

from __future__ import annotations

import sys
from typing import Final, NamedTuple

from tileir.execute.gpu.targets import host_here
from tileir.ir.diagnostics import OptionError

TIME_LIMIT: Final = 120.0
MEMORY_LIMIT: Final = 16 << 30
HOSTS: Final = ("x86_64", "aarch64")
SYSTEMS: Final = ("linux", "windows")

SASS: Final = "sass-"
"""What begins the names of stages that are code for a GPU, which is named behind it."""
SHOWN_TARGETS: Final = ("sm_80", "sm_90", "sm_100", "sm_120")
"""The GPUs whose code is shown beside the program: one of each generation."""
MOST_SHOWN: Final = 20_000
"""Operations of a kernel that is compiled only to look at its code."""


class AssemblyOptions(NamedTuple):
    """What is asked of the assembler beside the GPU; `checked` makes sense of it."""

    opt_level: int = 3
    lineinfo: bool = False
    """Whether profilers and debuggers find the lines of the source in the code."""
    host: str = ""
    """The kind of machine that launches: one of `HOSTS`, by default this one."""
    system: str = ""
    """Its operating system: one of `SYSTEMS`, by default this one."""
    remarks: bool = False
    """Whether it tells about its choices."""
    time_limit: float = TIME_LIMIT
    """Seconds."""
    memory_limit: int = MEMORY_LIMIT
    """Bytes."""
    numbered: bool = False
    """Whether the lines that `lineinfo` tells are numbers of operations and not of the source."""

    def checked(self) -> AssemblyOptions:
        """The options, with what is left to this machine; refused if they make no sense."""
        if self.opt_level not in (0, 1, 2, 3) or isinstance(self.opt_level, bool):
            raise OptionError(f"the optimization level is {self.opt_level!r}: choose one from 0 to 3")
        if not _is_number(self.time_limit) or not self.time_limit > 0:
            raise OptionError(f"the time limit of the assembler is {self.time_limit!r}: give seconds, as in 60")
        if not _is_number(self.memory_limit) or not self.memory_limit > 0:
            raise OptionError(f"the memory limit of the assembler is {self.memory_limit!r}: give a number of bytes")
        host = self.host or host_here()
        if host not in HOSTS:
            raise OptionError(f"'{host}' is no machine that launches kernels: choose the host {' or '.join(HOSTS)}")
        system = self.system or ("windows" if sys.platform == "win32" else "linux")
        if system not in SYSTEMS:
            raise OptionError(f"'{system}' is no system that launches kernels: choose {' or '.join(SYSTEMS)}")
        return self._replace(host=host, system=system)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
