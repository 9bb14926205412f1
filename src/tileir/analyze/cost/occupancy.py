"""How many tile blocks a multiprocessor holds at once, and what the grid comes to.

A tile block is a thread block of the code that NVIDIA's assembler makes.  A multiprocessor allocates registers, in
units of 256 for each warp and an even share of its four parts, and shared memory, in units of 128 bytes and 1 KiB more
for the system (the CUDA occupancy calculator's rules).
"""

from __future__ import annotations

from math import prod
from typing import Final, NamedTuple

from tileir.dialect.types import TileType
from tileir.execute.gpu.cubin import Resources
from tileir.execute.gpu.gpus import REGISTERS, WARP_SIZE, Gpu
from tileir.ir.core import Operation

_REGISTER_UNIT: Final = 256
"""Registers that a warp is given at once."""
_PARTS: Final = 4
"""The partitions of a multiprocessor: each has a quarter of its registers, and warps of its own."""
_SHARED_UNIT: Final = 128
_SHARED_OF_SYSTEM: Final = 1024
USUAL_WARPS: Final = 4
"""The warps of a tile block of most kernels that NVIDIA's assembler compiles."""
_USUAL_REGISTERS: Final = 24
"""The registers of a thread beside its part of the tiles."""
MOST_REGISTERS: Final = 255
"""The limit for one thread."""


class Occupancy(NamedTuple):
    """What the code of a kernel takes of a multiprocessor; None for what is unknown, with the `reason`."""

    registers: int | None = None
    """For each thread."""
    shared_memory: int | None = None
    """Bytes for each tile block."""
    warps: int | None = None
    """Warps of each tile block."""
    blocks: int | None = None
    """Tile blocks that a multiprocessor holds at once; of those that are spread over a cluster, parts."""
    limit: str = ""
    """What keeps it from holding more."""
    share: float | None = None
    """The occupancy: the share of a multiprocessor's warps that are in use."""
    spills: bool = False
    reason: str | None = None
    cluster: int = 1
    """Thread blocks that a tile block is spread over, on as many multiprocessors or fewer; `blocks` counts them."""


class Waves(NamedTuple):
    """A grid in waves: as many tile blocks as run at once, and again until all are done."""

    blocks: int
    at_once: int
    """Tile blocks that the whole target runs at once."""
    waves: int
    tail: float
    """How full the last wave is."""
    reason: str | None
    """Why this is a guess; None if it is none."""


def occupancy_of(resources: Resources, gpu: Gpu) -> Occupancy:
    """What a multiprocessor of a GPU holds of a kernel that was compiled for it."""
    if not resources.threads:
        return Occupancy(reason="the compiled kernel does not state how many threads it has")
    warps = -(-resources.threads // WARP_SIZE)
    registers, shared, spills = resources.registers, resources.shared, resources.spills
    limits = {
        "registers": _by_registers(registers, warps),
        "shared memory": gpu.limits.shared_memory // _rounded(shared + _SHARED_OF_SYSTEM, _SHARED_UNIT),
        "warps": gpu.limits.threads // WARP_SIZE // warps,
        "thread blocks": gpu.limits.blocks,
    }
    blocks = min(limits.values())
    limit = ", ".join([name for name, most in limits.items() if most == blocks])
    share = blocks * warps * WARP_SIZE / gpu.limits.threads
    return Occupancy(registers, shared, warps, blocks, limit, share, spills, None, resources.cluster)


def guessed_blocks(entry: Operation, gpu: Gpu) -> int:
    """How many tile blocks of a kernel that was not compiled a multiprocessor may hold: as if the tiles of its largest
    operation were in registers, and it had the usual number of warps."""
    most = 0
    for operation in entry.walk():
        tiles = [value.type for value in (*operation.operands, *operation.results)]
        most = max(most, sum([prod(type.shape) for type in tiles if isinstance(type, TileType)]))
    registers = min(_USUAL_REGISTERS + most // (USUAL_WARPS * WARP_SIZE), MOST_REGISTERS)
    return max(min(_by_registers(registers, USUAL_WARPS), gpu.limits.threads // WARP_SIZE // USUAL_WARPS), 1)


def _by_registers(registers: int, warps: int) -> int:
    each = _rounded(max(registers, 1) * WARP_SIZE, _REGISTER_UNIT)
    return REGISTERS // _PARTS // each * _PARTS // warps


def _rounded(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def waves_of(blocks: int, at_once: int, reason: str | None = None) -> Waves:
    """The waves of a grid where so many tile blocks run at once."""
    waves = -(-blocks // at_once)
    return Waves(blocks, at_once, waves, (blocks - (waves - 1) * at_once) / at_once, reason)
