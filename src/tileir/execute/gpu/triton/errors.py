"""What is raised where Triton makes no code."""

from __future__ import annotations

from tileir.execute.errors import CompilationError
from tileir.ir.diagnostics import Diagnostic


class TritonError(CompilationError):
    """Triton makes no code of a kernel; the diagnostics say why, at the operations it is about."""

    def __init__(self, diagnostics: list[Diagnostic], said: str = "") -> None:
        super().__init__(diagnostics[0].message)
        self.diagnostics = diagnostics
        self.said: str = said
        """All that it printed."""

    @property
    def is_of_program(self) -> bool:
        """Whether it may be another one for another program of the same meaning."""
        return True


class TritonCrash(TritonError):
    """The process that runs Triton was ended: `signal`, as "SIGABRT", or empty if it ended by itself.

    What shows it is kept in `directory`, and `command` is the way to see it again; both are empty if nothing could be
    kept.
    """

    def __init__(
        self, diagnostics: list[Diagnostic], said: str, signal: str, directory: str = "", command: str = ""
    ) -> None:
        super().__init__(diagnostics, said)
        self.signal: str = signal
        self.directory: str = directory
        self.command: str = command

    @property
    def is_of_program(self) -> bool:
        # Somebody has ended it, or a system that is short of memory.
        return self.signal not in ("SIGKILL", "SIGTERM")


class TritonTimeout(TritonError):
    """Triton took longer than it may."""

    @property
    def is_of_program(self) -> bool:
        return False
