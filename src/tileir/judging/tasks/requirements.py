"""What a task requires of the programs that were launched: the precision of sums, and which operations there are.

Both are read from the compiled program, so that no choice of inputs or tolerance hides anything.  A sum is accumulated
by a matmul, a reduction or scan whose body adds, an atomic addition, or a value that a loop carries and adds
to; its precision is that of the narrowest float on the way from one iteration to the next.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Final

from tileir.dialect.ops import (
    ADDF,
    ATOMIC_RED_VIEW_TKO,
    ATOMIC_RMW_TKO,
    CONTINUE,
    FMA,
    FOR,
    FTOF,
    LOOP,
    MMAF,
    MMAF_SCALED,
    REDUCE,
    SCAN,
    SUBF,
)
from tileir.dialect.types import TileType
from tileir.execute.locations.source_locations import user_location
from tileir.ir.core import Operation
from tileir.ir.diagnostics import position_of
from tileir.ir.floats import FORMATS
from tileir.ir.traversal import pre_order
from tileir.ir.types import FloatType
from tileir.ir.values import Value
from tileir.judging.model import JudgeStage

_NAMES: Final = {
    "float64": "f64", "float32": "f32", "tfloat32": "tf32", "float16": "f16", "bfloat16": "bf16",
    "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2",
}  # fmt: skip
"""What element types are called in tasks, and in programs."""
_STRUCTURE: Final = ("module", "entry", "return", "constant", "continue", "yield", "assume", "global")
_ATOMICS: Final = (ATOMIC_RMW_TKO, ATOMIC_RED_VIEW_TKO)
_MATMULS: Final = (MMAF, MMAF_SCALED)
_ADDITIONS: Final = (ADDF, SUBF, FMA, *_MATMULS)
_MOST: Final = 5
"""Findings that a message has."""


def check_precision(step: JudgeStage, module: Operation, required: dict[str, str]) -> None:
    """Fail a step if a program accumulates, or multiplies, in a narrower type than it may."""
    found = list(_imprecise(module, required))
    if found:
        step.outcome, step.cause = "failed", "accumulates in a type that is too narrow"
        step.message = "\n".join([_rendered(*each) for each in found[:_MOST]])
        step.details["found"] = [message for _, message in found]


def check_operations(step: JudgeStage, module: Operation, stated: dict[str, list[str]]) -> None:
    """Fail a step if a program has operations, or matmuls of types, that it may not have."""
    found: dict[str, Operation] = {}
    kinds = {_NAMES[name]: name for name in _NAMES}
    for operation in pre_order(module):
        mnemonic = operation.declaration.mnemonic
        names = [mnemonic]
        if operation.declaration in _MATMULS:
            names += [kinds.get(_float_name(value), "") for value in operation.operands[:2]]
        if "deny" in stated:
            wrong = [name for name in names if name in stated["deny"]]
        else:
            # What every program has, or computes nothing, need not be listed.
            allowed = {*stated["allow"], *_STRUCTURE}
            types = allowed & {*_NAMES}
            wrong = [name for name in names if name not in allowed and (name not in _NAMES or types)]
        for name in wrong:
            found.setdefault(name, operation)
    if found:
        step.outcome, step.cause = "failed", "an operation that the task forbids"
        step.message = "\n".join(
            [_rendered(operation, f"the task does not allow {name}") for name, operation in list(found.items())[:_MOST]]
        )
        step.details["found"] = sorted(found)


def _imprecise(module: Operation, required: dict[str, str]) -> Iterator[tuple[Operation, str]]:
    sums, operands = required.get("accumulate", ""), required.get("compute", "")
    for operation in pre_order(module):
        kind = operation.declaration
        if sums and kind in _MATMULS and _is_narrower(operation.results[0], sums):
            yield operation, _message("a matmul", _float_name(operation.results[0]), sums)
        if operands and kind in _MATMULS:
            for value in operation.operands[:2]:
                narrowing = _narrowing(value, operands)
                if narrowing is not None:
                    names = _float_name(narrowing.operands[0]), _float_name(value)
                    yield narrowing, f"an operand of a matmul is rounded from {names[0]} to {names[1]}"
        if sums and kind in (REDUCE, SCAN):
            adding = [each for each in pre_order(operation) if each.declaration in _ADDITIONS]
            if adding and _is_narrower(adding[0].results[0], sums):
                word = "a reduction" if kind is REDUCE else "a scan"
                yield operation, _message(word, _float_name(adding[0].results[0]), sums)
        if sums and kind in _ATOMICS and operation.keyword("mode") == "addf":
            for value in operation.operands:
                if isinstance(value.type, TileType) and _is_narrower(value, sums):
                    yield operation, _message("an atomic addition", _float_name(value), sums)
                    break
        if sums and kind in (FOR, LOOP):
            yield from _carried(operation, sums)


def _carried(loop: Operation, required: str) -> Iterator[tuple[Operation, str]]:
    """Sums that a loop carries from one iteration to the next."""
    block = loop.regions[0].blocks[0]
    first = 1 if loop.declaration is FOR else 0
    ends = [each for each in pre_order(loop) if each.declaration is CONTINUE and _loop_of(each) is loop]
    for number, argument in enumerate(block.arguments[first:]):
        derived = _reached([argument], lambda value: [found for user in value.users for found in user.results])
        for end in ends:
            if number >= len(end.operands):
                continue
            back = _reached([end.operands[number]], _sources)
            path = {value.defining_operation for value in derived & back} - {None}
            # The caller checks matmuls.
            adding = [each for each in path if each is not None and each.declaration in (ADDF, SUBF, FMA)]
            narrow = [value for value in derived & back if _is_narrower(value, required)]
            if adding and narrow:
                yield adding[0], _message("a loop", _float_name(narrow[0]), required)
                return


def _loop_of(operation: Operation) -> Operation | None:
    found = operation.parent_operation
    while found is not None and found.declaration not in (FOR, LOOP):
        found = found.parent_operation
    return found


def _sources(value: Value) -> Iterable[Value]:
    operation = value.defining_operation
    if operation is None:
        return ()
    found = list(operation.operands)
    for region in operation.regions:
        # What a branch or an inner loop returns.
        for each in region.blocks[-1].operations[-1:]:
            found.extend(each.operands)
    return found


def _reached(values: list[Value], following: Any) -> set[Value]:
    found: set[Value] = set()
    while values:
        value = values.pop()
        if value not in found and (isinstance(value.type, TileType) and isinstance(value.type.element, FloatType)):
            found.add(value)
            values.extend(following(value))
    return found


def _narrowing(value: Value, required: str) -> Operation | None:
    """The conversion that made a value narrower than is required from one that was not."""
    for each in _reached([value], _sources):
        operation = each.defining_operation
        is_conversion = operation is not None and operation.declaration is FTOF
        if operation is not None and is_conversion and _is_narrower(each, required):
            if not _is_narrower(operation.operands[0], required):
                return operation
    return None


def _is_narrower(value: Value, required: str) -> bool:
    name = _float_name(value)
    return bool(name) and FORMATS[name].precision < FORMATS[_NAMES[required]].precision


def _float_name(value: Value) -> str:
    element = value.type.element if isinstance(value.type, TileType) else None
    return element.name if isinstance(element, FloatType) else ""


def _message(what: str, name: str, required: str) -> str:
    return f"{what} accumulates in {name}, and the task requires {required}"


def _rendered(operation: Operation, message: str) -> str:
    position = position_of(user_location(operation.location))
    return message if position is None else f"{os.path.basename(position.file)}:{position.line}: {message}"
