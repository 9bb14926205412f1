"""Work that a graph records instead of doing it; no torch is needed to ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol


class Recorder(Protocol):
    def record(self, work: Callable[[], object]) -> None: ...


class _Capture:
    def __init__(self) -> None:
        self.recorder: Recorder | None = None


CAPTURE: Final = _Capture()


def is_recorded(work: Callable[[], object]) -> bool:
    """Whether a graph is being captured, which then does this work when it is replayed."""
    if CAPTURE.recorder is None:
        return False
    CAPTURE.recorder.record(work)
    return True
