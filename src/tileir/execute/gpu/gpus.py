"""GPUs by the names that `tileir.emulate(gpu=..)` and `tileir.cost(target=..)` take: what the driver says of them.

What they can do at most is in `peaks.py`, by the names that drivers report: a GPU is sold with different memory and
clocks under one of these names, and the peaks are those of the one at hand.  Memory is what the driver reports as the
total, clocks are the boost clocks.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tileir.execute.errors import LaunchError
from tileir.execute.gpu.architectures import ARCHITECTURES
from tileir.ir.quoting import type_text

DEFAULT: Final = "h100"

_KIB: Final = 1 << 10
_MIB: Final = 1 << 20


class Gpu(NamedTuple):
    key: str
    """The name it is asked for by."""
    name: str
    """The name that the driver reports."""
    major: int
    minor: int
    multiprocessors: int
    memory: int
    """Bytes of memory."""
    l2_cache: int
    """Bytes of the level-2 cache."""
    clock: int
    """kHz."""
    memory_clock: int
    """kHz."""
    memory_bus: int
    """Bits."""
    shared_memory: int
    """Bytes of shared memory of a multiprocessor."""
    threads: int
    """Threads that a multiprocessor holds."""
    blocks: int
    """Thread blocks that a multiprocessor holds, however small."""
    integrated: bool = False
    """Whether it shares the memory of the host."""

    @property
    def capability(self) -> tuple[int, int]:
        return self.major, self.minor

    @property
    def architecture(self) -> str:
        return f"sm_{self.major}{self.minor}"

    @property
    def shared_memory_per_block(self) -> int:
        """What a block may ask for."""
        return ARCHITECTURES[self.architecture].shared_memory_per_block


WARP_SIZE: Final = 32
REGISTERS: Final = 65536
THREADS_PER_BLOCK: Final = 1024
SHARED_MEMORY_PER_BLOCK: Final = 48 * _KIB
"""What a block gets without asking for more."""


def _gpu(
    key: str,
    name: str,
    capability: tuple[int, int],
    multiprocessors: int,
    memory: int,
    l2_cache: int,
    clock: int,
    memory_clock: int,
    memory_bus: int,
    *,
    integrated: bool = False,
) -> Gpu:
    """Memory and cache in MiB, clocks in MHz; the rest follows from the architecture."""
    architecture = ARCHITECTURES[f"sm_{capability[0]}{capability[1]}"]
    return Gpu(
        key,
        name,
        *capability,
        multiprocessors,
        memory * _MIB,
        l2_cache * _MIB,
        clock * 1000,
        memory_clock * 1000,
        memory_bus,
        architecture.shared_memory,
        architecture.threads,
        architecture.blocks,
        integrated,
    )


GPUS: Final[dict[str, Gpu]] = {
    gpu.key: gpu
    for gpu in (
        _gpu("a100", "NVIDIA A100-SXM4-80GB", (8, 0), 108, 81920, 40, 1410, 1593, 5120),
        _gpu("a10", "NVIDIA A10", (8, 6), 72, 23028, 6, 1695, 6251, 384),
        _gpu("rtx3090", "NVIDIA GeForce RTX 3090", (8, 6), 82, 24576, 6, 1695, 9751, 384),
        _gpu("rtx4090", "NVIDIA GeForce RTX 4090", (8, 9), 128, 24564, 72, 2520, 10501, 384),
        _gpu("l4", "NVIDIA L4", (8, 9), 58, 23034, 48, 2040, 6251, 192),
        _gpu("l40s", "NVIDIA L40S", (8, 9), 142, 46068, 96, 2520, 9001, 384),
        _gpu("h100", "NVIDIA H100 80GB HBM3", (9, 0), 132, 81559, 50, 1980, 2619, 5120),
        _gpu("h200", "NVIDIA H200", (9, 0), 132, 143771, 60, 1980, 3201, 6144),
        _gpu("b200", "NVIDIA B200", (10, 0), 148, 183359, 126, 1965, 3996, 8192),
        _gpu("gb200", "NVIDIA GB200", (10, 0), 152, 189471, 126, 2062, 3996, 8192),
        _gpu("b300", "NVIDIA B300 SXM6 AC", (10, 3), 148, 275040, 126, 2032, 3996, 8192),
        _gpu("rtx5080", "NVIDIA GeForce RTX 5080", (12, 0), 84, 16303, 64, 2617, 15001, 256),
        _gpu("rtx5090", "NVIDIA GeForce RTX 5090", (12, 0), 170, 32607, 96, 2407, 14001, 512),
        _gpu(
            "rtxpro6000",
            "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
            (12, 0),
            188,
            97887,
            128,
            2617,
            14001,
            512,
        ),
        _gpu("gb10", "NVIDIA GB10", (12, 1), 48, 122570, 24, 2418, 4266, 256, integrated=True),
    )
}


def gpu_named(name: str) -> Gpu:
    """The GPU of that name; upper case, blanks, hyphens and underscores do not matter."""
    if not isinstance(name, str):
        raise LaunchError(f"the name of a GPU is a string, not {type_text(name)}: pass one of {', '.join(GPUS)}")
    found = GPUS.get("".join([character for character in name.lower() if character not in " -_"]))
    if found is None:
        raise LaunchError(f"no GPU named '{name}' can be pretended: choose one of {', '.join(GPUS)}")
    return found
