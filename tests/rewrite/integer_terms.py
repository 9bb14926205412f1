"""The terms of the simplifier's rules, as what they mean to an SMT solver."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import z3

from tileir.proofs.equivalence.integer_terms import Meaning, meaning
from tileir.rewrite.simplifier_rules import ANY_CONSTANT, INVERSE, LITERAL, OPERATORS, SWAPPED, VARIABLE, Term

WIDTHS = (1, 8, 16, 32, 64)
KEYWORDS = {
    "overflow": ("none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap"),
    "signedness": ("signed", "unsigned"),
    "comparison_predicate": tuple(SWAPPED),
}


def variable(name: str, width: int, defined: bool = False) -> Meaning:
    """Any value; unless it is a constant, it may have no defined value at all."""
    return z3.BitVec(f"{name}_{width}", width), z3.BoolVal(True) if defined else z3.Bool(f"{name}_defined")


def number(value: str | int, width: int) -> Meaning:
    if value == "max":
        value = (1 << (width - 1)) - 1
    elif value == "min":
        value = 1 << (width - 1)
    return z3.BitVecVal(int(value), width), z3.BoolVal(True)


# --- the terms of rules ---


def type_letter(term: Term) -> str:
    """The letter of a term's type, "" for a literal, whose type follows from where it stands."""
    if term.kind == LITERAL:
        return ""
    if term.kind in (VARIABLE, ANY_CONSTANT) or term.type:
        return term.type
    if term.name == "cmpi":
        return "B"
    arguments = term.arguments[1:] if term.name == "select" else term.arguments
    return next((letter for letter in map(type_letter, arguments) if letter), "")


def terms_in(term: Term) -> Iterator[Term]:
    yield term
    for argument in term.arguments:
        yield from terms_in(argument)


def letters_in(term: Term) -> set[str]:
    return {letter for one in terms_in(term) if (letter := type_letter(one))}


def flag_choices(left: Term) -> Iterator[dict[object, str]]:
    """Every way to choose the keywords the left side of a rule leaves open: by letter, or by term and position."""
    slots: dict[object, tuple[str, ...]] = {}
    for term in terms_in(left):
        if not term.arguments:
            continue
        for position, attribute in enumerate(OPERATORS[term.operation]):
            given = term.flags[position] if term.flags else (id(term), position)
            if isinstance(given, tuple) or len(given) == 1:
                slots[given] = KEYWORDS[attribute]
    for words in product(*slots.values()):
        yield dict(zip(slots, words, strict=True))


def flags_of(term: Term, chosen: dict[object, str], is_left: bool) -> tuple[str, ...]:
    names = OPERATORS[term.operation]
    if not term.flags:
        if is_left:
            return tuple([chosen[(id(term), position)] for position in range(len(names))])
        assert names in ((), ("overflow",)), f"the right side must say which {term.name}"
        return ("none",) * len(names)
    found = []
    for flag in term.flags:
        if flag.startswith("swapped("):
            found.append(SWAPPED[chosen[flag[8:-1]]])
        elif flag.startswith("inverse("):
            found.append(INVERSE[chosen[flag[8:-1]]])
        else:
            found.append(chosen[flag] if len(flag) == 1 else flag)
    return tuple(found)


def term_meaning(term: Term, widths: dict[str, int], chosen: dict[object, str], is_left: bool, letter: str) -> Meaning:
    """What a term means; `letter` is the type a literal gets."""
    own = type_letter(term) or letter
    if term.kind == LITERAL:
        return number(term.name, widths[own])
    if term.kind in (VARIABLE, ANY_CONSTANT):
        return variable(term.name, widths[own], defined=term.kind == ANY_CONSTANT)
    inner = next((found for found in map(type_letter, term.arguments[-2:]) if found), own)
    operands = []
    for position, argument in enumerate(term.arguments):
        expected = "B" if term.name == "select" and position == 0 else inner
        operands.append(term_meaning(argument, widths, chosen, is_left, expected))
    return meaning(term.name, flags_of(term, chosen, is_left), operands, widths[own])


def widths_for(left: Term, right: Term) -> Iterator[dict[str, int]]:
    """Every choice of widths under which both sides are programs of one type."""
    letters = sorted((letters_in(left) | letters_in(right) | {"T"}) - {"B"})
    for chosen in product(WIDTHS, repeat=len(letters)):
        widths = {**dict(zip(letters, chosen, strict=True)), "B": 1}
        if all(_is_conversion_sound(term, widths) for side in (left, right) for term in terms_in(side)):
            root = type_letter(left) or "T"
            if widths[type_letter(right) or root] == widths[root]:
                yield widths


def _is_conversion_sound(term: Term, widths: dict[str, int]) -> bool:
    if term.name not in ("exti", "trunci"):
        return True
    source, target = widths[type_letter(term.arguments[0])], widths[term.type]
    return source < target if term.name == "exti" else source > target
