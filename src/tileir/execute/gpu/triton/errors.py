"""What is raised where Triton makes no code of a kernel."""

from __future__ import annotations

from tileir.execute.errors import CompilationError
from tileir.ir.diagnostics import Diagnostic


class TritonError(CompilationError):
    """Triton makes no code of a kernel; the diagnostics say why, at the operations it is about."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__(diagnostics[0].message)
        self.diagnostics = diagnostics
