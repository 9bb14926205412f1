"""What is asked of the code of a kernel."""

from __future__ import annotations


class Options:
    """What the code is to be like."""

    __slots__ = ("fast", "overlapping", "sanitize", "unchecked")

    def __init__(
        self, overlapping: bool = False, fast: bool = False, sanitize: bool = False, unchecked: bool = False
    ) -> None:
        self.overlapping: bool = overlapping
        self.fast: bool = fast
        self.sanitize: bool = sanitize
        self.unchecked: bool = unchecked
        """Whether accesses are not checked, so that a wrong one may end the process."""
