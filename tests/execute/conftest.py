"""The tests of the interpreter run on the CPU engine too (`tests.execute.cpu.both_engines`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.execute.cpu.both_engines import both_engines


@pytest.fixture(autouse=True)
def _both_engines(request: pytest.FixtureRequest) -> Iterator[None]:
    if "/cpu/" in str(request.path):
        yield
        return
    with both_engines():
        yield
