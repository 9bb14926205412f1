"""The expression simplifier of the folds draft: deeper cleanup of integers, masks, comparisons and selects.

Every value that an integer operation computes becomes a node: an operation with its keywords and operands, a constant,
or a leaf, which is everything else.  Nodes that compute the same have the same number.  Operations are visited in
program order, so operands are simplified before their users.

* `Expressions.simplify(node, mode, depth)` simplifies a node: first its operands, then constants are computed, then the
  rules of simplifier_rules.py are tried in their order, until none matches; chains of `andi` and of `ori` are
  simplified as a whole;
* mode VALUE returns the value, mode COMPLEMENT its inverted bits, where that costs no operation;
* results are cached by node and mode;
* every step increases the depth, and beyond the limit an expression stays as it is.

A rule removes more than it creates, and new operations are inserted in front of the old one.  Operations with a
region, a token, a float or an effect are never changed, and no operation moves (but see `takes_branches`).  The result
depends only on the order of the program and of the rules.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.dialect.enums import enum_kind_of
from tileir.dialect.ops import ANDI, CMPI, CONSTANT, EXTI, IF, ORI, SELECT, TRUNCI, XORI
from tileir.dialect.types import TileType
from tileir.ir.attributes import Attribute
from tileir.ir.core import NO_ATTRIBUTES, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute
from tileir.ir.location import UNKNOWN, joined_location
from tileir.ir.traversal import pre_order
from tileir.ir.types import I1
from tileir.ir.values import Value
from tileir.rewrite import simplifier_rules as rules
from tileir.rewrite.cleanup import ConstantBlocks, remove_dead
from tileir.rewrite.driver import Statistics, Step
from tileir.rewrite.if_patterns import REMOVE_STATIC_CONDITION, remove_static_condition
from tileir.rewrite.matching import constant_bool, constant_value, is_inside
from tileir.rewrite.rewriter import Rewriter
from tileir.rewrite.simplifier_rules import OPERATORS, RuleTable, Term, evaluate_tiles, integer_width, is_splat, splat

# The modes.
VALUE: Final = 0
COMPLEMENT: Final = 1

_MAX_DEPTH: Final = 32
# This many operands of a chain of `andi` or `ori` are compared with each other.
_MAX_CHAIN: Final = 16


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

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.flags: dict[str, str] = {}
        self.types: dict[str, TileType] = {}


# The tables for VALUE and COMPLEMENT, parsed on first use.
_tables: Final[list[RuleTable]] = []


class Expressions:
    """The nodes of a program and their simplified forms."""

    def __init__(self, statistics: Statistics) -> None:
        self.statistics: Statistics = statistics
        if not _tables:
            _tables.extend([RuleTable(rules.RULES), RuleTable(rules.COMPLEMENTS)])
        self.nodes: dict[Value, Node] = {}
        self._numbers: dict[object, int] = {}
        self._simplified_nodes: dict[tuple[Node, int], Node | None] = {}

    def _number(self, key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def node_of(self, value: Value, type: TileType) -> Node:
        """Return the node of a value; a leaf unless `note` was called for its operation."""
        node = self.nodes.get(value)
        if node is None:
            elements = constant_value(value)
            definition = value.defining_operation
            if elements is not None and definition is not None and len(definition.attributes) == 1:
                node = Node(CONSTANT, self._number(elements), type, constant=elements, value=value)
            else:
                node = Node(None, self._number(value), type, value=value)
            self.nodes[value] = node
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
        flags = tuple([operation.keyword(name) for name in names])
        if "" in flags or len(operation.attributes) > len(names):
            # An unknown attribute would be lost.
            return None
        node = self.make(declaration, tuple(operands), flags, type)
        node.value = result
        self.nodes[result] = node
        return node

    def make(
        self, kind: OperationDeclaration | None, operands: tuple[Node, ...], flags: tuple[str, ...], type: TileType
    ) -> Node:
        number = self._number((kind, flags, type, tuple([operand.number for operand in operands])))
        return Node(kind, number, type, operands, flags)

    def _constant(self, elements: DenseAttribute, type: TileType) -> Node:
        return Node(CONSTANT, self._number(elements), type, constant=elements)

    def _splat(self, number: str, type: TileType) -> Node:
        return self._constant(splat(type, number), type)

    def simplify(self, node: Node, mode: int = VALUE, depth: int = 0) -> Node | None:
        """Return the simplest form of a node, or the node; None if its complement costs an operation."""
        if node.kind is None or depth > _MAX_DEPTH:
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
        found = self._computed(node) or self._chained(node)
        if found is None and node.kind is XORI and is_splat(node.operands[1].constant, "-1"):
            found = self.simplify(node.operands[0], COMPLEMENT, depth + 1)
        found = found or self._ordered(node) or self._by_rule(node, _tables[VALUE])
        return node if found is None else self._simplified(found, depth + 1)

    def _simplified(self, node: Node, depth: int) -> Node:
        found = self.simplify(node, VALUE, depth)
        return node if found is None else found

    def _complement(self, node: Node, depth: int) -> Node | None:
        if node.constant is not None:
            return self._evaluated(XORI, (), (node, self._splat("-1", node.type)), node.type)
        found = self._by_rule(node, _tables[COMPLEMENT])
        return None if found is None else self._simplified(found, depth + 1)

    def _computed(self, node: Node) -> Node | None:
        """Return a constant, if all operands are constants."""
        if node.kind is None or any(operand.constant is None for operand in node.operands):
            return None
        found = self._evaluated(node.kind, node.flags, node.operands, node.type)
        if found is not None:
            self.statistics.count("constant-operands")
        return found

    def _evaluated(
        self, kind: OperationDeclaration, flags: tuple[str, ...], operands: tuple[Node, ...], type: TileType
    ) -> Node | None:
        elements = [operand.constant for operand in operands if operand.constant is not None]
        result = evaluate_tiles(kind, flags, elements, type)
        return None if result is None else self._constant(result, type)

    def _ordered(self, node: Node) -> Node | None:
        """Move the constant operand of a commutative operation to the right."""
        if node.kind not in rules.COMMUTATIVE:
            return None
        first, second = node.operands
        if first.constant is None or second.constant is not None:
            return None
        self.statistics.count("constant-to-the-right")
        return self.make(node.kind, (second, first), node.flags, node.type)

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
            if operand.kind is XORI and is_splat(operand.operands[1].constant, "-1"):
                if operand.operands[0].number in have | adds:
                    self.statistics.count(f"{kind.mnemonic}-chain-complement")
                    return self._splat("0" if kind is ANDI else "-1", node.type)
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

    def _by_rule(self, node: Node, table: RuleTable) -> Node | None:
        for rule in table.candidates((node.kind, *[operand.kind for operand in node.operands])):
            bindings = _Bindings()
            if self._match(rule.left, node, bindings):
                found = self._build(rule.right, node.type, bindings)
                if found is not None and found.type is node.type and found.number != node.number:
                    self.statistics.count(rule.name)
                    return found
        return None

    def _match(self, term: Term, node: Node, bindings: _Bindings) -> bool:
        if term.kind == rules.LITERAL:
            return is_splat(node.constant, term.name)
        if term.kind < rules.LITERAL:
            if term.kind == rules.ANY_CONSTANT and node.constant is None:
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
            if flag != (expected if len(expected) > 1 else bindings.flags.setdefault(expected, flag)):
                return False
        pairs = zip(term.arguments, node.operands, strict=True)
        return all(self._match(argument, operand, bindings) for argument, operand in pairs)

    def _match_type(self, letter: str, type: TileType, bindings: _Bindings) -> bool:
        if not letter:
            return True
        if letter == "B":
            return type.element is I1
        return bindings.types.setdefault(letter, type) is type

    def _build(self, term: Term, type: TileType, bindings: _Bindings) -> Node | None:
        """Build the right side of a rule; `type` is that of a literal."""
        if term.kind == rules.LITERAL:
            return self._splat(term.name, type)
        if term.kind < rules.LITERAL:
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
        if term.kind == rules.COMPUTED:
            return self._evaluated(applied, flags, tuple(operands), result)
        return self.make(applied, tuple(operands), flags, result)


def _flag(text: str, bindings: _Bindings) -> str:
    if text.startswith("swapped("):
        return rules.SWAPPED[bindings.flags[text[8:-1]]]
    if text.startswith("inverse("):
        return rules.INVERSE[bindings.flags[text[8:-1]]]
    return bindings.flags[text] if len(text) == 1 else text


class _Writer:
    """Writes simplified expressions back into the program."""

    def __init__(self, expressions: Expressions, keep_locations: bool) -> None:
        self._expressions: Expressions = expressions
        self._keep_locations: bool = keep_locations
        self._written: set[Node] = set()
        self._blocks: ConstantBlocks = ConstantBlocks()

    def value_of(self, root: Node, before: Operation) -> Value:
        """Return the value of a node; operations that compute it are inserted in front of an operation if needed."""
        pending = [root]
        while pending:
            node = pending[-1]
            if self._is_available(node, before):
                pending.pop()
                continue
            missing = [operand for operand in node.operands if not self._is_available(operand, before)]
            if missing:
                pending += reversed(missing)
                continue
            pending.pop()
            node.value = self._write(node, before)
            self._expressions.nodes[node.value] = node
            self._written.add(node)
        if root.value is None:
            raise ValueError("the expression was not written")
        return root.value

    def _is_available(self, node: Node, before: Operation) -> bool:
        """Whether the value of a node may be used in front of an operation.

        Only users of a value of the program request it.  A value that was written for another operation is available
        in its block and inside.
        """
        value = node.value
        if value is None or node not in self._written:
            return value is not None
        block = before.parent
        if node.constant is not None and block is not None:
            return self._blocks.block_for(block) is value.parent_block
        return value.parent_block is not None and is_inside(before, value.parent_block)

    def _write(self, node: Node, before: Operation) -> Value:
        block = before.parent
        if block is None:
            raise ValueError("the operation is in no block")
        if node.constant is not None:
            location = before.location if self._keep_locations else UNKNOWN
            return self._blocks.constant(node.constant, node.type, block, location)
        declaration = node.kind
        if declaration is None:
            raise ValueError("the value of a leaf is there")
        attributes: dict[str, Attribute] = {}
        for declared, keyword in zip(declaration.attributes, node.flags, strict=True):
            kind = enum_kind_of(declared)
            if kind is not None and kind[keyword] is not declared.default:
                attributes[declared.name] = kind[keyword]
        operands = [operand.value for operand in node.operands if operand.value is not None]
        operation = Operation(declaration, operands, [node.type], attributes or NO_ATTRIBUTES, location=before.location)
        block.insert_before(operation, before)
        return operation.results[0]


def simplify_expressions(
    root: Operation,
    statistics: Statistics | None = None,
    trace: Callable[[str], None] | None = None,
    keep_locations: bool = False,
    takes_branches: bool = False,
) -> int:
    """Simplify all expressions inside `root` once; return the number of operations replaced.

    With `takes_branches`, an `if` whose condition has become a constant is replaced by a branch on the way: what
    follows may be simpler for it, and if it were left to the rules for `if`, each in a chain would take another round.
    With `keep_locations`, an operation that replaces another one gets its location too.
    """
    if statistics is None:
        statistics = Statistics()
    expressions = Expressions(statistics)
    writer = _Writer(expressions, keep_locations)
    rewriter = Rewriter(keep_locations=keep_locations)
    replaced = 0
    for operation in pre_order(root):
        if takes_branches and operation.declaration is IF:
            # One in a branch that is gone has no operands.
            if operation.operands and constant_bool(operation.operands[0]) is not None:
                step = Step(operation) if trace is not None else None
                if remove_static_condition(operation, rewriter):
                    replaced += 1
                    statistics.count(REMOVE_STATIC_CONDITION)
                    if trace is not None and step is not None:
                        trace(step.text(REMOVE_STATIC_CONDITION))
            continue
        # Nor has any other operation there users.
        node = None if operation.is_unused else expressions.note(operation)
        if node is None:
            continue
        found = expressions.simplify(node)
        if found is None or found is node:
            continue
        step = Step(operation) if trace is not None else None
        result = operation.results[0]
        value = writer.value_of(found, operation)
        definition = value.defining_operation
        if keep_locations and definition is not None:
            definition.location = joined_location(definition.location, operation.location)
        result.replace_all_uses_with(value)
        expressions.nodes[result] = found
        operation.erase()
        replaced += 1
        if trace is not None and step is not None:
            trace(step.text("simplify"))
    if replaced:
        remove_dead(root)
    return replaced
