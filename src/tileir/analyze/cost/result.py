"""`Cost`: what a launch costs on a target."""

from __future__ import annotations

from typing import Any, NamedTuple

from tileir.analyze.cost.occupancy import Occupancy, Waves
from tileir.analyze.cost.report import as_html, rendered
from tileir.execute.errors import BlockId
from tileir.execute.launching.timing import duration
from tileir.execute.work.operations import Work


class ArrayCost(NamedTuple):
    """What a launch does with the memory of one argument, in bytes."""

    name: str
    read: int
    """What tile blocks ask for."""
    written: int
    footprint: int
    """What a perfect cache would move."""


class Ceiling(NamedTuple):
    """A peak of arithmetic: operations a second."""

    name: str
    value: float
    used: bool
    """Whether the launch computes of that kind."""


class Roofline(NamedTuple):
    """What can be reached at most, for each number of operations a byte."""

    memory: float
    """Bytes a second."""
    ceilings: list[Ceiling]
    intensity: float | None
    """Where the kernel stands: operations for each byte of the footprint; None if it moves or computes nothing."""
    attainable: float | None
    """Operations a second that it can reach there at most."""


class Cost:
    """What a launch costs on a target; made by `tileir.cost`."""

    def __init__(
        self,
        work: Work,
        target: str,
        title: str,
        memory: list[ArrayCost],
        roofline: Roofline,
        occupancy: Occupancy,
        waves: Waves,
        seconds: float,
        reasons: list[str],
        sources: list[str],
        notes: list[str],
    ) -> None:
        self.work: Work = work
        """All that was counted."""
        self.target: str = target
        """As it is chosen: "h200"."""
        self.title: str = title
        """In words."""
        self.memory: list[ArrayCost] = memory
        self.roofline: Roofline = roofline
        self.occupancy: Occupancy = occupancy
        self.waves: Waves = waves
        self.seconds: float = seconds
        """The estimated time of a launch."""
        self.reasons: list[str] = reasons
        """How it comes to that, in sentences with numbers."""
        self.measured: float | None = None
        """Seconds that a launch was measured to take, where it was."""
        self.sources: list[str] = sources
        """Where the peaks are from."""
        self.notes: list[str] = notes
        """How far it can be trusted."""

    @property
    def kernel(self) -> str:
        return self.work.kernel

    @property
    def grid(self) -> BlockId:
        return self.work.grid

    @property
    def bytes_moved(self) -> int:
        """What tile blocks read and write, to and from memory or a cache."""
        return self.work.bytes_moved

    @property
    def footprint(self) -> int:
        """What a perfect cache would move, in bytes."""
        return self.work.footprint

    @property
    def flops(self) -> int:
        """Floating-point operations, and those of integer matrix products."""
        return self.work.total_flops

    @property
    def intensity(self) -> float | None:
        """Operations for each byte of the footprint; None if there is no byte."""
        return self.flops / self.footprint if self.footprint else None

    @property
    def operations(self) -> dict[str, int]:
        """How many operations of each kind, as in {"addf f32": 4096}, the most frequent first."""
        found: dict[str, int] = {}
        for (_, name, types), amount in self.work.computed.items():
            kind = f"{name} {types}"
            found[kind] = found.get(kind, 0) + amount
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def answer(self) -> dict[str, Any]:
        """All of it, of plain values for JSON, by the names that the explorer's page has for them."""
        roofline, occupancy, waves = self.roofline, self.occupancy, self.waves
        point = None
        if roofline.intensity is not None:
            point = {"intensity": roofline.intensity, "attainable": roofline.attainable}
        return {
            "target": self.target,
            "title": self.title,
            "memory": [each._asdict() for each in self.memory],
            "bytesMoved": self.bytes_moved,
            "footprint": self.footprint,
            "operations": [{"kind": kind, "count": count} for kind, count in self.operations.items()],
            "flops": self.flops,
            "intensity": self.intensity,
            "roofline": {
                "memory": roofline.memory,
                "ceilings": [each._asdict() for each in roofline.ceilings],
                "point": point,
            },
            "occupancy": {
                "registers": occupancy.registers,
                "sharedMemory": occupancy.shared_memory,
                "blocksPerMultiprocessor": occupancy.blocks,
                "warps": occupancy.warps,
                "limit": occupancy.limit,
                "reason": occupancy.reason,
            },
            "waves": {
                "blocks": waves.blocks,
                "atOnce": waves.at_once,
                "waves": waves.waves,
                "tail": waves.tail,
                "reason": waves.reason,
            },
            "time": {"seconds": self.seconds, "reasons": self.reasons},
            "measured": self.measured,
            "sources": self.sources,
            "notes": self.notes,
        }

    def render(self) -> str:
        """A table for people."""
        return rendered(self._heading, self.answer())

    def _repr_html_(self) -> str:
        return as_html(self._heading, self.answer())

    @property
    def _heading(self) -> str:
        return f"{self.kernel}, grid {' x '.join([str(extent) for extent in self.grid])}, on {self.title}"

    def __repr__(self) -> str:
        return f"<Cost of {self.kernel}, grid {self.grid}, on {self.target}: about {duration(self.seconds)}>"
