"""The counts of a launch."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from tileir.execute.errors import BlockId
from tileir.execute.work.operations import COMPARING, CONVERTING, FLOATING, INTEGER, MATRIX, Kind, Stops


@dataclass(slots=True, eq=False)
class ArrayTraffic:
    """What a launch does with the memory of one argument or global variable, in bytes.

    `read` and `written` are what tile blocks ask for; `least_read` and `least_written` what a perfect cache would have
    to move: each byte of the array once, at most.
    """

    name: str
    size: int | None
    read: int
    written: int
    least_read: int
    least_written: int


@dataclass(slots=True, eq=False)
class AccessTraffic:
    """What one kind of memory operation comes to: how many tiles, and bytes."""

    count: int = 0
    read: int = 0
    written: int = 0


@dataclass(eq=False, repr=False)
class Work:
    """What a launch moves and computes; made by `Kernel.work`."""

    kernel: str
    grid: BlockId
    walked: int
    """How many tile blocks were looked at; the others are like them."""
    accesses: dict[str, AccessTraffic]
    """By the mnemonic of the memory operation."""
    arrays: list[ArrayTraffic]
    computed: dict[Kind, int]
    stops: Stops
    """How often tile blocks wait for memory and for their own warps, all of them together."""
    imbalance: float
    """How much more the heaviest of the tile blocks that were looked at does than all of them on average."""
    unknown: list[str]
    """Why the counts are only a lower bound; empty if they are not."""
    notes: list[str]
    """How else they may differ from what runs."""

    @property
    def blocks(self) -> int:
        return prod(self.grid)

    @property
    def bytes_read(self) -> int:
        """What tile blocks read, from memory or from a cache."""
        return sum(each.read for each in self.accesses.values())

    @property
    def bytes_written(self) -> int:
        return sum(each.written for each in self.accesses.values())

    @property
    def bytes_moved(self) -> int:
        """What tile blocks read and write, to and from memory or a cache."""
        return self.bytes_read + self.bytes_written

    @property
    def footprint(self) -> int:
        """What a perfect cache would move between memory and the processor, in bytes."""
        return sum(each.least_read + each.least_written for each in self.arrays)

    @property
    def flops(self) -> int:
        """Floating-point operations outside of matrix products."""
        return self._sum(FLOATING)

    @property
    def matrix_flops(self) -> dict[str, int]:
        """Operations of matrix products, by the type of their factors."""
        found: dict[str, int] = {}
        for (group, _, types), amount in self.computed.items():
            if group == MATRIX:
                source = types.partition(" ")[0]
                found[source] = found.get(source, 0) + amount
        return found

    @property
    def total_flops(self) -> int:
        """All floating-point operations, and those of integer matrix products."""
        return self.flops + sum(self.matrix_flops.values())

    @property
    def integer_operations(self) -> int:
        """Operations on integers outside of matrix products, those on addresses too."""
        return self._sum(INTEGER)

    @property
    def intensity(self) -> float:
        """Floating-point operations for each byte of the footprint."""
        return self.total_flops / self.footprint if self.footprint else float("inf") if self.total_flops else 0.0

    def _sum(self, group: str) -> int:
        return sum(amount for kind, amount in self.computed.items() if kind[0] == group)

    def by_kind(self, group: str) -> dict[str, int]:
        """The operations of a group, as in {"addf f32": 4096}; see `to_dict` for the groups."""
        return {f"{name} {types}": amount for (of, name, types), amount in self.computed.items() if of == group}

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain values for JSON."""
        return {
            "kernel": self.kernel,
            "grid": list(self.grid),
            "tile_blocks": self.blocks,
            "tile_blocks_walked": self.walked,
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "footprint": self.footprint,
            "flops": self.flops,
            "matrix_flops": self.matrix_flops,
            "integer_operations": self.integer_operations,
            "stops": self.stops._asdict(),
            "imbalance": self.imbalance,
            "accesses": {
                name: {"tiles": each.count, "bytes_read": each.read, "bytes_written": each.written}
                for name, each in self.accesses.items()
            },
            "arrays": [
                {
                    "name": each.name,
                    "size": each.size,
                    "bytes_read": each.read,
                    "bytes_written": each.written,
                    "least_read": each.least_read,
                    "least_written": each.least_written,
                }
                for each in self.arrays
            ],
            "operations": {group: self.by_kind(group) for group in (FLOATING, MATRIX, INTEGER, COMPARING, CONVERTING)},
            "unknown": self.unknown,
            "notes": self.notes,
        }

    def __repr__(self) -> str:
        at_least = "at least " if self.unknown else ""
        return (
            f"<Work of {self.kernel}, grid {self.grid}: {at_least}{quantity(self.footprint, 'B')} footprint, "
            f"{quantity(self.bytes_moved, 'B')} moved, {quantity(self.total_flops, 'FLOP')}>"
        )


def quantity(number: float, unit: str) -> str:
    """A number with a decimal prefix: `2.15 GB`."""
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.4g} {prefix}{unit}"
    return f"{number:g} {unit}"
