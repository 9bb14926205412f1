"""The expression simplifier of the folds draft: deeper clean-up of integers, masks, comparisons and choices.

The model.  Every value that an integer operation makes becomes a node of a private form: an operation with its keywords
and operands, a constant, or a leaf, which is everything else.  Nodes that compute the same have the same number.  The
operations are visited in program order, so operands are simplified before what uses them, and

* `simplify(node, mode, depth)` simplifies a node: operands first, then constants are computed, then the rules of
  simplifier_rules.py are tried in their order, until none fits; chains of `andi` and of `ori` are looked at as a whole;
* mode VALUE asks for the value, mode COMPLEMENT for all its bits inverted, where that costs nothing;
* answers are remembered by node and mode;
* every step goes one deeper, and past the limit an expression stays as it is.

A rule takes away more than it makes, and what it makes stands where the operation stood.  Nothing with a region, a
token, a float or an effect is ever touched, and no operation moves.  The order of the program and of the table decide
everything, so that equal programs give equal results.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.dialect.enums import COMPARISON_PREDICATE, OVERFLOW, SIGNEDNESS
from tileir.dialect.ops import CONSTANT
from tileir.dialect.types import TileType
from tileir.ir.attributes import Attribute
from tileir.ir.core import NO_ATTRIBUTES, Block, Operation
from tileir.ir.declaration import ISOLATED
from tileir.ir.dense import DenseAttribute
from tileir.ir.enums import EnumAttribute
from tileir.ir.location import UNKNOWN, Location, joined_location
from tileir.ir.values import Value
from tileir.rewrite.dead import DeadCode, remove_dead
from tileir.rewrite.driver import Statistics
from tileir.rewrite.simplifier_expressions import MAXIMUM_DEPTH, Expressions, Node
from tileir.rewrite.simplifier_language import (
    OPERATORS,
)
from tileir.rewrite.trace import Step

_KEYWORDS: Final[dict[str, dict[str, EnumAttribute]]] = {
    "overflow": OVERFLOW.cases,
    "signedness": SIGNEDNESS.cases,
    "comparison_predicate": COMPARISON_PREDICATE.cases,
}


class _Writer:
    """Writes simplified expressions back into the program."""

    __slots__ = ("_constants", "_expressions", "_homes", "_keep_locations", "_written")

    def __init__(self, expressions: Expressions, keep_locations: bool) -> None:
        self._expressions: Expressions = expressions
        self._keep_locations: bool = keep_locations
        self._written: set[Node] = set()
        # The constants at the start of each function, and the block they stand in.
        self._constants: dict[tuple[Block, DenseAttribute], Value] = {}
        self._homes: dict[Block, Block] = {}

    def value_of(self, root: Node, before: Operation) -> Value:
        """The value of a node, computed in front of an operation where nothing computes it yet."""
        pending = [root]
        while pending:
            node = pending[-1]
            if self._is_there(node, before):
                pending.pop()
                continue
            missing = [operand for operand in node.operands if not self._is_there(operand, before)]
            if missing:
                pending += reversed(missing)
                continue
            pending.pop()
            self._expressions.define(node, self._write(node, before))
            self._written.add(node)
        if root.value is None:
            raise ValueError("the expression was not written")
        return root.value

    def _is_there(self, node: Node, before: Operation) -> bool:
        """Whether the value of a node may be used at a place.

        What an operation of the program computes is asked for by its users only.  What was written for one place may
        be wanted at another one: there it can be used if that is in the same block or further inside.
        """
        value = node.value
        if value is None:
            return False
        if node not in self._written:
            return True
        home = value.parent_block
        block = before.parent
        if node.constant is not None and block is not None:
            return self._home(block) is home
        while block is not None:
            if block is home:
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
        """An equal constant at the start of the function, or a new one there."""
        home = self._home(block)
        found = self._constants.get((home, elements))
        if found is None:
            constant = Operation(CONSTANT, [], [type], {"value": elements}, location=location)
            home.insert_before(constant, home.first)
            found = self._constants[(home, elements)] = constant.results[0]
        return found

    def _home(self, block: Block) -> Block:
        """The block the constants of a block stand in; a deep nest is climbed once and not from every level."""
        way: list[Block] = []
        home = self._homes.get(block)
        while home is None:
            way.append(block)
            parent = block.parent_operation
            outer = parent.parent if parent is not None else None
            if parent is None or outer is None or parent.declaration.traits & ISOLATED:
                home = self._collect_constants(block)
            else:
                block = outer
                home = self._homes.get(block)
        for inner in way:
            self._homes[inner] = home
        return home

    def _collect_constants(self, block: Block) -> Block:
        """Note the constants a block begins with."""
        cursor = block.first
        while cursor is not None and cursor.declaration is CONSTANT:
            elements = cursor.attributes.get("value")
            if isinstance(elements, DenseAttribute) and len(cursor.attributes) == 1:
                self._constants.setdefault((block, elements), cursor.results[0])
            cursor = cursor.next
        return block


def simplify_expressions(
    root: Operation,
    statistics: Statistics | None = None,
    trace: Callable[[str], None] | None = None,
    depth_limit: int = MAXIMUM_DEPTH,
    keep_locations: bool = False,
) -> int:
    """Simplify all expressions inside `root` once; gives the number of operations replaced.

    With `keep_locations` what takes the place of an operation has the location of that one too.
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
        remove_dead(root, DeadCode())
    return replaced
