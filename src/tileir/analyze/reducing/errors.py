"""What is raised where there is nothing to reduce."""

from __future__ import annotations

from tileir.ir.diagnostics import Diagnostic, TileIRError
from tileir.ir.location import UNKNOWN


class NotInterestingError(TileIRError):
    """The program to be reduced does not pass the test itself."""

    def __init__(self, message: str) -> None:
        super().__init__([Diagnostic("error", message, UNKNOWN)])
