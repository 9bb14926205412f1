"""The shape of declaration that most element-wise operations share: operands and result of one type."""

from __future__ import annotations

from tileir.annotations import Callable, Final
from tileir.dialect.constraints import FLOAT
from tileir.ir.declaration import AttributeDeclaration, OperationDeclaration, TypeConstraint, Verifier, operand, result
from tileir.ir.traits import ADDITION_COST, ELEMENTWISE, PURE, ElementCost
from tileir.ir.versions import V13_1, Version

ONE_TILE: Final[dict[str, str]] = {"source": "the input tile"}
TWO_TILES: Final[dict[str, str]] = {"lhs": "the left operand", "rhs": "the right operand"}
DIVIDED: Final[dict[str, str]] = {"lhs": "the dividend", "rhs": "the divisor"}


def elementwise(
    name: str,
    operands: dict[str, str] = ONE_TILE,
    *,
    constraint: TypeConstraint = FLOAT,
    summary: str,
    description: str,
    returns: str,
    example: str = "",
    section: str = "",
    opcode: int | None = None,
    class_name: str = "",
    since: Version | None = V13_1,
    attributes: tuple[AttributeDeclaration, ...] = (),
    modifiers: str = "",
    trailer: str = "",
    traits: int = PURE | ELEMENTWISE,
    cost: ElementCost = ADDITION_COST,
    reference: Callable[[float], float] | None = None,
    same_types: tuple[str, ...] = (),
    verify: Verifier | None = None,
    aliases: tuple[str, ...] = (),
    newer_mnemonic: str | None = None,
    legalization: str = "",
) -> OperationDeclaration:
    """Declare `name %a, %b [modifiers] : T` with operands of these names and meanings; `trailer` follows the type.

    `same_types` is written where the verifier does not name the result last.
    """
    parts_since = since if since != V13_1 else None
    if not example:
        values = "%x" if len(operands) == 1 else ", ".join(["%a", "%b", "%c"][: len(operands)])
        example = f"%r = {name} {values} : tile<4x{'f32' if constraint is FLOAT else 'i32'}>"
    names = " ',' ".join([f"${each}" for each in operands])
    return OperationDeclaration(
        name,
        section=section,
        opcode=opcode,
        class_name=class_name,
        since=since,
        summary=summary,
        description=description,
        example=example,
        operands=tuple([operand(each, constraint, words, since=parts_since) for each, words in operands.items()]),
        attributes=attributes,
        results=(result("result", constraint, returns, since=parts_since),),
        traits=traits,
        cost=cost,
        reference=reference,
        same_types=(same_types or (*operands, "result"),),
        verify=verify,
        aliases=aliases,
        newer_mnemonic=newer_mnemonic,
        legalization=legalization,
        syntax=f"{names} {modifiers} attr-dict ':' type($result) {trailer}",
    )
