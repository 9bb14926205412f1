"""The tests of the interpreter run on the CPU backend too (`tests.execute.cpu.both_engines`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.execute.cpu.both_engines import both_engines

_HERE = Path(__file__).parent

# Look into the interpreter, and would see what runs for the comparison.
_INSIDE = ("test_factors_of_a_product_are_borrowed_and_kept",)


@pytest.fixture(autouse=True)
def _both_engines(request: pytest.FixtureRequest) -> Iterator[None]:
    if {"cpu", "gpu"} & set(request.path.relative_to(_HERE).parts) or request.node.name in _INSIDE:
        yield
        return
    with both_engines():
        yield
