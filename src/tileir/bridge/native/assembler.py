"""`tileiras` for an emulated GPU: it checks bytecode, and wraps it for the emulated driver in place of a cubin."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import tileir
from tileir.bridge.native.image import elf_of
from tileir.bytecode.layouts import from_bytes
from tileir.ir.diagnostics import TileIRError

_OUTPUT: Final = "-o"
_WITH_VALUE: Final = (_OUTPUT, "--gpu-name", "-l")


def main(arguments: list[str]) -> int:
    if "--version" in arguments:
        print(f"tileir {tileir.__version__} in place of tileiras")
        return 0
    given: dict[str, str] = {}
    words = iter(arguments)
    for word in words:
        if word in _WITH_VALUE:
            given[word] = next(words, "")
        elif not word.startswith("-"):
            given[""] = word
    try:
        data = Path(given[""]).read_bytes()
        from_bytes(data)
        Path(given[_OUTPUT]).write_bytes(elf_of(data))
    except (TileIRError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyError:
        sys.stderr.write("usage: tileiras FILE -o FILE\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
