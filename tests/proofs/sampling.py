"""Launches that fulfill a contract, drawn around its borders: what was proved must hold in each of them.

Numbers are drawn for the terms of a contract, whose facts are then evaluated; what the solver says is not asked again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy
from tests.proofs.kernels import Launch

from tileir.dialect.types import PointerType
from tileir.execute.dtypes import value_dtype
from tileir.ir.core import Operation
from tileir.ir.types import I1, IntegerType
from tileir.proofs.contract.contract import Contract, size_variable, tensors
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.term_text import term_text
from tileir.proofs.symbolic.terms import Term
from tileir.proofs.symbolic.traversal import subterms, variables
from tileir.proofs.symbolic.views import is_base

MOST_ELEMENTS = 1 << 20
MOST_BLOCKS = 200
_BORDERS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129)
_MULTIPLES = tuple(range(16, 145, 16))


class Unbound(Exception):
    """A term depends on something that has no number."""


def evaluated(term: Term, numbers: dict[Term, int]) -> int:
    """The number that a term is, given numbers for variables."""
    found: dict[Term, int] = dict(numbers)
    for part in subterms(term):
        if part not in found:
            found[part] = _part(part, [found[argument] for argument in part.arguments])
    return found[term]


def _part(term: Term, values: list[int]) -> int:
    operation, data = term.operation, term.data
    if operation in ("number", "truth"):
        return int(data)
    if operation == "sum":
        known = dict(zip(term.arguments, values, strict=True))
        total = 0
        for monomial, factor in data:
            for atom in monomial:
                factor *= known[atom]
            total += factor
        return total
    if operation == "wrap":
        width, signed = data
        rest = values[0] % (1 << width)
        return rest - (1 << width) if signed and rest >> (width - 1) else rest
    if operation in ("floor_div", "modulo"):
        if values[1] == 0:
            raise Unbound("a division by zero")
        return values[0] // values[1] if operation == "floor_div" else values[0] % values[1]
    if operation in _FUNCTIONS:
        return int(_FUNCTIONS[operation](*values))
    raise Unbound(term_text(term))


_FUNCTIONS: dict[str, Any] = {
    "minimum": min,
    "maximum": max,
    "choose": lambda condition, chosen, otherwise: chosen if condition else otherwise,
    "not_positive": lambda value: value <= 0,
    "is_zero": lambda value: value == 0,
    "same": lambda left, right: left == right,
    "negation": lambda value: not value,
    "conjunction": lambda *values: all(values),
    "disjunction": lambda *values: any(values),
}


def sampled(contract: Contract, entry: Operation, count: int, seed: int = 0) -> Iterator[Launch]:
    """Draw up to `count` launches that fulfill a contract; fewer if few of those drawn do."""
    chosen = random.Random(seed)
    given = 0
    for _ in range(count * 60):
        launch = _drawn(contract, entry, chosen)
        if launch is not None:
            yield launch
            given += 1
            if given == count:
                return


def _drawn(contract: Contract, entry: Operation, chosen: random.Random) -> Launch | None:
    elements = contract.elements
    numbers: dict[Term, int] = {}
    pool = chosen.choice((_BORDERS, _BORDERS[:7], _MULTIPLES))
    addresses = {term for value, term in elements.parameters.items() if _is_pointer(value)}
    for term in dict.fromkeys(elements.parameters.values()):
        if term in addresses:
            numbers[term] = 1 << 40
        elif term.operation == "variable":
            numbers[term] = chosen.choice(pool)
            low, high = terms.interval(term)
            if high is not None and numbers[term] > high:
                numbers[term] = chosen.randint(max(0, low or 0), high) if high >= 0 else high
            if low is not None and numbers[term] < low:
                numbers[term] = low
    for fact in contract.hypotheses:
        named = variables(fact)
        if fact.operation == "is_zero" and len(named) == 1 and named[0] in numbers:
            # factor * x + offset == 0
            offset, with_one = [evaluated(fact.arguments[0], {named[0]: value}) for value in (0, 1)]
            if with_one != offset:
                numbers[named[0]] = -offset // (with_one - offset)
    try:
        _lay_out(contract, numbers, chosen)
        grid = []
        for axis, rule in zip(elements.grid, contract.grid, strict=True):
            numbers[axis] = chosen.choice((1, 2, 3, 5)) if rule is axis else evaluated(rule, numbers)
            grid.append(numbers[axis])
        if not all(extent >= 1 for extent in grid) or grid[0] * grid[1] * grid[2] > MOST_BLOCKS:
            return None
        sizes = _sizes(contract, numbers)
        if sizes is None or not _holds(contract, numbers):
            return None
    except Unbound:
        return None
    arguments = [
        _argument(value.type.element, term, numbers, sizes, chosen) for value, term in elements.parameters.items()
    ]
    shown = {term_text(term): number for term, number in numbers.items()}
    return Launch(tuple(grid), arguments, shown)


def _is_pointer(value: Any) -> bool:
    return isinstance(value.type.element, PointerType)


def _lay_out(contract: Contract, numbers: dict[Term, int], chosen: random.Random) -> None:
    """Strides that are parameters follow from the extents: row by row, sometimes with gaps."""
    for tensor in tensors(contract.elements):
        step = 1
        for extent, stride in reversed(list(zip(tensor.shape, tensor.strides, strict=True))):
            if stride in numbers and stride.operation == "variable":
                rounded = -(-step // 16) * 16
                numbers[stride] = rounded if chosen.random() < 0.6 else step
            step = max(step, evaluated(stride, numbers) * evaluated(extent, numbers))


def _sizes(contract: Contract, numbers: dict[Term, int]) -> dict[Term, int] | None:
    """The least number of elements that fulfills the contract, by base address."""
    sizes: dict[Term, int] = {}
    for base in dict.fromkeys(contract.elements.parameters.values()):
        size = size_variable(base) if is_base(base) else None
        if size is None:
            continue
        least = 1
        for fact in contract.hypotheses:
            if size in fact.arguments[0].arguments if fact.arguments else ():
                # offset + slope * size <= 0, or == 0
                offset, with_one = [evaluated(fact.arguments[0], {**numbers, size: value}) for value in (0, 1)]
                slope = with_one - offset
                if slope < 0 or fact.operation == "is_zero":
                    least = max(least, -(offset // slope) if slope > 0 else -(-offset // -slope))
        if least > MOST_ELEMENTS:
            return None
        sizes[base] = numbers[size] = least
    return sizes


def _holds(contract: Contract, numbers: dict[Term, int]) -> bool:
    facts = [
        *contract.hypotheses,
        *contract.apart,
        *[fact for each in contract.elements.assumed.values() for fact in each],
    ]
    for fact in facts:
        parts = variables(fact)
        if any(part.data[3] for part in parts):
            continue  # About the tile blocks of the launch.
        if not evaluated(fact, numbers):
            return False
    return True


def _argument(element: Any, term: Term, numbers: dict[Term, int], sizes: dict[Term, int], chosen: random.Random) -> Any:
    if isinstance(element, PointerType):
        count = sizes[term]
        values = numpy.array([chosen.randint(0, 9) for _ in range(min(count, 512))])
        return _aligned(numpy.resize(values, count).astype(value_dtype(element.pointee)))
    if element is I1:
        return chosen.choice((True, False))
    if isinstance(element, IntegerType):
        return numbers[term] if term in numbers else evaluated(term, numbers)
    return chosen.choice((0.0, 0.5, 1.0))


def _aligned(array: Any) -> Any:
    """A copy at a multiple of 256 bytes, as programs assume of memory of a GPU."""
    space = numpy.empty(array.nbytes + 256, numpy.uint8)
    start = -int(space.ctypes.data) % 256
    copy = space[start : start + array.nbytes].view(array.dtype)
    copy[...] = array
    return copy
