"""Candidates as files: text or bytecode, as the original was."""

from __future__ import annotations

from collections.abc import Sequence

from tileir.analyze.reducing.launches import launch_words
from tileir.analyze.reducing.program import Program
from tileir.bytecode.layouts import to_bytes
from tileir.bytecode.primitives import BytecodeError
from tileir.execute.arguments.argument_text import LaunchWords, stated_launch
from tileir.ir.versions import Version


class ProgramFile:
    """How programs are written: as text, or as bytecode of a version.

    A text begins with the launches that the original states, or that are given, as they are now.
    """

    def __init__(self, version: Version | None = None, launches: Sequence[LaunchWords] = ()) -> None:
        self.version: Version | None = version
        self.launches: list[LaunchWords] = list(launches)

    @property
    def extension(self) -> str:
        return ".mlir" if self.version is None else ".tileirbc"

    def data(self, program: Program) -> bytes | None:
        """The contents of a file; None where bytecode of the version cannot hold the program."""
        if self.version is None:
            text = program.module.text(debug_info=program.has_locations)
            stated = [launch_words(launch, program) for launch in self.launches]
            lines = [launch.comment() for launch in stated if launch is not None and not _names_a_file(launch)]
            return "\n".join([*lines, text, ""]).encode("utf-8", "surrogateescape")
        try:
            return to_bytes(program.module, self.version)
        except BytecodeError:
            return None


def _names_a_file(launch: LaunchWords) -> bool:
    """Whether a launch cannot be stated in a comment, which names no files."""
    return any(word.endswith(".npy") for word in launch.arguments)


def stated_launches(text: str, program: Program) -> list[LaunchWords]:
    """The launches that a text states for its kernels."""
    found = [stated_launch(text, name) for name in program.origins]
    return [launch for launch in found if launch is not None]
