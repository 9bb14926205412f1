"""A program of a newer version for an older one: 13.4 for 13.3, 13.2 or 13.1.

The model.  A first visit finds what the older version has nothing for; all of it is told at once, with the operation
and the version that brought it, and the program stays as it was.  A second one rewrites, newest things first:

13.4  `inbounds` is dropped, it only promises; `gdc_launch_dependents_tko` goes, since a grid that ends signals as well;
      `insert`, `fpowi`, saturating `ftoi` and rounding modes of `ftof` are written with older operations
      (downlevel_expand.py); the pointer attribute `none` goes
13.3  rounding modes of `exp` and `fast_acc` of `mmaf` are dropped, they allow less accuracy and ask for none; globals
      lose `constant`, and `private` with a warning, since others can see them then; the producer goes; a strided view
      whose tiles touch is a partition
13.2  the same for `tanh` and for promises of `negi`; an unsigned loop becomes a signed one that counts half of all
      numbers lower; printing is in program order, without tokens

Everything else that is newer has no equivalent.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.enums import SYMBOL_VISIBILITY
from tileir.dialect.ops import (
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
    MAKE_TOKEN,
    MMAF,
    MODULE,
    NEGI,
    PRINT_TKO,
    STORE_VIEW_TKO,
    TANH,
)
from tileir.ir.attributes import TypeAttribute, type_attribute
from tileir.ir.clone import clone
from tileir.ir.core import Operation
from tileir.ir.declaration import NEWEST, V13_4, OperationDeclaration, Version, version_text
from tileir.ir.dense import DenseAttribute
from tileir.ir.diagnostics import Diagnostic, PassError, has_errors
from tileir.ir.enums import EnumAttribute
from tileir.ir.types import Type
from tileir.ir.verifier import VerifyContext, verify_operation
from tileir.passes.downlevel_expand import (
    can_insert,
    can_round,
    has_signed_step,
    insert,
    integer_power,
    make_loop_signed,
    rounded_conversion,
    saturating_conversion,
)
from tileir.passes.downlevel_types import newer_type, older_type
from tileir.passes.emit import Emit, replace

# Newer operations that have an equivalent.
REPLACED: Final = (INSERT, FPOWI, GDC_LAUNCH_DEPENDENTS_TKO, MAKE_STRIDED_VIEW)
# Newer attributes that may be dropped: without them the operation does what was asked for, and no less.
_DROPPED: Final[tuple[tuple[OperationDeclaration, str], ...]] = (
    (LOAD_VIEW_TKO, "inbounds"),
    (STORE_VIEW_TKO, "inbounds"),
    (EXP, "rounding_mode"),
    (MMAF, "fast_acc"),
    (MODULE, "producer"),
    (GLOBAL, "constant"),
    (GLOBAL, "symbol_visibility"),
    (TANH, "rounding_mode"),
    (NEGI, "overflow"),
)


def run(root: Operation, version: Version, warnings: list[Diagnostic]) -> int:
    """Write what is inside `root`, and `root` itself, for a version; gives the number of operations changed."""
    if version >= NEWEST:
        return 0
    operations = list(root.walk())
    errors: list[Diagnostic] = []
    for operation in operations:
        mistake = _mistake(operation, version)
        if mistake is not None:
            errors.append(Diagnostic("error", f"'{operation.name}' op {mistake}", operation.location))
    if not errors:
        errors = _rehearse(root, version)
    if has_errors(errors):
        failure = PassError(errors[0].message, errors[0].location)
        failure.diagnostics = errors
        raise failure
    changed = 0
    for operation in operations:
        changed += _rewrite(operation, version, warnings)
    return changed


def _rehearse(root: Operation, version: Version) -> list[Diagnostic]:
    """What the version refuses in a rewritten copy: where `return` may stand, what a reduction may contain."""
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


# --- what an older version has nothing for ---


def _mistake(operation: Operation, version: Version) -> str | None:
    declaration = operation.declaration
    since = declaration.since
    target = f"and has no equivalent in {version_text(version)}"
    if since is not None and since > version:
        if declaration not in REPLACED or (declaration is INSERT and not can_insert(operation)):
            return f"needs version {version_text(since)} {target}"
    for type in _types(operation):
        newer = newer_type(type, version)
        if newer is not None:
            brought_by = version_text(newer[1])
            return f"has a value of type '{type.spelling}': '{newer[0]}' needs version {brought_by} {target}"
    for attribute in operation.attributes.values():
        if isinstance(attribute, EnumAttribute) and not (declaration is FTOF and can_round(operation)):
            brought = attribute.kind.since.get(attribute.keyword)
            if brought is not None and brought > version:
                keyword = f"'{attribute.kind.name}<{attribute.keyword}>'"
                return f"has {keyword}, which needs version {version_text(brought)} {target}"
    if declaration is FOR and _has_newer(operation, "unsignedCmp", version):
        if not has_signed_step(operation):
            return (
                f"is an unsigned loop, which needs version 13.2; its step is not known to be positive as a signed "
                f"number, so that it has no equivalent in {version_text(version)}"
            )
    return None


def _types(operation: Operation) -> list[Type]:
    types = [value.type for value in operation.results]
    for region in operation.regions:
        for block in region.blocks:
            types += [argument.type for argument in block.arguments]
    value = operation.attributes.get("value")
    if isinstance(value, DenseAttribute):
        types.append(value.type)
    signature = operation.attributes.get("function_type")
    if isinstance(signature, TypeAttribute):
        types.append(signature.type)
    return types


# --- rewriting ---


def _rewrite(operation: Operation, version: Version, warnings: list[Diagnostic]) -> int:
    changed = _retype(operation, version)
    changed |= _drop_attributes(operation, version, warnings)
    declaration = operation.declaration
    if _is_newer(declaration.since, version):
        if declaration is INSERT:
            replace(operation, [insert(Emit(operation), operation)])
            return 1
        if declaration is FPOWI:
            replace(operation, [integer_power(Emit(operation), operation)])
            return 1
        if declaration is GDC_LAUNCH_DEPENDENTS_TKO:
            _forward_token(operation)
            operation.erase()
            return 1
        if declaration is MAKE_STRIDED_VIEW:
            view = Emit(operation).operation(
                MAKE_PARTITION_VIEW, list(operation.operands), [operation.results[0].type], operation.attributes
            )
            replace(operation, [view.results[0]])
            return 1
    # Other modes than the default came with 13.4.
    if declaration is FTOF and version < V13_4 and "rounding_mode" in operation.attributes and can_round(operation):
        replace(operation, [rounded_conversion(Emit(operation), operation)])
        return 1
    if declaration is FTOI and _has_newer(operation, "saturating", version):
        replace(operation, [saturating_conversion(Emit(operation), operation)])
        return 1
    if declaration is FOR and _has_newer(operation, "unsignedCmp", version):
        make_loop_signed(operation)
        return 1
    if declaration is PRINT_TKO and _is_newer(declaration.results[0].since, version):
        return changed | _untie_print(operation)
    return changed


def _is_newer(since: Version | None, version: Version) -> bool:
    return since is not None and since > version


def _has_newer(operation: Operation, attribute: str, version: Version) -> bool:
    """Whether an operation has an attribute that came after a version."""
    return attribute in operation.attributes and _is_newer(operation.declaration.inherent[attribute].since, version)


def _retype(operation: Operation, version: Version) -> int:
    """Give values the types that stand for theirs."""
    changed = 0
    for result in operation.results:
        type = older_type(result.type, version)
        if type is not result.type:
            result.type = type
            changed = 1
    for region in operation.regions:
        for block in region.blocks:
            for argument in block.arguments:
                type = older_type(argument.type, version)
                if type is not argument.type:
                    argument.type = type
                    changed = 1
    signature = operation.attributes.get("function_type")
    if isinstance(signature, TypeAttribute):
        type = older_type(signature.type, version)
        if type is not signature.type:
            operation.set_attribute("function_type", type_attribute(type))
            changed = 1
    return changed


def _drop_attributes(operation: Operation, version: Version, warnings: list[Diagnostic]) -> int:
    changed = 0
    declaration = operation.declaration
    for owner, attribute in _DROPPED:
        if owner is declaration and _has_newer(operation, attribute, version):
            if operation.attributes[attribute] is SYMBOL_VISIBILITY["private"]:
                text = f"'{operation.name}' op: a private global can be seen by others in {version_text(version)}"
                warnings.append(Diagnostic("warning", text, operation.location))
            operation.set_attribute(attribute, None)
            changed = 1
    return changed


def _forward_token(operation: Operation) -> None:
    """Let what comes after an operation come after what was before it."""
    result = operation.results[0]
    if not result.has_uses:
        return
    token = operation.operand("token")
    if token is None:
        token = Emit(operation).operation(MAKE_TOKEN, [], [result.type]).results[0]
    result.replace_all_uses_with(token)


def _untie_print(operation: Operation) -> int:
    """Take the tokens off a print."""
    had = operation.operand_group("token")
    if not had and not operation.results[0].has_uses:
        return 0
    _forward_token(operation)
    if had:
        values = operation.operand_group("args")
        operation.set_operands(values, (len(values), 0))
    return 1
