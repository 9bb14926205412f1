"""Everything that only the drafts have, written with what NVIDIA's tools take.

The model.  A first visit finds what has no public form: all of it is told at once and the program stays as it was.  A
second one rewrites:

* the drafts' element-wise operations are expanded (legalize_expand.py);
* atomic loads and stores become ordered ones through pointers, `weak` becoming `relaxed`;
* a barrier forwards its token: a tile block is one thread of execution, so nothing is to be waited for;
* `assume_cond` becomes assumptions about the values its condition compares (legalize_assume.py) or just goes; strict
  bounds become inclusive ones;
* the scope `cluster` becomes `device`, which orders more, with a warning; `seq_cst` has nothing as strong: an error;
* casts that cancel out go, any other one is an error;
* attributes that mean nothing publicly are dropped.

Spellings that only the drafts have are no matter here: reading a text turns them into what they stand for.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.dialect.attributes import BoundedAttribute, bounded
from tileir.dialect.enums import MEMORY_ORDERING, MEMORY_SCOPE
from tileir.dialect.ops import (
    ASSUME,
    ASSUME_COND,
    ATOMIC_LOAD_TKO,
    ATOMIC_STORE_TKO,
    BARRIER,
    LOAD_PTR_TKO,
    MAKE_TOKEN,
    MAXF,
    MINF,
    REMF,
    STORE_PTR_TKO,
    UNREALIZED_CONVERSION_CAST,
)
from tileir.dialect.types import STRING
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.diagnostics import Diagnostic, PassError
from tileir.ir.types import Type, flattened
from tileir.ir.values import Value
from tileir.passes.emit import Emit, replace, tile_of, width_of
from tileir.passes.legalize_assume import write_assumptions
from tileir.passes.legalize_expand import EXPANSIONS

_ORDERING: Final = "memory_ordering_semantics"
_SCOPE: Final = "memory_scope"
# Attributes the drafts give to public operations, without an effect (docs/conflicts.md C6, C7).
_WITHOUT_EFFECT: Final[dict[OperationDeclaration, str]] = {
    MAXF: "comparison_ordering",
    MINF: "comparison_ordering",
    REMF: "rounding_mode",
}


def run(root: Operation, warnings: list[Diagnostic]) -> int:
    """Legalize what is inside `root`; gives the number of operations rewritten."""
    operations = list(root.walk())
    casts = _removable_casts(operations)
    errors: list[Diagnostic] = []
    for operation in operations:
        _find_errors(operation, casts, errors)
    if errors:
        failure = PassError(errors[0].message, errors[0].location)
        failure.diagnostics = errors
        raise failure
    rewritten = 0
    order = {operation: number for number, operation in enumerate(operations)}
    for operation in operations:
        if operation.declaration is ASSUME_COND:
            write_assumptions(operation, order)
            operation.erase()
            rewritten += 1
        elif operation is not root:
            rewritten += _rewrite(operation, warnings)
    for operation in reversed(operations):
        if operation.declaration is UNREALIZED_CONVERSION_CAST:
            # What uses it was resolved and erased before it.
            operation.erase()
            rewritten += 1
    return rewritten


# --- what has no public form ---


def _find_errors(operation: Operation, casts: set[Operation], errors: list[Diagnostic]) -> None:
    mistakes: list[str] = []
    if operation.attribute(_ORDERING) is MEMORY_ORDERING["seq_cst"]:
        mistakes.append("has the memory ordering 'seq_cst', which no public ordering is as strong as")
    if operation.declaration is UNREALIZED_CONVERSION_CAST and operation not in casts:
        mistakes.append("has no public form: it neither keeps its types nor is it undone by another cast")
    if operation.declaration is ASSUME:
        predicate = operation.attributes.get("predicate")
        if isinstance(predicate, BoundedAttribute) and predicate.strict and _inclusive(operation, predicate) is None:
            mistakes.append(f"has the predicate {predicate.bare_text}, which no value satisfies")
    if operation not in casts and any(_holds_string(type) for type in _types(operation)):
        mistakes.append("has a value of type 'string', which has no public form")
    for mistake in mistakes:
        errors.append(Diagnostic("error", f"'{operation.name}' op {mistake}", operation.location))


def _types(operation: Operation) -> list[Type]:
    types = [result.type for result in operation.results]
    for region in operation.regions:
        for block in region.blocks:
            types += [argument.type for argument in block.arguments]
    return types


def _holds_string(type: Type) -> bool:
    return STRING in flattened(type)


def _inclusive(operation: Operation, predicate: BoundedAttribute) -> BoundedAttribute | None:
    """The bounds without `strict`; None if they leave nothing."""
    width = width_of(tile_of(operation.operands[0]))
    least, greatest = -(1 << (width - 1)), (1 << (width - 1)) - 1
    lower = None if predicate.lower is None else predicate.lower + 1
    upper = None if predicate.upper is None else predicate.upper - 1
    if (least if lower is None else lower) > (greatest if upper is None else upper):
        return None
    return bounded(lower, upper)


# --- casts ---


def _removable_casts(operations: list[Operation]) -> set[Operation]:
    """The casts that keep all types, undo another one, or feed only such casts."""
    found: set[Operation] = set()
    for operation in reversed(operations):
        if operation.declaration is not UNREALIZED_CONVERSION_CAST:
            continue
        users = [user for result in operation.results for user in result.users]
        if _without_cast(operation) is not None or all(user in found for user in users):
            found.add(operation)
    return found


def _without_cast(operation: Operation) -> list[Value] | None:
    """The values a cast gives back, if it keeps the types or undoes the casts in front of it."""
    wanted = [result.type for result in operation.results]
    values = list(operation.operands)
    while True:
        if [value.type for value in values] == wanted:
            return values
        source = values[0].defining_operation if values else None
        if source is None or source.declaration is not UNREALIZED_CONVERSION_CAST or values != list(source.results):
            return None
        values = list(source.operands)


# --- rewriting ---


def _rewrite(operation: Operation, warnings: list[Diagnostic]) -> int:
    """Legalize one operation; 1 if it was changed."""
    declaration = operation.declaration
    expansion = EXPANSIONS.get(declaration)
    if expansion is not None:
        replace(operation, [expansion(Emit(operation), operation)])
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
    return _rewrite_form(operation, warnings)


def _rewrite_form(operation: Operation, warnings: list[Diagnostic]) -> int:
    """What a public operation has that only the drafts know."""
    declaration = operation.declaration
    changed = _widen_scope(operation, warnings)
    unneeded = _WITHOUT_EFFECT.get(declaration)
    if unneeded is not None and unneeded in operation.attributes:
        operation.set_attribute(unneeded, None)
        changed = 1
    if declaration is ASSUME:
        predicate = operation.attributes.get("predicate")
        if isinstance(predicate, BoundedAttribute) and predicate.strict:
            operation.set_attribute("predicate", _inclusive(operation, predicate))
            changed = 1
    return changed


def _widen_scope(operation: Operation, warnings: list[Diagnostic]) -> int:
    if operation.attribute(_SCOPE) is not MEMORY_SCOPE["cluster"]:
        return 0
    operation.set_attribute(_SCOPE, MEMORY_SCOPE["device"])
    text = f"'{operation.name}' op: the scope 'cluster' is widened to 'device', which orders more than was asked for"
    warnings.append(Diagnostic("warning", text, operation.location))
    return 1


def _access_attributes(operation: Operation) -> dict[str, Attribute]:
    ordering = operation.attributes[_ORDERING]
    if ordering is MEMORY_ORDERING["weak"]:
        ordering = MEMORY_ORDERING["relaxed"]
    return {_ORDERING: ordering, _SCOPE: operation.attributes[_SCOPE]}


def _given(*values: Value | None) -> list[Value]:
    return [value for value in values if value is not None]


def _load(operation: Operation, warnings: list[Diagnostic]) -> None:
    _widen_scope(operation, warnings)
    mask, token = operation.mask, operation.token
    loaded = Emit(operation).operation(
        LOAD_PTR_TKO,
        _given(operation.ptr, mask, token),
        [result.type for result in operation.results],
        _access_attributes(operation),
        (1, int(mask is not None), 0, int(token is not None)),
    )
    replace(operation, list(loaded.results))


def _store(operation: Operation, warnings: list[Diagnostic]) -> None:
    _widen_scope(operation, warnings)
    mask, token = operation.mask, operation.token
    stored = Emit(operation).operation(
        STORE_PTR_TKO,
        _given(operation.ptr, operation.value, mask, token),
        [result.type for result in operation.results],
        _access_attributes(operation),
        (1, 1, int(mask is not None), int(token is not None)),
    )
    replace(operation, list(stored.results))


def _barrier(operation: Operation, warnings: list[Diagnostic]) -> None:
    if operation.scope == "cluster":
        text = "'cuda_tile.barrier' op: a barrier of scope 'cluster' has no public form and only orders this tile block"
        warnings.append(Diagnostic("warning", text, operation.location))
    token = operation.token
    if token is None:
        token = Emit(operation).operation(MAKE_TOKEN, [], [operation.results[0].type]).results[0]
    replace(operation, [token])


# What is no value made of others (EXPANSIONS).
REPLACEMENTS: Final[dict[OperationDeclaration, Callable[[Operation, list[Diagnostic]], None]]] = {
    ATOMIC_LOAD_TKO: _load,
    ATOMIC_STORE_TKO: _store,
    BARRIER: _barrier,
}
# What goes away when the rest is written.
RESOLVED: Final = (ASSUME_COND, UNREALIZED_CONVERSION_CAST)
