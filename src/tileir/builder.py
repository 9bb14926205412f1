"""`Builder` under its public name.

Its methods are looked up among the declarations when they are called, so type checkers and editors read them in
`builder.pyi`, which `make docs` writes from the declarations (`generators/stubs.py`).
"""

from __future__ import annotations

from tileir import interface as _interface  # noqa: F401  (installs the printer of operations)
from tileir.dialect.builder import Builder

__all__ = ["Builder"]
