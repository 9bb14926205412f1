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

A rule removes more than it creates, and new operations stand where the old one stood.  Operations with a region, a
token, a float or an effect are never changed, and no operation moves.  The result depends only on the order of the
program and of the rules.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.dialect.enums import COMPARISON_PREDICATE, OVERFLOW, SIGNEDNESS
from tileir.dialect.ops import CONSTANT
from tileir.dialect.types import TileType
from tileir.ir.attributes import Attribute, EnumAttribute
from tileir.ir.core import NO_ATTRIBUTES, Block, Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.location import UNKNOWN, Location, joined_location
from tileir.ir.values import Value
from tileir.rewrite.cleanup import ConstantBlocks, remove_dead
from tileir.rewrite.driver import Statistics, Step
from tileir.rewrite.simplifier_expressions import MAX_DEPTH, Expressions, Node
from tileir.rewrite.simplifier_rules import OPERATORS

_KEYWORDS: Final[dict[str, dict[str, EnumAttribute]]] = {
    "overflow": OVERFLOW.cases,
    "signedness": SIGNEDNESS.cases,
    "comparison_predicate": COMPARISON_PREDICATE.cases,
}


class _Writer:
    """Writes simplified expressions back into the program."""

    __slots__ = ("_blocks", "_constants", "_expressions", "_keep_locations", "_written")

    def __init__(self, expressions: Expressions, keep_locations: bool) -> None:
        self._expressions: Expressions = expressions
        self._keep_locations: bool = keep_locations
        self._written: set[Node] = set()
        # By block, the constants that it begins with.
        self._constants: dict[Block, dict[DenseAttribute, Value]] = {}
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
            self._expressions.define(node, self._write(node, before))
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
        if value is None:
            return False
        if node not in self._written:
            return True
        written_in = value.parent_block
        block = before.parent
        if node.constant is not None and block is not None:
            return self._blocks.block_for(block) is written_in
        while block is not None:
            if block is written_in:
                return True
            parent = block.parent_operation
            block = parent.parent if parent is not None else None
        return False

    def _write(self, node: Node, before: Operation) -> Value:
        block = before.parent
        if block is None:
            raise ValueError("the operation is in no block")
        if node.constant is not None:
            return self._constant(node.constant, node.type, block, before.location if self._keep_locations else UNKNOWN)
        attributes: dict[str, Attribute] = {}
        declaration = node.kind
        if declaration is None:
            raise ValueError("the value of a leaf is there")
        for name, keyword in zip(OPERATORS[declaration], node.flags, strict=True):
            attribute = _KEYWORDS[name][keyword]
            if declaration.defaults.get(name) is not attribute:
                attributes[name] = attribute
        operands = [operand.value for operand in node.operands if operand.value is not None]
        operation = Operation(
            declaration,
            operands,
            [node.type],
            attributes if attributes else NO_ATTRIBUTES,
            location=before.location,
        )
        block.insert_before(operation, before)
        return operation.results[0]

    def _constant(self, elements: DenseAttribute, type: TileType, block: Block, location: Location) -> Value:
        """Return an equal constant at the start of the function, or a new one there."""
        block = self._blocks.block_for(block)
        known = self._constants.get(block)
        if known is None:
            known = self._constants[block] = _leading_constants(block)
        found = known.get(elements)
        if found is None:
            constant = Operation(CONSTANT, [], [type], {"value": elements}, location=location)
            block.insert_before(constant, block.first)
            found = known[elements] = constant.results[0]
        return found


def _leading_constants(block: Block) -> dict[DenseAttribute, Value]:
    """Return the constants that a block begins with."""
    found: dict[DenseAttribute, Value] = {}
    cursor = block.first
    while cursor is not None and cursor.declaration is CONSTANT:
        elements = cursor.attributes.get("value")
        if isinstance(elements, DenseAttribute) and len(cursor.attributes) == 1:
            found.setdefault(elements, cursor.results[0])
        cursor = cursor.next
    return found


def simplify_expressions(
    root: Operation,
    statistics: Statistics | None = None,
    trace: Callable[[str], None] | None = None,
    depth_limit: int = MAX_DEPTH,
    keep_locations: bool = False,
) -> int:
    """Simplify all expressions inside `root` once; return the number of operations replaced.

    With `keep_locations`, an operation that replaces another one gets its location too.
    """
    expressions = Expressions(statistics if statistics is not None else Statistics(), depth_limit)
    writer = _Writer(expressions, keep_locations)
    replaced = 0
    for operation in list(root.walk()):
        node = expressions.note(operation)
        if node is None or operation.is_unused:
            continue
        found = expressions.simplify(node)
        if found is None or found is node:
            continue
        step = Step(operation) if trace is not None else None
        result = operation.results[0]
        value = writer.value_of(found, operation)
        heir = value.defining_operation
        if keep_locations and heir is not None:
            heir.location = joined_location(heir.location, operation.location)
        result.replace_all_uses_with(value)
        expressions.replaced(result, found)
        operation.erase()
        replaced += 1
        if trace is not None and step is not None:
            trace(step.text("simplify"))
    if replaced:
        remove_dead(root)
    return replaced
