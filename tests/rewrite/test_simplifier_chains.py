"""What the simplifier does in code and not by a rule of its table is proved too: chains, and constants to the right.

A chain is a tree of `andi` or of `ori`, of any shape and length.  Two things are concluded from its operands alone, and
both follow by induction over the tree from steps that the solver proves for every width:

* each chain absorbs each of its operands, `T op x = T` (leaf, left, right), and with two values their chain (pair); so
  a chain that absorbs all operands of another one absorbs that chain: L op R = L (andi-chain-repeats);
* a chain that absorbs a value and its complement is all zeros, or all ones (andi-chain-complement).

A chain is defined where all its operands are, so that neither conclusion is defined in fewer places.
"""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
import z3
from tests.rewrite.integer_terms import KEYWORDS, WIDTHS, Meaning, meaning, number, variable
from tests.rewrite.test_simplifier_proofs import assert_refines

import tileir
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.values import Value
from tileir.rewrite.driver import Statistics
from tileir.rewrite.simplifier import simplify_expressions
from tileir.rewrite.simplifier_rules import COMMUTATIVE, OPERATORS

CHAINS = ("andi", "ori")


def proved(claim: z3.BoolRef, *given: z3.BoolRef) -> bool:
    solver = z3.Solver()
    solver.add(*given, z3.Not(claim))
    return solver.check() == z3.unsat


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", CHAINS)
def test_a_chain_absorbs_what_it_is_made_of(kind: str, width: int) -> None:
    left, right, value, other = [variable(name, width, defined=True) for name in "lrxy"]

    def chain(first: Meaning, second: Meaning) -> Meaning:
        return meaning(kind, (), [first, second], width)

    def absorbs(one: Meaning, what: Meaning) -> z3.BoolRef:
        return chain(one, what)[0] == one[0]

    assert proved(absorbs(value, value)), "leaf"
    assert proved(absorbs(chain(left, right), value), absorbs(left, value)), "left"
    assert proved(absorbs(chain(left, right), value), absorbs(right, value)), "right"
    assert proved(absorbs(left, chain(value, other)), absorbs(left, value), absorbs(left, other)), "pair"
    assert not proved(absorbs(left, value)), "the proofs can fail"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", CHAINS)
def test_a_chain_that_absorbs_a_value_and_its_complement_is_decided(kind: str, width: int) -> None:
    whole, value = variable("t", width, defined=True), variable("x", width, defined=True)
    complement = meaning("xori", (), [value, number(-1, width)], width)
    given = [meaning(kind, (), [whole, one], width)[0] == whole[0] for one in (value, complement)]
    assert proved(whole[0] == number(0 if kind == "andi" else -1, width)[0], *given)
    assert not proved(whole[0] == number(-1 if kind == "andi" else 0, width)[0], *given)


@pytest.mark.parametrize("operator", sorted(COMMUTATIVE, key=lambda operator: operator.mnemonic))
def test_operands_of_commutative_operations_may_change_places(operator: OperationDeclaration) -> None:
    name = operator.mnemonic
    for flags in product(*[KEYWORDS[attribute] for attribute in OPERATORS[operator]]):
        for width in WIDTHS:
            constant, value = variable("k", width, defined=True), variable("x", width)
            before = meaning(name, flags, [constant, value], width)
            assert_refines(before, meaning(name, flags, [value, constant], width), (name, flags, width))


# --- the code, on chains of every shape ---


class Chain:
    """A program of one random chain over few values and their complements, and what it means."""

    def __init__(self, rng: Random, kind: str, width: int, size: int) -> None:
        self.rng = rng
        self.kind = kind
        self.type = f"tile<i{width}>"
        self.lines = [f"%ones = constant <i{width}: {'true' if width == 1 else -1}> : {self.type}"]
        letters = "abcdefgh"[: rng.choice((2, 4, 8))]
        for letter in letters:
            self.lines.append(f"%n{letter} = xori %{letter}, %ones : {self.type}")
        # Complements are rare, or every chain would be decided by one.
        self.leaves = [f"%{letter}" for letter in letters] * 6 + [f"%n{rng.choice(letters)}"] * rng.choice((0, 1))
        self.last = self.tree(size)
        pointer = f"tile<ptr<i{width}>>"
        parameters = ", ".join([*[f"%{letter}: {self.type}" for letter in "abcdefgh"], f"%p: {pointer}"])
        store = f"%t = store_ptr_tko weak %p, {self.last} : {pointer}, {self.type} -> token"
        text = "\n".join([*self.lines, store])
        self.module: Operation = tileir.parse(f"cuda_tile.module @m {{ entry @k({parameters}) {{\n{text}\nreturn }} }}")
        tileir.verify(self.module)

    def tree(self, size: int) -> str:
        if size == 1:
            return self.rng.choice(self.leaves)
        left = self.rng.randrange(1, size)
        first, second = self.tree(left), self.tree(size - left)
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {self.kind} {first}, {second} : {self.type}")
        return name


def stored(module: Operation, width: int) -> Meaning:
    block = module.regions[0].block.first.regions[0].block
    known: dict[Value, Meaning] = {}
    for name, argument in zip("abcdefgh", block.arguments, strict=False):
        known[argument] = variable(name, width)
    for operation in block:
        name = operation.declaration.mnemonic
        if name == "constant":
            known[operation.result] = number(operation.attributes["value"].bits(0), width)
        elif name == "store_ptr_tko":
            return known[operation.operands[1]]
        else:
            known[operation.result] = meaning(name, (), [known[value] for value in operation.operands], width)
    raise AssertionError("nothing is stored")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", CHAINS)
def test_chains_mean_the_same_simplified(kind: str, width: int) -> None:
    statistics = Statistics()
    for seed in range(40):
        rng = Random(seed)
        chain = Chain(rng, kind, width, rng.choice((2, 3, 4, 6, 9, 16, 17, 40)))
        before = stored(chain.module, width)
        simplify_expressions(chain.module, statistics)
        tileir.verify(chain.module)
        assert_refines(before, stored(chain.module, width), (kind, width, seed))
    assert statistics.fired[f"{kind}-chain-repeats"] and statistics.fired[f"{kind}-chain-complement"]
