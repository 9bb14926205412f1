"""Counted work of the kernels of the corpus, beside what the interpreter is seen to access."""

from __future__ import annotations

import pytest

import tileir
from tileir.execute.observing.observer import Access, Observer

pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")

from tests.bridge import kernel_comparisons, product_comparisons

COMPARISONS = {**kernel_comparisons.COMPARISONS, **product_comparisons.COMPARISONS}

# What they access, or whether, depends on what is in memory.
INEXACT = {
    "critical section",
    "early return",
    "embedding",
    "gather from list",
    "histogram",
    "permuted copy bool",
    "permuted copy u2",
    "sum of list",
    "while",
}


class Watched(Observer):
    """The bytes that a launch is seen to read and write."""

    def __init__(self) -> None:
        self.read = self.written = 0

    def access(self, access: Access) -> None:
        bytes = access.size * access.touched.size
        self.read += bytes if access.kind != "write" else 0
        self.written += bytes if access.kind != "read" else 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", COMPARISONS)
def test_counted_bytes_are_those_that_are_accessed(name: str) -> None:
    case = COMPARISONS[name]()
    kernel = tileir.compile(case.kernel, case.arguments, backend="interpreter")
    work = kernel.work(case.grid, case.arguments)
    seen = Watched()
    kernel.launch(case.grid, case.arguments, observer=seen)
    counted, accessed = (work.bytes_read, work.bytes_written), (seen.read, seen.written)
    assert bool(work.unknown or work.notes) == (name in INEXACT)
    if work.unknown:
        # A lower bound, unless whole tiles stand for parts.
        assert work.notes or all(one <= other for one, other in zip(counted, accessed, strict=True))
    elif work.notes:
        assert all(one >= other for one, other in zip(counted, accessed, strict=True))
    else:
        assert counted == accessed
