"""What the declaration of an operation says about it: counts, attributes, types, regions, type rules, in this order."""

from __future__ import annotations

from tileir.ir.core import Operation
from tileir.ir.declaration import (
    NO_TERMINATOR,
    ONE,
    OPTIONAL,
    SEGMENTS,
    SINGLE_BLOCK,
    TERMINATOR,
    VARIADIC,
    OperandDeclaration,
    OperationDeclaration,
    Version,
)
from tileir.ir.diagnostics import Invalid
from tileir.ir.types import Type


def type_key(operation: Operation) -> tuple[object, ...]:
    """What the declared type rules of an operation depend on."""
    operands = operation.operands
    results = operation.results
    if len(results) == 1 and operation.segments is None:
        # Most operations: what is found out below, in one step.
        if not operands:
            return (0, results[0].type)
        if len(operands) == 1:
            return (operands[0].type, 1, results[0].type)
        if len(operands) == 2:
            return (operands[0].type, operands[1].type, 2, results[0].type)
    types: list[object] = [value.type for value in operands]
    # Tells where the results begin: none and one operand more have the same types.
    types.append(len(types))
    for result in results:
        types.append(result.type)
    if operation.segments is not None:
        types.append(operation.segments)
    return tuple(types)


def verify_declaration(operation: Operation, declaration: OperationDeclaration, version: Version) -> None:
    """Raise `Invalid` for the first rule of its declaration that an operation breaks."""
    key = type_key(operation)
    known = key in declaration.verified_types
    _verify_region_count(operation, declaration)
    if not known:
        _verify_counts(operation, declaration)
    if declaration.traits & TERMINATOR:
        parent = operation.parent
        if parent is not None and parent.last is not operation:
            raise Invalid("must be the last operation in the parent block")
    if declaration.attributes:
        _verify_attributes(operation, declaration)
    if not known:
        _verify_types(operation, declaration, version)
    if declaration.regions or operation.regions:
        _verify_regions(operation, declaration)
    if not known:
        for rule in declaration.rules:
            if not rule.check(operation):
                raise Invalid(rule.message)
        declaration.verified_types.add(key)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


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
            raise Invalid(f"expected {_plural(least, noun)}, but found {found}")
    elif found < least:
        raise Invalid(f"expected {least} or more {noun}s, but found {found}")
    elif found > len(declared) and not any(d.count == VARIADIC for d in declared):
        raise Invalid(f"expected at most {_plural(len(declared), noun)}, but found {found}")


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
            raise Invalid("expects a non-empty block")
