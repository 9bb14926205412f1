"""Recorded launches: what `tileir.record` returns, in files, and beside another run."""

from __future__ import annotations

from tileir.public import publish

publish(
    __name__,
    {},
    {
        "tileir.analyze.comparing.compare": "compare",
        "tileir.analyze.comparing.comparison": "Comparison",
        "tileir.execute.recording.arrays": "RecordedArray",
        "tileir.execute.recording.file_reader": "load",
        "tileir.execute.recording.recording": "Recording",
    },
)
