"""Errors of C++ kernels."""

from __future__ import annotations

from tileir.ir.diagnostics import Diagnostic, TileIRError
from tileir.ir.location import UNKNOWN


class CppError(TileIRError):
    """A C++ source that NVRTC does not compile, or that cannot be compiled here."""

    @classmethod
    def of(cls, message: str, help: str = "") -> CppError:
        notes = [Diagnostic("help", help, UNKNOWN)] if help else []
        return cls([Diagnostic("error", message, UNKNOWN, notes)])
