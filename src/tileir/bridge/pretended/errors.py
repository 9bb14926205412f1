"""What a script asks of a pretended device and cannot be had."""

from __future__ import annotations

from tileir.execute.errors import LaunchError


class EmulationError(LaunchError):
    """Something that only a real GPU has; the message names it and says what to do."""

    def __init__(self, name: str, advice: str) -> None:
        super().__init__(f"{name} cannot be had on the CUDA device that tileir.emulate pretends: {advice}")
        self.name: str = name
