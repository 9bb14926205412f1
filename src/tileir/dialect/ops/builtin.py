"""The one operation of MLIR's builtin dialect a Tile IR text can hold: the module around everything."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.constraints import STRING, SYMBOL_NAME
from tileir.ir.core import Operation
from tileir.ir.declaration import (
    GRAPH_REGION,
    ISOLATED,
    NO_TERMINATOR,
    SINGLE_BLOCK,
    SYMBOL_TABLE,
    OperationDeclaration,
    RegionDeclaration,
    attribute,
)
from tileir.ir.diagnostics import Invalid
from tileir.ir.verifier import VerifyContext

CHAPTER: Final = "Builtin"


def _verify_builtin_module(operation: Operation, context: VerifyContext) -> None:
    for name in operation.attributes:
        if "." not in name and name not in operation.declaration.inherent:
            raise Invalid(f"can only contain attributes with dialect-prefixed names, found: '{name}'")


BUILTIN_MODULE: Final[OperationDeclaration] = OperationDeclaration(
    "module",
    dialect="builtin",
    summary="The module MLIR puts around a program",
    description=(
        "Holds whatever a text holds at its outermost level.  Reading a text puts one around it unless it has one; "
        "it is written out only where asked for.  Like `cuda_tile.module` it is a symbol table."
    ),
    example="builtin.module {\n}",
    attributes=(
        attribute("sym_name", SYMBOL_NAME, "the name; usually absent", optional=True),
        attribute("sym_visibility", STRING, "the visibility of the name", optional=True),
    ),
    regions=(RegionDeclaration("bodyRegion", 1, "the contents"),),
    traits=ISOLATED | SYMBOL_TABLE | GRAPH_REGION | NO_TERMINATOR | SINGLE_BLOCK,
    verify=_verify_builtin_module,
    syntax="module-wrapper",
)
