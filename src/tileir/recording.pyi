# Written by `make docs` from `tileir/public.py`.
# ruff: noqa
# fmt: off
from tileir.analyze.comparing.compare import compare as compare
from tileir.analyze.comparing.comparison import Comparison as Comparison
from tileir.execute.recording.arrays import RecordedArray as RecordedArray
from tileir.execute.recording.file_reader import load as load
from tileir.execute.recording.recording import Recording as Recording

__all__ = ["Comparison", "RecordedArray", "Recording", "compare", "load"]
