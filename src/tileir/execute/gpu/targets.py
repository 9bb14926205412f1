"""The GPUs that code is made for: `sm_90` is what a device of compute capability 9.0 runs.

Code for one GPU runs on another only where the first is older and both have the same number in front: that for sm_80 on
sm_86.  From sm_90 on the assembler uses what a single architecture has (NVIDIA's `sm_90a`): that runs nowhere else.
"""

from __future__ import annotations

import os
import re
from typing import Final

from tileir.ir.diagnostics import OptionError

TARGETS: Final = (
    "sm_80",
    "sm_86",
    "sm_87",
    "sm_88",
    "sm_89",
    "sm_90",
    "sm_100",
    "sm_103",
    "sm_107",
    "sm_110",
    "sm_120",
    "sm_121",
)
"""Those that Tile IR programs can be compiled for."""

ASSEMBLER_DRIVER: Final = 13000
"""The version of CUDA that a driver must support for what NVIDIA's assembler makes (r580)."""

_FIRST_SPECIFIC: Final = 90
_MACHINES: Final = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}

_SPELLINGS: Final = re.compile(r"(?:sm_?|compute_?)?(\d{2,3})[af]?|(\d{1,2})\.(\d)", re.IGNORECASE)


def target_named(text: object) -> str:
    """The target that a text names: `sm_90`, or in other ways that people write it, `sm_90a`, `90` and `9.0`."""
    if isinstance(text, str):
        found = _SPELLINGS.fullmatch(text.strip())
        if found is not None:
            name = f"sm_{found[1] or found[2] + found[3]}"
            if name in TARGETS:
                return name
    raise OptionError(f"{_shown(text)} is no GPU that Tile IR is compiled for: choose one of {', '.join(TARGETS)}")


def _shown(text: object) -> str:
    return f"'{text}'" if isinstance(text, str) else repr(text)


def number_of(target: str) -> int:
    """90 for `sm_90`."""
    return int(target.removeprefix("sm_"))


def target_of_device(major: int, minor: int) -> str:
    """The best target for a device of a compute capability; empty if nothing that is compiled runs on it."""
    name = f"sm_{major}{minor}"
    if name in TARGETS:
        return name
    able = [target for target in TARGETS if runs_on(target, major, minor)]
    return able[-1] if able else ""


def runs_on(target: str, major: int, minor: int) -> bool:
    """Whether code for a target runs on a device of a compute capability."""
    number, device = number_of(target), 10 * major + minor
    if number == device:
        return True
    return number < _FIRST_SPECIFIC and number // 10 == major and number < device


def host_here() -> str:
    """The kind of this machine, as cubins and the assembler name it."""
    # Not by `platform`, which takes longer to import than a first launch has.
    machine = os.uname().machine if hasattr(os, "uname") else os.environ.get("PROCESSOR_ARCHITECTURE", "")
    return _MACHINES.get(machine.lower(), machine.lower())
