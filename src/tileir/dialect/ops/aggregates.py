"""Reductions and scans (the operations draft, sections 8.3.14 and 8.3.16).

Both carry a body that combines two elements per operand `i`, its arguments `2i` and `2i + 1`.  In a reduction the first
is the current element and the second what was accumulated so far, in a scan the other way round (docs/reference/conflicts.md C13).
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.constraints import ANY_TILE, ARRAY, BOOL, INTEGER_I32_NOT_NEGATIVE, SAME_OPERAND_SHAPE, tile_type_of
from tileir.dialect.construct import described, tile
from tileir.dialect.inference import Call, Inference
from tileir.dialect.ops.control_flow import YIELD
from tileir.dialect.rules import quoted, result_types, value_types, verify_terminator
from tileir.dialect.types import TileType, scalar_tile, tile_type
from tileir.ir.attributes import Attribute, FloatAttribute, IntegerAttribute
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import (
    VARIADIC,
    OperationDeclaration,
    RegionDeclaration,
    TypeRule,
    VerifyContext,
    attribute,
    operand,
    operation_name,
    result,
)
from tileir.ir.dense import DenseAttribute
from tileir.ir.diagnostics import Code, Invalid
from tileir.ir.traits import OPEN_BITS, REGION_EFFECTS, SINGLE_BLOCK
from tileir.ir.traversal import is_memory_effect_free, is_pure
from tileir.ir.types import BF16, F16, NONE, Type
from tileir.ir.versions import V13_4

CHAPTER: Final = "Core"

_AT_LEAST_ONE_OPERAND: Final = TypeRule(lambda op: bool(op.operands), "expected 1 or more operands, but found 0")


def reduced_type(type: TileType, dim: int) -> TileType:
    """The type of a reduction of a tile along a dimension."""
    return tile_type(type.shape[:dim] + type.shape[dim + 1 :], type.element)


def _identity_type(identity: Attribute) -> Type:
    if isinstance(identity, (IntegerAttribute, FloatAttribute, DenseAttribute)):
        return identity.type
    return NONE


def _verify_aggregate(operation: Operation, context: VerifyContext) -> None:
    operands = operation.operands
    if len(operands) != len(operation.results):
        raise Invalid("expect same number of operands and results")
    identities = operation.identities
    if len(identities) != len(operands):
        raise Invalid(
            f"expect identities to match the number of operands but got: {len(operands)} operands and "
            f"{len(identities)} identities"
        )
    for index, identity in enumerate(identities):
        element = tile_type_of(operands[index]).element
        type = _identity_type(identity)
        # NVIDIA's verifier takes the two 16-bit formats for each other here.
        if element is not type and not (element in (F16, BF16) and type in (F16, BF16)):
            raise Invalid(
                f"expect same type for operand at index: {index} and identity at index: {index} "
                f"but got: '{element.text}' and '{type.text}'"
            )
    rank = tile_type_of(operands[0]).rank
    dim = operation.dim
    if not 0 <= dim < rank:
        raise Invalid(f"dimension ({dim}) is out of bound [0, {rank})")


def _verify_scan(operation: Operation, context: VerifyContext) -> None:
    _verify_aggregate(operation, context)
    for index, value in enumerate(operation.operands):
        if value.type is not operation.results[index].type:
            raise Invalid(f"expect same type for operand at index: {index} and result at index: {index}")


def _verify_result_types(operation: Operation, expected: list[Type], context: VerifyContext) -> None:
    found = result_types(operation)
    if found != expected:
        inferred = f"inferred type(s) {quoted(expected)} are incompatible with return type(s) of operation "
        differing = [(a.text, b.text) for a, b in zip(expected, found, strict=False) if a is not b]
        code = Code("type-of-result", expected=differing[0][0], written=differing[0][1]) if differing else None
        context.error(operation, inferred + quoted(found), None, code)
        raise Invalid("failed to infer returned types")


def _verify_reduce_region(operation: Operation, context: VerifyContext) -> None:
    dim = operation.dim
    _verify_result_types(operation, [reduced_type(tile_type_of(v), dim) for v in operation.operands], context)
    _verify_body(operation, context)


def _verify_scan_region(operation: Operation, context: VerifyContext) -> None:
    _verify_result_types(operation, value_types(operation.operands), context)
    _verify_body(operation, context)


def _verify_body(operation: Operation, context: VerifyContext) -> None:
    verify_terminator(operation)
    block = operation.regions[0].block
    _verify_arguments(operation, block)
    _verify_yield(operation, block)
    is_newer = context.version >= V13_4
    for inner in block:
        is_allowed = is_memory_effect_free(inner) if is_newer else is_pure(inner)
        if inner is not block.last and not is_allowed:
            kind = "memory-effect-free" if is_newer else "pure"
            raise Invalid(
                f"'{operation_name(inner, context.version)}' op only {kind} operations are allowed inside "
                f"'{operation.name}'",
                inner.location,
                bare=True,
            )


def _verify_arguments(operation: Operation, block: Block) -> None:
    operands = operation.operands
    arguments = block.arguments
    if len(arguments) != 2 * len(operands):
        raise Invalid(f"expect {2 * len(operands)} block arguments but got: {len(arguments)}")
    elements: list[Type] = []
    for index, argument in enumerate(arguments):
        type = argument.type
        if not isinstance(type, TileType) or type.shape:
            raise Invalid(f"expect 0-rank tile type at index: {index} but got: '{type.text}'")
        elements.append(type.element)
    for index in range(0, len(elements), 2):
        if elements[index] is not elements[index + 1]:
            raise Invalid(
                f"expect same element type for block argument at index: {index} and {index + 1} "
                f"but got: '{elements[index].text}' and '{elements[index + 1].text}'"
            )
    for index, value in enumerate(operands):
        element = tile_type_of(value).element
        if element is not elements[2 * index]:
            raise Invalid(
                f"expect same type for operand at index: {index} and block argument at index: {2 * index} "
                f"but got: '{element.text}' and '{elements[2 * index].text}'"
            )


def _verify_yield(operation: Operation, block: Block) -> None:
    operands = operation.operands
    yielded = block.last.operands if block.last is not None else []
    if len(yielded) != len(operands):
        raise Invalid(
            f"expect number of terminators operands ({len(yielded)}) to match number of operands ({len(operands)})"
        )
    for index, value in enumerate(operands):
        element = tile_type_of(value).element
        type = yielded[index].type
        if not isinstance(type, TileType):
            raise Invalid(
                f"expected TileType for operand and terminator types but got: '{value.type.text}' and '{type.text}'"
            )
        if type.element is not element:
            raise Invalid(
                f"expect same type for operand at index: {index} and terminator argument at index: {index} "
                f"but got: '{element.text}' and '{type.element.text}'"
            )


def _reduced(call: Call) -> list[Type]:
    found: list[Type] = []
    for type in call.types("operands"):
        if not isinstance(type, TileType):
            call.fail(f"'operands' must be tiles, got {described(type)}")
        axis = call.axis("dim", type.rank)
        found.append(tile(type.shape[:axis] + type.shape[axis + 1 :], type.element))
    return found


def _expected_by_body(around: Operation, terminator: OperationDeclaration) -> list[Type] | None:
    """The combination of two elements is one."""
    return [scalar_tile(value.type.element) for value in around.operands if isinstance(value.type, TileType)]


REDUCE: Final[OperationDeclaration] = OperationDeclaration(
    "reduce",
    section="8.3.14",
    opcode=0x58,
    summary="Combine the elements along a dimension",
    description=(
        "Combines all elements along dimension `dim` with the body and drops that dimension.  Several tiles of one "
        "shape can be reduced together.  The body gets, per operand, the current element and the accumulated one as "
        "scalars, and yields the new accumulated ones.  The order of combination is up to the implementation but the "
        "same every time, so the body should be associative and commutative, and each identity neutral for it."
    ),
    example=(
        "%r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>\n"
        "(%element: tile<f32>, %sum: tile<f32>) {\n"
        "  %next = addf %element, %sum : tile<f32>\n"
        "  yield %next : tile<f32>\n"
        "}"
    ),
    operands=(operand("operands", ANY_TILE, "the tiles to reduce", VARIADIC),),
    attributes=(
        attribute("dim", INTEGER_I32_NOT_NEGATIVE, "the dimension that is combined and dropped"),
        attribute("identities", ARRAY, "the neutral element for each operand"),
    ),
    results=(result("results", ANY_TILE, "the reduced tiles", VARIADIC),),
    regions=(RegionDeclaration("body", 1, "how two elements combine", YIELD, "reduce"),),
    traits=REGION_EFFECTS | SINGLE_BLOCK | OPEN_BITS,
    rules=(_AT_LEAST_ONE_OPERAND, SAME_OPERAND_SHAPE),
    verify=_verify_aggregate,
    verify_regions=_verify_reduce_region,
    name_hints=("reduce",),
    inference=Inference(_reduced, expects=_expected_by_body),
    syntax="$operands attr-dict 'dim' ~ '=' ~ $dim 'identities' ~ '=' ~ $identities combine",
)
SCAN: Final[OperationDeclaration] = OperationDeclaration(
    "scan",
    section="8.3.16",
    opcode=0x5E,
    summary="Running combination along a dimension",
    description=(
        "Element `i` along dimension `dim` of the result combines elements 0 to `i` of the operand (an inclusive "
        "scan), or the last down to `i` with `reverse`.  The body gets, per operand, the "
        "accumulated element and the current one as scalars, in this order, and yields the new accumulated ones.  Each lane is scanned by itself; "
        "the grouping is up to the implementation but the same every time, so the body should be associative, and "
        "each identity neutral for it."
    ),
    example=(
        "%r = scan %t dim=1 reverse=false identities=[1.0 : f32] : tile<8x16xf32> -> tile<8x16xf32>\n"
        "(%element: tile<f32>, %product: tile<f32>) {\n"
        "  %next = mulf %element, %product : tile<f32>\n"
        "  yield %next : tile<f32>\n"
        "}"
    ),
    operands=(operand("operands", ANY_TILE, "the tiles to scan", VARIADIC),),
    attributes=(
        attribute("dim", INTEGER_I32_NOT_NEGATIVE, "the dimension to run along"),
        attribute("reverse", BOOL, "whether to start at the last element"),
        attribute("identities", ARRAY, "the neutral element for each operand"),
    ),
    results=(result("results", ANY_TILE, "the running combinations", VARIADIC),),
    regions=(RegionDeclaration("body", 1, "how two elements combine", YIELD),),
    traits=REGION_EFFECTS | SINGLE_BLOCK | OPEN_BITS,
    rules=(_AT_LEAST_ONE_OPERAND, SAME_OPERAND_SHAPE),
    verify=_verify_scan,
    verify_regions=_verify_scan_region,
    name_hints=("",),
    inference=Inference(lambda call: call.types("operands"), expects=_expected_by_body),
    syntax="$operands attr-dict 'dim' ~ '=' ~ $dim 'reverse' ~ '=' ~ $reverse 'identities' ~ '=' ~ $identities combine",
)
