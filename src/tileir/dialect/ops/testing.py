"""Operations that exist for NVIDIA's public test suite only; the drop-in tools import this, nothing else does."""

from __future__ import annotations

from tileir.dialect.constraints import DICTIONARY_ARRAY, FUNCTION_TYPE, SYMBOL_NAME
from tileir.dialect.functions import verify_function, verify_terminator
from tileir.ir.core import Operation
from tileir.ir.declaration import (
    ISOLATED,
    REGISTRY,
    SINGLE_BLOCK,
    SYMBOL,
    OperationDeclaration,
    RegionDeclaration,
    attribute,
)
from tileir.ir.verifier import VerifyContext


def _verify_test_function(operation: Operation, context: VerifyContext) -> None:
    verify_function(operation)


def _verify_test_function_body(operation: Operation, context: VerifyContext) -> None:
    verify_terminator(operation, "cuda_tile.return")


REGISTRY.add(
    OperationDeclaration(
        "testing$func",
        chapter="Testing",
        testing=True,
        summary="A function with arguments and results of any type",
        description=(
            "What `entry` is, without its restrictions: arguments may be tiles of any shape, views or tokens, and "
            "`return` may give values back.  Tests use it to have values of every type at hand.  It cannot be launched "
            "and has no bytecode."
        ),
        example="testing$func @f(%t: tile<4xf32>) -> tile<4xf32> {\n  return %t : tile<4xf32>\n}",
        attributes=(
            attribute("sym_name", SYMBOL_NAME, "the name of the function"),
            attribute("function_type", FUNCTION_TYPE, "the types of the arguments and results"),
            attribute("arg_attrs", DICTIONARY_ARRAY, "attributes of the arguments", optional=True),
            attribute("res_attrs", DICTIONARY_ARRAY, "attributes of the results", optional=True),
        ),
        regions=(RegionDeclaration("body", 1, "the body", "cuda_tile.return"),),
        traits=ISOLATED | SYMBOL | SINGLE_BLOCK,
        verify=_verify_test_function,
        verify_regions=_verify_test_function_body,
        syntax="function",
    )
)
