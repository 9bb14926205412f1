"""Tokens followed while a program runs order no more than the analysis of the program says."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sampling import one_in

import tileir
from tileir import smith
from tileir.execute.analysis.token_order import TokenOrder
from tileir.ir.core import Operation


class Follower(tileir.observers.Observer):
    """A token is the set of the operations before it; `pairs` has operations and those that they came after."""

    def __init__(self) -> None:
        self.pairs: set[tuple[Operation, Operation]] = set()

    def watches(self, operation: Operation) -> bool:
        return False

    def token(self, operation: Operation, block: Any, tokens: list[frozenset[Operation]]) -> frozenset[Operation]:
        before = frozenset[Operation]().union(*tokens)
        self.pairs.update([(operation, earlier) for earlier in before])
        return before | {operation}


@pytest.mark.parametrize("seed", one_in(10, range(200)))
@pytest.mark.parametrize("family", ["control_flow", "memory", "everything"])
def test_order_of_a_run_is_in_the_order_of_the_program(family: str, seed: int) -> None:
    program = smith(seed, family=family, size=60)
    kernel = tileir.compile(program.module, backend="interpreter")
    follower = Follower()
    kernel.launch(program.grid, program.arguments, observer=follower)
    order = TokenOrder(kernel.entry)
    for later, earlier in follower.pairs:
        assert order.comes_after(later, earlier), (later, earlier)
