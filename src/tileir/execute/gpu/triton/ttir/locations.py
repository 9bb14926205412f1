"""TTIR with the places of the program that its operations come from: what profilers and debuggers are told.

MLIR takes the line of its own text for the place of an operation that says nothing else.
"""

from __future__ import annotations

import json
from typing import Final

from tileir.execute.locations.source_locations import frames_of
from tileir.ir.core import Operation

_UNKNOWN: Final = " loc(unknown)"


def located_text(text: str, operations: list[Operation | None]) -> str:
    """The text, in which each line is an operation, or the beginning or end of one that has regions."""
    found: list[str] = []
    begun: list[Operation | None] = []
    for line, operation in zip(text.splitlines(), operations, strict=True):
        words = line.strip()
        if words.startswith("}"):
            operation = begun.pop()
        if words.endswith("{"):
            # Its place comes behind its regions.
            begun.append(operation)
        # Labels of blocks have none.
        is_whole = words and not words.endswith("{") and not words.startswith("^")
        found.append(line + _place(operation) if is_whole else line)
    return "\n".join(found) + "\n"


def _place(operation: Operation | None) -> str:
    frames = frames_of(operation.location)[:1] if operation is not None else []
    return f" loc({json.dumps(frames[0].file)}:{frames[0].line}:{frames[0].column})" if frames else _UNKNOWN
