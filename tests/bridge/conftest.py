"""What the bridge launches runs on the CPU backend too (`tests.execute.cpu.both_engines`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.execute.cpu.both_engines import both_engines

from tileir.bridge import launch as bridge


@pytest.fixture(autouse=True)
def _both_engines() -> Iterator[None]:
    with both_engines():
        yield


@pytest.fixture
def thorough(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of kernels whose arguments are looked at the long way: launches that are not recognized."""
    seen: list[str] = []
    describe = bridge.describe

    def counted(name: str, *given: Any) -> Any:
        seen.append(name)
        return describe(name, *given)

    monkeypatch.setattr(bridge, "describe", counted)
    return seen
