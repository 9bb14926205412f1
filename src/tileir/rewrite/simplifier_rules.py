"""The rules of the expression simplifier, one per line: a name, the pattern, the replacement.

term ::= letter | literal | `{` term `}` | name (`:` type)? (`[` keyword (`,` keyword)* `]`)? `(` terms `)`

x, y and z stand for integer expressions of one type T, k and l for constants of that type, c and d for i1 expressions.
A colon names the type where a conversion changes it; both sides have the same type.  `-1` has all bits set (true, for
i1), `max` and `min` are the ends of the signed range.  Brackets contain the keywords of the operation: a word matches
itself, a letter matches any and inserts it again, without brackets all match; a new operation without them makes no
promise about wrapping.  Braces are computed from constants.  Operands of commutative operations match in either order.

tests/rewrite/test_simplifier_proofs.py proves every line of the table for all widths and keywords: where the left side
is defined, so is the right one, and they are equal.  For example, `select(c, d, false)` is not `andi(c, d)`: it is
defined where c is false and d is undefined.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from tileir.annotations import Final
from tileir.dialect.ops import (
    ADDI,
    ANDI,
    CMPI,
    CONSTANT,
    EXTI,
    MAXI,
    MINI,
    MULI,
    NEGI,
    ORI,
    SELECT,
    SHLI,
    SHRI,
    SUBI,
    TRUNCI,
    XORI,
)
from tileir.dialect.types import TileType
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes
from tileir.ir.types import IntegerType
from tileir.rewrite.matching import elementwise

# Constants that are not splats are computed up to this number of elements.
_MAX_ELEMENTS: Final = 4096

# Rules for the value of an expression.
RULES: Final[tuple[tuple[str, str, str], ...]] = (
    # --- move constants to the right and combine them ---
    ("compare-constant-first", "cmpi[p,s](k, x)", "cmpi[swapped(p),s](x, k)"),
    ("add-add-constant", "addi(addi(x, k), l)", "addi(x, {addi(k, l)})"),
    ("add-subtract-constant", "addi(subi(x, k), l)", "addi(x, {subi(l, k)})"),
    ("subtract-add-constant", "subi(addi(x, k), l)", "addi(x, {subi(k, l)})"),
    ("multiply-multiply-constant", "muli(muli(x, k), l)", "muli(x, {muli(k, l)})"),
    ("and-and-constant", "andi(andi(x, k), l)", "andi(x, {andi(k, l)})"),
    ("or-or-constant", "ori(ori(x, k), l)", "ori(x, {ori(k, l)})"),
    ("xor-xor-constant", "xori(xori(x, k), l)", "xori(x, {xori(k, l)})"),
    # --- arithmetic ---
    ("add-zero", "addi(x, 0)", "x"),
    ("subtract-zero", "subi(x, 0)", "x"),
    ("subtract-itself", "subi(x, x)", "0"),
    ("multiply-zero", "muli(x, 0)", "0"),
    ("multiply-one", "muli(x, 1)", "x"),
    ("add-subtract", "addi(subi(x, y), y)", "x"),
    ("subtract-added", "subi(addi(x, y), y)", "x"),
    ("subtract-subtracted", "subi(x, subi(x, y))", "y"),
    ("add-negation", "addi(x, negi(x))", "0"),
    ("negate-negation", "negi(negi(x))", "x"),
    ("shift-left-zero", "shli(x, 0)", "x"),
    ("shift-right-zero", "shri(x, 0)", "x"),
    ("zero-shifted-left", "shli(0, x)", "0"),
    ("zero-shifted-right", "shri(0, x)", "0"),
    ("ones-shifted-right", "shri[signed](-1, x)", "-1"),
    # --- bits ---
    ("and-zero", "andi(x, 0)", "0"),
    ("and-ones", "andi(x, -1)", "x"),
    ("and-itself", "andi(x, x)", "x"),
    ("and-complement", "andi(x, xori(x, -1))", "0"),
    ("and-again", "andi(x, andi(x, y))", "andi(x, y)"),
    ("and-absorbs", "andi(x, ori(x, y))", "x"),
    ("or-zero", "ori(x, 0)", "x"),
    ("or-ones", "ori(x, -1)", "-1"),
    ("or-itself", "ori(x, x)", "x"),
    ("or-complement", "ori(x, xori(x, -1))", "-1"),
    ("or-again", "ori(x, ori(x, y))", "ori(x, y)"),
    ("or-absorbs", "ori(x, andi(x, y))", "x"),
    ("xor-zero", "xori(x, 0)", "x"),
    ("xor-itself", "xori(x, x)", "0"),
    ("xor-again", "xori(x, xori(x, y))", "y"),
    # --- minimum and maximum ---
    ("minimum-itself", "mini(x, x)", "x"),
    ("maximum-itself", "maxi(x, x)", "x"),
    ("minimum-zero", "mini[unsigned](x, 0)", "0"),
    ("maximum-zero", "maxi[unsigned](x, 0)", "x"),
    ("minimum-ones", "mini[unsigned](x, -1)", "x"),
    ("maximum-ones", "maxi[unsigned](x, -1)", "-1"),
    ("minimum-least", "mini[signed](x, min)", "min"),
    ("maximum-least", "maxi[signed](x, min)", "x"),
    ("minimum-greatest", "mini[signed](x, max)", "x"),
    ("maximum-greatest", "maxi[signed](x, max)", "max"),
    ("minimum-again", "mini[s](x, mini[s](x, y))", "mini[s](x, y)"),
    ("maximum-again", "maxi[s](x, maxi[s](x, y))", "maxi[s](x, y)"),
    ("minimum-of-maximum", "mini[s](x, maxi[s](x, y))", "x"),
    ("maximum-of-minimum", "maxi[s](x, mini[s](x, y))", "x"),
    # --- comparisons ---
    ("equal-itself", "cmpi[equal,s](x, x)", "-1"),
    ("not-equal-itself", "cmpi[not_equal,s](x, x)", "0"),
    ("less-than-itself", "cmpi[less_than,s](x, x)", "0"),
    ("at-most-itself", "cmpi[less_than_or_equal,s](x, x)", "-1"),
    ("greater-than-itself", "cmpi[greater_than,s](x, x)", "0"),
    ("at-least-itself", "cmpi[greater_than_or_equal,s](x, x)", "-1"),
    ("less-than-zero", "cmpi[less_than,unsigned](x, 0)", "0"),
    ("at-least-zero", "cmpi[greater_than_or_equal,unsigned](x, 0)", "-1"),
    ("greater-than-ones", "cmpi[greater_than,unsigned](x, -1)", "0"),
    ("at-most-ones", "cmpi[less_than_or_equal,unsigned](x, -1)", "-1"),
    ("less-than-least", "cmpi[less_than,signed](x, min)", "0"),
    ("at-least-least", "cmpi[greater_than_or_equal,signed](x, min)", "-1"),
    ("greater-than-greatest", "cmpi[greater_than,signed](x, max)", "0"),
    ("at-most-greatest", "cmpi[less_than_or_equal,signed](x, max)", "-1"),
    ("equal-true", "cmpi[equal,s](c, -1)", "c"),
    ("not-equal-false", "cmpi[not_equal,s](c, 0)", "c"),
    ("equal-false", "cmpi[equal,s](c, 0)", "xori(c, -1)"),
    ("not-equal-true", "cmpi[not_equal,s](c, -1)", "xori(c, -1)"),
    ("equal-shifted", "cmpi[equal,s](addi(x, k), l)", "cmpi[equal,s](x, {subi(l, k)})"),
    ("not-equal-shifted", "cmpi[not_equal,s](addi(x, k), l)", "cmpi[not_equal,s](x, {subi(l, k)})"),
    # --- choices ---
    ("select-same", "select(c, x, x)", "x"),
    ("select-true", "select(-1, x, y)", "x"),
    ("select-false", "select(0, x, y)", "y"),
    ("select-true-false", "select(c, -1, 0)", "c"),
    ("select-false-true", "select(c, 0, -1)", "xori(c, -1)"),
    ("select-negated", "select(xori(c, -1), x, y)", "select(c, y, x)"),
    ("select-select-true", "select(c, select(c, x, y), z)", "select(c, x, z)"),
    ("select-select-false", "select(c, x, select(c, y, z))", "select(c, x, z)"),
    ("select-equal", "select(cmpi[equal,s](x, y), x, y)", "y"),
    ("select-not-equal", "select(cmpi[not_equal,s](x, y), x, y)", "x"),
    # --- conversions ---
    ("truncate-extended", "trunci:T(exti:U(x))", "x"),
    ("truncate-truncated", "trunci:V(trunci:U(x))", "trunci:V(x)"),
    ("extend-extended", "exti:V[s](exti:U[s](x))", "exti:V[s](x)"),
    ("extend-extended-unsigned", "exti:V[s](exti:U[unsigned](x))", "exti:V[unsigned](x)"),
    ("extended-not-zero", "cmpi[not_equal,s](exti:U(c), 0)", "c"),
    ("extended-zero", "cmpi[equal,s](exti:U(c), 0)", "xori(c, -1)"),
    ("extended-lowest-bit", "andi(exti:U[unsigned](c), 1)", "exti:U[unsigned](c)"),
)

# Rules for the complement of an expression, where that costs no operation more: tried on the x of `xori(x, -1)`.
COMPLEMENTS: Final[tuple[tuple[str, str, str], ...]] = (
    ("complement-complement", "xori(x, -1)", "x"),
    ("complement-compare", "cmpi[p,s](x, y)", "cmpi[inverse(p),s](x, y)"),
    ("complement-xor-constant", "xori(x, k)", "xori(x, {xori(k, -1)})"),
)

SWAPPED: Final[dict[str, str]] = {
    "equal": "equal",
    "not_equal": "not_equal",
    "less_than": "greater_than",
    "less_than_or_equal": "greater_than_or_equal",
    "greater_than": "less_than",
    "greater_than_or_equal": "less_than_or_equal",
}
_OPPOSITES: Final = (
    ("equal", "not_equal"),
    ("less_than", "greater_than_or_equal"),
    ("greater_than", "less_than_or_equal"),
)
INVERSE: Final[dict[str, str]] = {**dict(_OPPOSITES), **{right: left for left, right in _OPPOSITES}}

# The operations that the simplifier knows, with the names of their attributes in the order of the keywords in brackets.
OPERATORS: Final[dict[OperationDeclaration, tuple[str, ...]]] = {
    declaration: tuple([attribute.name for attribute in declaration.attributes])
    for declaration in (
        *(ADDI, SUBI, MULI, NEGI, SHLI, SHRI, ANDI, ORI, XORI),
        *(MINI, MAXI, CMPI, SELECT, EXTI, TRUNCI),
    )
}
COMMUTATIVE: Final[frozenset[OperationDeclaration]] = frozenset([ADDI, MULI, ANDI, ORI, XORI, MINI, MAXI])
_BY_NAME: Final[dict[str, OperationDeclaration]] = {each.mnemonic: each for each in OPERATORS}


# --- terms ---

# Kinds of terms.
VARIABLE: Final = 0  # any expression
ANY_CONSTANT: Final = 1
LITERAL: Final = 2  # one number: 0, 1, -1, min, max
APPLICATION: Final = 3
COMPUTED: Final = 4  # an application to constants, computed into a constant

_LITERALS: Final = ("0", "1", "-1", "min", "max")
_CONSTANTS: Final = "kl"
_BOOLEANS: Final = "cd"
_TOKEN: Final = re.compile(r"(?:swapped|inverse)\(\w\)|[-\w]+|\S")


class Term:
    """A part of a rule; `type` names the type of a result or a letter, "" where it follows from the rest.

    `operation` is the operation of an application.
    """

    def __init__(
        self, kind: int, name: str, type: str = "", flags: tuple[str, ...] = (), arguments: tuple[Term, ...] = ()
    ) -> None:
        self.kind: int = kind
        self.name: str = name
        self.operation: OperationDeclaration | None = _BY_NAME.get(name)
        self.type: str = type
        self.flags: tuple[str, ...] = flags
        self.arguments: tuple[Term, ...] = arguments

    @property
    def text(self) -> str:
        if self.kind < APPLICATION:
            return self.name
        type = f":{self.type}" if self.type else ""
        flags = f"[{','.join(self.flags)}]" if self.flags else ""
        return f"{self.name}{type}{flags}({', '.join([argument.text for argument in self.arguments])})"


class Rule:
    """A parsed rule; `kinds` are the operations of the pattern and its operands, None where any matches."""

    def __init__(self, name: str, left: Term, right: Term) -> None:
        self.name: str = name
        self.left: Term = left
        self.right: Term = right
        self.kinds: list[OperationDeclaration | None] = [_kind_of(term) for term in (left, *left.arguments)]


def _kind_of(term: Term) -> OperationDeclaration | None:
    if term.kind == APPLICATION:
        return term.operation
    return None if term.kind == VARIABLE else CONSTANT


class RuleTable:
    """Finds the rules for an operation and the operations of its operands; results are cached."""

    def __init__(self, table: tuple[tuple[str, str, str], ...]) -> None:
        self._rules: list[Rule] = read_rules(table)
        self._candidates: dict[tuple[OperationDeclaration | None, ...], list[Rule]] = {}

    def candidates(self, kinds: tuple[OperationDeclaration | None, ...]) -> list[Rule]:
        """Return the rules that might match a node and operands of these kinds, in their order."""
        found = self._candidates.get(kinds)
        if found is None:
            found = self._candidates[kinds] = [
                rule
                for rule in self._rules
                if all(own is None or own is kind for own, kind in zip(rule.kinds, kinds, strict=False))
            ]
        return found


def read_rules(table: tuple[tuple[str, str, str], ...]) -> list[Rule]:
    """Parse a table; each rule comes in every order of the operands of its commutative operations."""
    rules: list[Rule] = []
    for name, left, right in table:
        variants = {variant.text: variant for variant in _variants(read_term(left))}
        rules += [Rule(name, variant, read_term(right)) for variant in variants.values()]
    return rules


def _variants(term: Term) -> list[Term]:
    """Return a term with the operands of its commutative operations in each order."""
    if term.kind != APPLICATION:
        return [term]
    lists: list[tuple[Term, ...]] = [()]
    for argument in term.arguments:
        lists = [(*prefix, variant) for prefix in lists for variant in _variants(argument)]
    if term.operation in COMMUTATIVE or (term.operation is CMPI and term.flags[0] in ("equal", "not_equal")):
        lists += [(second, first) for first, second in lists]
    return [Term(APPLICATION, term.name, term.type, term.flags, arguments) for arguments in lists]


def read_term(text: str) -> Term:
    tokens = _TOKEN.findall(text)
    tokens.reverse()
    term = _read_term(tokens)
    if tokens:
        raise ValueError(f"the rule '{text}' goes on after its end")
    return term


def _read_term(tokens: list[str]) -> Term:
    if _take(tokens, "{"):
        inner = _read_term(tokens)
        _expect(tokens, "}")
        return Term(COMPUTED, inner.name, inner.type, inner.flags, inner.arguments)
    name = tokens.pop()
    if name in _LITERALS:
        return Term(LITERAL, name)
    if name not in _BY_NAME:
        return Term(ANY_CONSTANT if name in _CONSTANTS else VARIABLE, name, "B" if name in _BOOLEANS else "T")
    type = tokens.pop() if _take(tokens, ":") else ""
    flags: list[str] = []
    if _take(tokens, "["):
        flags.append(tokens.pop())
        while _take(tokens, ","):
            flags.append(tokens.pop())
        _expect(tokens, "]")
    _expect(tokens, "(")
    arguments = [_read_term(tokens)]
    while _take(tokens, ","):
        arguments.append(_read_term(tokens))
    _expect(tokens, ")")
    return Term(APPLICATION, name, type, tuple(flags), tuple(arguments))


def _take(tokens: list[str], mark: str) -> bool:
    if tokens and tokens[-1] == mark:
        tokens.pop()
        return True
    return False


def _expect(tokens: list[str], mark: str) -> None:
    if not _take(tokens, mark):
        raise ValueError(f"expected '{mark}' in a rule, before '{''.join(reversed(tokens))}'")


# --- arithmetic on constants ---


def literal(name: str, width: int) -> int:
    """Return the bit pattern of a literal of a rule."""
    if name == "max":
        return (1 << (width - 1)) - 1
    if name == "min":
        return 1 << (width - 1)
    return int(name) & ((1 << width) - 1)


_COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less_than": operator.lt,
    "less_than_or_equal": operator.le,
    "greater_than": operator.gt,
    "greater_than_or_equal": operator.ge,
}
_BINARY: Final[dict[OperationDeclaration, Callable[[int, int], int]]] = {
    ADDI: operator.add,
    SUBI: operator.sub,
    MULI: operator.mul,
    ANDI: operator.and_,
    ORI: operator.or_,
    XORI: operator.xor,
    MINI: min,
    MAXI: max,
}


def evaluate(
    operation: OperationDeclaration, flags: tuple[str, ...], widths: tuple[int, int], operands: tuple[int, ...]
) -> int | None:
    """Return the bits that an operation computes; None where they are undefined (a shift by the width or more).

    `widths` are those of the last operand and of the result.  A result that breaks a promise about wrapping may be
    anything, so it is the wrapped one.
    """
    width, result_width = widths
    mask = (1 << result_width) - 1
    if operation is SELECT:
        return operands[1] if operands[0] & 1 else operands[2]
    first = operands[0]
    if operation is NEGI:
        return -first & mask
    if operation is TRUNCI:
        return first & mask
    signed = bool(flags) and flags[-1] == "signed"
    left = _signed(width, first) if signed else first
    if operation is EXTI:
        return left & mask
    second = operands[1]
    if operation is SHLI or operation is SHRI:
        if second >= width:
            return None
        return (first << second if operation is SHLI else left >> second) & mask
    right = _signed(width, second) if signed else second
    if operation is CMPI:
        return int(_COMPARISONS[flags[0]](left, right))
    return _BINARY[operation](left, right) & mask


def _signed(width: int, bits: int) -> int:
    return bits - (1 << width) if bits >> (width - 1) & 1 else bits


def integer_width(type: TileType) -> int:
    """Return the width of the elements, 0 if they are not integers that arithmetic takes."""
    element = type.element
    return element.width if isinstance(element, IntegerType) and element.width in (1, 8, 16, 32, 64) else 0


def splat(type: TileType, number: str) -> DenseAttribute:
    """Return a constant whose elements are all a literal of a rule."""
    bits = literal(number, integer_width(type))
    return dense_attribute(type, type.shape, type.element, bits.to_bytes(element_bytes(type.element), "little"))


def is_splat(value: DenseAttribute | None, number: str) -> bool:
    """Whether a node is a constant whose elements are all a literal of a rule."""
    if value is None or not value.is_splat or not isinstance(value.element_type, IntegerType):
        return False
    return value.bits(0) == literal(number, value.element_type.width)


def evaluate_tiles(
    operation: OperationDeclaration, flags: tuple[str, ...], operands: list[DenseAttribute], type: TileType
) -> DenseAttribute | None:
    """Compute an operation on constants, element by element; None if it is undefined or takes too long."""
    element = operands[-1].element_type
    if type.count > _MAX_ELEMENTS and not all(operand.is_splat for operand in operands):
        return None
    if not isinstance(element, IntegerType):
        return None
    widths = (element.width, integer_width(type))
    return elementwise(type, operands, lambda bits: evaluate(operation, flags, widths, bits))
