"""What is raised where a compiler, NVIDIA's assembler or Triton, makes no code of a kernel."""

from __future__ import annotations

from tileir.execute.errors import CompilationError
from tileir.ir.diagnostics import Diagnostic


class _CompilerFailure(CompilationError):
    signal: str = ""

    def __init__(self, diagnostics: list[Diagnostic], output: str = "") -> None:
        super().__init__(diagnostics[0].message)
        self.diagnostics = diagnostics
        self.said: str = output  # All that the compiler printed.


class _Crash(_CompilerFailure):
    """A process was ended: `signal`, as "SIGABRT", or empty if it ended by itself.
    `command` runs the files in `directory` that reproduce it; both are empty if nothing could be kept."""

    def __init__(
        self, diagnostics: list[Diagnostic], output: str, signal: str, directory: str = "", command: str = ""
    ) -> None:
        super().__init__(diagnostics, output)
        self.signal = signal
        self.directory: str = directory
        self.command: str = command


class AssemblerError(_CompilerFailure):
    """NVIDIA's assembler refuses a kernel; the diagnostics have the reasons, at the operations."""


class AssemblerCrash(_Crash, AssemblerError):
    """NVIDIA's assembler was ended by a signal."""


class AssemblerTimeout(AssemblerError):
    """NVIDIA's assembler took longer than it may."""


class TritonError(_CompilerFailure):
    """Triton refuses a kernel; the diagnostics have the reasons, at the operations."""

    @property
    def is_of_program(self) -> bool:
        """Whether an equivalent program may compile: not if a user or a lack of memory ended Triton."""
        return not isinstance(self, TritonTimeout) and self.signal not in ("SIGKILL", "SIGTERM")


class TritonCrash(_Crash, TritonError):
    """The process that runs Triton was ended."""


class TritonTimeout(TritonError):
    """Triton took longer than it may."""
