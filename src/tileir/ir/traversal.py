"""Visit, copy and compare operations with everything in them; the memory effects of operations.

Nothing here recurses, because programs may nest deeper than Python's stack.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Block, Module, Operation, Region, as_module
from tileir.ir.location import Location, resolved
from tileir.ir.traits import NO_MEMORY_EFFECT, PURE, REGION_EFFECTS, TOKEN_ORDERED
from tileir.ir.values import Value

# How deep regions are read from text and from bytecode.  Every level of a text is indented further than the one around
# it, so what is printed grows with the square of the depth; NVIDIA's tools take 5,000 levels and crash on 6,000.
DEEPEST_REGION: Final = 6000


def post_order(root: Operation) -> list[Operation]:
    """All operations inside `root`, each after what it contains, and `root` itself last."""
    found: list[Operation] = []
    # An operation is opened (its contents are put on the stack), and listed when it is met again.
    stack: list[tuple[Operation, bool]] = [(root, False)]
    while stack:
        operation, opened = stack.pop()
        if opened or not operation.regions:
            found.append(operation)
            continue
        stack.append((operation, True))
        for region in reversed(operation.regions):
            for block in reversed(region.blocks):
                cursor = block.last
                while cursor is not None:
                    stack.append((cursor, False))
                    cursor = cursor.previous
    return found


def pre_order(root: Operation) -> list[Operation]:
    """`root` and all operations inside it, each before what it contains."""
    found: list[Operation] = []
    stack: list[Operation] = [root]
    while stack:
        operation: Operation | None = stack.pop()
        # Up to the next operation with regions; the rest of its block comes after what they contain.
        while operation is not None:
            found.append(operation)
            following = operation.next if operation is not root else None
            if operation.regions:
                if following is not None:
                    stack.append(following)
                for region in reversed(operation.regions):
                    for block in reversed(region.blocks):
                        if block.first is not None:
                            stack.append(block.first)
                break
            operation = following
    return found


def ancestors(operation: Operation) -> list[Operation]:
    """The operations that an operation is in, from the inside out."""
    found: list[Operation] = []
    parent = operation.parent_operation
    while parent is not None:
        found.append(parent)
        parent = parent.parent_operation
    return found


def is_function(operation: Operation) -> bool:
    """Whether an operation is a kernel or another function."""
    return "function_type" in operation.declaration.inherent


def functions(root: Operation) -> list[Operation]:
    """The functions in `root` (`root` itself if it is one), in program order."""
    if is_function(root):
        return [root]
    found: list[Operation] = []
    stack: list[Operation] = [root]
    while stack:
        operation = stack.pop()
        if is_function(operation):
            found.append(operation)
            continue
        for region in reversed(operation.regions):
            for block in reversed(region.blocks):
                cursor = block.last
                while cursor is not None:
                    if cursor.regions:
                        stack.append(cursor)
                    cursor = cursor.previous
    return found


def is_pure(operation: Operation) -> bool:
    """No memory effect, and executing it where the program would not is harmless."""
    return bool(operation.declaration.traits & PURE)


def is_memory_effect_free(operation: Operation) -> bool:
    """Neither it nor anything inside it reads, writes or allocates; an undeclared operation might."""
    traits = operation.declaration.traits
    if traits & (PURE | NO_MEMORY_EFFECT):
        return True
    if not traits & REGION_EFFECTS:
        return False
    # An explicit list, because programs may nest deeply: operations that are what they contain.
    pending: list[Operation] = [operation]
    while pending:
        for region in pending.pop().regions:
            for block in region.blocks:
                cursor = block.first
                while cursor is not None:
                    traits = cursor.declaration.traits
                    if not traits & (PURE | NO_MEMORY_EFFECT):
                        if not traits & REGION_EFFECTS:
                            return False
                        pending.append(cursor)
                    cursor = cursor.next
    return True


def memory_changes(root: Operation) -> set[Operation]:
    """The operations within `root` after which memory may have other contents than before them.

    It, or something inside it, writes; or is ordered by tokens without being an access, such as a fence, after which
    the writes of others are visible; or is an undeclared operation.
    """
    found: set[Operation] = set()
    for operation in root.walk():
        declaration = operation.declaration
        if (
            declaration.writes is not None
            or declaration.unregistered
            or (declaration.traits & TOKEN_ORDERED and declaration.reads is None)
        ):
            cursor: Operation | None = operation
            while cursor is not None and cursor not in found:
                found.add(cursor)
                cursor = cursor.parent_operation if cursor is not root else None
    return found


def clone(operation: Operation, mapping: dict[Value, Value] | None = None) -> Operation:
    """A deep copy, in no block, with the same locations.

    An operand found in `mapping` is replaced by what it maps to, one defined inside the operation by its copy, and any
    other is shared.  The results and block arguments of the operation and of all inside it are added to `mapping`.
    """
    values: dict[Value, Value] = {} if mapping is None else mapping
    blocks: dict[Block, Block] = {}
    pairs: list[tuple[Operation, Operation]] = []
    copy = _copy_without_operands(operation, values, blocks, pairs)
    # `pairs` grows while it is read: an explicit worklist, because programs may nest deeper than Python's stack.
    # Operands come last, because a use may come before its definition.
    index = 0
    while index < len(pairs):
        source, target = pairs[index]
        for old, new in zip(source.regions, target.regions, strict=True):
            _copy_blocks(old, new, values, blocks, pairs)
        index += 1
    for source, target in pairs:
        operands: list[Value] = [values.get(value, value) for value in source.operands]
        target.set_operands(operands, source.segments)
        if source.successors is not None:
            target.successors = [blocks.get(block, block) for block in source.successors]
    return as_module(copy) if isinstance(operation, Module) else copy


def _copy_without_operands(
    source: Operation, values: dict[Value, Value], blocks: dict[Block, Block], pairs: list[tuple[Operation, Operation]]
) -> Operation:
    target = Operation(
        source.declaration,
        [],
        [result.type for result in source.results],
        dict(source.attributes) if source.attributes else NO_ATTRIBUTES,
        [Region() for _ in source.regions] if source.regions else NO_REGIONS,
        source.location,
    )
    for old, new in zip(source.results, target.results, strict=True):
        values[old] = new
    pairs.append((source, target))
    return target


def _copy_blocks(
    source: Region,
    target: Region,
    values: dict[Value, Value],
    blocks: dict[Block, Block],
    pairs: list[tuple[Operation, Operation]],
) -> None:
    for block in source.blocks:
        new_block = Block()
        blocks[block] = new_block
        target.append(new_block)
        for argument in block.arguments:
            values[argument] = new_block.add_argument(argument.type, argument.location)
        for operation in block:
            new_block.append(_copy_without_operands(operation, values, blocks, pairs))


def structural_key(operation: Operation) -> tuple[object, ...]:
    """The declaration, attributes, operand group lengths and types.

    Operations that differ only in operands, regions and locations have equal keys.
    """
    operands, results, attributes = operation.operands, operation.results, operation.attributes
    if len(results) == 1 and operation.segments is None:
        # Most operations, in one step; those with an attribute and no operands are constants.
        if attributes:
            if not operands and len(attributes) == 1:
                for name, value in attributes.items():
                    return (operation.declaration, name, value, results[0].type)
        elif len(operands) == 2:
            return (operation.declaration, operands[0].type, operands[1].type, results[0].type)
        elif len(operands) == 1:
            return (operation.declaration, operands[0].type, results[0].type)
    key: list[object] = [operation.declaration, operation.segments, len(operands)]
    for name, value in attributes.items():
        key.append(name)
        key.append(value)
    for operand in operands:
        key.append(operand.type)
    for result in results:
        key.append(result.type)
    return tuple(key)


def structurally_equal(left: Operation, right: Operation, *, locations: bool = False) -> bool:
    """Whether two operations agree in everything but the identity of what they contain.

    Names, attributes, types, regions and blocks must be the same and operands must correspond; values from outside
    must be the very same ones.  With `locations` the operations' locations must agree too (those of block arguments
    are not compared: most custom syntax does not show them).
    """
    values: dict[Value, Value] = {}
    blocks: dict[Block, Block] = {}
    # An explicit worklist, because programs may nest deeper than Python's stack.  Operands are compared at the end,
    # when every definition is paired: a use may come before its definition.
    pairs: list[tuple[Operation, Operation]] = [(left, right)]
    index = 0
    while index < len(pairs):
        one, other = pairs[index]
        index += 1
        if not _same_head(one, other, locations):
            return False
        for mine, theirs in zip(one.results, other.results, strict=True):
            values[mine] = theirs
        for inner, counterpart in zip(one.regions, other.regions, strict=True):
            if not _pair_blocks(inner, counterpart, values, blocks, pairs):
                return False
    for one, other in pairs:
        for used, expected in zip(one.operands, other.operands, strict=True):
            if values.get(used, used) is not expected:
                return False
        for target, other_target in zip(one.successors or [], other.successors or [], strict=True):
            if blocks.get(target, target) is not other_target:
                return False
    return True


def _same_head(one: Operation, other: Operation, locations: bool) -> bool:
    """Everything about two operations except which operands they take and what is inside."""
    return (
        one.declaration is other.declaration
        and one.attributes == other.attributes
        and len(one.operands) == len(other.operands)
        and one.segment_lengths() == other.segment_lengths()
        and [result.type for result in one.results] == [result.type for result in other.results]
        and len(one.regions) == len(other.regions)
        and len(one.successors or []) == len(other.successors or [])
        and (not locations or same_location(one.location, other.location))
    )


def same_location(one: Location, other: Location) -> bool:
    """Locations are interned, except positions in a text, which are compared by file, line and column."""
    return one is other or resolved(one) is resolved(other)


def _pair_blocks(
    one: Region,
    other: Region,
    values: dict[Value, Value],
    blocks: dict[Block, Block],
    pairs: list[tuple[Operation, Operation]],
) -> bool:
    """Pair the blocks, arguments and operations of two regions; return whether they match."""
    if len(one.blocks) != len(other.blocks):
        return False
    for block, counterpart in zip(one.blocks, other.blocks, strict=True):
        if [a.type for a in block.arguments] != [a.type for a in counterpart.arguments]:
            return False
        blocks[block] = counterpart
        for argument, theirs in zip(block.arguments, counterpart.arguments, strict=True):
            values[argument] = theirs
        mine = block.first
        yours = counterpart.first
        while mine is not None and yours is not None:
            pairs.append((mine, yours))
            mine = mine.next
            yours = yours.next
        if mine is not None or yours is not None:
            return False
    return True
