"""Candidates as files: text or bytecode, as the original was."""

from __future__ import annotations

from tileir.analyze.reducing.program import Program
from tileir.bytecode.layouts import to_bytes
from tileir.bytecode.primitives import BytecodeError
from tileir.ir.declaration import Version


class ProgramFile:
    """How programs are written: as text, or as bytecode of a version and a layout."""

    def __init__(self, version: Version | None = None, layout: str = "public") -> None:
        self.version: Version | None = version
        self.layout: str = layout

    @property
    def extension(self) -> str:
        return ".mlir" if self.version is None else ".tileirbc"

    def data(self, program: Program) -> bytes | None:
        """The contents of a file; None where bytecode of the version cannot hold the program."""
        if self.version is None:
            text = program.module.text(debug_info=program.has_locations)
            return (text + "\n").encode("utf-8", "surrogateescape")
        try:
            return to_bytes(program.module, self.version, self.layout)
        except BytecodeError:
            return None
