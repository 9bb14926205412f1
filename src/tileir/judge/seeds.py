"""The programs of `tileir.smith` that a sweep judges by their seeds."""

from __future__ import annotations

import json
from typing import Final

from tileir.analyze.smith.program import SmithProgram
from tileir.analyze.smith.program import program as smith_program
from tileir.ir.diagnostics import OptionError

_LARGEST_SEED: Final = 100_000


def seed_program(content: bytes) -> SmithProgram:
    """The program of a seed, whose words may come from a stranger."""
    try:
        words = json.loads(content)
        size = words.get("size") if isinstance(words, dict) else None
        if size is not None and not (isinstance(size, int) and 0 <= size <= _LARGEST_SEED):
            raise ValueError(f"its size is no number from 0 to {_LARGEST_SEED:,}")
        return smith_program(**words)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise OptionError(f"this is no seed of a program: {error}") from None
