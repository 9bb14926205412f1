"""Assumptions as people write them, in Python's syntax: "n > 0", "m % 64 == 0", "0 <= ids[*] < B.shape[0]".

Names are those of the kernel's parameters, `argN` is the parameter of that number, `grid.x` the number of tile blocks,
`A.shape[0]` an extent of the tensor at a pointer, `A.size` its number of elements, `A[*]` every element of an array of
integers that the kernel only reads.  `cdiv`, `min`, `max`, `+ - * // %`, comparisons, `and`, `or` and
`not` are understood.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tileir.ir.diagnostics import OptionError
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.terms import BOOLEAN, Term


@dataclass(frozen=True)
class Names:
    """What the names in an assumption stand for.  `contents` is the element that `A[*]` is for this fact."""

    scalars: Mapping[str, Term]
    shapes: Mapping[str, tuple[Term, ...]]
    sizes: Mapping[str, Term]
    arrays: Mapping[str, Callable[[Term], Term]]


EVERY = terms.variable("every position", 0)
"""The position that `A[*]` stands for."""


def parse(text: str, names: Names) -> Term:
    """A Boolean term; raises `OptionError` for text that is none."""
    try:
        tree = ast.parse(_without_sigils(text).replace("[*]", "[...]"), mode="eval")
    except SyntaxError:
        raise OptionError(f"the assumption '{text}' is no expression") from None
    found = _Reader(text, names).term(tree.body)
    if found.sort != BOOLEAN:
        raise OptionError(f"the assumption '{text}' is no comparison")
    return found


def parse_integer(text: str, names: Names) -> Term:
    """An integer, as in a rule for the grid: "cdiv(n, 128)"."""
    try:
        tree = ast.parse(_without_sigils(text), mode="eval")
    except SyntaxError:
        raise OptionError(f"'{text}' is no expression") from None
    return _Reader(text, names).term(tree.body)


def _without_sigils(text: str) -> str:
    """Without the `%` in front of names, which is a remainder elsewhere."""
    found = ""
    for position, letter in enumerate(text):
        following = text[position + 1 : position + 2]
        before = text[:position].rstrip()[-1:]
        starts_name = following.isalpha() or following == "_"
        is_sigil = letter == "%" and starts_name and not (before.isalnum() or before in ("_", ")", "]"))
        found += "" if is_sigil else letter
    return found


class _Reader:
    def __init__(self, text: str, names: Names) -> None:
        self._text, self._names = text, names

    def _failure(self, what: str) -> OptionError:
        known = ", ".join([*self._names.scalars, *self._names.shapes])
        return OptionError(f"the assumption '{self._text}' {what}; the kernel's parameters are: {known}")

    def term(self, node: ast.expr) -> Term:
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
            return terms.number(node.value)
        if isinstance(node, ast.Name):
            if node.id not in self._names.scalars:
                raise self._failure(f"names '{node.id}', which is no integer parameter")
            return self._names.scalars[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](self.term(node.left), self.term(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return terms.scale(self.term(node.operand), -1)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return terms.negation(self.term(node.operand))
        if isinstance(node, ast.BoolOp):
            join = terms.conjunction if isinstance(node.op, ast.And) else terms.disjunction
            return join(*[self.term(value) for value in node.values])
        if isinstance(node, ast.Compare):
            values = [self.term(value) for value in (node.left, *node.comparators)]
            pairs = zip(values, node.ops, values[1:], strict=False)
            return terms.conjunction(*[self._comparison(left, operator, right) for left, operator, right in pairs])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            return _FUNCTIONS[node.func.id](*[self.term(argument) for argument in node.args])
        return self._part(node)

    def _part(self, node: ast.expr) -> Term:
        """`grid.x`, `A.size`, `A.shape[0]`, `A[*]`, `A[3]`"""
        names = self._names
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            whole = f"{node.value.id}.{node.attr}"
            if whole in names.scalars:
                return names.scalars[whole]
            if node.attr == "size" and node.value.id in names.sizes:
                return names.sizes[node.value.id]
        if isinstance(node, ast.Subscript):
            inner, position = node.value, node.slice
            number = position.value if isinstance(position, ast.Constant) else None
            if isinstance(inner, ast.Attribute) and inner.attr == "shape" and isinstance(inner.value, ast.Name):
                shape = names.shapes.get(inner.value.id, ())
                if isinstance(number, int) and number < len(shape):
                    return shape[number]
            if isinstance(inner, ast.Name) and inner.id in names.arrays:
                if number is ... or isinstance(number, int):
                    return names.arrays[inner.id](terms.number(number) if isinstance(number, int) else EVERY)
        raise self._failure(f"has '{ast.unparse(node)}', which is not understood")

    def _comparison(self, left: Term, operator: ast.cmpop, right: Term) -> Term:
        if isinstance(operator, ast.Lt):
            return terms.less(left, right)
        if isinstance(operator, ast.LtE):
            return terms.at_most(left, right)
        if isinstance(operator, ast.Gt):
            return terms.less(right, left)
        if isinstance(operator, ast.GtE):
            return terms.at_most(right, left)
        if isinstance(operator, ast.Eq):
            return terms.equal(left, right)
        if isinstance(operator, ast.NotEq):
            return terms.negation(terms.equal(left, right))
        raise self._failure("has a comparison that is not understood")


_OPERATORS: dict[type[ast.operator], Callable[[Term, Term], Term]] = {
    ast.Add: terms.add,
    ast.Sub: terms.sub,
    ast.Mult: terms.mul,
    ast.FloorDiv: terms.floor_div,
    ast.Mod: terms.modulo,
    ast.Pow: lambda base, power: terms.number((terms.constant(base) or 0) ** (terms.constant(power) or 0)),
}
_FUNCTIONS: dict[str, Callable[..., Term]] = {"cdiv": terms.ceil_div, "min": terms.minimum, "max": terms.maximum}
