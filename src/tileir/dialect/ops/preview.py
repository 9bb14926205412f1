"""Operations of NVIDIA's public preview, which only files with the preview bit have (13.5, not released)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.constraints import ANY_TYPE, ARRAY, FLAT_SYMBOL
from tileir.dialect.inference import GIVEN_TYPES
from tileir.ir.core import Operation
from tileir.ir.declaration import VARIADIC, OperationDeclaration, VerifyContext, attribute, operand, result
from tileir.ir.diagnostics import Invalid
from tileir.ir.traits import SIDE_EFFECT
from tileir.ir.traversal import ancestors
from tileir.ir.versions import PREVIEW, V13_5

CHAPTER: Final = "Control flow"


def _verify_preview_call(operation: Operation, context: VerifyContext) -> None:
    around = ancestors(operation)
    if around and not any(PREVIEW in each.attributes for each in around):
        raise Invalid(f"uses preview feature '{operation.name}', which is not enabled")


PREVIEW_CALL: Final[OperationDeclaration] = OperationDeclaration(
    "preview$call",
    opcode=0x4002,
    class_name="PreviewCall",
    since=V13_5,
    summary="Call a function outside of the file",
    description=(
        "Calls a function of a public preview.  Only a module with the attribute `tileir.preview`, the preview bit of "
        "its file, may have it.  What `callee` names is not known here, so only the record is checked, no backend runs "
        "the call, and text has it in the generic form."
    ),
    example=(
        '%r:2 = "cuda_tile.preview$call"(%x) <{callee = @f, const_args = []}> '
        ": (!cuda_tile.tile<i32>) -> (!cuda_tile.tile<i32>, !cuda_tile.token)"
    ),
    operands=(operand("operands", ANY_TYPE, "the arguments", VARIADIC),),
    attributes=(
        attribute("callee", FLAT_SYMBOL, "the name of the function"),
        attribute("const_args", ARRAY, "the arguments that are constants"),
        attribute("arg_attrs", ARRAY, "attributes of the arguments", optional=True),
        attribute("res_attrs", ARRAY, "attributes of the results", optional=True),
    ),
    results=(result("results", ANY_TYPE, "the results", VARIADIC),),
    traits=SIDE_EFFECT,
    verify=_verify_preview_call,
    reads_program=True,
    inference=GIVEN_TYPES,
)
