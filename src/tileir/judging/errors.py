"""What ends a sweep, or keeps it from beginning."""

from __future__ import annotations

from tileir.ir.diagnostics import Diagnostic, TileIRError
from tileir.ir.location import UNKNOWN


class SweepError(TileIRError):
    """A sweep cannot begin, or cannot go on; what was finished until then is in its results."""

    def __init__(self, message: str) -> None:
        super().__init__([Diagnostic("error", message, UNKNOWN)])


class ResultsError(SweepError):
    """A file is no table of results, or cannot be read or written."""


def message_of(error: Exception) -> str:
    """The message of an exception, without the number and the file name that the system adds."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text or type(error).__name__
