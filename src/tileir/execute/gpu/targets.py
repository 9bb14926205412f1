"""The GPUs that code is made for, and what each architecture has that matters for kernels.

Code for sm_80 runs on sm_86: newer, with the same first number.  From sm_90 on, code (`sm_90a`) runs nowhere else.
Limits of a multiprocessor are from the CUDA C++ programming guide; tensor cores and TMA from the PTX manual.
"""

from __future__ import annotations

import os
from typing import Final, NamedTuple

ASSEMBLER_DRIVER: Final = 13000
"""The version of CUDA that a driver must support for what NVIDIA's assembler makes (r580)."""

_FIRST_SPECIFIC: Final = 90
_MACHINES: Final = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}

_SYSTEM: Final = 1 << 10  # Bytes of shared memory that are the system's, for each thread block.

_BYTE_TYPES: Final = ("f8E4M3FN", "f8E5M2")
_BLOCK_TYPES: Final = ("f8E8M0FNU", "f4E2M1FN")


class Architecture(NamedTuple):
    """A kind of GPU, by the name that code is made for."""

    name: str
    shared_memory: int  # Bytes of shared memory of a multiprocessor.
    threads: int  # Threads that a multiprocessor holds.
    blocks: int  # Thread blocks that a multiprocessor holds, however small.
    factors: tuple[str, ...]  # Element types that NVIDIA's assembler multiplies on tensor cores; f64 it never does.
    has_tma: bool = False
    has_wgmma: bool = False  # Matmuls by groups of warps, out of shared memory.
    has_tensor_memory: bool = False  # Matmuls by `tcgen05`, with accumulators in a memory of their own.
    has_short_accumulators: bool = False  # Whether tensor cores keep less than f32 of accumulators of f8.

    @property
    def lacks(self) -> tuple[str, ...]:
        """Element types that NVIDIA's assembler (13.4.92) refuses for it."""
        number = number_of(self.name)
        blocks = () if number >= 100 else _BLOCK_TYPES
        return (*(() if number >= 90 else _BYTE_TYPES), *blocks, *(() if number == 107 else ("fnv8E5M3FNU",)))

    @property
    def has_bf16_atomics(self) -> bool:
        """Whether the assembler takes atomic additions of bf16."""
        return number_of(self.name) >= 89

    @property
    def has_scaled_products(self) -> bool:
        """Whether tensor cores multiply blocks that have scales."""
        return number_of(self.name) >= 100

    @property
    def shared_memory_per_block(self) -> int:
        """Bytes of it that a thread block may have."""
        return self.shared_memory - _SYSTEM


_HALVES: Final = ("i8", "f16", "bf16", "tf32")
_BYTES: Final = (*_BYTE_TYPES, *_HALVES)

ARCHITECTURES: Final = {
    each.name: each
    for each in (
        Architecture("sm_80", 164 << 10, 2048, 32, _HALVES),
        Architecture("sm_86", 100 << 10, 1536, 16, _HALVES),
        Architecture("sm_87", 164 << 10, 1536, 16, _HALVES),
        Architecture("sm_88", 100 << 10, 1536, 16, _HALVES),
        Architecture("sm_89", 100 << 10, 1536, 24, _HALVES, has_short_accumulators=True),
        Architecture("sm_90", 228 << 10, 2048, 32, _BYTES, has_tma=True, has_wgmma=True, has_short_accumulators=True),
        Architecture("sm_100", 228 << 10, 2048, 32, _BYTES, has_tma=True, has_tensor_memory=True),
        Architecture("sm_103", 228 << 10, 2048, 32, _BYTES, has_tma=True, has_tensor_memory=True),
        Architecture("sm_107", 228 << 10, 2048, 32, _BYTES, has_tma=True, has_tensor_memory=True),
        Architecture("sm_110", 228 << 10, 1536, 24, _BYTES, has_tma=True, has_tensor_memory=True),
        Architecture("sm_120", 100 << 10, 1536, 24, _BYTES, has_tma=True),
        Architecture("sm_121", 100 << 10, 1536, 24, _BYTES, has_tma=True),
    )
}
TARGETS: Final = tuple(ARCHITECTURES)  # Those that Tile IR programs can be compiled for.


def number_of(target: str) -> int:
    """90 for `sm_90`."""
    return int(target.removeprefix("sm_"))


def target_of_device(major: int, minor: int) -> str:
    """The best target for a device of a compute capability; empty if nothing that is compiled runs on it."""
    able = [target for target in TARGETS if runs_on(target, major, minor)]
    return able[-1] if able else ""


def runs_on(target: str, major: int, minor: int) -> bool:
    """Whether code for a target runs on a device of a compute capability."""
    number, device = number_of(target), 10 * major + minor
    return number == device or (number < _FIRST_SPECIFIC and number // 10 == major and number < device)


def host_here() -> str:
    """The kind of this machine, as cubins and the assembler name it."""
    # Not by `platform`, which takes longer to import than a first launch has.
    machine = os.uname().machine if hasattr(os, "uname") else os.environ.get("PROCESSOR_ARCHITECTURE", "")
    return _MACHINES.get(machine.lower(), machine.lower())
