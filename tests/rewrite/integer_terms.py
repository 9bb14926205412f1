"""What integer operations mean, as terms of an SMT solver: the bits of a result and when they are defined."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import z3

from tileir.rewrite.simplifier_rules import ANY_CONSTANT, INVERSE, LITERAL, OPERATORS, SWAPPED, VARIABLE, Term

WIDTHS = (1, 8, 16, 32, 64)
KEYWORDS = {
    "overflow": ("none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap"),
    "signedness": ("signed", "unsigned"),
    "comparison_predicate": tuple(SWAPPED),
}
Meaning = tuple[z3.BitVecRef, z3.BoolRef]


def variable(name: str, width: int, defined: bool = False) -> Meaning:
    """Any value; unless it is a constant, it may have no defined value at all."""
    return z3.BitVec(f"{name}_{width}", width), z3.BoolVal(True) if defined else z3.Bool(f"{name}_defined")


def number(value: str | int, width: int) -> Meaning:
    if value == "max":
        value = (1 << (width - 1)) - 1
    elif value == "min":
        value = 1 << (width - 1)
    return z3.BitVecVal(int(value), width), z3.BoolVal(True)


def _resize(bits: z3.BitVecRef, width: int, signed: bool) -> z3.BitVecRef:
    extra = width - bits.size()
    return z3.SignExt(extra, bits) if signed else z3.ZeroExt(extra, bits)


def _keeps(flag: str, wide_signed: z3.BoolRef, wide_unsigned: z3.BoolRef) -> z3.BoolRef:
    """Whether a promise about wrapping is kept; the two conditions are those of the signed and the unsigned one."""
    if flag == "none":
        return z3.BoolVal(True)
    if flag == "no_signed_wrap":
        return wide_signed
    if flag == "no_unsigned_wrap":
        return wide_unsigned
    return z3.And(wide_signed, wide_unsigned)


def _exact(name: str, flag: str, left: z3.BitVecRef, right: z3.BitVecRef) -> Meaning:
    """Sums, differences, products: computed in more bits, the result must be the one in fewer."""
    width = left.size()
    wide = 2 * width + 1

    def apply(a: z3.BitVecRef, b: z3.BitVecRef) -> z3.BitVecRef:
        return a + b if name == "addi" else a - b if name == "subi" else a * b

    result = apply(left, right)
    conditions = [
        _resize(result, wide, signed) == apply(_resize(left, wide, signed), _resize(right, wide, signed))
        for signed in (True, False)
    ]
    return result, _keeps(flag, *conditions)


def _compare(predicate: str, signedness: str, a: z3.BitVecRef, b: z3.BitVecRef) -> z3.BoolRef:
    unsigned = signedness == "unsigned"
    return {
        "equal": lambda: a == b,
        "not_equal": lambda: a != b,
        "less_than": lambda: z3.ULT(a, b) if unsigned else a < b,
        "less_than_or_equal": lambda: z3.ULE(a, b) if unsigned else a <= b,
        "greater_than": lambda: z3.UGT(a, b) if unsigned else a > b,
        "greater_than_or_equal": lambda: z3.UGE(a, b) if unsigned else a >= b,
    }[predicate]()


def _bit(condition: z3.BoolRef) -> z3.BitVecRef:
    return z3.If(condition, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))


def meaning(name: str, flags: tuple[str, ...], operands: list[Meaning], width: int) -> Meaning:
    """An operation with a result of this width."""
    if name == "select":
        (condition, known), (chosen, one), (otherwise, other) = operands
        taken = condition == 1
        return z3.If(taken, chosen, otherwise), z3.And(known, z3.If(taken, one, other))
    known = z3.And([defined for _, defined in operands])
    a = operands[0][0]
    b = operands[-1][0]
    own = z3.BoolVal(True)
    if name in ("addi", "subi", "muli"):
        bits, own = _exact(name, flags[0], a, b)
    elif name == "negi":
        bits, own = _exact("subi", flags[0], z3.BitVecVal(0, width), a)
    elif name == "andi":
        bits = a & b
    elif name == "ori":
        bits = a | b
    elif name == "xori":
        bits = a ^ b
    elif name == "shli":
        bits = a << b
        kept = _keeps(flags[0], (bits >> b) == a, z3.LShR(bits, b) == a)
        own = z3.And(_within(b), kept)
    elif name == "shri":
        bits = a >> b if flags[0] == "signed" else z3.LShR(a, b)
        own = _within(b)
    elif name in ("mini", "maxi"):
        bits = z3.If(_compare("less_than", flags[0], a, b) == (name == "mini"), a, b)
    elif name == "cmpi":
        bits = _bit(_compare(flags[0], flags[1], a, b))
    elif name == "exti":
        bits = _resize(a, width, flags[0] == "signed")
    elif name == "trunci":
        bits = z3.Extract(width - 1, 0, a)
        own = _keeps(flags[0], _resize(bits, a.size(), True) == a, _resize(bits, a.size(), False) == a)
    else:
        raise AssertionError(name)
    return bits, z3.And(known, own)


def _within(amount: z3.BitVecRef) -> z3.BoolRef:
    width = amount.size()
    return amount == 0 if width == 1 else z3.ULT(amount, width)


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
