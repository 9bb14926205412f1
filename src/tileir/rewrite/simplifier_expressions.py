"""The expressions of a program and what they simplify to: the private form of the simplifier (`simplifier.py`)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.ops import ANDI, CMPI, CONSTANT, EXTI, ORI, SELECT, TRUNCI, XORI
from tileir.dialect.types import TileType
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute
from tileir.ir.enums import EnumAttribute
from tileir.ir.types import I1
from tileir.ir.values import Value
from tileir.rewrite.driver import Statistics
from tileir.rewrite.simplifier_language import (
    ANY_CONSTANT,
    COMMUTATIVE,
    COMPUTED,
    LITERAL,
    OPERATORS,
    VARIABLE,
    Rule,
    Term,
    read_rules,
)
from tileir.rewrite.simplifier_rules import COMPLEMENTS, INVERSE, RULES, SWAPPED
from tileir.rewrite.simplifier_values import evaluate_tiles, integer_width, literal, splat, splat_bits

# The modes.
VALUE: Final = 0
COMPLEMENT: Final = 1

MAXIMUM_DEPTH: Final = 32
# So many operands of a chain of `andi` or `ori` are compared with each other.
_LONGEST_CHAIN: Final = 16
# Constants that are no splats are computed element by element up to this size.
_MOST_ELEMENTS: Final = 4096

_CONVERSIONS: Final = (EXTI, TRUNCI)
_CHAINS: Final = (ANDI, ORI)


class Node:
    """An expression.  `kind` is the operation, CONSTANT for a constant and None for a leaf.

    `value` is what computes it in the program, None until it is written there.
    """

    __slots__ = ("constant", "flags", "kind", "number", "operands", "type", "value")

    def __init__(
        self,
        kind: OperationDeclaration | None,
        number: int,
        type: TileType,
        operands: tuple[Node, ...] = (),
        flags: tuple[str, ...] = (),
        constant: DenseAttribute | None = None,
        value: Value | None = None,
    ) -> None:
        self.kind: OperationDeclaration | None = kind
        self.number: int = number
        self.type: TileType = type
        self.operands: tuple[Node, ...] = operands
        self.flags: tuple[str, ...] = flags
        self.constant: DenseAttribute | None = constant
        self.value: Value | None = value


class _Bindings:
    """What the letters of a rule stand for."""

    __slots__ = ("flags", "nodes", "types")

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.flags: dict[str, str] = {}
        self.types: dict[str, TileType] = {}


class Table:
    """Rules by the operation they are for and what its operands must be; each question is answered once."""

    __slots__ = ("_fitting", "_rules")

    def __init__(self, rules: list[Rule]) -> None:
        self._rules: list[Rule] = rules
        self._fitting: dict[tuple[OperationDeclaration | None, ...], list[Rule]] = {}

    def fitting(self, node: Node) -> list[Rule]:
        """The rules that might fit a node, in their order."""
        operands = node.operands
        if len(operands) == 2:
            key: tuple[OperationDeclaration | None, ...] = (node.kind, operands[0].kind, operands[1].kind)
        else:
            key = (node.kind, *[operand.kind for operand in operands])
        found = self._fitting.get(key)
        if found is None:
            found = self._fitting[key] = [rule for rule in self._rules if _is_fitting(rule, key)]
        return found


def _is_fitting(rule: Rule, kinds: tuple[OperationDeclaration | None, ...]) -> bool:
    if rule.left.operation is not kinds[0]:
        return False
    for head, kind in zip(rule.heads, kinds[1:], strict=True):
        if head is not None and head is not kind:
            return False
    return True


class Tables:
    """The rules, read once."""

    __slots__ = ("complements", "rules")

    def __init__(self) -> None:
        self.rules: Table = Table(read_rules(RULES))
        self.complements: Table = Table(read_rules(COMPLEMENTS))


_tables: Final[list[Tables]] = []


def tables() -> Tables:
    if not _tables:
        _tables.append(Tables())
    return _tables[0]


class Expressions:
    """The nodes of a program and what they simplify to."""

    __slots__ = ("_numbers", "_of_value", "_remembered", "_tables", "depth_limit", "statistics")

    def __init__(self, statistics: Statistics, depth_limit: int = MAXIMUM_DEPTH) -> None:
        self.statistics: Statistics = statistics
        self.depth_limit: int = depth_limit
        self._tables: Tables = tables()
        self._of_value: dict[Value, Node] = {}
        self._numbers: dict[object, int] = {}
        self._remembered: dict[tuple[Node, int], Node | None] = {}

    # --- nodes ---

    def _number(self, key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def node_of(self, value: Value, type: TileType) -> Node:
        """The node of a value; a leaf unless `note` was called for the operation that makes it."""
        node = self._of_value.get(value)
        if node is None:
            definition = value.defining_operation
            elements = definition.attributes.get("value") if definition is not None else None
            if definition is not None and definition.declaration is CONSTANT and integer_width(type):
                if isinstance(elements, DenseAttribute) and len(definition.attributes) == 1:
                    node = Node(CONSTANT, self._number(elements), type, constant=elements, value=value)
            if node is None:
                node = Node(None, self._number(value), type, value=value)
            self._of_value[value] = node
        return node

    def note(self, operation: Operation) -> Node | None:
        """The node of an operation the simplifier knows; None for any other one."""
        declaration = operation.declaration
        names = OPERATORS.get(declaration)
        if names is None:
            return None
        result = operation.results[0]
        type = result.type
        if not isinstance(type, TileType) or not integer_width(type):
            return None
        operands: list[Node] = []
        for value in operation.operands:
            shape = value.type
            if not isinstance(shape, TileType) or not integer_width(shape):
                return None
            operands.append(self.node_of(value, shape))
        flags: list[str] = []
        for name in names:
            keyword = operation.attribute(name)
            if not isinstance(keyword, EnumAttribute):
                return None
            flags.append(keyword.keyword)
        if len(operation.attributes) > len(names):
            # An attribute nobody here knows would be lost.
            return None
        node = self.make(declaration, tuple(operands), tuple(flags), type)
        node.value = result
        self._of_value[result] = node
        return node

    def make(
        self, kind: OperationDeclaration | None, operands: tuple[Node, ...], flags: tuple[str, ...], type: TileType
    ) -> Node:
        number = self._number((kind, flags, type, tuple([operand.number for operand in operands])))
        return Node(kind, number, type, operands, flags)

    def constant(self, elements: DenseAttribute, type: TileType) -> Node:
        return Node(CONSTANT, self._number(elements), type, constant=elements)

    def define(self, node: Node, value: Value) -> None:
        """Note that the program now computes a node as this value."""
        node.value = value
        self._of_value[value] = node

    def replaced(self, value: Value, node: Node) -> None:
        """Note that a value is no longer there and what took its place."""
        self._of_value[value] = node

    # --- simplifying ---

    def simplify(self, node: Node, mode: int = VALUE, depth: int = 0) -> Node | None:
        """The simplest form of a node, the node itself if there is none; None if its complement is not free."""
        if node.kind is None or depth > self.depth_limit:
            return node if mode == VALUE else None
        key = (node, mode)
        if key in self._remembered:
            return self._remembered[key]
        found = self._value(node, depth) if mode == VALUE else self._complement(node, depth)
        self._remembered[key] = found
        return found

    def _value(self, node: Node, depth: int) -> Node:
        if node.kind is CONSTANT:
            return node
        operands = [self._simplified(operand, depth + 1) for operand in node.operands]
        if any(new is not old for new, old in zip(operands, node.operands, strict=True)):
            node = self.make(node.kind, tuple(operands), node.flags, node.type)
        found = self._computed(node)
        if found is None:
            found = self._chained(node)
        if found is None and node.kind is XORI and self._literal_of(node.operands[1]) == "-1":
            found = self.simplify(node.operands[0], COMPLEMENT, depth + 1)
        if found is None:
            found = self._ordered(node)
        if found is None:
            found = self._by_rule(node, self._tables.rules)
        return node if found is None else self._simplified(found, depth + 1)

    def _simplified(self, node: Node, depth: int) -> Node:
        found = self.simplify(node, VALUE, depth)
        return node if found is None else found

    def _complement(self, node: Node, depth: int) -> Node | None:
        if node.constant is not None:
            ones = splat(node.type, literal("-1", integer_width(node.type)))
            inverse = evaluate_tiles(XORI, (), [node.constant, ones], node.type)
            return None if inverse is None else self.constant(inverse, node.type)
        found = self._by_rule(node, self._tables.complements)
        return None if found is None else self._simplified(found, depth + 1)

    def _literal_of(self, node: Node) -> str:
        """`-1` for a constant with all bits set."""
        if node.constant is None:
            return ""
        ones = literal("-1", integer_width(node.type))
        return "-1" if splat_bits(node.constant) == ones else ""

    def _computed(self, node: Node) -> Node | None:
        """A constant, if all operands are."""
        elements: list[DenseAttribute] = []
        for operand in node.operands:
            if operand.constant is None:
                return None
            elements.append(operand.constant)
        if node.kind is None:
            return None
        return self._evaluated(node.kind, node.flags, elements, node.type, "constant-operands")

    def _evaluated(
        self,
        kind: OperationDeclaration,
        flags: tuple[str, ...],
        elements: list[DenseAttribute],
        type: TileType,
        name: str = "",
    ) -> Node | None:
        if type.count > _MOST_ELEMENTS and not all(element.is_splat for element in elements):
            return None
        result = evaluate_tiles(kind, flags, elements, type)
        if result is None:
            return None
        if name:
            self.statistics.count(name)
        return self.constant(result, type)

    def _ordered(self, node: Node) -> Node | None:
        """The constant operand of a commutative operation goes to the right."""
        if node.kind not in COMMUTATIVE:
            return None
        first, second = node.operands
        if first.constant is None or second.constant is not None:
            return None
        self.statistics.count("constant-to-the-right")
        return self.make(node.kind, (second, first), node.flags, node.type)

    # --- chains ---

    def _chained(self, node: Node) -> Node | None:
        """`andi` and `ori` of several: an operand that is there already adds nothing, one with its complement decides.

        The operands of a chain may come in any order and number, so only which ones there are matters.
        """
        kind = node.kind
        if kind is None or kind not in _CHAINS:
            return None
        first, second = node.operands
        if first.kind is not kind and second.kind is not kind:
            return None
        left = self._operands_of_chain(first, kind)
        right = self._operands_of_chain(second, kind)
        have = {operand.number for operand in left}
        adds = {operand.number for operand in right}
        if adds <= have or have <= adds:
            self.statistics.count(f"{kind.mnemonic}-chain-repeats")
            return first if adds <= have else second
        for operand in (*left, *right):
            if operand.kind is XORI and self._literal_of(operand.operands[1]) == "-1":
                if operand.operands[0].number in have or operand.operands[0].number in adds:
                    self.statistics.count(f"{kind.mnemonic}-chain-complement")
                    bits = literal("0" if node.kind is ANDI else "-1", integer_width(node.type))
                    return self.constant(splat(node.type, bits), node.type)
        return None

    def _operands_of_chain(self, node: Node, kind: OperationDeclaration) -> list[Node]:
        found: list[Node] = []
        pending = [node]
        while pending:
            one = pending.pop()
            if one.kind is kind and len(found) + len(pending) < _LONGEST_CHAIN:
                pending += reversed(one.operands)
            else:
                found.append(one)
        return found

    # --- rules ---

    def _by_rule(self, node: Node, rules: Table) -> Node | None:
        for rule in rules.fitting(node):
            bindings = _Bindings()
            if self._match(rule.left, node, bindings):
                found = self._build(rule.right, node.type, bindings)
                if found is not None and found.type is node.type and found.number != node.number:
                    self.statistics.count(rule.name)
                    return found
        return None

    def _match(self, term: Term, node: Node, bindings: _Bindings) -> bool:
        if term.kind == LITERAL:
            if node.constant is None:
                return False
            return splat_bits(node.constant) == literal(term.name, integer_width(node.type))
        if term.kind == VARIABLE or term.kind == ANY_CONSTANT:
            if term.kind == ANY_CONSTANT and node.constant is None:
                return False
            known = bindings.nodes.get(term.name)
            if known is not None:
                return known.number == node.number
            if not self._match_type(term.type, node.type, bindings):
                return False
            bindings.nodes[term.name] = node
            return True
        if node.kind is not term.operation or not self._match_type(term.type, node.type, bindings):
            return False
        for wanted, flag in zip(term.flags, node.flags, strict=False):
            if len(wanted) > 1:
                if wanted != flag:
                    return False
            elif bindings.flags.setdefault(wanted, flag) != flag:
                return False
        for argument, operand in zip(term.arguments, node.operands, strict=True):
            if not self._match(argument, operand, bindings):
                return False
        return True

    def _match_type(self, letter: str, type: TileType, bindings: _Bindings) -> bool:
        if not letter:
            return True
        if letter == "B":
            return type.element is I1
        return bindings.types.setdefault(letter, type) is type

    def _build(self, term: Term, type: TileType, bindings: _Bindings) -> Node | None:
        """The right side of a rule; `type` is the one a literal gets."""
        if term.kind == LITERAL:
            return self.constant(splat(type, literal(term.name, integer_width(type))), type)
        if term.kind < LITERAL:
            return bindings.nodes[term.name]
        applied = term.operation
        if applied is None:
            return None
        operands: list[Node] = []
        expected = type
        for argument in term.arguments:
            # The first operand that is no literal tells the type of the others, but for the condition of a choice.
            operand = self._build(argument, expected, bindings)
            if operand is None:
                return None
            if not (applied is SELECT and not operands):
                expected = operand.type
            operands.append(operand)
        flags = tuple([_flag(flag, bindings) for flag in term.flags])
        if not flags and OPERATORS[applied] == ("overflow",):
            flags = ("none",)
        result = expected
        if applied is CMPI:
            result = type
        elif applied in _CONVERSIONS:
            result = bindings.types[term.type]
        if term.kind == COMPUTED:
            elements = [operand.constant for operand in operands if operand.constant is not None]
            return self._evaluated(applied, flags, elements, result)
        return self.make(applied, tuple(operands), flags, result)


def _flag(text: str, bindings: _Bindings) -> str:
    if text.startswith("swapped("):
        return SWAPPED[bindings.flags[text[8:-1]]]
    if text.startswith("inverse("):
        return INVERSE[bindings.flags[text[8:-1]]]
    return bindings.flags[text] if len(text) == 1 else text
