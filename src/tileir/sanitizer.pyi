# Written by `make docs` from `tileir/public.py`.
# ruff: noqa
# fmt: off
from tileir.execute.sanitizer.coverage import Coverage as Coverage
from tileir.execute.sanitizer.number_watch import NumberWatch as NumberWatch
from tileir.execute.sanitizer.report import Finding as Finding, SanitizerReport as SanitizerReport
from tileir.execute.sanitizer.sanitizer import Sanitizer as Sanitizer

__all__ = ["Coverage", "Finding", "NumberWatch", "Sanitizer", "SanitizerReport"]
