"""Rewrites everything that only the drafts define into what NVIDIA's tools accept.

A first visit finds everything without a public form and reports all of it; the program stays as it was.  A second visit
rewrites:

* the drafts' elementwise operations are expanded (expansions.py);
* atomic loads and stores become ordered ones through pointers; `weak` becomes `relaxed`;
* a barrier forwards its token: a tile block is one thread of execution, so there is nothing to wait for;
* `assume_cond` becomes assumptions about the values that its condition compares.  The condition is a comparison of a
  value with a constant, such conditions combined by `andi`, or a remainder by a power of two compared with zero.  Of
  any other condition nothing is kept: to omit an assumption is always right.  Strict bounds become inclusive ones;
* the scope `cluster` becomes `device`, which orders more, with a warning; nothing is as strong as `seq_cst`: an error;
* casts that cancel out are removed, any other one is an error;
* attributes without a public meaning are dropped.

Spellings of the drafts do not matter here: the parser translates them.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.dialect.attributes import BoundedAttribute, PredicateAttribute, bounded, div_by
from tileir.dialect.enums import MEMORY_ORDERING, MEMORY_SCOPE
from tileir.dialect.ops import (
    ANDI,
    ASSUME,
    ASSUME_COND,
    ATOMIC_LOAD_TKO,
    ATOMIC_STORE_TKO,
    BARRIER,
    CMPI,
    LOAD_PTR_TKO,
    MAXF,
    MINF,
    REMF,
    REMI,
    STORE_PTR_TKO,
    UNREALIZED_CONVERSION_CAST,
)
from tileir.dialect.types import STRING, TileType, is_power_of_two
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import signed_value
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.types import I1, IntegerType, flattened
from tileir.ir.values import Value
from tileir.passes.emit import Emit, defined_values, raise_errors, taken_token, width_of
from tileir.passes.expansions import EXPANSIONS
from tileir.rewrite.matching import constant_integer, constant_value, defined_by, is_inside, tile_of
from tileir.rewrite.simplifier_rules import SWAPPED

_ORDERING: Final = "memory_ordering_semantics"
_SCOPE: Final = "memory_scope"
# Attributes of the drafts on public operations, without an effect (docs/reference/conflicts.md C6, C7).
_WITHOUT_EFFECT: Final[dict[OperationDeclaration, str]] = {
    MAXF: "comparison_ordering",
    MINF: "comparison_ordering",
    REMF: "rounding_mode",
}

# At most this many parts of a condition are inspected.
_MAX_PARTS: Final = 16
_MAX_DIVISOR: Final = 1 << 62


def run(root: Operation, warnings: list[Diagnostic]) -> int:
    """Legalize the contents of `root`; return the number of operations rewritten."""
    operations = list(root.walk())
    casts = _removable_casts(operations)
    errors: list[Diagnostic] = []
    for operation in operations:
        _find_errors(operation, casts, errors)
    raise_errors(errors)
    rewritten = 0
    order = {operation: number for number, operation in enumerate(operations)}
    for operation in operations:
        if operation.declaration is ASSUME_COND:
            _write_assumptions(operation, order)
            operation.erase()
            rewritten += 1
        elif operation is not root:
            rewritten += _rewrite(operation, warnings)
    for operation in reversed(operations):
        if operation.declaration is UNREALIZED_CONVERSION_CAST:
            # Its users were resolved and erased before it.
            operation.erase()
            rewritten += 1
    return rewritten


# --- errors: what has no public form ---


def _find_errors(operation: Operation, casts: set[Operation], errors: list[Diagnostic]) -> None:
    found: list[str] = []
    if operation.attribute(_ORDERING) is MEMORY_ORDERING["seq_cst"]:
        found.append("has the memory ordering 'seq_cst', which no public ordering is as strong as")
    if operation.declaration is UNREALIZED_CONVERSION_CAST and operation not in casts:
        found.append("has no public form: it neither keeps its types nor is it undone by another cast")
    predicate = _strict_bounds(operation)
    if predicate is not None and _inclusive(operation, predicate) is None:
        found.append(f"has the predicate {predicate.bare_text}, which no value satisfies")
    if operation not in casts and any(STRING in flattened(value.type) for value in defined_values(operation)):
        found.append("has a value of type 'string', which has no public form")
    for message in found:
        errors.append(Diagnostic("error", f"'{operation.name}' op {message}", operation.location))


def _strict_bounds(operation: Operation) -> BoundedAttribute | None:
    predicate = operation.predicate if operation.declaration is ASSUME else None
    return predicate if isinstance(predicate, BoundedAttribute) and predicate.strict else None


def _inclusive(operation: Operation, predicate: BoundedAttribute) -> BoundedAttribute | None:
    """Return the bounds without `strict`; None if they are empty."""
    lower = None if predicate.lower is None else predicate.lower + 1
    upper = None if predicate.upper is None else predicate.upper - 1
    return _nonempty(width_of(tile_of(operation.operands[0])), lower, upper)


def _nonempty(width: int, lower: int | None, upper: int | None) -> BoundedAttribute | None:
    """Return these bounds; None if no number of that width is within."""
    least, greatest = -(1 << (width - 1)), (1 << (width - 1)) - 1
    if (least if lower is None else lower) > (greatest if upper is None else upper):
        return None
    return bounded(lower, upper)


# --- casts ---


def _removable_casts(operations: list[Operation]) -> set[Operation]:
    """Return the casts that keep all types, undo another one, or feed only such casts."""
    found: set[Operation] = set()
    for operation in reversed(operations):
        if operation.declaration is not UNREALIZED_CONVERSION_CAST:
            continue
        users = [user for result in operation.results for user in result.users]
        if _without_cast(operation) is not None or all(user in found for user in users):
            found.add(operation)
    return found


def _without_cast(operation: Operation) -> list[Value] | None:
    """Return the values that replace a cast, if it keeps the types or undoes the casts before it."""
    expected = [result.type for result in operation.results]
    values = list(operation.operands)
    while True:
        if [value.type for value in values] == expected:
            return values
        source = values[0].defining_operation if values else None
        if source is None or source.declaration is not UNREALIZED_CONVERSION_CAST or values != list(source.results):
            return None
        values = list(source.operands)


# --- rewriting ---


def _rewrite(operation: Operation, warnings: list[Diagnostic]) -> int:
    """Legalize one operation; return 1 if it was changed."""
    declaration = operation.declaration
    expansion = EXPANSIONS.get(declaration)
    if expansion is not None:
        operation.replace_with([expansion(Emit(operation), operation)])
        return 1
    access = REPLACEMENTS.get(declaration)
    if access is not None:
        access(operation, warnings)
        return 1
    if declaration is UNREALIZED_CONVERSION_CAST:
        values = _without_cast(operation)
        if values is not None:
            for result, value in zip(operation.results, values, strict=True):
                result.replace_all_uses_with(value)
        return 0
    changed = _widen_scope(operation, warnings)
    unneeded = _WITHOUT_EFFECT.get(declaration)
    if unneeded is not None and unneeded in operation.attributes:
        operation.set_attribute(unneeded, None)
        changed = 1
    predicate = _strict_bounds(operation)
    if predicate is not None:
        operation.set_attribute("predicate", _inclusive(operation, predicate))
        changed = 1
    return changed


def _widen_scope(operation: Operation, warnings: list[Diagnostic]) -> int:
    if operation.attribute(_SCOPE) is not MEMORY_SCOPE["cluster"]:
        return 0
    operation.set_attribute(_SCOPE, MEMORY_SCOPE["device"])
    text = f"'{operation.name}' op: the scope 'cluster' is widened to 'device', which orders more than requested"
    warnings.append(Diagnostic("warning", text, operation.location))
    return 1


def _access(operation: Operation, warnings: list[Diagnostic]) -> None:
    """Replace an atomic load or store."""
    _widen_scope(operation, warnings)
    ordering = operation.attributes[_ORDERING]
    if ordering is MEMORY_ORDERING["weak"]:
        ordering = MEMORY_ORDERING["relaxed"]
    attributes: dict[str, Attribute] = {_ORDERING: ordering, _SCOPE: operation.attributes[_SCOPE]}
    masks, tokens = len(operation.operand_group("mask")), len(operation.operand_group("token"))
    types = [result.type for result in operation.results]
    # The operands are in the same order; a load has no padding.
    is_load = operation.declaration is ATOMIC_LOAD_TKO
    segments = (1, masks, 0, tokens) if is_load else (1, 1, masks, tokens)
    declaration = LOAD_PTR_TKO if is_load else STORE_PTR_TKO
    access = Emit(operation).create(declaration, list(operation.operands), types, attributes, segments=segments)
    operation.replace_with(list(access.results))


def _barrier(operation: Operation, warnings: list[Diagnostic]) -> None:
    if operation.scope == "cluster":
        text = "'cuda_tile.barrier' op: a barrier of scope 'cluster' has no public form and only orders this tile block"
        warnings.append(Diagnostic("warning", text, operation.location))
    operation.replace_with([taken_token(operation)])


# Operations with effects; EXPANSIONS has those without.
REPLACEMENTS: Final[dict[OperationDeclaration, Callable[[Operation, list[Diagnostic]], None]]] = {
    ATOMIC_LOAD_TKO: _access,
    ATOMIC_STORE_TKO: _access,
    BARRIER: _barrier,
}
# Operations that leave nothing behind.
RESOLVED: Final = (ASSUME_COND, UNREALIZED_CONVERSION_CAST)


# --- the assumptions of assume_cond ---


def _assumptions_of(condition: Value) -> list[tuple[Value, PredicateAttribute]]:
    """Return the values that a condition compares, each with its predicate."""
    found: list[tuple[Value, PredicateAttribute]] = []
    pending = [condition]
    inspected = 0
    while pending and inspected < _MAX_PARTS:
        inspected += 1
        part = pending.pop()
        both = defined_by(part, ANDI)
        if both is not None:
            pending += [both.operands[1], both.operands[0]]
            continue
        comparison = defined_by(part, CMPI)
        if comparison is not None:
            assumption = _assumption(comparison)
            if assumption is not None:
                found.append(assumption)
    return found


def _assumption(comparison: Operation) -> tuple[Value, PredicateAttribute] | None:
    value, other = comparison.operands
    keyword = comparison.comparison_predicate
    bits = constant_integer(other)
    if bits is None:
        bits = constant_integer(value)
        value, keyword = other, SWAPPED[keyword]
    type = value.type
    if bits is None or not isinstance(type, TileType) or not isinstance(type.element, IntegerType):
        return None
    width = type.element.width
    if type.element is I1 or constant_value(value) is not None:
        return None
    if keyword == "equal" and bits == 0:
        multiple = _multiple(value)
        if multiple is not None:
            return multiple
    lower, upper = _bounds(keyword, comparison.signedness == "signed", width, bits)
    predicate = _nonempty(width, lower, upper) if lower is not None or upper is not None else None
    return None if predicate is None else (value, predicate)


def _bounds(keyword: str, signed: bool, width: int, bits: int) -> tuple[int | None, int | None]:
    """Return the signed range that a comparison implies; None for an end that it does not bound."""
    number = signed_value(width, bits) if signed else bits
    if keyword == "equal":
        return signed_value(width, bits), signed_value(width, bits)
    if keyword in ("less_than", "less_than_or_equal"):
        upper = number - 1 if keyword == "less_than" else number
        if signed:
            return None, upper
        # A small unsigned number is not negative as a signed one; a large one may be anything.
        return (0, upper) if upper < 1 << (width - 1) else (None, None)
    if keyword in ("greater_than", "greater_than_or_equal") and signed:
        return (number + 1 if keyword == "greater_than" else number), None
    return None, None


def _multiple(value: Value) -> tuple[Value, PredicateAttribute] | None:
    """Return the assumption about the dividend of a remainder that is zero."""
    remainder = defined_by(value, REMI)
    if remainder is None:
        return None
    divisor = constant_integer(remainder.operands[1])
    if divisor is None or not is_power_of_two(divisor) or divisor > _MAX_DIVISOR:
        return None
    dividend = remainder.operands[0]
    return (dividend, div_by(divisor)) if constant_value(dividend) is None else None


def _write_assumptions(operation: Operation, order: dict[Operation, int]) -> None:
    """Insert the assumptions of an `assume_cond` in front of it, for the uses after it."""
    block = operation.parent
    if block is None:
        return
    latest: dict[Value, Value] = {}
    for compared, predicate in _assumptions_of(operation.operands[0]):
        # A second assumption about a value applies to the result of the first one.
        value = latest.get(compared, compared)
        later = [user for user in value.users if order.get(user, -1) > order[operation] and is_inside(user, block)]
        if not later:
            continue
        assumed = Emit(operation).create(ASSUME, [value], [value.type], {"predicate": predicate}).results[0]
        latest[compared] = assumed
        for user in later:
            for index, operand in enumerate(list(user.operands)):
                if operand is value:
                    user.set_operand(index, assumed)
