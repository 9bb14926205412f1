"""Checks a program: structure first, then each operation's declaration, then its own rule, then dominance.

The order within one operation is MLIR's, because the first broken rule is the one NVIDIA's tools report: counts,
attributes, operand types, result types, regions, declared type rules, the operation's own verifier, then (after the
operations inside) the rules about its regions.  One error is reported per operation; the others are still checked.
"""

from __future__ import annotations

from tileir.ir.core import Block, Operation, Region
from tileir.ir.declaration import (
    ONE,
    OPTIONAL,
    VARIADIC,
    OperandDeclaration,
    OperationDeclaration,
    VerifyContext,
    operation_name,
)
from tileir.ir.diagnostics import Code, Diagnostic, Invalid, note
from tileir.ir.quoting import several
from tileir.ir.symbols import verify_symbol_names
from tileir.ir.traits import GRAPH_REGION, ISOLATED, NO_TERMINATOR, SEGMENTS, SINGLE_BLOCK, TERMINATOR
from tileir.ir.traversal import structural_key
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.ir.versions import Version


def verify_operation(root: Operation, context: VerifyContext) -> None:
    """Verify an operation and all it contains; findings go to `context.diagnostics`."""
    uses = _verify_tree(root, context)
    # Dominance of a program with broken structure only repeats what was reported.
    if not context.errors:
        for operation, value in uses:
            _report_use(operation, value, context)


class _Open:
    """An operation whose regions are being verified.

    `blocks` are those still to come, each with the other blocks that dominate it.  `visible` has the values that
    operations of the current block may use.  `defined` has those of them that the block defines: they are dropped
    from `visible` at its end, where blocks outside or after it share the set (`shares`).
    """

    def __init__(self, operation: Operation, sound: bool, errors: int, visible: set[Value]) -> None:
        declaration = operation.declaration
        is_isolated = bool(declaration.traits & ISOLATED)
        self.operation: Operation = operation
        self.sound: bool = sound
        self.errors: int = errors
        self.visible: set[Value] = set() if is_isolated else visible
        self.unordered: bool = bool(declaration.traits & GRAPH_REGION) or declaration.unregistered
        self.blocks: list[tuple[Block, list[Block]]] = []
        for region in reversed(operation.regions):
            self.blocks.extend(reversed(_with_dominators(region.blocks)))
        self.shares: bool = not is_isolated or len(self.blocks) > 1
        self.defined: list[Value] = []
        self.block: Block | None = None
        self.next: Operation | None = None

    def enter_block(self) -> None:
        """Begin with the next block."""
        block, dominators = self.blocks.pop()
        self.block = block
        self.next = block.first
        self.defined = list(block.arguments)
        for other in dominators:
            self.defined.extend(other.arguments)
            for operation in other:
                self.defined.extend(operation.results)
        if self.unordered:
            for operation in block:
                self.defined.extend(operation.results)
        self.visible.update(self.defined)

    def leave_block(self) -> None:
        if self.shares:
            self.visible.difference_update(self.defined)
        self.block = None


def _verify_tree(root: Operation, context: VerifyContext) -> list[tuple[Operation, Value]]:
    """Verify each operation before what it contains; return the uses that no definition dominates.

    The stack is explicit, because programs may nest deeply.
    """
    uses: list[tuple[Operation, Value]] = []
    path: list[_Open] = [_Open(root, _verify_own_rules(root, structural_key(root), context), context.errors, set())]
    while path and not context.stopped:
        top = path[-1]
        block = top.block
        if block is not None:
            inner = _verify_row(top, context, uses)
            if inner is not None:
                top.next = inner.next
                is_sound = _verify_own_rules(inner, structural_key(inner), context)
                path.append(_Open(inner, is_sound, context.errors, top.visible))
                continue
            _verify_end(block, top.operation.declaration, context)
            top.leave_block()
        elif top.blocks:
            top.enter_block()
        else:
            path.pop()
            if path:
                # The results of an operation are visible after it, not inside it.
                path[-1].visible.update(top.operation.results)
                path[-1].defined.extend(top.operation.results)
            # The rules about a region's contents take for granted that the contents are sound.
            if top.operation.regions and top.sound and context.errors == top.errors:
                _verify_region_rules(top.operation, context)
    return uses


def _verify_row(top: _Open, context: VerifyContext, uses: list[tuple[Operation, Value]]) -> Operation | None:
    """Verify the operations of a block up to the next one with regions, and return that one."""
    operation = top.next
    visible, shares, verified = top.visible, top.shares, context.verified
    while operation is not None:
        for value in operation.operands:
            if value not in visible:
                uses.append((operation, value))
        if operation.regions:
            return operation
        for result in operation.results:
            # In an unordered block it is visible already.
            visible.add(result)
            if shares:
                top.defined.append(result)
        key = structural_key(operation)
        if key not in verified or operation.declaration.reads_program:
            _verify_own_rules(operation, key, context)
            if context.stopped:
                return None
        operation = operation.next
    return None


def _verify_own_rules(operation: Operation, key: tuple[object, ...], context: VerifyContext) -> bool:
    """Check an operation without its contents; return whether it is declared and sound."""
    declaration = operation.declaration
    if declaration.unregistered:
        return False
    is_known = key in context.verified
    findings = len(context.diagnostics)
    try:
        _verify_declaration(operation, declaration, is_known, context.version)
        if not is_known and declaration.verify_attributes is not None and operation.attributes:
            declaration.verify_attributes(operation, context)
        if declaration.verify is not None:
            declaration.verify(operation, context)
    except Invalid as failure:
        # What the operation contains is still checked: its errors are usually unrelated.
        _report(operation, failure, context)
        return False
    if len(context.diagnostics) == findings:
        context.verified.add(key)
    return True


def _verify_region_rules(operation: Operation, context: VerifyContext) -> None:
    declaration = operation.declaration
    try:
        if declaration.is_symbol_table:
            verify_symbol_names(operation)
        if declaration.verify_regions is not None:
            declaration.verify_regions(operation, context)
    except Invalid as failure:
        _report(operation, failure, context)


def _report(operation: Operation, failure: Invalid, context: VerifyContext) -> None:
    location = failure.location if failure.location is not None else operation.location
    prefix = "" if failure.bare else f"'{operation_name(operation, context.version)}' op "
    context.report("error", prefix + failure.message, location, failure.notes, operation, failure.code)


def _verify_end(block: Block, parent: OperationDeclaration, context: VerifyContext) -> None:
    """A block has a terminator, where it needs one."""
    if context.stopped or parent.traits & NO_TERMINATOR or parent.unregistered:
        return
    last = block.last
    if last is None:
        # For single-block operations `_verify_regions` reports this ("expects a non-empty block").
        if not parent.traits & SINGLE_BLOCK and block.parent_operation is not None:
            outer = block.parent_operation
            message = "empty block: expect at least a terminator"
            context.report("error", message, outer.location, None, outer, Code("missing-terminator"))
    elif not (last.declaration.traits & TERMINATOR or last.declaration.unregistered):
        message = f"block with no terminator, has {last.text(generic=True)}"
        context.report("error", message, last.location, None, last, Code("missing-terminator"))


# --- dominance ---


def _with_dominators(blocks: list[Block]) -> list[tuple[Block, list[Block]]]:
    """Each block with the other blocks of its region that dominate it.

    Only operations of other dialects have several blocks.
    """
    if len(blocks) <= 1:
        return [(block, []) for block in blocks]
    dominators = _dominators(blocks, {block: index for index, block in enumerate(blocks)})
    return [
        (block, [other for number, other in enumerate(blocks) if number != index and dominators[index] >> number & 1])
        for index, block in enumerate(blocks)
    ]


def _dominators(blocks: list[Block], number: dict[Block, int]) -> list[int]:
    """For each block the set of blocks that dominate it, as a bit set; an unreachable block sees everything."""
    everything = (1 << len(blocks)) - 1
    predecessors: list[list[int]] = [[] for _ in blocks]
    for index, block in enumerate(blocks):
        last = block.last
        if last is not None and last.successors is not None:
            for successor in last.successors:
                if successor in number:
                    predecessors[number[successor]].append(index)
    dominators = [1] + [everything] * (len(blocks) - 1)
    changed = True
    while changed:
        changed = False
        for index in range(1, len(blocks)):
            meet = everything
            for predecessor in predecessors[index]:
                meet &= dominators[predecessor]
            meet |= 1 << index
            if meet != dominators[index]:
                dominators[index] = meet
                changed = True
    return dominators


def _report_use(operation: Operation, value: Value, context: VerifyContext) -> None:
    index = operation.operands.index(value)
    definition = value.defining_operation
    notes: list[Diagnostic] = []
    if definition is not None:
        notes.append(note(f"operand defined here ({_relation(operation, definition)})", definition.location))
    context.report("error", f"operand #{index} does not dominate this use", operation.location, notes)


def _relation(use: Operation, definition: Operation) -> str:
    if use.parent is definition.parent:
        return "op in the same block"
    use_region = use.parent.parent if use.parent is not None else None
    definition_region = definition.parent.parent if definition.parent is not None else None
    if use_region is definition_region:
        return "op in the same region"
    if _contains(definition_region, use):
        return "op in a parent region"
    if _contains(use_region, definition):
        return "op in a child region"
    return "op is neither in a parent nor in a child region"


def _contains(region: Region | None, operation: Operation) -> bool:
    cursor: Operation | None = operation
    while cursor is not None and region is not None:
        if cursor.parent is not None and cursor.parent.parent is region:
            return True
        cursor = cursor.parent_operation
    return False


# --- the rules of a declaration ---


def _verify_declaration(
    operation: Operation, declaration: OperationDeclaration, is_known: bool, version: Version
) -> None:
    """Raise `Invalid` for the first rule of its declaration that an operation breaks.

    Of one that `is_known` the attributes and types are sound.
    """
    has_regions = declaration.regions or operation.regions
    if has_regions:
        _verify_region_count(operation, declaration)
    if not is_known:
        _verify_counts(operation, declaration)
    if declaration.is_terminator:
        parent = operation.parent
        if parent is not None and parent.last is not operation:
            raise Invalid("must be the last operation in the parent block")
    if not is_known:
        _verify_attributes(operation, declaration)
        _verify_types(operation, declaration, version)
    if has_regions:
        _verify_regions(operation, declaration)
    if not is_known:
        for rule in declaration.rules:
            if not rule.check(operation):
                raise Invalid(rule.message)


def _verify_region_count(operation: Operation, declaration: OperationDeclaration) -> None:
    declared_regions = len(declaration.regions)
    if len(operation.regions) != declared_regions:
        optional = sum(1 for r in declaration.regions if r.optional)
        if not declared_regions - optional <= len(operation.regions) <= declared_regions:
            if declared_regions == 0:
                raise Invalid("requires zero regions")
            raise Invalid("requires one region" if declared_regions == 1 else f"expected {declared_regions} regions")


def _verify_counts(operation: Operation, declaration: OperationDeclaration) -> None:
    _verify_count(declaration.results, len(operation.results), "result")
    _verify_count(declaration.operands, len(operation.operands), "operand")
    if declaration.traits & SEGMENTS:
        _verify_segments(operation, declaration)


def _verify_count(declared: tuple[OperandDeclaration, ...], found: int, noun: str) -> None:
    least = 0
    for each in declared:
        if each.count == ONE:
            least += 1
    if least == len(declared):
        if found != least:
            if least == 0:
                raise Invalid(f"requires zero {noun}s")
            if noun == "result" and least == 1:
                raise Invalid("requires one result")
            if noun == "operand" and least == 1:
                raise Invalid("requires a single operand")
            raise Invalid(f"expected {several(least, noun)}, but found {found}")
    elif found < least:
        raise Invalid(f"expected {least} or more {noun}s, but found {found}")
    elif found > len(declared) and not any(d.count == VARIADIC for d in declared):
        raise Invalid(f"expected at most {several(len(declared), noun)}, but found {found}")


def _verify_segments(operation: Operation, declaration: OperationDeclaration) -> None:
    segments = operation.segments
    if segments is None or len(segments) != len(declaration.operands):
        found = 0 if segments is None else len(segments)
        raise Invalid(
            f"'operandSegmentSizes' attribute for specifying operand segments must have "
            f"{len(declaration.operands)} elements, but got {found}"
        )
    if sum(segments) != len(operation.operands):
        raise Invalid(
            f"operand count ({len(operation.operands)}) does not match with the total size ({sum(segments)}) "
            "specified in attribute 'operandSegmentSizes'"
        )
    start = 0
    for index, declared in enumerate(declaration.operands):
        length = segments[index]
        if declared.count == ONE and length != 1:
            raise Invalid(f"operand group starting at #{start} requires 1 element, but found {length}")
        if declared.count == OPTIONAL and length > 1:
            raise Invalid(f"operand group starting at #{start} requires 0 or 1 element, but found {length}")
        start += length


def _verify_attributes(operation: Operation, declaration: OperationDeclaration) -> None:
    present = operation.attributes
    for declared in declaration.attributes:
        value = present.get(declared.name)
        if value is None:
            if declared.default is None and not declared.optional:
                raise Invalid(f"requires attribute '{declared.name}'")
        elif not declared.constraint.predicate(value):
            raise Invalid(
                f"attribute '{declared.name}' failed to satisfy constraint: {declared.constraint.description}"
            )


def _verify_types(operation: Operation, declaration: OperationDeclaration, version: Version) -> None:
    operands = operation.operands
    if declaration.plain_operands:
        for index, declared in enumerate(declaration.operands):
            _verify_type("operand", index, operands[index].type, declared, version)
    else:
        lengths = operation.segment_lengths()
        first = 0
        for number, declared in enumerate(declaration.operands):
            for index in range(first, first + lengths[number]):
                _verify_type("operand", index, operands[index].type, declared, version)
            first += lengths[number]
    declared_results = declaration.results
    last = len(declared_results) - 1
    for index, result in enumerate(operation.results):
        declared = declared_results[index if index < last else last]
        _verify_type("result", index, result.type, declared, version)


def _verify_type(noun: str, index: int, type: Type, declared: OperandDeclaration, version: Version) -> None:
    if not declared.constraint.accepts(type):
        variadic = "variadic of " if declared.count == VARIADIC else ""
        raise Invalid(
            f"{noun} #{index} must be {variadic}{declared.constraint.wording(version)}, but got '{type.text}'"
        )
    if not type.is_portable:
        raise Invalid(f"{noun} #{index} must have a portable type, but got '{type.text}'")


def _verify_regions(operation: Operation, declaration: OperationDeclaration) -> None:
    for index, region in enumerate(operation.regions):
        declared = declaration.regions[min(index, len(declaration.regions) - 1)]
        count = len(region.blocks)
        if declared.blocks == 1 and count != 1 and not (count == 0 and declared.optional):
            name = f" ('{declared.name}')" if declared.name else ""
            raise Invalid(f"region #{index}{name} failed to verify constraint: region with 1 blocks")
        if declared.blocks == -1 and count > 1:
            raise Invalid(f"expects region #{index} to have 0 or 1 blocks")
        if (
            count == 1
            and declaration.traits & SINGLE_BLOCK
            and not declaration.traits & NO_TERMINATOR
            and region.blocks[0].first is None
        ):
            raise Invalid("expects a non-empty block", code=Code("missing-terminator"))
