"""Find mistakes in a launch: races, missing tokens, wild addresses, NaNs (docs/tools/sanitizer.md)."""

from __future__ import annotations

from tileir.public import publish

publish(
    __name__,
    {
        "tileir.execute.sanitizer.report": "Finding SanitizerReport",
    },
    {
        "tileir.execute.sanitizer.coverage": "Coverage",
        "tileir.execute.sanitizer.number_watch": "NumberWatch",
        "tileir.execute.sanitizer.sanitizer": "Sanitizer",
    },
)
