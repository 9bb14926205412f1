"""What folds and patterns ask about values, and the small operations they make."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.ops import BREAK, BROADCAST, CONSTANT, CONTINUE, IF, RESHAPE, RETURN, SELECT, XORI, YIELD
from tileir.dialect.types import TileType, scalar_tile, tile_type, with_element
from tileir.ir.core import Block, Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute, dense_attribute
from tileir.ir.types import F4E2M1FN, I1, IntegerType
from tileir.ir.values import Value
from tileir.rewrite.rewriter import Rewriter

_LEAVES: Final = (RETURN, CONTINUE, BREAK)
_SCALAR_I1: Final = scalar_tile(I1)


def defined_by(value: Value, declaration: OperationDeclaration) -> Operation | None:
    """The operation that makes a value, if it is one of that kind."""
    definition = value.defining_operation
    return definition if definition is not None and definition.declaration is declaration else None


def constant_value(value: Value) -> DenseAttribute | None:
    """The elements of a value made by a `constant`."""
    definition = value.defining_operation
    if definition is None or definition.declaration is not CONSTANT:
        return None
    elements = definition.attributes.get("value")
    return elements if isinstance(elements, DenseAttribute) else None


def _constant_integer(value: Value) -> int | None:
    """The bits of an integer constant whose elements are all equal."""
    elements = constant_value(value)
    if elements is None or not elements.is_splat or not isinstance(elements.element_type, IntegerType):
        return None
    return elements.bits(0)


def constant_bool(value: Value) -> bool | None:
    """The one truth value all elements of an i1 constant have."""
    elements = constant_value(value)
    if elements is None or elements.element_type is not I1 or not elements.is_splat:
        return None
    return elements.bits(0) & 1 == 1


def is_true(value: Value) -> bool:
    return constant_bool(value) is True


def is_false(value: Value) -> bool:
    return constant_bool(value) is False


def is_one(value: Value) -> bool:
    """Whether every element is the integer 1 (an i1 that is true included)."""
    return _constant_integer(value) == 1


def is_zero(value: Value) -> bool:
    return _constant_integer(value) == 0


def negated(value: Value) -> Value | None:
    """What a value is the negation of: `xori c, true` gives c.  The constant stands on the right."""
    definition = defined_by(value, XORI)
    return definition.operands[0] if definition is not None and is_true(definition.operands[1]) else None


# --- branches ---


def branch(operation: Operation, index: int) -> Block | None:
    """The first (0) or second (1) branch of an `if`; None if it has no second one."""
    regions = operation.regions
    return regions[index].blocks[0] if index < len(regions) and regions[index].blocks else None


def terminator(block: Block | None) -> Operation | None:
    return block.last if block is not None else None


def yields(block: Block | None) -> Operation | None:
    """The `yield` at the end of a branch, None if it ends otherwise or is not there."""
    last = terminator(block)
    return last if last is not None and last.declaration is YIELD else None


def leaves(block: Block | None) -> bool:
    """Whether a branch ends in `return`, `continue` or `break`: it leaves more than its `if`."""
    last = terminator(block)
    return last is not None and last.declaration in _LEAVES


def only_ends(block: Block | None) -> bool:
    """Whether a block holds nothing but its terminator."""
    return block is not None and block.first is not None and block.first is block.last


def is_defined_in(value: Value, region: Region) -> bool:
    """Whether a value is defined directly in a region."""
    block = value.parent_block
    return block is not None and block.parent is region


# --- making operations ---


def new_if(rewriter: Rewriter, like: Operation, results: list[Value], condition: Value) -> Operation:
    """An `if` without blocks yet, with results of the types of these values, in place of another one."""
    return rewriter.create(
        IF, [condition], [value.type for value in results], like.attributes, [Region(), Region()], like.location
    )


def take_blocks(target: Region, source: Region) -> None:
    """Move the blocks of a region to the end of another one."""
    for block in source.blocks:
        target.append(block)
    source.blocks = []


def can_select(value: Value) -> bool:
    """Whether `select` can choose between values of this type: a tile, and not of elements smaller than a byte."""
    return isinstance(value.type, TileType) and value.type.element is not F4E2M1FN


def select_for(rewriter: Rewriter, condition: Value, chosen: Value, otherwise: Value) -> Value:
    """`select` with a scalar condition, which is stretched to the shape of the values."""
    type = chosen.type
    if not isinstance(type, TileType):
        raise ValueError(f"no select of '{type.text}'")
    if type.shape:
        ones = tile_type((1,) * len(type.shape), I1)
        condition = rewriter.create(RESHAPE, [condition], [ones]).results[0]
        condition = rewriter.create(BROADCAST, [condition], [with_element(type, I1)]).results[0]
    return rewriter.create(SELECT, [condition, chosen, otherwise], [type]).results[0]


def true_constant(type: TileType) -> DenseAttribute:
    """The i1 constant of a tile type whose elements are all true."""
    return dense_attribute(type, type.shape, I1, b"\x01")


def negation(rewriter: Rewriter, value: Value) -> Value:
    """`xori value, true`."""
    type = value.type
    if not isinstance(type, TileType):
        raise ValueError(f"no negation of '{type.text}'")
    truth = rewriter.constant(true_constant(type))
    return rewriter.create(XORI, [value, truth], [type]).results[0]


def is_scalar_condition(value: Value) -> bool:
    return value.type is _SCALAR_I1
