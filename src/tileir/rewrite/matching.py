"""Predicates for folds and patterns, and the small operations that they create."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tileir.dialect.ops import BREAK, BROADCAST, CONSTANT, CONTINUE, FOR, IF, LOOP, RESHAPE, SELECT, XORI, YIELD
from tileir.dialect.types import TileType, tile_type
from tileir.ir.core import Block, Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes
from tileir.ir.types import F4E2M1FN, I1, IntegerType
from tileir.ir.values import BlockArgument, Value
from tileir.rewrite.rewriter import Rewriter


def defined_by(value: Value, declaration: OperationDeclaration) -> Operation | None:
    """Return the operation that defines a value, if it is of that kind."""
    definition = value.defining_operation
    return definition if definition is not None and definition.declaration is declaration else None


def tile_of(value: Value) -> TileType:
    type = value.type
    if not isinstance(type, TileType):
        raise ValueError(f"'{type.text}' is not a tile type")
    return type


def constant_value(value: Value) -> DenseAttribute | None:
    """Return the elements of a value that a `constant` defines."""
    definition = defined_by(value, CONSTANT)
    elements = definition.attributes.get("value") if definition is not None else None
    return elements if isinstance(elements, DenseAttribute) else None


def constant_integer(value: Value) -> int | None:
    """Return the bits of an integer constant whose elements are all equal."""
    elements = constant_value(value)
    if elements is None or not elements.is_splat or not isinstance(elements.element_type, IntegerType):
        return None
    return elements.bits(0)


def constant_bool(value: Value) -> bool | None:
    """Return the value of all elements of an i1 constant, if they are equal."""
    elements = constant_value(value)
    if elements is None or elements.element_type is not I1 or not elements.is_splat:
        return None
    return elements.bits(0) == 1


def elementwise(
    type: TileType, operands: list[DenseAttribute], compute: Callable[[tuple[int, ...]], int | None]
) -> DenseAttribute | None:
    """Compute a constant from the bits of each element of the operands; None if `compute` returns None for one."""
    size = element_bytes(type.element)
    known: dict[tuple[int, ...], bytes] = {}
    parts: list[bytes] = []
    for index in range(1 if all(operand.is_splat for operand in operands) else type.count):
        bits = tuple([operand.bits(index) for operand in operands])
        found = known.get(bits)
        if found is None:
            result = compute(bits)
            if result is None:
                return None
            found = known[bits] = result.to_bytes(size, "little")
        parts.append(found)
    return dense_attribute(type, type.shape, type.element, b"".join(parts))


def negated(value: Value) -> Value | None:
    """Return c for `xori c, true`, with the constant on the right."""
    definition = defined_by(value, XORI)
    return definition.operands[0] if definition is not None and constant_bool(definition.operands[1]) else None


def branch(operation: Operation, index: int) -> Block | None:
    """Return the then (0) or else (1) branch of an `if`; None if there is none."""
    regions = operation.regions
    return regions[index].blocks[0] if index < len(regions) and regions[index].blocks else None


def yields(block: Block | None) -> Operation | None:
    """Return the `yield` at the end of a branch, if there is one."""
    last = block.last if block is not None else None
    return last if last is not None and last.declaration is YIELD else None


def leaves(block: Block | None) -> bool:
    """Whether a branch ends in `return`, `continue` or `break`: it leaves more than its `if`."""
    last = block.last if block is not None else None
    return last is not None and last.declaration.is_terminator and last.declaration is not YIELD


def if_yields(branching: Operation) -> list[Operation]:
    """The `yield`s of an `if`; a branch that leaves has none."""
    ends = [yields(branch(branching, 0)), yields(branch(branching, 1))]
    return [end for end in ends if end is not None]


def loop_ends(loop: Operation, terminator: OperationDeclaration) -> list[Operation]:
    """The `continue`s or `break`s of a loop: those in its body and in `if`s there."""
    found: list[Operation] = []
    pending: list[Block] = [loop.regions[0].block]
    while pending:
        for operation in pending.pop():
            if operation.declaration is terminator:
                found.append(operation)
            elif operation.declaration is IF:
                for region in operation.regions:
                    pending.extend(region.blocks)
    return found


def ends_of(operation: Operation, terminator: OperationDeclaration) -> list[Operation]:
    """The terminators of a kind that belong to an `if` or a loop."""
    return if_yields(operation) if terminator is YIELD else loop_ends(operation, terminator)


def carried_values(loop: Operation) -> list[BlockArgument]:
    """The values that a loop carries, as its body sees them: those of a `for` without the counter."""
    arguments = loop.regions[0].block.arguments
    return arguments[1:] if loop.declaration is FOR else arguments


def receiver(terminator: Operation) -> Operation | None:
    """The operation that receives the operands of a terminator: around a `yield`; the loop of `break` or `continue`."""
    owner = terminator.parent_operation
    while owner is not None and owner.declaration is IF and terminator.declaration is not YIELD:
        owner = owner.parent_operation
    return owner


def received_values(terminator: Operation) -> list[Value]:
    """The values that a terminator's operands may become."""
    owner = receiver(terminator)
    if owner is None:
        return []
    carried = carried_values(owner) if terminator.declaration is CONTINUE else []
    return [*owner.results, *carried]


def carried_sources(
    value: Value, ends: Callable[[Operation, OperationDeclaration], list[Operation]] = ends_of
) -> list[Value] | None:
    """The values that control flow passes on as this one; None if it is no result of an `if` or a loop, nor an argument
    of a loop's body.  `ends` is `ends_of`, or one that remembers its results."""
    is_argument = isinstance(value, BlockArgument)
    block = value.parent_block
    owner = block.parent_operation if is_argument and block is not None else value.defining_operation
    if owner is None:
        return None
    index, initial, terminator = value.index, owner.operands, CONTINUE
    if owner.declaration is FOR:
        initial = owner.operands[3:]
        if is_argument:
            # The counter comes first.
            if index == 0:
                return []
            index -= 1
    elif owner.declaration is LOOP:
        if not is_argument:
            initial, terminator = [], BREAK
    elif owner.declaration is IF and not is_argument:
        initial, terminator = [], YIELD
    else:
        return None
    found: list[Value] = initial[index : index + 1]
    for end in ends(owner, terminator):
        found += end.operands[index : index + 1]
    return found


def sources_of(value: Value, through: Callable[[Operation], bool], most: int = 256) -> Iterator[Value]:
    """The values that a value is computed from, by operations that `through` holds for; itself if there are too many
    to follow."""
    pending, seen = [value], {value}
    while pending:
        current = pending.pop()
        maker = current.defining_operation
        if maker is None or not through(maker):
            yield current
        elif len(seen) > most:
            yield value
            return
        else:
            found = [operand for operand in dict.fromkeys(maker.operands) if operand not in seen]
            pending += found
            seen.update(found)


def uses_of(value: Value, through: Callable[[Operation], bool], most: int = 256) -> Iterator[tuple[Operation, Value]]:
    """The operations that use a value or what is computed from it by operations that `through` holds for; each with
    the operand."""
    pending, seen = [value], {value}
    while pending and len(seen) < most:
        current = pending.pop()
        for user in current.users:
            yield user, current
            if through(user):
                found = [result for result in user.results if result not in seen]
                pending += found
                seen.update(found)


def only_ends(block: Block | None) -> bool:
    return block is not None and block.first is not None and block.first is block.last


def is_inside(operation: Operation | None, block: Block) -> bool:
    """Whether an operation is in a block, directly or nested."""
    while operation is not None and operation.parent is not block:
        operation = operation.parent_operation
    return operation is not None


def new_if(rewriter: Rewriter, like: Operation, results: list[Value], condition: Value) -> Operation:
    """Create an `if` without blocks, with the result types of these values and the attributes of another `if`."""
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


def reshape(rewriter: Rewriter, value: Value, shape: tuple[int, ...]) -> Value:
    """Create a `reshape` if the value has another shape."""
    type = tile_of(value)
    if type.shape == shape:
        return value
    return rewriter.create(RESHAPE, [value], [tile_type(shape, type.element)]).result


def broadcast(rewriter: Rewriter, value: Value, reshaped: tuple[int, ...], shape: tuple[int, ...]) -> Value:
    """Reshape a value, then broadcast it."""
    value = reshape(rewriter, value, reshaped)
    return rewriter.create(BROADCAST, [value], [tile_type(shape, tile_of(value).element)]).result


def select_for(rewriter: Rewriter, condition: Value, chosen: Value, otherwise: Value) -> Value:
    """Create a `select` with a scalar condition, which is broadcast to the shape of the values."""
    type = tile_of(chosen)
    if type.shape:
        condition = broadcast(rewriter, condition, (1,) * len(type.shape), type.shape)
    return rewriter.create(SELECT, [condition, chosen, otherwise], [type]).results[0]


def negation(rewriter: Rewriter, value: Value) -> Value:
    """Create `xori value, true`."""
    type = tile_of(value)
    truth = rewriter.constant(dense_attribute(type, type.shape, I1, b"\x01"))
    return rewriter.create(XORI, [value, truth], [type]).results[0]
