"""What the GPUs of each architecture have that decides how kernels are written for them.

Shared memory, threads and thread blocks of a multiprocessor are from the table of compute capabilities in the CUDA C++
programming guide; what tensor cores multiply, and TMA, from the PTX manual.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tileir.execute.gpu.targets import TARGETS, number_of

_KIBIBYTE: Final = 1024
_SYSTEM: Final = _KIBIBYTE
"""Bytes of shared memory that are the system's, for each thread block."""

_BYTE_TYPES: Final = ("f8E4M3FN", "f8E5M2")
_BLOCK_TYPES: Final = ("f8E8M0FNU", "f4E2M1FN")


class Architecture(NamedTuple):
    """A kind of GPU, by the name that code is made for."""

    name: str
    shared_memory: int
    """Bytes of shared memory of a multiprocessor."""
    threads: int
    """Threads that a multiprocessor holds."""
    blocks: int
    """Thread blocks that a multiprocessor holds, however small."""
    factors: tuple[str, ...]
    """Element types that NVIDIA's assembler multiplies on tensor cores; f64 it never does."""
    has_tma: bool = False
    has_wgmma: bool = False
    """Products by groups of warps, out of shared memory."""
    has_tensor_memory: bool = False
    """Products by `tcgen05`, with accumulators in a memory of their own."""
    has_short_sums: bool = False
    """Whether tensor cores keep less than f32 of sums of f8."""

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


def _architecture(
    name: str,
    shared: int,
    threads: int,
    blocks: int,
    factors: tuple[str, ...],
    *,
    has_tma: bool = False,
    has_wgmma: bool = False,
    has_tensor_memory: bool = False,
    has_short_sums: bool = False,
) -> Architecture:
    """Shared memory in KiB."""
    return Architecture(
        name,
        shared * _KIBIBYTE,
        threads,
        blocks,
        factors,
        has_tma,
        has_wgmma,
        has_tensor_memory,
        has_short_sums,
    )


ARCHITECTURES: Final = {
    each.name: each
    for each in (
        _architecture("sm_80", 164, 2048, 32, _HALVES),
        _architecture("sm_86", 100, 1536, 16, _HALVES),
        _architecture("sm_87", 164, 1536, 16, _HALVES),
        _architecture("sm_88", 100, 1536, 16, _HALVES),
        _architecture("sm_89", 100, 1536, 24, _HALVES, has_short_sums=True),
        _architecture("sm_90", 228, 2048, 32, _BYTES, has_tma=True, has_wgmma=True, has_short_sums=True),
        _architecture("sm_100", 228, 2048, 32, _BYTES, has_tma=True, has_tensor_memory=True),
        _architecture("sm_103", 228, 2048, 32, _BYTES, has_tma=True, has_tensor_memory=True),
        _architecture("sm_107", 228, 2048, 32, _BYTES, has_tma=True, has_tensor_memory=True),
        _architecture("sm_110", 228, 1536, 24, _BYTES, has_tma=True, has_tensor_memory=True),
        _architecture("sm_120", 100, 1536, 24, _BYTES, has_tma=True),
        _architecture("sm_121", 100, 1536, 24, _BYTES, has_tma=True),
    )
}

assert tuple(ARCHITECTURES) == TARGETS, "one for each GPU that there is code for"
