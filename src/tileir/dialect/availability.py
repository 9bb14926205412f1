"""Features of a program that an earlier version of the dialect does not have, with the messages of NVIDIA's writer.

The bytecode writers report the first one; `newer_features` finds one per operation.  Features that only the drafts have
belong to no version and are left to the legalizer.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.debug_info import DISubprogram, flagged_subprogram
from tileir.dialect.ops import GLOBAL, MODULE
from tileir.dialect.types import (
    ELEMENT_SINCE,
    GatherScatterViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    nested_types,
)
from tileir.ir.attributes import Attribute, DenseArrayAttribute, EnumAttribute, TypeAttribute
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.types import F4E2M1FN, F8E8M0FNU, FNV8E5M3FNU, I4, Type
from tileir.ir.versions import PREVIEW, V13_3, V13_4, V13_5, Version, version_text

# The names the gates of types use, with the first version of each.
ELEMENT_GATES: Final[dict[Type, tuple[str, Version]]] = {
    F8E8M0FNU: ("Float8E8M0FNU", ELEMENT_SINCE[F8E8M0FNU]),
    F4E2M1FN: ("Float4E2M1FN", ELEMENT_SINCE[F4E2M1FN]),
    I4: ("Int4", ELEMENT_SINCE[I4]),
    FNV8E5M3FNU: ("FloatNV8E5M3FNU", ELEMENT_SINCE[FNV8E5M3FNU]),
}
GATHER_SCATTER_VIEW_GATE: Final[tuple[str, Version]] = ("GatherScatterViewType", V13_3)
STRIDED_VIEW_GATE: Final[tuple[str, Version]] = ("StridedViewType", V13_3)


def operation_message(name: str, version: Version) -> str:
    return f"operation '{name}' is not available in bytecode version {version_text(version)}"


def keyword_message(attribute: str, version: Version) -> str:
    return f"enum value for attribute '{attribute}' is not available in bytecode version {version_text(version)}"


def attribute_message(name: str, optional: bool, since: Version, version: Version) -> str:
    target = version_text(version)
    if optional:
        return (
            f"optional attribute '{name}' is provided but requires bytecode version {version_text(since)}, "
            f"targeting {target}"
        )
    return f"attribute '{name}' requires bytecode version {version_text(since)}+, but targeting {target}"


def operand_message(name: str, since: Version, version: Version) -> str:
    return (
        f"optional operand '{name}' is provided but requires bytecode version {version_text(since)}, "
        f"targeting {version_text(version)}"
    )


def result_message(name: str, since: Version, version: Version) -> str:
    return (
        f"result '{name}' requires bytecode version {version_text(since)} but is being used and targeting "
        f"{version_text(version)}"
    )


def type_message(gate: tuple[str, Version], version: Version) -> str:
    return f"type '{gate[0]}' requires bytecode version {version_text(gate[1])}+, targeting {version_text(version)}"


def pointer_attribute_message(version: Version) -> str:
    return f"parameter 'ptr_attr' requires bytecode version 13.4+, but targeting {version_text(version)}"


def newer_pointer_attribute_message(version: Version) -> str:
    return f"this value of pointer attribute 'ptr_attr' requires bytecode version 13.5+, but targeting {version_text(version)}"


def preview_message() -> str:
    return "module contains public-preview content, which is only valid at the current bytecode version 13.5"


def flags_message(subprogram: DISubprogram, version: Version) -> str:
    return (
        f"debug info subprogram '{subprogram.name}' has flags '{subprogram.flags}' which require bytecode version 13.5 "
        f"or newer, but the requested version is {version_text(version)}"
    )


def global_message(operation: Operation, version: Version) -> str | None:
    """What a version before 13.3 cannot encode of a global."""
    if version >= V13_3:
        return None
    target, name = version_text(version), operation.symbol_name
    if operation.symbol_visibility == "private":
        return (
            f"global `{name}` uses non-public symbol visibility, which cannot be encoded in bytecode version "
            f"{target} (requires bytecode 13.3+)"
        )
    if operation.constant:
        return (
            f"constant global `{name}` cannot be encoded in bytecode version {target} "
            "(the `constant` attribute requires bytecode 13.3+)"
        )
    return None


def newer_features(root: Operation, version: Version) -> list[Diagnostic]:
    """An error for each operation that a version cannot represent."""
    found: list[Diagnostic] = []
    types: dict[Type, str | None] = {}
    scopes: set[Attribute] = set()
    for operation in root.walk():
        message = newer_feature(operation, version, types)
        if message is None and version < V13_5:
            subprogram = flagged_subprogram(operation.location, scopes)
            message = flags_message(subprogram, version) if subprogram is not None else None
        if message is not None:
            found.append(Diagnostic("error", message, operation.location))
    return found


def newer_feature(operation: Operation, version: Version, types: dict[Type, str | None]) -> str | None:
    """The message for an operation that a version cannot represent; `types` caches the messages of types."""
    declaration = operation.declaration
    if declaration.unregistered or declaration.testing or declaration.is_builtin:
        return None
    if declaration.since is not None and declaration.since > version:
        return operation_message(declaration.name, version)
    if version < V13_5 and PREVIEW in operation.attributes:
        return preview_message()
    message = _newer_type_of(operation, version, types)
    if message is not None or declaration is MODULE:
        # Earlier versions leave the producer of a module out.
        return message
    if declaration is GLOBAL:
        return global_message(operation, version)
    for declared_result, result in zip(declaration.results, operation.results, strict=False):
        since = declared_result.since
        if since is not None and since > version and result.has_uses:
            return result_message(declared_result.name, since, version)
    for declared in declaration.attributes:
        value = operation.attributes.get(declared.name)
        if value is None:
            continue
        if declared.since is not None and declared.since > version:
            if value is not declared.default and not _has_no_flag(value):
                return attribute_message(declared.name, declared.optional, declared.since, version)
        elif isinstance(value, EnumAttribute) and value.kind.since.get(value.keyword, version) > version:
            return keyword_message(declared.name, version)
    for declared_operand, length in zip(declaration.operands, operation.segment_lengths(), strict=False):
        since = declared_operand.since
        if since is not None and since > version and length:
            return operand_message(declared_operand.name, since, version)
    return None


def _has_no_flag(value: Attribute) -> bool:
    """Whether it is a list of flags none of which is set."""
    return isinstance(value, DenseArrayAttribute) and not any(value.values)


def _newer_type_of(operation: Operation, version: Version, types: dict[Type, str | None]) -> str | None:
    used = [result.type for result in operation.results]
    for region in operation.regions:
        for block in region.blocks:
            used.extend([argument.type for argument in block.arguments])
    for value in operation.attributes.values():
        if isinstance(value, (TypeAttribute, DenseAttribute)):
            used.append(value.type)
    for type in used:
        if type not in types:
            types[type] = newer_type(type, version)
        message = types[type]
        if message is not None:
            return message
    return None


def newer_type(type: Type, version: Version) -> str | None:
    found = newer_part(type, version)
    if found is None:
        return None
    gate = _gate_of(found[0])
    if gate is not None:
        return type_message(gate, version)
    return newer_pointer_attribute_message(version) if found[1] == V13_5 else pointer_attribute_message(version)


def newer_part(type: Type, version: Version) -> tuple[Type, Version] | None:
    """The first part of a type that a version does not have, and the version that introduced it."""
    for inner in nested_types(type):
        gate = _gate_of(inner)
        if gate is not None and gate[1] > version:
            return inner, gate[1]
        if isinstance(inner, (PointerType, TensorViewType)) and inner.attribute is not None:
            since = V13_4 if inner.attribute == "none" else V13_5
            if version < since:
                return inner, since
    return None


def _gate_of(type: Type) -> tuple[str, Version] | None:
    if isinstance(type, GatherScatterViewType):
        return GATHER_SCATTER_VIEW_GATE
    if isinstance(type, StridedViewType):
        return STRIDED_VIEW_GATE
    return ELEMENT_GATES.get(type)
