"""`compare`: a recording beside another run; and the comparisons that the page offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tileir.analyze.comparing.comparison import Comparison, Part
from tileir.analyze.comparing.engine_run import EngineComparison, why_not
from tileir.analyze.comparing.precision import WIDE_TYPES, PrecisionComparison
from tileir.analyze.comparing.recordings import RecordingComparison
from tileir.analyze.comparing.widened import float_element, wider
from tileir.execute.engine.registry import all_engines, find_engine
from tileir.execute.errors import LaunchError
from tileir.execute.recording.recording import Recording
from tileir.ir.quoting import type_text
from tileir.ir.types import FloatType


def compare(recording: Recording, other: str | Recording = "f64") -> Comparison:
    """A recording beside another run.

    `other` is a float type with more digits ("f64" or "f32"), in which the run is computed again; the name of an
    engine ("cpu"), on which the launch is run again; or another recording.
    """
    if not isinstance(recording, Recording):
        raise LaunchError(f"compare takes a recording, which tileir.record makes, and not {type_text(recording)}")
    if isinstance(other, Recording):
        return RecordingComparison(recording, other)
    if not isinstance(other, str):
        raise LaunchError(f"compare with 'f64', 'f32', the name of an engine or a recording, not with {other!r}")
    wide = WIDE_TYPES.get(other)
    if wide is not None:
        reason = _why_not_wider(recording, wide)
        if reason:
            raise LaunchError(f"there is nothing to compare in {other}: {reason}")
        return PrecisionComparison(recording, wide)
    find_engine(other)
    return EngineComparison(recording, other)


def _why_not_wider(recording: Recording, wide: FloatType) -> str:
    for value in recording.program.values:
        element = float_element(value)
        if element is not None and wider(element, wide) is not element:
            return ""
    return f"no value has fewer digits than {wide.name}"


class Comparisons:
    """The comparisons of a recording that a page offers, each made when it is first requested.

    `recordings` are further ones, by the title they have in the page.
    """

    def __init__(self, recording: Recording, recordings: Mapping[str, Recording] | None = None) -> None:
        self._recording: Recording = recording
        self._others: dict[str, tuple[str, Recording]] = {
            f"recording{number}": (title, other) for number, (title, other) in enumerate((recordings or {}).items())
        }
        self._made: dict[str, Comparison] = {}

    @property
    def recordings(self) -> list[Recording]:
        """All that are compared."""
        return [self._recording, *[other for _, other in self._others.values()]]

    def listed(self) -> list[dict[str, Any]]:
        """What there is to choose from, each with the reason why it cannot be chosen."""
        found: list[dict[str, Any]] = []
        for name, wide in WIDE_TYPES.items():
            found.append({"id": name, "title": f"in {name}", "reason": _why_not_wider(self._recording, wide) or None})
        engines, _ = all_engines()
        for engine in engines:
            if "observer" not in engine.options:
                reason = why_not(engine, self._recording)
                found.append({"id": engine.name, "title": f"on {engine.called}", "reason": reason or None})
        for id, (title, _) in self._others.items():
            found.append({"id": id, "title": title, "reason": None})
        return found

    def find(self, id: str) -> Comparison:
        known = self._made.get(id)
        if known is None:
            other = self._others.get(id)
            if other is not None:
                known = RecordingComparison(self._recording, other[1], id, other[0])
            else:
                known = compare(self._recording, id)
            self._made[id] = known
        return known

    def comparison(self, id: str, block: int) -> dict[str, Any]:
        """The answer to `comparison`."""
        return self.find(id).answer(block)

    def compared(
        self, id: str, block: int, step: int, value: int, start: Part | None = None, extents: Part | None = None
    ) -> dict[str, Any]:
        """The answer to `compared`."""
        if not 0 <= value < len(self._recording.program.values):
            raise LaunchError(f"the program has no value {value}")
        return self.find(id).compared(block, step, value, start, extents)
