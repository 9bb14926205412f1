"""`Cost`: what a launch costs on a target, and the same for people, as text and as HTML for notebooks.

Both are made of the answer that the explorer's page gets.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tileir.analyze.cost.occupancy import Occupancy, Waves
from tileir.execute.errors import BlockId
from tileir.execute.launching.timing import duration
from tileir.execute.work.operations import Work, quantity
from tileir.ir.quoting import harmless_line


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


@dataclass(repr=False, eq=False)
class Cost:
    """What a launch costs on a target; made by `tileir.cost`."""

    work: Work
    """All that was counted."""
    target: str
    """As it is chosen: "h200"."""
    title: str
    """In words."""
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
        return _rendered(self._heading, self.answer())

    def _repr_html_(self) -> str:
        return _as_html(self._heading, self.answer())

    @property
    def _heading(self) -> str:
        return f"{self.kernel}, grid {' x '.join([str(extent) for extent in self.grid])}, on {self.title}"

    def __repr__(self) -> str:
        return f"<Cost of {self.kernel}, grid {self.grid}, on {self.target}: about {duration(self.seconds)}>"


_MOST_KINDS: Final = 12
"""Kinds of operations that are listed."""


# --- for people ---


def _rendered(heading: str, answer: dict[str, Any]) -> str:
    """A table, with a line for each fact."""
    lines = [harmless_line(heading), ""]
    for name, facts in _rows(answer):
        for number, fact in enumerate(facts):
            lines.append(f"  {name if not number else '':<11} {harmless_line(fact)}")
    return "\n".join(lines)


def _as_html(heading: str, answer: dict[str, Any]) -> str:
    """A table for a notebook."""
    cells = [
        f"<tr><th style='text-align:left;vertical-align:top'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{'<br>'.join([html.escape(fact) for fact in facts])}</td></tr>"
        for name, facts in _rows(answer)
    ]
    return f"<table><caption style='text-align:left'>{html.escape(heading)}</caption>{''.join(cells)}</table>"


def _rows(answer: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """What there is to say: a word, and lines about it."""
    found = [
        ("time", _time(answer)),
        ("because", answer["time"]["reasons"]),
        ("memory", _memory(answer)),
        ("operations", _operations(answer)),
        ("roofline", _roofline(answer)),
        ("occupancy", _occupancy(answer["occupancy"])),
        ("waves", _waves(answer["waves"])),
        ("sources", answer["sources"]),
        ("notes", answer["notes"]),
    ]
    return [(name, facts) for name, facts in found if facts]


def _time(answer: dict[str, Any]) -> list[str]:
    seconds, measured = answer["time"]["seconds"], answer["measured"]
    found = [f"about {duration(seconds)}"]
    if measured is not None:
        found.append(f"measured {duration(measured)}: the estimate is {seconds / measured:.2f} of it")
    return found


def _memory(answer: dict[str, Any]) -> list[str]:
    found = [
        f"{quantity(answer['footprint'], 'B')} between memory and caches, if those are perfect; "
        f"{quantity(answer['bytesMoved'], 'B')} that tile blocks read and write"
    ]
    for array in answer["memory"]:
        found.append(
            f"{array['name']}: {quantity(array['read'], 'B')} read, {quantity(array['written'], 'B')} written, "
            f"footprint {quantity(array['footprint'], 'B')}"
        )
    return found


def _operations(answer: dict[str, Any]) -> list[str]:
    kinds = answer["operations"]
    found = [f"{quantity(answer['flops'], 'FLOP')}"]
    if answer["intensity"] is not None:
        found[0] += f", {answer['intensity']:.4g} for each byte"
    found += [f"{each['kind']}: {quantity(each['count'], '').strip()}" for each in kinds[:_MOST_KINDS]]
    if len(kinds) > _MOST_KINDS:
        rest = sum([each["count"] for each in kinds[_MOST_KINDS:]])
        found.append(f"{len(kinds) - _MOST_KINDS} other kinds: {quantity(rest, '').strip()}")
    return found


def _roofline(answer: dict[str, Any]) -> list[str]:
    roofline = answer["roofline"]
    found = [f"memory {quantity(roofline['memory'], 'B/s')}"]
    used = [each for each in roofline["ceilings"] if each["used"]]
    found += [f"{each['name']} {quantity(each['value'], 'FLOP/s')}" for each in used]
    point = roofline["point"]
    if point is not None and point["attainable"]:
        found.append(f"at {point['intensity']:.4g} operations a byte at most {quantity(point['attainable'], 'FLOP/s')}")
    return found


def _occupancy(occupancy: dict[str, Any]) -> list[str]:
    if occupancy["blocksPerMultiprocessor"] is None:
        return [occupancy["reason"]] if occupancy["reason"] else []
    return [
        f"{occupancy['blocksPerMultiprocessor']} tile blocks of {occupancy['warps']} warps on a multiprocessor, "
        f"limited by {occupancy['limit']}",
        f"{occupancy['registers']} registers for each thread, {quantity(occupancy['sharedMemory'], 'B')} of shared "
        "memory for each tile block",
    ]


def _waves(waves: dict[str, Any]) -> list[str]:
    count, last = waves["waves"], f"{waves['tail']:.0%} full"
    text = f"{waves['blocks']} tile blocks, {waves['atOnce']} at once: "
    text += f"1 wave, {last}" if count == 1 else f"{count} waves, the last {last}"
    return [text, *([waves["reason"]] if waves["reason"] else [])]
