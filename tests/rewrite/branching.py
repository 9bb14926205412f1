"""Random programs of branches, and what they do: every effect with the values it sees, for every input.

The evaluator knows scalars, ifs and prints only; it is small enough to be checked by eye and shares nothing with the
engines.
"""

from __future__ import annotations

from random import Random
from typing import Any

import tileir
from tileir.ir.attributes import StringAttribute
from tileir.ir.core import Block, Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.values import Value
from tileir.types import i1, i32

CONDITIONS = 3


def branching_program(rng: Random, size: int) -> Operation:
    """A kernel with ifs in and beside one another, on conditions that repeat, are negated or constant."""
    b = tileir.Builder("m")
    with b.entry("k", *[i1] * CONDITIONS, i32, i32) as arguments:
        known = list(arguments[:CONDITIONS])
        conditions = [*known, b.xori(known[0], b.constant(True, i1)), b.xori(known[1], b.constant(True, i1))]
        if rng.random() < 0.3:
            conditions.append(b.constant(rng.random() < 0.5, i1))
        state = _State(rng, b, conditions, size)
        state.fill(list(arguments[CONDITIONS:]), b.make_token(), 0, size)
    return b.finish()


class _State:
    def __init__(self, rng: Random, b: tileir.Builder, conditions: list[Value], size: int) -> None:
        self.rng = rng
        self.b = b
        self.conditions = conditions
        self.remaining = size
        self.prints = 0

    def fill(self, values: list[Value], token: Value, depth: int, count: int) -> tuple[list[Value], Value]:
        """Append operations; gives the values and the token to go on with."""
        rng, b = self.rng, self.b
        values = list(values)
        for _ in range(count):
            if self.remaining <= 0:
                break
            self.remaining -= 1
            choice = rng.randrange(10)
            if choice < 2:
                values.append(rng.choice((b.addi, b.muli))(rng.choice(values), rng.choice(values)))
            elif choice < 3:
                values.append(b.select(rng.choice(self.conditions), rng.choice(values), rng.choice(values)))
            elif choice < 5 or depth > 3:
                self.prints += 1
                token = b.print_tko([rng.choice(values)], str=f"{self.prints} %d", token=token)
            else:
                values, token = self._branch(values, token, depth)
        return values, token

    def _branch(self, values: list[Value], token: Value, depth: int) -> tuple[list[Value], Value]:
        rng, b = self.rng, self.b
        results = rng.choice((0, 0, 1, 2))
        with_token = rng.random() < 0.4
        two = bool(results) or with_token or rng.random() < 0.5
        ends = []
        for _ in range(2):
            leaves = rng.random() < 0.15
            ends.append(leaves)
        with b.if_(rng.choice(self.conditions), [*[i32] * results, *[b_token()] * with_token]) as branch:
            self._side(values, token, depth, results, with_token, ends[0])
        if two:
            with branch.else_():
                self._side(values, token, depth, results, with_token, ends[1])
        found = list(branch.results)
        if with_token:
            token = found.pop()
        return [*values, *found], token

    def _side(
        self, values: list[Value], token: Value, depth: int, results: int, with_token: bool, leaves: bool
    ) -> None:
        rng, b = self.rng, self.b
        inner, inner_token = self.fill(values, token, depth + 1, rng.choice((0, 1, 1, 2, 3)))
        if leaves:
            b.return_()
            return
        given = [rng.choice(inner) for _ in range(results)]
        b.yield_([*given, *([inner_token] if with_token else [])])


def b_token() -> Any:
    from tileir.dialect.types import TOKEN

    return TOKEN


# --- what it does ---

Effect = tuple[str, tuple[int, ...]]


class _Left(Exception):
    pass


def effects(module: Operation, arguments: list[int]) -> list[Effect]:
    """The prints of the kernel in the order they happen, with their operands and the text of the token's source."""
    entry = next(operation for operation in module.walk() if operation.name == "cuda_tile.entry")
    block = entry.regions[0].block
    found: list[Effect] = []
    values: dict[Value, int] = dict(zip(block.arguments, arguments, strict=True))
    try:
        _run(block, values, found)
    except _Left:
        pass
    return found


def _run(block: Block, values: dict[Value, int], found: list[Effect]) -> list[int]:
    for operation in block:
        operands = [values[value] for value in operation.operands]
        name = operation.declaration.mnemonic
        results: list[int]
        if name == "if":
            taken = operation.regions[0 if operands[0] else 1]
            results = _run(taken.blocks[0], values, found) if taken.blocks else []
        elif name == "yield":
            return operands
        elif name == "return":
            raise _Left
        elif name == "print_tko":
            text = operation.attributes["str"]
            assert isinstance(text, StringAttribute)
            # The token stands for the number of the effect it comes from.
            found.append((text.value, tuple(operands)))
            results = [1000 + len(found)]
        else:
            results = [_compute(operation, name, operands)]
        values.update(zip(operation.results, results, strict=True))
    return []


def _compute(operation: Operation, name: str, operands: list[int]) -> int:
    if name == "constant":
        value = operation.attributes["value"]
        assert isinstance(value, DenseAttribute)
        return value.bits(0)
    if name == "make_token":
        return 999
    if name == "addi":
        return (operands[0] + operands[1]) % 2**32
    if name == "muli":
        return operands[0] * operands[1] % 2**32
    if name == "xori":
        return operands[0] ^ operands[1]
    if name == "andi":
        return operands[0] & operands[1]
    if name == "select":
        return operands[1] if operands[0] else operands[2]
    if name == "exti":
        return operands[0]
    raise AssertionError(f"the evaluator does not know '{name}'")


def all_inputs() -> list[list[int]]:
    """Every assignment of the conditions, with two numbers."""
    return [[bits >> i & 1 for i in range(CONDITIONS)] + [5, 7] for bits in range(1 << CONDITIONS)]
