"""The options that a version of a kernel is compiled with."""

from __future__ import annotations

from typing import NamedTuple


class Options(NamedTuple):
    overlapping: bool = False  # Arguments may share memory.
    fast: bool = False  # Functions may round otherwise than the interpreter's.
    sanitize: bool = False
    unchecked: bool = False  # Accesses are not checked, so that a wrong one may end the process.
    exact: bool = False  # Float matmuls are the interpreter's sequence of fma, not what the best unit computes

    @property
    def mode(self) -> str:
        return "fast" if self.fast else "exact" if self.exact else "default"
