"""What is asked of programs: whether engines differ."""

from __future__ import annotations

import pytest
from tests.execute.cpu.product_programs import product_kernel

import tileir
from tileir.analyze.reducing.candidate_tests import FINE, ask_difference
from tileir.analyze.reducing.program import Program
from tileir.execute.arguments.argument_text import LaunchDescription

pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite: pip install 'tileir[cpu]'")


@pytest.mark.parametrize("element", ["bf16", "f32"])
def test_an_order_of_additions_is_no_difference_between_engines(element: str) -> None:
    """Unless they are asked for the defined one, engines add up products in orders of their own."""
    program = Program.original(tileir.parse(product_kernel(element, "f32", (32, 32, 64), "views")))
    arrays = [f"rand:{element}:64x256:1", f"rand:{element}:256x64:2", "zeros:f32:64x64", "zeros:f32:64x64"]
    words = LaunchDescription((2, 2), [*arrays, "64", "64", "256"])
    assert ask_difference("interpreter", "cpu", words)(program) == FINE
