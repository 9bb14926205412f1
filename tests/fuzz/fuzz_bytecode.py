"""Coverage-guided fuzzing of the bytecode reader, the verifier, the printer and the writer (README.md tells how to run).

Any bytes must be read, or refused with a `BytecodeError` or a `VerifyError`.  What is accepted must print, and writing
and reading it again must print the same.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import atheris

sys.path.insert(0, str(Path(__file__).parents[2]))

with atheris.instrument_imports(include=["tileir"]):
    import tileir
    from tileir.bytecode.reader import read_public
    from tileir.bytecode.writer import write_public
    from tileir.text.printer import print_disassembly

from tests.bytecode.mutations import mutate


def one_input(data: bytes) -> None:
    try:
        module = read_public(data)
        tileir.verify(module)
    except tileir.TileIRError:
        return
    text = print_disassembly(module, True)
    again = read_public(write_public(module, (13, 4)))
    tileir.verify(again)
    if print_disassembly(again, True) != text:
        raise AssertionError("written and read again, it prints differently")


def mutator(data: bytes, largest: int, seed: int) -> bytes:
    """Half of the time a mistake that knows the format, so that the envelope does not stop every mutant."""
    rng = Random(seed)
    if rng.random() < 0.5:
        return atheris.Mutate(data, largest)
    return mutate(data, rng)[1][:largest]


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input, custom_mutator=mutator)
    atheris.Fuzz()
