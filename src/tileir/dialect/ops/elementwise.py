"""Shapes of declaration that many element-wise operations share: one or two operands, all of one type."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.declaration import (
    ELEMENTWISE,
    PURE,
    AttributeDeclaration,
    OperationDeclaration,
    TypeConstraint,
    Verifier,
    operand,
    result,
)
from tileir.ir.registry import REGISTRY
from tileir.ir.versions import V13_1, Version

_PAIR: Final = (("lhs", "rhs", "result"),)


def unary(
    name: str,
    constraint: TypeConstraint,
    *,
    chapter: str,
    summary: str,
    description: str,
    example: str,
    returns: str,
    section: str = "",
    opcode: int | None = None,
    class_name: str = "",
    since: Version | None = V13_1,
    attributes: tuple[AttributeDeclaration, ...] = (),
    modifiers: str = "",
    traits: int = PURE | ELEMENTWISE,
    verify: Verifier | None = None,
    aliases: tuple[str, ...] = (),
    legalization: str = "",
) -> OperationDeclaration:
    """Declare `name %source [modifiers] : T`."""
    return REGISTRY.add(
        OperationDeclaration(
            name,
            chapter=chapter,
            section=section,
            opcode=opcode,
            class_name=class_name,
            since=since,
            summary=summary,
            description=description,
            example=example,
            operands=(operand("source", constraint, "the input tile"),),
            attributes=attributes,
            results=(result("result", constraint, returns),),
            traits=traits,
            same_types=(("source", "result"),),
            verify=verify,
            aliases=aliases,
            legalization=legalization,
            syntax=f"$source {modifiers} attr-dict ':' type($result)",
        )
    )


def binary(
    name: str,
    constraint: TypeConstraint,
    *,
    chapter: str,
    summary: str,
    description: str,
    example: str,
    returns: str,
    left: str = "the left operand",
    right: str = "the right operand",
    section: str = "",
    opcode: int | None = None,
    class_name: str = "",
    since: Version | None = V13_1,
    attributes: tuple[AttributeDeclaration, ...] = (),
    modifiers: str = "",
    traits: int = PURE | ELEMENTWISE,
    same_types: tuple[tuple[str, ...], ...] = _PAIR,
    verify: Verifier | None = None,
    legalization: str = "",
    trailer: str = "",
) -> OperationDeclaration:
    """Declare `name %lhs, %rhs [modifiers] : T`; `trailer` is a directive after the type."""
    return REGISTRY.add(
        OperationDeclaration(
            name,
            chapter=chapter,
            section=section,
            opcode=opcode,
            class_name=class_name,
            since=since,
            summary=summary,
            description=description,
            example=example,
            operands=(operand("lhs", constraint, left), operand("rhs", constraint, right)),
            attributes=attributes,
            results=(result("result", constraint, returns),),
            traits=traits,
            same_types=same_types,
            verify=verify,
            legalization=legalization,
            syntax=f"$lhs ',' $rhs {modifiers} attr-dict ':' type($result) {trailer}",
        )
    )
