"""The open kernel that tests of the builder build in."""

from __future__ import annotations

from typing import Any

import pytest
from tests.dialect.built_operations import Values

from tileir import Builder
from tileir.types import f32, i32, ptr


@pytest.fixture
def kernel() -> Any:
    """An open kernel and its values."""
    b = Builder("m")
    with b.entry("k", ptr(f32), i32) as arguments:
        yield b, Values(b, arguments)
