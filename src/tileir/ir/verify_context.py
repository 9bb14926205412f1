"""The settings and findings of one verification, which every verifier of an operation is given."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Code, Diagnostic
from tileir.ir.location import Location
from tileir.ir.symbols import Symbols
from tileir.ir.versions import NEWEST, Version

# After this many characters of findings verification stops: messages spell types out, hostile files have long types in
# every operation, and nobody reads on here.
_MAXIMUM_TEXT: Final = 1 << 24

# What may happen to hints nobody knows.
HINT_MODES: Final = ("ignore", "warn", "error")


class VerifyContext:
    """Settings and findings of one verification.

    `hints` says what happens to optimization hints nobody knows: "ignore", "warn" or "error" (docs/conflicts.md E).
    `first_only` stops at the first error, as NVIDIA's tools do.  `subjects` has for each finding the operation it is
    about, where it is about one.  `symbols` knows what references mean.
    """

    __slots__ = (
        "diagnostics",
        "errors",
        "first_only",
        "hints",
        "stopped",
        "subjects",
        "symbols",
        "text_left",
        "version",
    )

    def __init__(
        self,
        version: Version = NEWEST,
        hints: str = "ignore",
        first_only: bool = False,
        symbols: Symbols | None = None,
    ) -> None:
        self.version: Version = version
        self.hints: str = hints
        self.first_only: bool = first_only
        self.diagnostics: list[Diagnostic] = []
        self.subjects: list[Operation | None] = []
        self.errors: int = 0
        self.stopped: bool = False
        self.text_left: int = _MAXIMUM_TEXT
        self.symbols: Symbols = symbols if symbols is not None else Symbols()

    def report(
        self,
        severity: str,
        message: str,
        location: Location,
        notes: list[Diagnostic] | None = None,
        subject: Operation | None = None,
        code: Code | None = None,
    ) -> None:
        """Report a finding at a location, with the text as it stands."""
        self.subjects.append(subject)
        self.diagnostics.append(Diagnostic(severity, message, location, notes, code))
        self.text_left -= len(message)
        if severity == "error":
            self.errors += 1
            if self.first_only or self.text_left < 0:
                self.stopped = True

    def error(
        self,
        operation: Operation,
        message: str,
        notes: list[Diagnostic] | None = None,
        code: Code | None = None,
    ) -> None:
        """Report an error of an operation, with its name in front."""
        words = f"'{operation_name(operation, self.version)}' op {message}"
        self.report("error", words, operation.location, notes, operation, code)

    def warn(self, operation: Operation, message: str) -> None:
        words = f"'{operation_name(operation, self.version)}' op {message}"
        self.report("warning", words, operation.location, None, operation)


def operation_name(operation: Operation, version: Version) -> str:
    """The full name as the text of a dialect version spells it."""
    declaration = operation.declaration
    if declaration.newer_mnemonic is None:
        return declaration.name
    return declaration.name[: -len(declaration.mnemonic)] + declaration.spelled_name(version)
