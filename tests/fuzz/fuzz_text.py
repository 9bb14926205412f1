"""Coverage-guided fuzzing of the parser, the verifier and the printer (README.md tells how to run).

Any text must be parsed, or refused with a `ParseError` or a `VerifyError`.  What is accepted must print, and parsing
the print must print the same.
"""

from __future__ import annotations

import re
import sys
from random import Random

import atheris

with atheris.instrument_imports(include=["tileir"]):
    import tileir
    from tileir.dialect.enums import ENUM_KINDS
    from tileir.ir.registry import REGISTRY
    from tileir.ir.types import FLOAT_TYPES
    from tileir.text.printer import print_operation

_TOKEN = re.compile(rb"\"[^\"\n]*\"|[%#!@^]?[\w.$]+|\s+|->|.", re.DOTALL)
_NUMBERS = ("0", "1", "-1", "2", "7", "16", "64", "1024", "16777216", "4294967295", "4294967296", "9223372036854775807")
_OTHERS = (
    "tile<",
    "ptr<",
    "tensor_view<",
    "partition_view<",
    "token",
    "dense<",
    "loc(",
    "?",
    "x",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
)
_WORDS = [
    *[declaration.mnemonic for declaration in REGISTRY.declarations()],
    *[keyword for kind in ENUM_KINDS.values() for keyword in kind.values],
    *["i1", "i4", "i8", "i16", "i32", "i64", "index", *FLOAT_TYPES],
    *_NUMBERS,
    *_OTHERS,
]


def one_input(data: bytes) -> None:
    try:
        module = tileir.parse(data.decode("utf-8", "surrogateescape"))
        tileir.verify(module)
    except tileir.TileIRError:
        return
    text = print_operation(module)
    again = tileir.parse(text)
    tileir.verify(again)
    if print_operation(again) != text:
        raise AssertionError("printed and parsed again, it prints differently")


def mutator(data: bytes, largest: int, seed: int) -> bytes:
    """Half of the time whole tokens are dropped, repeated, exchanged or replaced by words of the language."""
    rng = Random(seed)
    if rng.random() < 0.5:
        return atheris.Mutate(data, largest)
    tokens = _TOKEN.findall(data) or [b" "]
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        kind = rng.randrange(5)
        if kind == 0:
            tokens[at] = b""
        elif kind == 1:
            tokens[at] += tokens[other]
        elif kind == 2:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind == 3:
            tokens[at] = rng.choice(_WORDS).encode()
        else:
            end = min(len(tokens), at + rng.randrange(1, 20))
            tokens[other:other] = tokens[at:end]
    return b"".join(tokens)[:largest]


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input, custom_mutator=mutator)
    atheris.Fuzz()
