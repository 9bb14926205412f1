"""Terms as messages show them."""

from __future__ import annotations

from typing import Final

from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.terms import Term


def term_text(term: Term) -> str:
    """A term as messages show it: in Python's syntax as far as it has one."""
    operation, data = term.operation, term.data
    if operation in ("number", "truth"):
        return str(data)
    if operation == "variable":
        return str(data[0])
    if operation == "sum":
        words = ""
        for monomial, factor in data:
            atoms = []
            for atom in monomial:
                rounded = _rounded_up(atom)
                factor = -factor if rounded else factor
                atoms.append(rounded or _factor(atom))
            product = "*".join(atoms)
            size = f"{abs(factor)}*{product}" if product and abs(factor) != 1 else product or str(abs(factor))
            words += (f" {'-' if factor < 0 else '+'} " if words else "-" if factor < 0 else "") + size
        return words
    inner = [term_text(argument) for argument in term.arguments]
    if operation == "app":
        name = str(data[0]).partition("#")[0]
        return f"{name}({', '.join(inner)})" if inner else name
    if operation == "wrap":
        return f"{'' if data[1] else 'u'}int{data[0]}({inner[0]})"
    if operation in ("not_positive", "is_zero"):
        sign = "<=" if operation == "not_positive" else "=="
        parts = terms.polynomial(term.arguments[0])
        positive = terms.from_polynomial({m: f for m, f in parts if _shown_sign(m, f) > 0})
        negative = terms.from_polynomial({m: -f for m, f in parts if _shown_sign(m, f) < 0})
        return f"{term_text(positive)} {sign} {term_text(negative)}"
    if operation == "choose":
        return f"({inner[1]} if {inner[0]} else {inner[2]})"
    if operation == "negation":
        return f"not ({inner[0]})"
    if operation not in _SIGNS:
        return f"{'min' if operation == 'minimum' else 'max'}({', '.join(inner)})"
    return _SIGNS[operation].join([_parenthesized(argument) for argument in term.arguments])


_SIGNS: Final = {
    "floor_div": " // ",
    "modulo": " % ",
    "same": " == ",
    "conjunction": " and ",
    "disjunction": " or ",
}


def _shown_sign(monomial: terms.Monomial, factor: int) -> int:
    """The sign of a product as it is shown: a quotient that is rounded up is the negative of its atom."""
    return -factor if sum(bool(_rounded_up(atom)) for atom in monomial) % 2 else factor


def _rounded_up(atom: Term) -> str:
    """`cdiv(n, 64)` for (-n) // 64, of which it is the negative number; else empty."""
    if atom.operation == "floor_div" and all(factor < 0 for _, factor in terms.polynomial(atom.arguments[0])):
        return f"cdiv({term_text(terms.scale(atom.arguments[0], -1))}, {term_text(atom.arguments[1])})"
    return ""


def _factor(atom: Term) -> str:
    return f"({term_text(atom)})" if atom.operation in _SIGNS else term_text(atom)


def _parenthesized(term: Term) -> str:
    return f"({term_text(term)})" if term.operation in ("sum", *_SIGNS) else term_text(term)
