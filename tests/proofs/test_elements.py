"""Terms of elements beside what the interpreter computes, for random programs."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from tests.proofs.kernels import entry_of
from tests.proofs.sampling import Unbound, evaluated
from tests.sampling import one_in

import tileir
from tileir.dialect.types import PointerType, TileType
from tileir.execute.launching.kernel import Kernel
from tileir.execute.observing.observer import Observer, TileBlock
from tileir.ir.core import Operation
from tileir.ir.traversal import ancestors
from tileir.ir.types import I1, IntegerType
from tileir.ir.values import Value
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.elements import Elements, Indices
from tileir.proofs.symbolic.term_text import term_text
from tileir.proofs.symbolic.terms import Term
from tileir.proofs.symbolic.traversal import subterms

FAMILIES = ("arithmetic", "conversions", "shapes", "reductions", "control_flow", "memory", "views")
ELEMENTS = 3  # Of each result, at random.


class Followed(Elements):
    """Elements that say of every value they do not follow which one it is."""

    def __init__(self, entry: Operation) -> None:
        self.unfollowed: dict[Term, tuple[Value, Indices]] = {}
        super().__init__(entry)

    def opaque(self, value: Value, indices: Indices, why: str) -> Term:
        found = super().opaque(value, indices, why)
        self.unfollowed[found] = (value, indices)
        return found


class Comparison(Observer):
    """Compares the results of the operations outside of loops with their terms."""

    def __init__(self, entry: Operation, grid: tuple[int, ...], seed: int) -> None:
        self._elements = Followed(entry)
        self._grid = grid
        self._chosen = random.Random(seed)
        self._values: dict[Value, Any] = {}
        self._numbers: dict[Term, int] = {}
        self.compared: int = 0
        self.differences: list[str] = []

    def watches(self, operation: Operation) -> bool:
        around = list(ancestors(operation))
        return bool(operation.results) and not any(
            each.declaration.is_loop or each.declaration.mnemonic in ("reduce", "scan") for each in around
        )

    def block_started(self, block: TileBlock) -> None:
        self._values = {}
        elements = self._elements
        self._numbers = dict(zip(elements.block, block.id, strict=True)) | dict(
            zip(elements.grid, (*self._grid, 1, 1)[:3], strict=True)
        )

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        for result, value in zip(operation.results, results, strict=True):
            self._values[result] = value
            type = result.type
            if isinstance(type, TileType) and isinstance(type.element, IntegerType):
                for _ in range(ELEMENTS if type.shape else 1):
                    self._compare(result, [self._chosen.randrange(extent) for extent in type.shape])

    def _compare(self, value: Value, place: list[int]) -> None:
        elements = self._elements
        term = elements.element(value, tuple([terms.number(index) for index in place]))
        if term in elements.unfollowed:
            return
        try:
            found = evaluated(term, self._bound(term))
        except Unbound:
            return
        self.compared += 1
        expected = self._number(value, place)
        if found != expected:
            operation = value.defining_operation
            self.differences.append(f"{operation}\n[{place}] is {expected}, and the term {term_text(term)} {found}")

    def _number(self, value: Value, place: Any) -> int:
        number = numpy.asarray(self._values[value])[tuple(place)]
        return int(bool(number) if value.type.element is I1 else number)

    def _bound(self, term: Term) -> dict[Term, int]:
        """Numbers for the parts of a term that are not followed: what the interpreter computed."""
        numbers = dict(self._numbers)
        for part in subterms(term):
            if part in self._elements.unfollowed and part not in numbers:
                value, indices = self._elements.unfollowed[part]
                if value not in self._values or not isinstance(value.type.element, IntegerType):
                    raise Unbound(term_text(part))
                numbers[part] = self._number(value, [evaluated(index, numbers) for index in indices])
            elif part.operation == "app" and part not in numbers:
                numbers[part] = self._called(part, numbers)
        return numbers

    def _called(self, part: Term, numbers: dict[Term, int]) -> int:
        """An element of a constant tile."""
        name = str(part.data[0])
        for operation, number in self._elements.numbers.items():
            if name == f"constant {number}" and operation.results[0] in self._values:
                found = numpy.asarray(self._values[operation.results[0]]).reshape(-1)
                return int(found[evaluated(part.arguments[0], numbers)])
        raise Unbound(name)


def compared(program: Any, seed: int) -> Comparison:
    """Launch a program; its arguments are numbers for its parameters."""
    comparison = Comparison(program.entry, program.grid, seed)
    elements, arguments = comparison._elements, program.arguments
    known = {
        term: int(value)
        for (parameter, term), value in zip(elements.parameters.items(), arguments, strict=True)
        if not isinstance(parameter.type.element, PointerType) and isinstance(parameter.type.element, IntegerType)
    }
    start = comparison.block_started

    def started(block: TileBlock) -> None:
        start(block)
        comparison._numbers |= known

    comparison.block_started = started  # type: ignore[method-assign]
    kernel = Kernel(program.entry, backend="interpreter")
    kernel.launch(program.grid, arguments, observer=comparison, output=lambda text: None)
    return comparison


@pytest.mark.parametrize(("family", "seed"), one_in(10, [(family, seed) for family in FAMILIES for seed in range(30)]))
def test_terms_are_what_the_interpreter_computes(family: str, seed: int) -> None:
    comparison = compared(tileir.smith(seed, family=family), seed)
    assert not comparison.differences, "\n\n".join(comparison.differences[:3])


LOOPS = """
cuda_tile.module @kernels {
  entry @loops(%low: tile<i32>, %high: tile<i32>, %step: tile<i32>, %start: tile<i32>) {
    %c1 = constant <i32: 1> : tile<i32>
    %c3 = constant <i32: 3> : tile<i32>
    %big = constant <i32: 1073741824> : tile<i32>
    %counted = for %i in (%low to %high, step %c1) : tile<i32> iter_values(%a = %start) -> (tile<i32>) {
      %b = addi %a, %c3 : tile<i32>
      continue %b : tile<i32>
    }
    %strided = for %i in (%low to %high, step %step) : tile<i32> iter_values(%a = %start) -> (tile<i32>) {
      %b = addi %a, %big : tile<i32>
      continue %b : tile<i32>
    }
    %nested = for %i in (%low to %high, step %c3) : tile<i32> iter_values(%a = %start) -> (tile<i32>) {
      %inner = for %j in (%start to %high, step %c1) : tile<i32> iter_values(%b = %a) -> (tile<i32>) {
        %c = addi %b, %step : tile<i32>
        continue %c : tile<i32>
      }
      continue %inner : tile<i32>
    }
    %same = for %i in (%low to %high, step %c1) : tile<i32> iter_values(%a = %start) -> (tile<i32>) {
      continue %a : tile<i32>
    }
    %sum = addi %counted, %nested : tile<i32>
    return
  }
}
"""


@pytest.mark.parametrize("seed", range(40))
def test_loops_have_closed_forms(seed: int) -> None:
    chosen = random.Random(seed)
    entry = entry_of(LOOPS, "loops")
    arguments = [chosen.randint(-4, 4), chosen.randint(-6, 9), chosen.randint(1, 4), chosen.randint(-9, 9)]
    comparison = compared(SimpleNamespace(entry=entry, grid=(1,), arguments=arguments), seed)
    assert not comparison.differences, comparison.differences[0]
    assert comparison.compared >= 8, "the three constants, the four loops and the sum"


def test_many_terms_are_compared() -> None:
    counts = [compared(tileir.smith(seed, family="arithmetic"), seed).compared for seed in range(5)]
    assert sum(counts) > 100
