"""Watch a launch, operation by operation, in the interpreter."""

from __future__ import annotations

from tileir.public import publish

publish(
    __name__,
    {},
    {
        "tileir.execute.observing.observer": "Access Observer ObserverCallback TileBlock",
        "tileir.execute.observing.trace": "Trace",
    },
)
