"""A report in words, for a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from tileir.ir.quoting import harmless
from tileir.judge.report.clusters import FailureKind
from tileir.judge.report.columns import Column, shortened, table
from tileir.judge.report.contents import Contents, counted, summary_of
from tileir.judge.report.entries import OUTCOMES, SweepEntry

Paint = Callable[[str, str], str]
"""A text in the colour of an outcome, or in bold for `title`."""

_MESSAGE_LINES = 6
_INDENT = "    "


def plain(text: str, _: str) -> str:
    return text


class TextReport:
    """The report for a terminal of some width; 0 is any width.  At most `most` kinds of failures are told."""

    def __init__(
        self, contents: Contents, width: int = 0, paint: Paint = plain, most: int = 20, *, measured: bool = True
    ) -> None:
        self._measured: bool = measured
        self._contents: Contents = contents
        self._width: int = width
        self._paint: Paint = paint
        self._most: int = most

    def render(self) -> str:
        parts = [self._summary(), *self._clusters(), *self._kernels(), *self._steps()]
        parts += self._extremes() if self._measured else []
        return "\n\n".join([part for part in parts if part])

    def _summary(self) -> str:
        contents = self._contents
        text = harmless(f"{os.path.basename(contents.path)}: {summary_of(contents)}")
        lines = [self._paint(text, "title")]
        again = contents.names - len(contents.entries)
        if again:
            lines.append(f"{counted(again, 'more')} had the same contents as another".replace("mores", "more"))
        return "\n".join(lines)

    # --- kinds of failures ---

    def _clusters(self) -> list[str]:
        clusters = self._contents.clusters[: self._most]
        if not clusters:
            return []
        columns = [
            Column("kind"),
            Column("count", is_number=True),
            Column("step", least=8, most=18),
            Column("outcome"),
            Column("cause", least=16, cut_at_end=True),
            Column("smallest", least=10, most=26),
            Column("size", is_number=True),
            Column("reduced", is_number=True),
        ]
        rows = [
            [
                cluster.key,
                f"{cluster.count:,}",
                steps_of(cluster),
                cluster.outcome,
                cluster.title,
                cluster.smallest.name,
                cluster.smallest.extent,
                cluster.reduced or "-",
            ]
            for cluster in clusters
        ]

        def paint(text: str, column: int, cell: str) -> str:
            return self._paint(text, cell) if column == 3 and cell in OUTCOMES else text

        parts = [self._headed("Kinds of failures", table(columns, rows, self._width, paint))]
        parts.extend([self._message(cluster) for cluster in clusters])
        left = len(self._contents.clusters) - len(clusters)
        if left:
            parts.append(f"and {counted(left, 'more kind')} (--limit {len(self._contents.clusters)} shows all)")
        return parts

    def _message(self, cluster: FailureKind) -> str:
        """What is said of the smallest program."""
        head = f"{cluster.key}  {harmless(cluster.smallest.name)}, {steps_of(cluster)}"
        lines = [self._paint(harmless(shortened(head, self._width or len(head))), cluster.outcome)]
        message = (cluster.message or cluster.cause).splitlines()
        for line in message[:_MESSAGE_LINES]:
            shown = harmless(line.expandtabs())
            room = max(20, self._width - len(_INDENT)) if self._width else len(shown)
            lines.append((_INDENT + shortened(shown, room, at_end=True)).rstrip())
        if len(message) > _MESSAGE_LINES:
            lines.append(f"{_INDENT}and {counted(len(message) - _MESSAGE_LINES, 'more line')}")
        if cluster.note:
            lines.append(_INDENT + harmless(cluster.note))
        return "\n".join(lines)

    # --- all steps, and what took longest ---

    def _steps(self) -> list[str]:
        steps = self._contents.steps
        if not steps:
            return []
        shown = [outcome for outcome in OUTCOMES if any(step.outcomes[outcome] for step in steps)]
        columns = [Column("step", least=12), *[Column(outcome, is_number=True) for outcome in shown]]
        rows = [
            [step.name, *[f"{step.outcomes[outcome]:,}" if step.outcomes[outcome] else "-" for outcome in shown]]
            for step in steps
        ]
        return [self._headed("Steps", table(columns, rows, self._width))]

    def _kernels(self) -> list[str]:
        entries = self._contents.kernels[: self._most]
        if not entries:
            return []
        measured = speeds_in(self._contents)
        columns = [Column("kernels", least=12), Column("verdict")]
        columns += [Column(step, is_number=True) for step in measured]
        rows = [[entry.name, entry.outcome, *speed_of(entry, measured)] for entry in entries]

        def paint(text: str, column: int, cell: str) -> str:
            return self._paint(text, cell) if column == 1 and cell in OUTCOMES else text

        return [self._headed("Kernels", table(columns, rows, self._width, paint))]

    def _extremes(self) -> list[str]:
        parts = []
        slowest = [entry for entry in self._contents.slowest() if entry.seconds > 0]
        if slowest:
            parts.append(self._listed("Slowest", "seconds", [(entry, f"{entry.seconds:.2f}") for entry in slowest]))
        largest = self._contents.largest()
        if largest:
            parts.append(
                self._listed("Most memory", "MiB", [(entry, f"{entry.peak / (1 << 20):,.0f}") for entry in largest])
            )
        return parts

    def _listed(self, title: str, unit: str, rows: Sequence[tuple[SweepEntry, str]]) -> str:
        columns = [Column(unit, is_number=True), Column("outcome"), Column("program", least=12)]
        cells = [[value, entry.outcome, entry.name] for entry, value in rows]
        return self._headed(title, table(columns, cells, self._width))

    def _headed(self, title: str, text: str) -> str:
        return f"{self._paint(title, 'title')}\n{text}"


def steps_of(cluster: FailureKind) -> str:
    """`compile sm_90, sm_100`."""
    found: dict[str, list[str]] = {}
    for step in cluster.steps:
        verb, _, about = step.partition(" ")
        found.setdefault(verb or "start", []).append(about)
    words = [f"{verb} {', '.join([about for about in abouts if about])}".rstrip() for verb, abouts in found.items()]
    return "; ".join(words)


def speeds_in(contents: Contents) -> list[str]:
    """The steps that tell how fast kernels are."""
    return list(dict.fromkeys([speed.step for entry in contents.kernels for speed in entry.speeds]))


def speed_of(entry: SweepEntry, steps: list[str]) -> list[str]:
    """How many times as fast as its baseline a module of kernels is, by these steps."""
    known = {speed.step: f"{speed.ratio:.2f}x" for speed in entry.speeds}
    return [known.get(step, "-") for step in steps]
