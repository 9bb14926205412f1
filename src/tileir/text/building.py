"""What has been read of a statement into an operation: operands by their names, and the types of results."""

from __future__ import annotations

from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Operation
from tileir.ir.declaration import ONE
from tileir.ir.location import TextLocation
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.text.state import ParseState
from tileir.text.values import ValueCursor


def build_operation(cursor: ValueCursor, state: ParseState) -> Operation:
    """Look the operands up and make the operation."""
    assembly = state.assembly
    operands: list[Value] = []
    if assembly.uniform and state.made_operand is None:
        shown = state.types[0]
        if shown is not None:
            type = shown[0]
            for tokens in state.operands:
                if tokens is not None:
                    operands.append(cursor.resolve(tokens[0], type))
            attributes = state.attributes
            return Operation(
                state.declaration,
                operands,
                shown,
                NO_ATTRIBUTES if attributes is None else attributes,
                NO_REGIONS,
                TextLocation(state.source, state.name_token),
            )
    for index in range(assembly.operand_count):
        tokens = state.operands[index]
        if tokens is None:
            continue
        slot = assembly.operand_slots[index]
        types = state.types[slot] if slot >= 0 else None
        if state.made_operand is not None and index == state.made_index:
            operands.append(state.made_operand)
        elif types is not None and len(tokens) == 1 and len(types) == 1:
            operands.append(cursor.resolve(tokens[0], types[0]))
        else:
            _resolve_group(cursor, state, index, tokens, types, operands)
    result_types: list[Type] = []
    for index in range(len(assembly.result_slots)):
        slot = assembly.result_slots[index]
        types = state.types[slot] if slot >= 0 else None
        if types is None:
            fixed = assembly.result_fixed[index]
            if fixed is not None:
                result_types.append(fixed)
            elif assembly.result_counts[index] == ONE:
                result_types.append(_inferred_result(cursor, state, operands, index))
        elif assembly.result_counts[index] == ONE:
            result_types.append(types[0])
        else:
            result_types.extend(types)
    segments: tuple[int, ...] | None = None
    if assembly.segmented:
        segments = tuple([0 if tokens is None else len(tokens) for tokens in state.operands])
    attributes = state.attributes
    regions = state.regions
    return Operation(
        state.declaration,
        operands,
        result_types,
        NO_ATTRIBUTES if attributes is None else attributes,
        NO_REGIONS if regions is None else regions,
        TextLocation(state.source, state.name_token),
        segments,
    )


def _resolve_group(
    cursor: ValueCursor,
    state: ParseState,
    index: int,
    tokens: list[int],
    types: list[Type] | None,
    operands: list[Value],
) -> None:
    fixed = state.assembly.fixed[index]
    if types is not None:
        if len(types) != len(tokens):
            cursor.fail(
                f"custom op '{state.declaration.name}' number of operands and types do not match: got "
                f"{len(tokens)} operands and {len(types)} types",
                tokens[0] if tokens else state.name_token,
            )
        for token, type in zip(tokens, types, strict=True):
            operands.append(cursor.resolve(token, type))
        return
    for token in tokens:
        type_found = fixed if fixed is not None else cursor.value_type(token)
        if type_found is None:
            cursor.fail(f"use of undeclared SSA value name '{cursor.tokens[token]}'", token)
        operands.append(cursor.resolve(token, type_found))


def _inferred_result(cursor: ValueCursor, state: ParseState, operands: list[Value], index: int) -> Type:
    """A result whose type is that of an operand of the same group."""
    declaration = state.declaration
    name = declaration.results[index].name
    for group in declaration.same_types:
        if name in group:
            position = 0
            for number, declared in enumerate(declaration.operands):
                tokens = state.operands[number]
                if tokens and declared.name in group:
                    return operands[position].type
                position += 0 if tokens is None else len(tokens)
    cursor.fail(f"custom op '{declaration.name}' cannot infer the type of result '{name}'", state.name_token)
