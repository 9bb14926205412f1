"""Every rule of the expression simplifier is proved, from its own table, for every width and every keyword.

A rule holds if wherever the left side has a defined value, the right side has one too and it is the same.
"""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
import z3
from tests.rewrite.integer_terms import (
    KEYWORDS,
    WIDTHS,
    Meaning,
    flag_choices,
    meaning,
    number,
    term_meaning,
    type_letter,
    variable,
    widths_for,
)
from tests.sampling import one_in

import tileir
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.values import Value
from tileir.rewrite.simplifier import simplify_expressions
from tileir.rewrite.simplifier_rules import COMPLEMENTS, OPERATORS, RULES, Rule, Term, evaluate, read_rules

# Neither the narrowest integers, nor bytes, nor the widest.
BETWEEN = (16, 32)
PROVED = [rule[0] for rule in (*RULES, *COMPLEMENTS)]


def assert_refines(before: Meaning, after: Meaning, what: object) -> None:
    """Where `before` is defined, so is `after`, with the same bits."""
    solver = z3.Solver()
    solver.set("timeout", 60_000)
    holds = z3.simplify(z3.Implies(before[1], z3.And(after[1], before[0] == after[0])))
    solver.add(z3.Not(holds))
    answer = solver.check()
    assert answer == z3.unsat, f"{what}: {answer} {solver.model() if answer == z3.sat else ''}"


def prove(rule: Rule, complement: bool, between: bool | None = None) -> int:
    """Prove a rule in all its instances, or in those with widths between or without; the number of instances."""
    left: Term = rule.left
    root = type_letter(left) or "T"
    proved = 0
    for widths in widths_for(left, rule.right):
        if between is not None and between != any(width in BETWEEN for width in widths.values()):
            continue
        for chosen in flag_choices(left):
            before = term_meaning(left, widths, chosen, True, root)
            if complement:
                before = meaning("xori", (), [before, number(-1, widths[root])], widths[root])
            after = term_meaning(rule.right, widths, chosen, False, root)
            assert_refines(before, after, (rule.name, widths, chosen))
            proved += 1
    return proved


@pytest.mark.sampled(3)
@pytest.mark.parametrize("between", one_in(2, [False, True], ["ends", "between"]))
@pytest.mark.parametrize("name", PROVED)
def test_rule_is_proved(name: str, between: bool) -> None:
    complement = name in [rule[0] for rule in COMPLEMENTS]
    found = [rule for rule in read_rules(COMPLEMENTS if complement else RULES) if rule.name == name]
    proved = sum([prove(rule, complement, between) for rule in found])
    # A rule of truth values has one width.
    assert proved > 0 or between


def test_names_are_unique() -> None:
    assert len(PROVED) == len(set(PROVED))


@pytest.mark.parametrize(
    "rule",
    [
        ("and-of-choice", "select(c, d, 0)", "andi(c, d)"),
        ("add-keeps-promise", "addi(addi(x, k), l)", "addi[no_wrap](x, {addi(k, l)})"),
        ("signed-least", "cmpi[less_than,s](x, 0)", "0"),
        ("truncated-extended", "exti:T[signed](trunci:U(x))", "x"),
        ("shift-twice", "shli(shli(x, k), l)", "shli(x, {addi(k, l)})"),
    ],
    ids=lambda rule: rule[0],
)
def test_rule_that_does_not_hold_is_refuted(rule: tuple[str, str, str]) -> None:
    """The proof can fail: undefined operands, promises, signedness, widths and shift amounts all count."""
    with pytest.raises(AssertionError, match="sat"):
        for variant in read_rules((rule,)):
            prove(variant, False)


# --- constants ---


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.mnemonic)
def test_constants_are_computed_as_the_operation_means(operator: OperationDeclaration) -> None:
    name = operator.mnemonic
    rng = Random(name)
    for flags in product(*[KEYWORDS[attribute] for attribute in OPERATORS[operator]]):
        for width in WIDTHS:
            for target in WIDTHS if name in ("exti", "trunci") else (width,):
                if (name == "exti" and target <= width) or (name == "trunci" and target >= width):
                    continue
                for _ in range(12):
                    check_constant(operator, flags, width, 1 if name == "cmpi" else target, rng)


def check_constant(
    operator: OperationDeclaration, flags: tuple[str, ...], width: int, target: int, rng: Random
) -> None:
    name = operator.mnemonic
    count = {"select": 3, "exti": 1, "trunci": 1, "negi": 1}.get(name, 2)
    ends = [0, 1, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1]
    numbers = [
        rng.choice([*ends, rng.getrandbits(width), rng.randrange(width)]) & ((1 << width) - 1) for _ in range(count)
    ]
    if name == "select":
        numbers[0] &= 1
    operands = [number(bits, 1 if name == "select" and not index else width) for index, bits in enumerate(numbers)]
    bits, defined = meaning(name, flags, operands, target)
    found = evaluate(operator, flags, (width, target), tuple(numbers))
    if z3.is_true(z3.simplify(defined)):
        assert found == z3.simplify(bits).as_long(), (name, flags, width, numbers)


# --- whole programs ---

_TWO = ("addi", "subi", "muli", "andi", "ori", "xori", "mini", "maxi")


class RandomExpressions:
    """A program of integer operations on few values, so that rules meet what they look for."""

    def __init__(self, rng: Random, width: int, size: int) -> None:
        self.rng = rng
        self.type = f"tile<i{width}>"
        self.words = {"x": self.type, "y": self.type, "c": "tile<i1>", "d": "tile<i1>"}
        self.lines: list[str] = []
        literals = (0, 1, -1, (1 << (width - 1)) - 1, rng.getrandbits(width - 1))
        for literal in dict.fromkeys(literals):
            self.add(f"constant <i{width}: {literal}> : {self.type}", self.type)
        for word in ("true", "false"):
            self.add(f"constant <i1: {word}> : tile<i1>", "tile<i1>")
        for _ in range(size):
            self.operation()

    def add(self, text: str, type: str) -> None:
        name = f"v{len(self.lines)}"
        self.lines.append(f"%{name} = {text}")
        self.words[name] = type

    def pick(self, type: str) -> str:
        known = [name for name, own in self.words.items() if own == type]
        # The last values more often, so that expressions grow deep.
        return "%" + self.rng.choice([*known, *known[-3:], *known[-3:]])

    def operation(self) -> None:
        rng = self.rng
        type = rng.choice((self.type, self.type, "tile<i1>"))
        a, b = self.pick(type), self.pick(type)
        choice = rng.randrange(8)
        signedness = rng.choice(("signed", "unsigned"))
        overflow = rng.choice(("", "", "", " overflow<no_signed_wrap>", " overflow<no_wrap>"))
        if choice < 3:
            name = rng.choice(_TWO)
            word = (
                f" {signedness}" if name in ("mini", "maxi") else overflow if name in ("addi", "subi", "muli") else ""
            )
            self.add(f"{name} {a}, {b}{word} : {type}", type)
        elif choice < 5:
            predicate = rng.choice(list(KEYWORDS["comparison_predicate"]))
            self.add(f"cmpi {predicate} {a}, {b}, {signedness} : {type} -> tile<i1>", "tile<i1>")
        elif choice == 5:
            self.add(f"select {self.pick('tile<i1>')}, {a}, {b} : tile<i1>, {type}", type)
        elif choice == 6:
            truth = next(name for name, own in self.words.items() if own == "tile<i1>" and name.startswith("v"))
            self.add(f"xori {self.pick('tile<i1>')}, %{truth} : tile<i1>", "tile<i1>")
        else:
            self.add(f"exti {self.pick('tile<i1>')} {signedness} : tile<i1> -> {self.type}", self.type)

    def module(self) -> Operation:
        values = list(self.words)[-4:]
        stores = [
            f"%t{i} = store_ptr_tko weak %p{'c' if self.words[v] == 'tile<i1>' else 'x'}, %{v} : "
            f"{self.words[v].replace('<', '<ptr<').replace('>', '>>')}, {self.words[v]} -> token"
            for i, v in enumerate(values)
        ]
        pointer = self.type.replace("<", "<ptr<").replace(">", ">>")
        text = "\n".join([*self.lines, *stores])
        parameters = f"%x: {self.type}, %y: {self.type}, %c: tile<i1>, %d: tile<i1>, %px: {pointer}, %pc: tile<ptr<i1>>"
        module = tileir.parse(f"cuda_tile.module @m {{ entry @k({parameters}) {{\n{text}\nreturn }} }}")
        tileir.verify(module)
        return module


def stored(module: Operation) -> list[Meaning]:
    """What the stores of a program get."""
    entry = module.regions[0].block.first
    block = entry.regions[0].block
    known: dict[Value, Meaning] = {}
    for name, argument in zip("xycd", block.arguments, strict=False):
        known[argument] = variable(name, argument.type.element.width)
    found = []
    for operation in block:
        name = operation.declaration.mnemonic
        if name == "constant":
            known[operation.result] = number(operation.attributes["value"].bits(0), operation.result.type.element.width)
        elif name == "store_ptr_tko":
            found.append(known[operation.operands[1]])
        elif operation.declaration in OPERATORS:
            flags = tuple([operation.attribute(keyword).keyword for keyword in OPERATORS[operation.declaration]])
            operands = [known[value] for value in operation.operands]
            known[operation.result] = meaning(name, flags, operands, operation.result.type.element.width)
    return found


def check_program(seed: int, width: int, size: int) -> int:
    module = RandomExpressions(Random(seed), width, size).module()
    before = stored(module)
    operations = len(list(module.walk()))
    replaced = simplify_expressions(module)
    tileir.verify(module)
    assert len(list(module.walk())) <= operations + replaced
    for old, new in zip(before, stored(module), strict=True):
        assert_refines(old, new, seed)
    return replaced


@pytest.mark.parametrize("width", [8, 16])
def test_random_programs_mean_the_same_simplified(width: int) -> None:
    assert sum([check_program(seed, width, 25) for seed in range(12)]) > 40


@pytest.mark.long
def test_many_random_programs_mean_the_same_simplified() -> None:
    for seed in range(1000, 1600):
        check_program(seed, 8, 40)
