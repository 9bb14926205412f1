"""The rules of TTIR's operations: a file for each kind.

A rule takes the translation and an operation, and returns the values of its results.  In reading order:

    control      functions, branches, loops
    arithmetic   constants, numbers, comparisons, conversions
    formulas     tiles as numbers with Python's operators
    functions    mathematical functions that Tile IR lacks
    library      functions of libdevice
    shapes       splat, broadcast, reshape, permute, join, split
    memory       pointers, loads, stores, barriers, assertions, prints
    atomics      atomic operations
    descriptors  tensor descriptors
    reductions   reductions, scans
    lookups      gathers, histograms
    products     matmuls
    refusals     operations that are refused
"""

from __future__ import annotations

# Each module registers its rules when it is imported.
from tileir.ttir.rules import (
    arithmetic,
    atomics,
    control,
    descriptors,
    functions,
    library,
    lookups,
    memory,
    products,
    reductions,
    refusals,
    shapes,
)

__all__ = [
    "arithmetic",
    "atomics",
    "control",
    "descriptors",
    "functions",
    "library",
    "lookups",
    "memory",
    "products",
    "reductions",
    "refusals",
    "shapes",
]
