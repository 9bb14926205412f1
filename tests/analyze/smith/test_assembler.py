"""NVIDIA's assembler takes programs of `tileir.smith` as they are."""

from __future__ import annotations

import pytest
from tests.analyze.smith.seeds import assembler_path, check_assembler

from tileir import smith
from tileir.analysis import SMITH_FAMILIES

TOOL = assembler_path()
pytestmark = pytest.mark.skipif(TOOL is None, reason="NVIDIA's assembler is not installed: tileir[tileiras]")


@pytest.mark.parametrize("family", SMITH_FAMILIES)
def test_assembler_takes_programs(family: str) -> None:
    assert TOOL is not None
    assert check_assembler(smith(3, family=family, size=40), TOOL) == ""
