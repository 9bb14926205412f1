"""Rewrites a program for an older version: 13.5 for 13.4 to 13.1.

A first visit finds everything without an equivalent in the older version and reports all of it, each with the operation
and the version that introduced it; the program stays as it was.  A second visit rewrites:

13.5  `inbounds` of reductions and the pointer attribute `unicast` are dropped, they are only promises; attributes of
      arguments are dropped with a warning
13.4  `inbounds` is dropped, it is only a promise; `gdc_launch_dependents_tko` is removed, since the end of a grid
      signals too; `insert`, `fpowi`, saturating `ftoi` and rounding modes of `ftof` are expanded (expansions.py); the
      pointer attribute `none` is dropped
13.3  rounding modes of `exp` and `fast_acc` of `mmaf` are dropped, they permit less accuracy; globals lose `constant`,
      and `private` with a warning, since others can see them then; the producer is dropped; a strided view whose tiles
      touch becomes a partition
13.2  the same for `tanh` and for promises of `negi`; an unsigned loop becomes a signed one, shifted by half of all
      numbers; prints are in program order, without tokens

Nothing else that is newer has an equivalent.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect import types
from tileir.dialect.availability import newer_part
from tileir.dialect.debug_info import flagged_subprogram
from tileir.dialect.enums import SYMBOL_VISIBILITY
from tileir.dialect.ops import (
    ATOMIC_RED_VIEW_TKO,
    ENTRY,
    EXP,
    FOR,
    FPOWI,
    FTOF,
    FTOI,
    GDC_LAUNCH_DEPENDENTS_TKO,
    GLOBAL,
    INSERT,
    LOAD_VIEW_TKO,
    MAKE_PARTITION_VIEW,
    MAKE_STRIDED_VIEW,
    MMAF,
    MODULE,
    NEGI,
    PRINT_TKO,
    STORE_VIEW_TKO,
    TANH,
)
from tileir.ir.attributes import Attribute, EnumAttribute, TypeAttribute, type_attribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration, VerifyContext
from tileir.ir.dense import DenseAttribute
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.traversal import clone
from tileir.ir.types import FunctionType, Type, function_type
from tileir.ir.verifier import verify_operation
from tileir.ir.versions import NEWEST, PREVIEW, V13_3, V13_4, V13_5, Version, version_text
from tileir.passes.emit import Emit, defined_values, raise_errors, taken_token
from tileir.passes.expansions import (
    can_insert,
    can_round,
    has_signed_step,
    insert,
    integer_power,
    make_loop_signed,
    rounded_conversion,
    saturating_conversion,
)

# Newer operations that have an equivalent.
REPLACED: Final = (INSERT, FPOWI, GDC_LAUNCH_DEPENDENTS_TKO, MAKE_STRIDED_VIEW)
# Newer attributes that may be dropped: the operation without them satisfies the request.
_DROPPED: Final[tuple[tuple[OperationDeclaration, str], ...]] = (
    (LOAD_VIEW_TKO, "inbounds"),
    (STORE_VIEW_TKO, "inbounds"),
    (ATOMIC_RED_VIEW_TKO, "inbounds"),
    (EXP, "rounding_mode"),
    (MMAF, "fast_acc"),
    (MODULE, "producer"),
    (GLOBAL, "constant"),
    (GLOBAL, "symbol_visibility"),
    (TANH, "rounding_mode"),
    (NEGI, "overflow"),
)


def run(root: Operation, version: Version, warnings: list[Diagnostic]) -> int:
    """Rewrite `root` and its contents for a version; return the number of operations changed."""
    if version >= NEWEST:
        return 0
    operations = list(root.walk())
    errors: list[Diagnostic] = []
    scopes: set[Attribute] = set()
    for operation in operations:
        message = _error(operation, version, scopes)
        if message is not None:
            errors.append(Diagnostic("error", f"'{operation.name}' op {message}", operation.location))
    raise_errors(errors or _errors_in_copy(root, version))
    changed = 0
    for operation in operations:
        changed += _rewrite(operation, version, warnings)
    return changed


def _errors_in_copy(root: Operation, version: Version) -> list[Diagnostic]:
    """Return what the version rejects in a rewritten copy: a `return` in a loop, the contents of a reduction."""
    copy = clone(root)
    for operation in list(copy.walk()):
        _rewrite(operation, version, [])
    context = VerifyContext(version)
    verify_operation(copy, context)
    copy.drop_all_references()
    where = f" (in version {version_text(version)})"
    return [
        Diagnostic("error", found.message + where, found.location, found.notes)
        for found in context.diagnostics
        if found.severity == "error"
    ]


# --- errors: what has no equivalent ---


def _error(operation: Operation, version: Version, scopes: set[Attribute]) -> str | None:
    declaration = operation.declaration
    since = declaration.since
    if version < V13_5 and PREVIEW in operation.attributes:
        return f"is of a public preview, which needs version 13.5 and has no equivalent in {version_text(version)}"
    if version < V13_5 and flagged_subprogram(operation.location, scopes) is not None:
        return (
            f"has a debug scope with flags, which need version 13.5 and have no equivalent in {version_text(version)}: "
            "the pass 'strip-debuginfo' removes debug scopes"
        )
    target = f"and has no equivalent in {version_text(version)}"
    if since is not None and since > version:
        if declaration not in REPLACED or (declaration is INSERT and not can_insert(operation)):
            return f"needs version {version_text(since)} {target}"
    for type in _types(operation):
        newer = _newer_type(type, version)
        if newer is not None:
            return (
                f"has a value of type '{type.spelling}': '{newer[0]}' needs version {version_text(newer[1])} {target}"
            )
    for attribute in operation.attributes.values():
        if isinstance(attribute, EnumAttribute) and not (declaration is FTOF and can_round(operation)):
            introduced = attribute.kind.since.get(attribute.keyword)
            if introduced is not None and introduced > version:
                keyword = f"'{attribute.kind.name}<{attribute.keyword}>'"
                return f"has {keyword}, which needs version {version_text(introduced)} {target}"
    if declaration is FOR and _has_newer(operation, "unsignedCmp", version):
        if not has_signed_step(operation):
            return (
                f"is an unsigned loop, which needs version 13.2; its step is not known to be positive as a signed "
                f"number, so that it has no equivalent in {version_text(version)}"
            )
    return None


def _types(operation: Operation) -> list[Type]:
    found = [value.type for value in defined_values(operation)]
    value = operation.attributes.get("value")
    if isinstance(value, DenseAttribute):
        found.append(value.type)
    signature = operation.attributes.get("function_type")
    if isinstance(signature, TypeAttribute):
        found.append(signature.type)
    return found


# --- rewriting ---


def _rewrite(operation: Operation, version: Version, warnings: list[Diagnostic]) -> int:
    changed = _retype(operation, version)
    changed |= _drop_attributes(operation, version, warnings)
    changed |= _drop_argument_attributes(operation, version, warnings)
    declaration = operation.declaration
    if _is_newer(declaration.since, version):
        if declaration is INSERT or declaration is FPOWI:
            expansion = insert if declaration is INSERT else integer_power
            operation.replace_with([expansion(Emit(operation), operation)])
            return 1
        if declaration is GDC_LAUNCH_DEPENDENTS_TKO:
            _forward_token(operation)
            operation.erase()
            return 1
        if declaration is MAKE_STRIDED_VIEW:
            view = Emit(operation).create(
                MAKE_PARTITION_VIEW, list(operation.operands), [operation.results[0].type], operation.attributes
            )
            operation.replace_with([view.results[0]])
            return 1
    # Modes other than the default came with 13.4.
    if declaration is FTOF and version < V13_4 and "rounding_mode" in operation.attributes and can_round(operation):
        operation.replace_with([rounded_conversion(Emit(operation), operation)])
        return 1
    if declaration is FTOI and _has_newer(operation, "saturating", version):
        operation.replace_with([saturating_conversion(Emit(operation), operation)])
        return 1
    if declaration is FOR and _has_newer(operation, "unsignedCmp", version):
        make_loop_signed(operation)
        return 1
    if declaration is PRINT_TKO and _is_newer(declaration.results[0].since, version):
        return changed | _remove_print_tokens(operation)
    return changed


def _is_newer(since: Version | None, version: Version) -> bool:
    return since is not None and since > version


def _has_newer(operation: Operation, attribute: str, version: Version) -> bool:
    return attribute in operation.attributes and _is_newer(operation.declaration.inherent[attribute].since, version)


def _retype(operation: Operation, version: Version) -> int:
    """Replace the types of values."""
    changed = 0
    for value in defined_values(operation):
        type = _older_type(value.type, version)
        if type is not value.type:
            value.type = type
            changed = 1
    signature = operation.attributes.get("function_type")
    if isinstance(signature, TypeAttribute):
        type = _older_type(signature.type, version)
        if type is not signature.type:
            operation.set_attribute("function_type", type_attribute(type))
            changed = 1
    return changed


def _drop_attributes(operation: Operation, version: Version, warnings: list[Diagnostic]) -> int:
    changed = 0
    for owner, attribute in _DROPPED:
        if owner is operation.declaration and _has_newer(operation, attribute, version):
            if operation.attributes[attribute] is SYMBOL_VISIBILITY["private"]:
                text = f"'{operation.name}' op: a private global can be seen by others in {version_text(version)}"
                warnings.append(Diagnostic("warning", text, operation.location))
            operation.set_attribute(attribute, None)
            changed = 1
    return changed


def _drop_argument_attributes(operation: Operation, version: Version, warnings: list[Diagnostic]) -> int:
    if operation.declaration is not ENTRY or version >= V13_5 or "arg_attrs" not in operation.attributes:
        return 0
    text = f"'{operation.name}' op: attributes of arguments cannot be in {version_text(version)}"
    warnings.append(Diagnostic("warning", text, operation.location))
    operation.set_attribute("arg_attrs", None)
    return 1


def _forward_token(operation: Operation) -> None:
    if operation.results[0].has_uses:
        operation.results[0].replace_all_uses_with(taken_token(operation))


def _remove_print_tokens(operation: Operation) -> int:
    """Remove the tokens of a print."""
    tokens = operation.operand_group("token")
    if not tokens and not operation.results[0].has_uses:
        return 0
    _forward_token(operation)
    if tokens:
        values = operation.args
        operation.set_operands(values, (len(values), 0))
    return 1


# --- types ---


def _newer_type(type: Type, version: Version) -> tuple[str, Version] | None:
    """Return the part of a type without an equivalent in a version, and the version that introduced it."""
    found = newer_part(_older_type(type, version), version)
    return None if found is None else (found[0].spelling.partition("<")[0], found[1])


def _older_type(type: Type, version: Version) -> Type:
    """Return the equivalent of a type in an older version, or the type itself."""
    if version >= NEWEST:
        return type
    if isinstance(type, types.TileType):
        element = _older_type(type.element, version)
        return type if element is type.element else types.tile_type(type.shape, element)
    if isinstance(type, types.PointerType):
        return types.pointer_type(type.pointee) if _drops_attribute(type.attribute, version) else type
    if isinstance(type, types.TensorViewType):
        if not _drops_attribute(type.attribute, version):
            return type
        return types.tensor_view_type(type.element, type.shape, type.strides)
    if isinstance(type, FunctionType):
        return _older_function(type, version)
    return _older_view(type, version)


def _drops_attribute(attribute: str | None, version: Version) -> bool:
    """Whether a pointer means the same without its attribute: `none` is the default, `unicast` only promises."""
    return attribute == "unicast" or (attribute == "none" and version < V13_4)


def _older_function(type: FunctionType, version: Version) -> Type:
    older: dict[Type, Type] = {}
    # An explicit stack, because function types may nest deeply; parts come first.
    path: list[Type] = [type]
    while path:
        top = path.pop()
        if not isinstance(top, FunctionType):
            older[top] = _older_type(top, version)
            continue
        missing = [part for part in (*top.inputs, *top.results) if part not in older]
        if missing:
            path += [top, *missing]
            continue
        inputs = tuple([older[part] for part in top.inputs])
        older[top] = function_type(inputs, tuple([older[part] for part in top.results]))
    return older[type]


def _older_view(type: Type, version: Version) -> Type:
    if not isinstance(type, (types.PartitionViewType, types.StridedViewType, types.GatherScatterViewType)):
        return type
    tensor = _older_type(type.tensor, version)
    if not isinstance(tensor, types.TensorViewType):
        return type
    if isinstance(type, types.GatherScatterViewType):
        return types.gather_scatter_view_type(type.tile_shape, tensor, type.sparse_dim, type.padding)
    if isinstance(type, types.StridedViewType) and (version >= V13_3 or type.traversal_strides != type.tile_shape):
        return types.strided_view_type(type.tile_shape, tensor, type.traversal_strides, type.padding, type.dim_map)
    # The tiles neither overlap nor leave gaps.
    return types.partition_view_type(type.tile_shape, tensor, type.padding, type.dim_map)
