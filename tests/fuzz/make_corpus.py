"""Writes the seeds the fuzzers start from: small programs that use every operation, as bytecode and as text.

    python tests/fuzz/make_corpus.py        after the dialect, the layout or the generators changed

The programs are random but always the same.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bytecode.pieces import RETURN, TOKEN, debug_payload, make_file
from tests.generators.programs import declared_operations, random_module

import tileir
from tileir.bytecode.primitives import BytecodeError
from tileir.bytecode.reader import read_public
from tileir.bytecode.writer import write_public
from tileir.text.printer import print_operation

CORPUS = Path(__file__).parent / "corpus"
VERSIONS = ((13, 1), (13, 2), (13, 3), (13, 4))
#: Larger seeds make a fuzzer slow and teach it nothing.
LARGEST = 2000


def main() -> None:
    for folder in ("bytecode", "text"):
        (CORPUS / folder).mkdir(parents=True, exist_ok=True)
        for path in (CORPUS / folder).iterdir():
            path.unlink()
    mnemonics = [declaration.mnemonic for declaration in declared_operations(draft_forms=False)]
    for number, start in enumerate(range(0, len(mnemonics), 4)):
        chosen = mnemonics[start : start + 4]
        version = VERSIONS[-1 - number % 4]
        if not _write_seed(number, version, chosen) and not _write_seed(number, VERSIONS[-1], chosen):
            raise RuntimeError(f"no small program with {chosen}")
    located = _located_program()
    (CORPUS / "bytecode" / "locations.tileirbc").write_bytes(located)
    (CORPUS / "text" / "locations.mlir").write_text(print_operation(read_public(located), debug_info=True))


def _located_program() -> bytes:
    """Every kind of debug attribute: random programs have locations that bytecode has no place for."""
    blobs = [
        b"\x02\1\2",  # 1: the file
        b"\x01\1",  # 2: its compile unit
        b"\x05\1\3\0\0\2\3",  # 3: the subprogram
        b"\x03\3\1\4\1",  # 4: a block in it
        b"\x04\3\1\3\1",  # 5: a place in the subprogram
        b"\x04\4\1\5\2",  # 6: a place in the block
        b"\x06\6\5",  # 7: called from there
    ]
    body = b"\x44" + bytes([TOKEN]) + b"\x44" + bytes([TOKEN]) + RETURN
    debug = debug_payload([0], [5, 6, 7, 0], blobs)
    return make_file(body, strings=(b"k.py", b"/src"), debug=debug, location=1)


def _write_seed(number: int, version: tuple[int, int], mnemonics: list[str]) -> bool:
    """One program per format; another attempt when it is too large or its version cannot hold it."""
    for attempt in range(100):
        rng = Random(f"{number}.{attempt}")
        module = random_module(
            rng, operations=mnemonics, version=version, size=5, draft_forms=False, locations=False, discardable=False
        )
        try:
            data = write_public(module, version)
        except BytecodeError:
            continue
        text = print_operation(module)
        if len(data) > LARGEST or len(text) > 4 * LARGEST or not any(f"{m} " in text for m in mnemonics):
            continue
        tileir.verify(tileir.parse(text))
        name = f"{number:02}"
        (CORPUS / "bytecode" / f"{name}.tileirbc").write_bytes(data)
        (CORPUS / "text" / f"{name}.mlir").write_text(text, encoding="utf-8", errors="surrogateescape")
        return True
    return False


if __name__ == "__main__":
    main()
