"""What is raised where NVIDIA's assembler makes no cubin."""

from __future__ import annotations

from tileir.execute.errors import CompilationError
from tileir.ir.diagnostics import Diagnostic


class AssemblerError(CompilationError):
    """NVIDIA's assembler makes no cubin of a kernel; the diagnostics say why, at the operations it means."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__(diagnostics[0].message)
        self.diagnostics = diagnostics


class AssemblerCrash(AssemblerError):
    """NVIDIA's assembler was ended by a signal: `signal`, as "SIGSEGV".

    What shows it is kept in `directory`, and `command` is the way to see it again; both are empty if nothing could be
    kept.
    """

    def __init__(self, diagnostics: list[Diagnostic], signal: str, directory: str, command: str) -> None:
        super().__init__(diagnostics)
        self.signal: str = signal
        self.directory: str = directory
        self.command: str = command


class AssemblerTimeout(AssemblerError):
    """NVIDIA's assembler took longer than it may."""
