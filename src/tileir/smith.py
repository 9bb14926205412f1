"""Random programs for anyone's compiler: valid, well-defined, with arguments and expected results.

    program = tileir.smith.program(7)
    program.module, program.text(), program.bytecode()    the program
    program.grid, program.arguments                       its launch
    program.expected()                                    its arrays after the launch, as any compiler must leave them

docs/tools/smith.md has the families and says what a program never does.
"""

from __future__ import annotations

from tileir import interface as _interface  # noqa: F401  (gives operations their text)
from tileir.analyze.smith.program import FAMILIES, STREAM, Family, SmithProgram, program

__all__ = ["FAMILIES", "STREAM", "Family", "SmithProgram", "program"]
