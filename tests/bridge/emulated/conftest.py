"""Tests here run within a context of `emulate`."""

from __future__ import annotations

import pytest

import tileir


@pytest.fixture(autouse=True)
def _emulated():
    pytest.importorskip("torch")
    pytest.importorskip("cuda.tile")
    with tileir.emulate():
        yield
