"""The sanitizer: every mistake a program makes while it runs, found and explained.

`Sanitizer` is an observer; the families of findings are in `bounds`, `conflicts`, `promises`, `numbers` and
`failures`, each in a file of its own.  `Coverage` is another, for what a kernel leaves unwritten.
"""

from tileir.execute.sanitizer.coverage import ArrayCoverage, Coverage
from tileir.execute.sanitizer.report import Finding, Place, Report, SanitizerError
from tileir.execute.sanitizer.sanitizer import Sanitizer

__all__ = ["ArrayCoverage", "Coverage", "Finding", "Place", "Report", "Sanitizer", "SanitizerError"]
