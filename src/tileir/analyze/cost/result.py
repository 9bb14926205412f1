"""`Cost`: what a launch costs on a target, and the same for people, as text and as HTML for notebooks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tileir import notebook
from tileir.analyze.cost.occupancy import Occupancy, Waves
from tileir.cpp.demangling import source_name
from tileir.execute.errors import BlockId
from tileir.execute.launching.timing import duration
from tileir.execute.work.operations import Work, quantity
from tileir.ir.quoting import harmless_line


class ArrayCost(NamedTuple):
    """What a launch does with the memory of one argument, in bytes."""

    name: str
    read: int
    """Bytes that tile blocks request."""
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


_MOST_KINDS: Final = 12
"""Kinds of operations that are listed."""


@dataclass(repr=False, eq=False)
class Cost:
    """What a launch costs on a target; made by `tileir.cost`."""

    work: Work
    """All that was counted."""
    target: str
    """As it is chosen: "h200"."""
    title: str
    """The name of the target in texts."""
    memory: list[ArrayCost]
    roofline: Roofline
    occupancy: Occupancy
    waves: Waves
    seconds: float
    """The estimated time of a launch."""
    reasons: list[str]
    """How it comes to that, in sentences with numbers."""
    sources: list[str]
    """Where the peaks are from."""
    notes: list[str]
    """How far it can be trusted."""
    measured: float | None = None
    """Seconds that a launch was measured to take, where it was."""

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
        """Floating-point operations, and those of integer matmuls."""
        return self.work.total_flops

    @property
    def intensity(self) -> float | None:
        """Operations for each byte of the footprint; None if there is no byte."""
        return self.flops / self.footprint if self.footprint else None

    @property
    def operations(self) -> dict[str, int]:
        """How many operations of each kind, as in {"addf f32": 4096}, the most frequent first."""
        found: Counter[str] = Counter()
        for (_, name, types), amount in self.work.computed.items():
            found[f"{name} {types}"] += amount
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def answer(self) -> dict[str, Any]:
        """All of it, of plain values for JSON, by the names that the explorer's page has for them."""
        roofline, occupancy = self.roofline, self.occupancy
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
                "point": None if roofline.intensity is None else point,
            },
            "occupancy": {
                "registers": occupancy.registers,
                "sharedMemory": occupancy.shared_memory,
                "blocksPerMultiprocessor": occupancy.blocks,
                "warps": occupancy.warps,
                "limit": occupancy.limit,
                "reason": occupancy.reason,
            },
            "waves": {"atOnce" if name == "at_once" else name: value for name, value in self.waves._asdict().items()},
            "time": {"seconds": self.seconds, "reasons": self.reasons},
            "measured": self.measured,
            "sources": self.sources,
            "notes": self.notes,
        }

    def render(self) -> str:
        """A table for people, with a line for each fact."""
        lines = [harmless_line(self._heading), ""]
        for name, facts in self._rows():
            lines += [f"  {'' if number else name:<11} {harmless_line(fact)}" for number, fact in enumerate(facts)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return notebook.table(self._heading, self._rows())

    @property
    def _heading(self) -> str:
        return f"{source_name(self.kernel)}, grid {' x '.join([str(extent) for extent in self.grid])}, on {self.title}"

    def __repr__(self) -> str:
        return f"<Cost of {self.kernel}, grid {self.grid}, on {self.target}: about {duration(self.seconds)}>"

    def _rows(self) -> list[tuple[str, list[str]]]:
        """The rows of the text: a title, and its lines."""
        time = [f"about {duration(self.seconds)}"]
        if self.measured is not None:
            ratio = self.seconds / self.measured
            time.append(f"measured {duration(self.measured)}: the estimate is {ratio:.2f} of it")
        found = {
            "time": time, "because": self.reasons, "memory": self._memory_lines(),
            "operations": self._operation_lines(), "roofline": self._roofline_lines(),
            "occupancy": self._occupancy_lines(), "waves": self._wave_lines(),
            "sources": self.sources, "notes": self.notes,
        }  # fmt: skip
        return [(name, facts) for name, facts in found.items() if facts]

    def _memory_lines(self) -> list[str]:
        between = f"{quantity(self.footprint, 'B')} between memory and caches, if those are perfect"
        found = [f"{between}; {quantity(self.bytes_moved, 'B')} that tile blocks read and write"]
        for name, *amounts in self.memory:
            read, written, footprint = [quantity(amount, "B") for amount in amounts]
            found.append(f"{name}: {read} read, {written} written, footprint {footprint}")
        return found

    def _operation_lines(self) -> list[str]:
        kinds = list(self.operations.items())
        ratio = "" if self.intensity is None else f", {self.intensity:.4g} for each byte"
        found = [f"{quantity(self.flops, 'FLOP')}{ratio}"]
        found += [f"{kind}: {quantity(count, '').strip()}" for kind, count in kinds[:_MOST_KINDS]]
        if len(kinds) > _MOST_KINDS:
            rest = sum([count for _, count in kinds[_MOST_KINDS:]])
            found.append(f"{len(kinds) - _MOST_KINDS} other kinds: {quantity(rest, '').strip()}")
        return found

    def _roofline_lines(self) -> list[str]:
        roofline = self.roofline
        found = [f"memory {quantity(roofline.memory, 'B/s')}"]
        found += [f"{each.name} {quantity(each.value, 'FLOP/s')}" for each in roofline.ceilings if each.used]
        if roofline.intensity is not None and roofline.attainable:
            attainable = quantity(roofline.attainable, "FLOP/s")
            found.append(f"at {roofline.intensity:.4g} operations a byte at most {attainable}")
        return found

    def _occupancy_lines(self) -> list[str]:
        occupancy, shared = self.occupancy, quantity(self.occupancy.shared_memory or 0, "B")
        if occupancy.blocks is None:
            return [occupancy.reason] if occupancy.reason else []
        blocks = f"{occupancy.blocks} tile blocks of {occupancy.warps} warps on a multiprocessor"
        registers = f"{occupancy.registers} registers for each thread, {shared} of shared memory for each tile block"
        return [f"{blocks}, limited by {occupancy.limit}", registers]

    def _wave_lines(self) -> list[str]:
        waves, last = self.waves, f"{self.waves.tail:.0%} full"
        text = f"{waves.blocks} tile blocks, {waves.at_once} at once: "
        text += f"1 wave, {last}" if waves.waves == 1 else f"{waves.waves} waves, the last {last}"
        return [text, *([waves.reason] if waves.reason else [])]
