"""Reads the rules of simplifier_rules.py.

term ::= letter | literal | `{` term `}` | name (`:` type)? (`[` keyword (`,` keyword)* `]`)? `(` terms `)`
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.ops import (
    ABSI,
    ADDI,
    ANDI,
    BITCAST,
    BREV,
    CLZ,
    CMPF,
    CMPI,
    CONSTANT,
    CTZ,
    DIVI,
    EXTI,
    FTOI,
    INT_TO_PTR,
    MAXI,
    MINI,
    MULHII,
    MULI,
    NEGI,
    NOTI,
    OFFSET,
    ORI,
    POPCNT,
    PTR_TO_INT,
    PTR_TO_PTR,
    REMI,
    SELECT,
    SHLI,
    SHRI,
    SUBI,
    TRUNCI,
    XORI,
)
from tileir.ir.declaration import OperationDeclaration

# The attributes of the operations the simplifier knows, in the order of the keywords in brackets.
OPERATORS: Final[dict[OperationDeclaration, tuple[str, ...]]] = {
    ADDI: ("overflow",),
    SUBI: ("overflow",),
    MULI: ("overflow",),
    NEGI: ("overflow",),
    SHLI: ("overflow",),
    SHRI: ("signedness",),
    ANDI: (),
    ORI: (),
    XORI: (),
    MINI: ("signedness",),
    MAXI: ("signedness",),
    CMPI: ("comparison_predicate", "signedness"),
    SELECT: (),
    EXTI: ("signedness",),
    TRUNCI: ("overflow",),
}
COMMUTATIVE: Final[frozenset[OperationDeclaration]] = frozenset([ADDI, MULI, ANDI, ORI, XORI, MINI, MAXI])

_LEGALIZED: Final = "legalization writes it with others"
_NO_RULE: Final = "no rule has it"
_NO_INTEGER: Final = "it is for pointers, or reads bits as another type"

# The other element-wise operations that give integers: they are leaves.
LEAVES: Final[dict[OperationDeclaration, str]] = {
    ABSI: _NO_RULE,
    BITCAST: _NO_INTEGER,
    BREV: _LEGALIZED,
    CLZ: _LEGALIZED,
    CMPF: "it compares floats",
    CTZ: _LEGALIZED,
    DIVI: _NO_RULE,
    FTOI: "it takes floats",
    INT_TO_PTR: _NO_INTEGER,
    MULHII: _NO_RULE,
    NOTI: _LEGALIZED,
    OFFSET: _NO_INTEGER,
    POPCNT: _LEGALIZED,
    PTR_TO_INT: _NO_INTEGER,
    PTR_TO_PTR: _NO_INTEGER,
    REMI: _NO_RULE,
}
_BY_NAME: Final[dict[str, OperationDeclaration]] = {operator.mnemonic: operator for operator in OPERATORS}

# Kinds of terms.
VARIABLE: Final = 0  # any expression
ANY_CONSTANT: Final = 1
LITERAL: Final = 2  # one number: 0, 1, -1, min, max
APPLICATION: Final = 3
COMPUTED: Final = 4  # an application to constants, made a constant itself

_LITERALS: Final = ("0", "1", "-1", "min", "max")
_CONSTANTS: Final = "kl"
_BOOLEANS: Final = "cd"


class Term:
    """A part of a rule; `type` names the type of a result or a letter, "" where it follows from the rest.

    `operation` is what an application or something computed applies.
    """

    __slots__ = ("arguments", "flags", "kind", "name", "operation", "type")

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
    """A rule that was read; `heads` tells what each operand must be, None where anything will do."""

    __slots__ = ("heads", "left", "name", "right")

    def __init__(self, name: str, left: Term, right: Term) -> None:
        self.name: str = name
        self.left: Term = left
        self.right: Term = right
        self.heads: tuple[OperationDeclaration | None, ...] = tuple([_head(argument) for argument in left.arguments])


def _head(term: Term) -> OperationDeclaration | None:
    if term.kind == APPLICATION:
        return term.operation
    return None if term.kind == VARIABLE else CONSTANT


def read_rules(table: tuple[tuple[str, str, str], ...]) -> list[Rule]:
    """The rules of a table, each in every order its commutative operations may be written in."""
    rules: list[Rule] = []
    for name, left, right in table:
        seen: list[str] = []
        for variant in _variants(read_term(left)):
            if variant.text not in seen:
                seen.append(variant.text)
                rules.append(Rule(name, variant, read_term(right)))
    return rules


def _variants(term: Term) -> list[Term]:
    """A term with the operands of its commutative operations in each order."""
    if term.kind != APPLICATION:
        return [term]
    lists: list[tuple[Term, ...]] = [()]
    for argument in term.arguments:
        lists = [(*prefix, variant) for prefix in lists for variant in _variants(argument)]
    if term.operation in COMMUTATIVE or (term.operation is CMPI and term.flags[0] in ("equal", "not_equal")):
        lists += [(second, first) for first, second in lists]
    return [Term(APPLICATION, term.name, term.type, term.flags, arguments) for arguments in lists]


def read_term(text: str) -> Term:
    reader = _Reader(text)
    term = reader.term()
    if reader.rest():
        raise ValueError(f"the rule '{text}' goes on after its end")
    return term


class _Reader:
    __slots__ = ("position", "text")

    def __init__(self, text: str) -> None:
        self.text: str = text.replace(" ", "")
        self.position: int = 0

    def rest(self) -> str:
        return self.text[self.position :]

    def take(self, mark: str) -> bool:
        if self.text.startswith(mark, self.position):
            self.position += len(mark)
            return True
        return False

    def word(self) -> str:
        start = self.position
        while self.position < len(self.text) and self.text[self.position] not in ":[](){},":
            self.position += 1
        return self.text[start : self.position]

    def term(self) -> Term:
        if self.take("{"):
            inner = self.term()
            self.expect("}")
            return Term(COMPUTED, inner.name, inner.type, inner.flags, inner.arguments)
        name = self.word()
        if name in _LITERALS:
            return Term(LITERAL, name)
        if name not in _BY_NAME:
            return Term(ANY_CONSTANT if name in _CONSTANTS else VARIABLE, name, "B" if name in _BOOLEANS else "T")
        type = self.word() if self.take(":") else ""
        flags: list[str] = []
        if self.take("["):
            flags.append(self.flag())
            while self.take(","):
                flags.append(self.flag())
            self.expect("]")
        self.expect("(")
        arguments = [self.term()]
        while self.take(","):
            arguments.append(self.term())
        self.expect(")")
        return Term(APPLICATION, name, type, tuple(flags), tuple(arguments))

    def flag(self) -> str:
        """A keyword, a letter, or a letter in `swapped(..)` or `inverse(..)`."""
        word = self.word()
        if self.take("("):
            word += f"({self.word()})"
            self.expect(")")
        return word

    def expect(self, mark: str) -> None:
        if not self.take(mark):
            raise ValueError(f"expected '{mark}' in the rule '{self.text}' at '{self.rest()}'")
