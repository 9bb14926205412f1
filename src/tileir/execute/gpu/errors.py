"""What is raised where a compiler, NVIDIA's assembler or Triton, makes no code of a kernel."""

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

    The files that reproduce it are in `directory`, and `command` runs them; both are empty if nothing could be kept.
    """

    def __init__(self, diagnostics: list[Diagnostic], signal: str, directory: str, command: str) -> None:
        super().__init__(diagnostics)
        self.signal: str = signal
        self.directory: str = directory
        self.command: str = command


class AssemblerTimeout(AssemblerError):
    """NVIDIA's assembler took longer than it may."""


class TritonError(CompilationError):
    """Triton makes no code of a kernel; the diagnostics say why, at the operations it is about."""

    is_of_program: bool = True
    """Whether another program of the same meaning may compile."""

    def __init__(self, diagnostics: list[Diagnostic], output: str = "") -> None:
        super().__init__(diagnostics[0].message)
        self.diagnostics = diagnostics
        self.said: str = output
        """All that it printed."""


class TritonCrash(TritonError):
    """The process that runs Triton was ended: `signal`, as "SIGABRT", or empty if it ended by itself.

    The files that reproduce it are in `directory`, and `command` runs them; both are empty if nothing could be kept.
    """

    def __init__(
        self, diagnostics: list[Diagnostic], output: str, signal: str, directory: str = "", command: str = ""
    ) -> None:
        super().__init__(diagnostics, output)
        self.signal: str = signal
        self.directory: str = directory
        self.command: str = command
        # A user, or a system that is short of memory, sends these.
        self.is_of_program = signal not in ("SIGKILL", "SIGTERM")


class TritonTimeout(TritonError):
    """Triton took longer than it may."""

    is_of_program: bool = False
