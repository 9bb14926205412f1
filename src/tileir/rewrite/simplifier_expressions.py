"""The expressions of a program and their simplified forms (the model is in `simplifier.py`)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.ops import ANDI, CMPI, CONSTANT, EXTI, ORI, SELECT, TRUNCI, XORI
from tileir.dialect.types import TileType
from tileir.ir.attributes import EnumAttribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes
from tileir.ir.types import I1, IntegerType
from tileir.ir.values import Value
from tileir.rewrite.driver import Statistics
from tileir.rewrite.matching import constant_value
from tileir.rewrite.simplifier_rules import (
    ANY_CONSTANT,
    COMMUTATIVE,
    COMPLEMENTS,
    COMPUTED,
    INVERSE,
    LITERAL,
    OPERATORS,
    RULES,
    SWAPPED,
    VARIABLE,
    Rule,
    Term,
    evaluate,
    literal,
    read_rules,
)

# The modes.
VALUE: Final = 0
COMPLEMENT: Final = 1

MAX_DEPTH: Final = 32
# This many operands of a chain of `andi` or `ori` are compared with each other.
_MAX_CHAIN: Final = 16
# Constants that are not splats are computed up to this number of elements.
_MAX_ELEMENTS: Final = 4096


class Node:
    """An expression.  `kind` is the operation, CONSTANT for a constant and None for a leaf.

    `value` is its value in the program, None until it is written there.
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
    """The nodes, keywords and types that the letters of a rule matched."""

    __slots__ = ("flags", "nodes", "types")

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.flags: dict[str, str] = {}
        self.types: dict[str, TileType] = {}


# --- constant tiles ---


def integer_width(type: TileType) -> int:
    """Return the width of the elements, 0 if they are not integers that arithmetic takes."""
    element = type.element
    return element.width if isinstance(element, IntegerType) and element.width in (1, 8, 16, 32, 64) else 0


def splat(type: TileType, number: str) -> DenseAttribute:
    """Return a constant whose elements are all a literal of a rule."""
    bits = literal(number, integer_width(type))
    return dense_attribute(type, type.shape, type.element, bits.to_bytes(element_bytes(type.element), "little"))


def is_splat(node: Node, number: str) -> bool:
    """Whether a node is a constant whose elements are all a literal of a rule."""
    value = node.constant
    if value is None or not value.is_splat:
        return False
    bits = value.bits(0) & 1 if value.element_type is I1 else value.bits(0)
    return bits == literal(number, integer_width(node.type))


def evaluate_tiles(
    operation: OperationDeclaration, flags: tuple[str, ...], operands: list[DenseAttribute], type: TileType
) -> DenseAttribute | None:
    """Compute an operation on constants, element by element; None if it is undefined or takes too long."""
    is_uniform = all(operand.is_splat for operand in operands)
    if type.count > _MAX_ELEMENTS and not is_uniform:
        return None
    widths: list[int] = []
    for operand in operands:
        element = operand.element_type
        if not isinstance(element, IntegerType):
            return None
        widths.append(element.width)
    size = element_bytes(type.element)
    parts: list[bytes] = []
    for index in range(1 if is_uniform else type.count):
        bits = tuple([each.bits(index) & ((1 << width) - 1) for each, width in zip(operands, widths, strict=True)])
        result = evaluate(operation, flags, (widths[-1], integer_width(type)), bits)
        if result is None:
            return None
        parts.append(result.to_bytes(size, "little"))
    return dense_attribute(type, type.shape, type.element, b"".join(parts))


# --- rules by what they match ---


class _RuleTable:
    """Finds the rules for an operation and the operations of its operands; results are cached."""

    __slots__ = ("_candidates", "_rules")

    def __init__(self, rules: list[Rule]) -> None:
        self._rules: list[Rule] = rules
        self._candidates: dict[tuple[OperationDeclaration | None, ...], list[Rule]] = {}

    def candidates(self, node: Node) -> list[Rule]:
        """Return the rules that might match a node, in their order."""
        operands = node.operands
        if len(operands) == 2:
            key: tuple[OperationDeclaration | None, ...] = (node.kind, operands[0].kind, operands[1].kind)
        else:
            key = (node.kind, *[operand.kind for operand in operands])
        found = self._candidates.get(key)
        if found is None:
            found = self._candidates[key] = [rule for rule in self._rules if _is_candidate(rule, key)]
        return found


def _is_candidate(rule: Rule, kinds: tuple[OperationDeclaration | None, ...]) -> bool:
    if rule.left.operation is not kinds[0]:
        return False
    return all(head is None or head is kind for head, kind in zip(rule.heads, kinds[1:], strict=True))


# The tables for VALUE and COMPLEMENT, parsed on first use.
_tables: Final[list[_RuleTable]] = []


class Expressions:
    """The nodes of a program and their simplified forms."""

    __slots__ = ("_numbers", "_of_value", "_simplified_nodes", "depth_limit", "statistics")

    def __init__(self, statistics: Statistics, depth_limit: int = MAX_DEPTH) -> None:
        self.statistics: Statistics = statistics
        self.depth_limit: int = depth_limit
        if not _tables:
            _tables.extend([_RuleTable(read_rules(RULES)), _RuleTable(read_rules(COMPLEMENTS))])
        self._of_value: dict[Value, Node] = {}
        self._numbers: dict[object, int] = {}
        self._simplified_nodes: dict[tuple[Node, int], Node | None] = {}

    # --- nodes ---

    def _number(self, key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def node_of(self, value: Value, type: TileType) -> Node:
        """Return the node of a value; a leaf unless `note` was called for its operation."""
        node = self._of_value.get(value)
        if node is None:
            elements = constant_value(value) if integer_width(type) else None
            definition = value.defining_operation
            if elements is not None and definition is not None and len(definition.attributes) == 1:
                node = Node(CONSTANT, self._number(elements), type, constant=elements, value=value)
            else:
                node = Node(None, self._number(value), type, value=value)
            self._of_value[value] = node
        return node

    def note(self, operation: Operation) -> Node | None:
        """Return the node of an operation that the simplifier knows; None for any other one."""
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
            # An unknown attribute would be lost.
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
        """Record that the program now computes a node as this value."""
        node.value = value
        self._of_value[value] = node

    def replaced(self, value: Value, node: Node) -> None:
        """Record the node that replaced a value of the program."""
        self._of_value[value] = node

    # --- simplifying ---

    def simplify(self, node: Node, mode: int = VALUE, depth: int = 0) -> Node | None:
        """Return the simplest form of a node, or the node; None if its complement costs an operation."""
        if node.kind is None or depth > self.depth_limit:
            return node if mode == VALUE else None
        key = (node, mode)
        if key in self._simplified_nodes:
            return self._simplified_nodes[key]
        found = self._value(node, depth) if mode == VALUE else self._complement(node, depth)
        self._simplified_nodes[key] = found
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
        if found is None and node.kind is XORI and is_splat(node.operands[1], "-1"):
            found = self.simplify(node.operands[0], COMPLEMENT, depth + 1)
        if found is None:
            found = self._ordered(node)
        if found is None:
            found = self._by_rule(node, _tables[VALUE])
        return node if found is None else self._simplified(found, depth + 1)

    def _simplified(self, node: Node, depth: int) -> Node:
        found = self.simplify(node, VALUE, depth)
        return node if found is None else found

    def _complement(self, node: Node, depth: int) -> Node | None:
        if node.constant is not None:
            return self._evaluated(XORI, (), [node.constant, splat(node.type, "-1")], node.type)
        found = self._by_rule(node, _tables[COMPLEMENT])
        return None if found is None else self._simplified(found, depth + 1)

    def _computed(self, node: Node) -> Node | None:
        """Return a constant, if all operands are constants."""
        elements = [operand.constant for operand in node.operands if operand.constant is not None]
        if node.kind is None or len(elements) < len(node.operands):
            return None
        found = self._evaluated(node.kind, node.flags, elements, node.type)
        if found is not None:
            self.statistics.count("constant-operands")
        return found

    def _evaluated(
        self, kind: OperationDeclaration, flags: tuple[str, ...], elements: list[DenseAttribute], type: TileType
    ) -> Node | None:
        result = evaluate_tiles(kind, flags, elements, type)
        return None if result is None else self.constant(result, type)

    def _ordered(self, node: Node) -> Node | None:
        """Move the constant operand of a commutative operation to the right."""
        if node.kind not in COMMUTATIVE:
            return None
        first, second = node.operands
        if first.constant is None or second.constant is not None:
            return None
        self.statistics.count("constant-to-the-right")
        return self.make(node.kind, (second, first), node.flags, node.type)

    # --- chains ---

    def _chained(self, node: Node) -> Node | None:
        """Simplify a chain of `andi` or `ori`: a repeated operand adds nothing, one with its complement decides.

        The set of operands of a chain matters, not their order and number.
        """
        kind = node.kind
        if kind is not ANDI and kind is not ORI:
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
            if operand.kind is XORI and is_splat(operand.operands[1], "-1"):
                if operand.operands[0].number in have or operand.operands[0].number in adds:
                    self.statistics.count(f"{kind.mnemonic}-chain-complement")
                    return self.constant(splat(node.type, "0" if kind is ANDI else "-1"), node.type)
        return None

    def _operands_of_chain(self, node: Node, kind: OperationDeclaration) -> list[Node]:
        found: list[Node] = []
        pending = [node]
        while pending:
            one = pending.pop()
            if one.kind is kind and len(found) + len(pending) < _MAX_CHAIN:
                pending += reversed(one.operands)
            else:
                found.append(one)
        return found

    # --- rules ---

    def _by_rule(self, node: Node, rules: _RuleTable) -> Node | None:
        for rule in rules.candidates(node):
            bindings = _Bindings()
            if self._match(rule.left, node, bindings):
                found = self._build(rule.right, node.type, bindings)
                if found is not None and found.type is node.type and found.number != node.number:
                    self.statistics.count(rule.name)
                    return found
        return None

    def _match(self, term: Term, node: Node, bindings: _Bindings) -> bool:
        if term.kind == LITERAL:
            return is_splat(node, term.name)
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
        for expected, flag in zip(term.flags, node.flags, strict=False):
            if len(expected) > 1:
                if expected != flag:
                    return False
            elif bindings.flags.setdefault(expected, flag) != flag:
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
        """Build the right side of a rule; `type` is that of a literal."""
        if term.kind == LITERAL:
            return self.constant(splat(type, term.name), type)
        if term.kind < LITERAL:
            return bindings.nodes[term.name]
        applied = term.operation
        if applied is None:
            return None
        operands: list[Node] = []
        expected = type
        for argument in term.arguments:
            # The first operand that is not a literal has the type of the others, except the condition of `select`.
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
        elif applied is EXTI or applied is TRUNCI:
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
