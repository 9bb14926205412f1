"""For all tests: kernels compiled in a test run are kept apart from the user's, and forgotten with it."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True, scope="session")
def _cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["TILEIR_CACHE_DIR"] = str(tmp_path_factory.getbasetemp() / "compiled kernels")
