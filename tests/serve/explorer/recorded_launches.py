"""Explorers for recorded launches, with the parts that tell about their values."""

from __future__ import annotations

from tileir.analyze.comparing.compare import Comparisons
from tileir.execute.recording.recording import Recording
from tileir.serve.explorer.opening import comparisons_part, recording_part
from tileir.serve.explorer.questions import Explorer


def explorer_of(recording: Recording) -> Explorer:
    first = recording_part(recording, "recorded.mlir")
    return Explorer([first, comparisons_part(Comparisons(recording))])
