"""What is asked of the code of a kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False, repr=False, slots=True)
class Options:
    """What the code is to be like."""

    overlapping: bool = False
    fast: bool = False
    sanitize: bool = False
    unchecked: bool = False
    """Whether accesses are not checked, so that a wrong one may end the process."""
