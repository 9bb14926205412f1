"""What the bridge launches runs on the CPU engine too (`tests.execute.cpu.both_engines`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.execute.cpu.both_engines import both_engines


@pytest.fixture(autouse=True)
def _both_engines() -> Iterator[None]:
    with both_engines():
        yield
