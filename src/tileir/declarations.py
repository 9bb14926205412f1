"""The declaration of each operation: `operation.declaration`, and a constant here, such as `ADDF` or `FOR`.

A declaration has everything that tileir knows about an operation: operands, attributes, results and regions, each with
its first version, traits, assembly format, and documentation.  Test for one with `operation.declaration is FOR`.

>>> from tileir.declarations import ADDF, declaration_of, declarations
>>> declaration_of("addf") is ADDF, ADDF in declarations(), [operand.name for operand in ADDF.operands]
(True, True, ['lhs', 'rhs'])
"""

from __future__ import annotations

from tileir.dialect import ops
from tileir.dialect.ops import *  # noqa: F403
from tileir.ir.declaration import (
    AttributeConstraint,
    AttributeDeclaration,
    OperandDeclaration,
    OperationDeclaration,
    RegionDeclaration,
    TypeConstraint,
    TypeRule,
    VerifyContext,
)
from tileir.ir.diagnostics import OptionError
from tileir.ir.registry import REGISTRY
from tileir.ir.symbols import Symbols, SymbolTable
from tileir.ir.traits import ElementCost

__all__ = [
    "AttributeConstraint", "AttributeDeclaration", "ElementCost", "OperandDeclaration", "OperationDeclaration",
    "RegionDeclaration", "SymbolTable", "Symbols", "TypeConstraint", "TypeRule", "VerifyContext", "declaration_of",
    "declarations",
]  # fmt: skip
__all__ += ops.__all__


def declarations() -> list[OperationDeclaration]:
    """Those of all operations of the dialect, chapter by chapter."""
    # The operations of NVIDIA's test suite may have been loaded.
    return [declaration for declaration in REGISTRY.declarations() if not declaration.testing]


def declaration_of(name: str) -> OperationDeclaration:
    """The declaration of an operation by its name, `addf` or `cuda_tile.addf`."""
    found = REGISTRY.by_name.get(name if "." in name else f"cuda_tile.{name}")
    if found is None:
        raise OptionError(f"there is no operation '{name}'")
    return found
