"""What is asked of the code of a kernel."""

from __future__ import annotations


class Options:
    """What the code is to be like."""

    __slots__ = ("exact", "fast", "overlapping", "sanitize", "unchecked")

    def __init__(
        self,
        overlapping: bool = False,
        fast: bool = False,
        sanitize: bool = False,
        unchecked: bool = False,
        exact: bool = False,
    ) -> None:
        self.overlapping: bool = overlapping
        self.fast: bool = fast
        """Whether functions may round otherwise than the interpreter's."""
        self.sanitize: bool = sanitize
        self.unchecked: bool = unchecked
        """Whether accesses are not checked, so that a wrong one may end the process."""
        self.exact: bool = exact
        """Whether products of floats are the chain of fma on every machine, and not what its best unit makes."""

    @property
    def mode(self) -> str:
        """What the results are to be like, in a word."""
        return "fast" if self.fast else "exact" if self.exact else "default"
