"""What code is made for, beside the program and the GPU."""

from __future__ import annotations

from typing import NamedTuple


class Schedule(NamedTuple):
    """How the work of a tile block is laid out on a GPU: what programs leave open.  Results do not depend on it.

    The model (`schedule/model.py`) chooses one, `tune` searches others.
    """

    num_warps: int = 4
    num_stages: int = 3
    """How many iterations of loops with products are under way at once."""
    descriptors: bool = True
    """Whether views are read and written by TMA where they can be."""
    flatten: bool = False
    """Whether a persistent loop is joined with the one in it."""
    warp_specialize: bool = False
    epilogue_parts: int = 1
    """In how many parts the result of a product is stored."""
    most_registers: int = 0
    """For each thread; 0 for as many as there are."""
    row_stages: int = 1
    """How many iterations of loops without products have their loads under way at once."""


class Specialization(NamedTuple):
    """What is known about the values of a launch: code made with it is for launches of this kind only."""

    divisors: tuple[int, ...] = ()
    """For each parameter, a power of two up to 16 that divides it, pointers in bytes; 1 for floats."""
    described: frozenset[int] = frozenset()
    """The views (by their number, `Program.views`) that TMA can serve: aligned, strides of 16 bytes, within limits."""
    short: frozenset[int] = frozenset()
    """The views whose elements are all within 2**31 of the first."""


class CodeOptions(NamedTuple):
    """All that decides what code is made of a kernel for a GPU."""

    fast: bool = False
    """Whether products and sums may be fused, functions approximated, denormals flushed."""
    lineinfo: bool = False
    schedule: Schedule | None = None
    """None for what the model chooses."""
    specialization: Specialization | None = None
    """None for the usual: everything aligned, and not too large."""


class Limits(NamedTuple):
    """What Triton may take for a kernel."""

    seconds: float = 120.0
    memory: int = 16 << 30
    """Bytes."""
