"""GPUs by the names that `tileir.emulate(gpu=..)` and `tileir.cost(target=..)` take, and the targets of code for them.

A `Gpu` is what the driver reports: total memory, boost clocks.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from tileir.execute.errors import LaunchError
from tileir.execute.gpu.targets import ARCHITECTURES, TARGETS, Architecture
from tileir.ir.diagnostics import OptionError
from tileir.ir.quoting import type_text

DEFAULT: Final = "h100"

_SPELLINGS: Final = re.compile(r"(?:sm_?|compute_?)?(\d{2,3})[af]?|(\d{1,2})\.(\d)", re.IGNORECASE)

_MIB: Final = 1 << 20
WARP_SIZE: Final = 32
REGISTERS: Final = 65536
THREADS_PER_BLOCK: Final = 1024
SHARED_MEMORY_PER_BLOCK: Final = 48 << 10  # What a block may use without opting in to more.


class Gpu(NamedTuple):
    key: str  # The name that selects it.
    name: str  # The name that the driver reports.
    major: int
    minor: int
    multiprocessors: int
    memory: int  # Bytes, as of the cache; clocks are in kHz, the bus in bits.
    l2_cache: int
    clock: int
    memory_clock: int
    memory_bus: int
    integrated: bool = False  # Whether it shares the memory of the host.

    @property
    def capability(self) -> tuple[int, int]:
        return self.major, self.minor

    @property
    def architecture(self) -> str:
        return f"sm_{self.major}{self.minor}"

    @property
    def limits(self) -> Architecture:
        """What a multiprocessor holds."""
        return ARCHITECTURES[self.architecture]


# Multiprocessors, memory and cache in MiB, clocks of the GPU and of its memory in MHz, the bus in bits.
_GPUS: Final[tuple[tuple[Any, ...], ...]] = (
    ("a100", "NVIDIA A100-SXM4-80GB", 8, 0, 108, 81920, 40, 1410, 1593, 5120),
    ("a10", "NVIDIA A10", 8, 6, 72, 23028, 6, 1695, 6251, 384),
    ("rtx3090", "NVIDIA GeForce RTX 3090", 8, 6, 82, 24576, 6, 1695, 9751, 384),
    ("rtx4090", "NVIDIA GeForce RTX 4090", 8, 9, 128, 24564, 72, 2520, 10501, 384),
    ("l4", "NVIDIA L4", 8, 9, 58, 23034, 48, 2040, 6251, 192),
    ("l40s", "NVIDIA L40S", 8, 9, 142, 46068, 96, 2520, 9001, 384),
    ("h100", "NVIDIA H100 80GB HBM3", 9, 0, 132, 81559, 50, 1980, 2619, 5120),
    ("h200", "NVIDIA H200", 9, 0, 132, 143771, 60, 1980, 3201, 6144),
    ("b200", "NVIDIA B200", 10, 0, 148, 183359, 126, 1965, 3996, 8192),
    ("gb200", "NVIDIA GB200", 10, 0, 152, 189471, 126, 2062, 3996, 8192),
    ("b300", "NVIDIA B300 SXM6 AC", 10, 3, 148, 275040, 126, 2032, 3996, 8192),
    ("rtx5080", "NVIDIA GeForce RTX 5080", 12, 0, 84, 16303, 64, 2617, 15001, 256),
    ("rtx5090", "NVIDIA GeForce RTX 5090", 12, 0, 170, 32607, 96, 2407, 14001, 512),
    ("rtxpro6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 12, 0, 188, 97887, 128, 2617, 14001, 512),
    ("gb10", "NVIDIA GB10", 12, 1, 48, 122570, 24, 2418, 4266, 256, True),
)  # fmt: skip
GPUS: Final[dict[str, Gpu]] = {
    key: Gpu(key, name, major, minor, count, memory * _MIB, l2 * _MIB, clock * 1000, memory_clock * 1000, bus, *rest)
    for key, name, major, minor, count, memory, l2, clock, memory_clock, bus, *rest in _GPUS
}


def plain_name(text: str) -> str:
    """A name without upper case, blanks, hyphens and underscores, which do not matter."""
    return "".join([character for character in text.lower() if character not in " -_"])


def gpu_named(name: str) -> Gpu:
    """The GPU of that name, or for the name of an architecture, as `sm_90`, the first of those that have it."""
    if not isinstance(name, str):
        raise LaunchError(f"the name of a GPU is a string, not {type_text(name)}: pass one of {', '.join(GPUS)}")
    found = GPUS.get(plain_name(name)) or next((gpu for gpu in GPUS.values() if gpu.architecture == name.lower()), None)
    if found is None:
        raise LaunchError(f"no GPU named '{name}' can be emulated: choose one of {', '.join(GPUS)}")
    return found


def target_named(text: object) -> str:
    """The target that a text names: `sm_90`, as people also write it, `sm_90a`, `90` and `9.0`, or of a GPU, `h100`."""
    found = _SPELLINGS.fullmatch(text.strip()) if isinstance(text, str) else None
    name = "" if found is None else f"sm_{found[1] or found[2] + found[3]}"
    gpu = GPUS.get(plain_name(text)) if isinstance(text, str) else None
    if gpu is not None or name in TARGETS:
        return name if gpu is None else gpu.architecture
    shown = f"'{text}'" if isinstance(text, str) else repr(text)
    known = f"{', '.join(TARGETS)}, or of {', '.join(GPUS)}"
    raise OptionError(f"{shown} is no GPU that Tile IR is compiled for: choose one of {known}")
