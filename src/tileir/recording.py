"""Recorded launches: what `tileir.record` returns, in files, and beside another run.

>>> recording = tileir.record(kernel, 8, args)
>>> recording.save("launch.rec")
>>> comparison = tileir.recording.compare(recording, tileir.recording.load("launch.rec"))
>>> isinstance(comparison, tileir.recording.Comparison), comparison.first
(True, None)
>>> print(type(recording).__name__, type(recording.arrays[0]).__name__)
Recording RecordedArray
"""

from tileir.public import publish

publish(__name__)
