"""What has been read of a statement into an operation: operands by their names, and the types of results."""

from __future__ import annotations

from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Block, Operation
from tileir.ir.declaration import ONE
from tileir.ir.location import TextLocation
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.text.state import ParseState
from tileir.text.values import ValueCursor


def build_operation(cursor: ValueCursor, state: ParseState, block: Block) -> Operation:
    """Look the operands up, and append the operation to a block."""
    assembly = state.assembly
    names, values = cursor.tokens, cursor.values
    operands: list[Value] = []
    for index, tokens in enumerate(state.operands):
        if tokens is None:
            continue
        slot = assembly.operand_slots[index]
        types = state.types[slot] if slot >= 0 else None
        if state.made_operand is not None and index == state.made_index:
            operands.append(state.made_operand)
        elif types is None or len(types) != len(tokens):
            _resolve_group(cursor, state, index, tokens, types, operands)
        else:
            for place, token in enumerate(tokens):
                type = types[place]
                value = values.get(names[token])
                known = value is not None and value.type is type
                operands.append(value if value is not None and known else cursor.resolve(token, type))
    result_types: list[Type] = []
    for index, slot in enumerate(assembly.result_slots):
        types = state.types[slot] if slot >= 0 else None
        is_single = assembly.result_counts[index] == ONE
        if types is not None:
            result_types += types[:1] if is_single else types
            continue
        fixed = assembly.result_fixed[index]
        if fixed is not None:
            result_types.append(fixed)
        elif is_single:
            result_types.append(_inferred_result(cursor, state, operands, index))
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
        None,
        block,
    )


def _resolve_group(
    cursor: ValueCursor,
    state: ParseState,
    index: int,
    tokens: list[int],
    types: list[Type] | None,
    operands: list[Value],
) -> None:
    """Look values up whose types the text does not show one by one."""
    if types is not None:
        cursor.fail(
            f"custom op '{state.declaration.name}' number of operands and types do not match: got "
            f"{len(tokens)} operands and {len(types)} types",
            tokens[0] if tokens else state.name_token,
        )
    fixed = state.assembly.fixed[index]
    for token in tokens:
        type = fixed if fixed is not None else cursor.value_type(token)
        if type is None:
            cursor.fail(f"use of undeclared SSA value name '{cursor.tokens[token]}'", token)
        operands.append(cursor.resolve(token, type))


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
