"""Making, reshaping and picking apart tiles (the operations draft, section 8.3).

Modules, kernels, globals and the grid are in `structure.py`, `reduce` and `scan` in `aggregates.py`.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.constraints import (
    ANY_TILE,
    DENSE,
    I1_TILE,
    I32_ARRAY,
    INT,
    INTEGER_I64,
    NUMBER,
    POINTER_TILE,
    SAME_ELEMENT_EVERYWHERE,
    SAME_SHAPE_EVERYWHERE,
    SCALAR_I32,
    element_of,
    element_width,
    same_element,
    same_rank,
    same_shape,
    tile_type_of,
)
from tileir.dialect.construct import tile
from tileir.dialect.inference import GIVEN_TYPE, RESHAPED, Call, Inference
from tileir.dialect.types import list_text, scalar_tile, with_element
from tileir.ir.attributes import DenseArrayAttribute
from tileir.ir.core import Operation
from tileir.ir.declaration import (
    VARIADIC,
    OperationDeclaration,
    TypeRule,
    VerifyContext,
    attribute,
    operand,
    result,
    same_type,
)
from tileir.ir.dense import DenseAttribute, signed_value
from tileir.ir.diagnostics import Invalid
from tileir.ir.traits import CONSTANT_LIKE, ELEMENTWISE, PURE
from tileir.ir.types import F4E2M1FN, I32, Type
from tileir.ir.versions import V13_4

CHAPTER: Final = "Core"

_SCALAR_I32_TYPE: Final = scalar_tile(I32)


def _broadcast_fits(operation: Operation) -> bool:
    source = tile_type_of(operation.operands[0]).shape
    target = tile_type_of(operation.results[0]).shape
    if any(extent not in (1, expected) for extent, expected in zip(source, target, strict=True)):
        raise Invalid(
            "expects the shape of source tile to be compatible with that of the result tile, "
            f"but got: {list_text(source)} and {list_text(target)}"
        )
    return True


BROADCAST: Final[OperationDeclaration] = OperationDeclaration(
    "broadcast",
    section="8.3.1",
    opcode=0x0B,
    summary="Expand dimensions of extent one",
    description=(
        "Repeats the source along each dimension whose extent is one until it has the extent of the result.  All "
        "other dimensions, the rank and the element type stay; add dimensions with `reshape` first."
    ),
    example="%r = broadcast %row : tile<1x8xf32> -> tile<4x8xf32>",
    operands=(operand("source", ANY_TILE, "the tile to expand"),),
    results=(result("result", ANY_TILE, "the expanded tile"),),
    traits=PURE,
    rules=(same_rank("source", "result"), SAME_ELEMENT_EVERYWHERE, TypeRule(_broadcast_fits, "")),
    name_hints=("bcast",),
    inference=RESHAPED,
    syntax="$source attr-dict ':' type($source) '->' type($result)",
)


def _verify_cat(operation: Operation, context: VerifyContext) -> None:
    dim = operation.dim
    lhs = tile_type_of(operation.operands[0]).shape
    rhs = tile_type_of(operation.operands[1]).shape
    target = tile_type_of(operation.results[0]).shape
    if not 0 <= dim < len(lhs):
        raise Invalid(f"expect dim to be [0, {len(lhs)}), but got: {dim}")
    if lhs[dim] + rhs[dim] != target[dim]:
        raise Invalid(f"invalid concat at position {dim}, expected: {lhs[dim] + rhs[dim]} but got: {target[dim]}")
    for axis in range(len(lhs)):
        if axis == dim:
            continue
        for name, shape in (("rhs", rhs), ("result", target)):
            if lhs[axis] != shape[axis]:
                raise Invalid(
                    f"expect lhs and {name} shapes to match at non-concat position {axis}, "
                    f"expected: {lhs[axis]} but got: {shape[axis]}"
                )


def _joined(call: Call) -> list[Type]:
    lhs = call.tile("lhs")
    rhs = call.tile("rhs")
    axis = call.axis("dim", lhs.rank)
    if rhs.rank != lhs.rank:
        call.fail(f"'lhs' and 'rhs' must have the same rank, got {lhs.spelling} and {rhs.spelling}")
    shape = list(lhs.shape)
    shape[axis] += rhs.shape[axis]
    return [tile(shape, lhs.element)]


CAT: Final[OperationDeclaration] = OperationDeclaration(
    "cat",
    section="8.3.2",
    opcode=0x0C,
    summary="Join two tiles along a dimension",
    description=(
        "Appends `rhs` to `lhs` along dimension `dim`.  In every other dimension both have the extent of the result.  "
        "Because tile extents are powers of two, in practice both operands have the same extent along `dim`."
    ),
    example="%r = cat %a, %b dim = 1 : tile<2x4xf32>, tile<2x4xf32> -> tile<2x8xf32>",
    operands=(operand("lhs", ANY_TILE, "the first part"), operand("rhs", ANY_TILE, "the second part")),
    attributes=(attribute("dim", INTEGER_I64, "the dimension along which they are joined"),),
    results=(result("result", ANY_TILE, "the joined tile"),),
    traits=PURE,
    rules=(same_rank("lhs", "rhs", "result"), same_element("lhs", "rhs", "result")),
    verify=_verify_cat,
    inference=Inference(_joined),
    syntax="$lhs ',' $rhs 'dim' '=' $dim attr-dict ':' type($lhs) ',' type($rhs) '->' type($result)",
)


def _verify_constant(operation: Operation, context: VerifyContext) -> None:
    if operation.value_attribute.type is not operation.results[0].type:
        raise Invalid("failed to verify that all of {value, result} have same type")


CONSTANT: Final[OperationDeclaration] = OperationDeclaration(
    "constant",
    section="8.3.3",
    opcode=0x10,
    summary="A tile known at compile time",
    description=(
        "Makes a tile from a literal: one number fills the whole tile, a nested list has each element.  Integers "
        "may be written signed or unsigned; a float that no decimal spells exactly, an infinity or a NaN is "
        "written as the hexadecimal of its bits."
    ),
    example="%r = constant <f32: [1.0, 2.5]> : tile<2xf32>",
    attributes=(attribute("value", DENSE, "the elements"),),
    results=(result("result", NUMBER, "the tile"),),
    computes_names=True,
    traits=PURE | CONSTANT_LIKE,
    verify=_verify_constant,
    inference=GIVEN_TYPE,
    syntax="dense-constant attr-dict",
)


def _verify_extract(operation: Operation, context: VerifyContext) -> None:
    source = tile_type_of(operation.operands[0])
    target = tile_type_of(operation.results[0])
    if source.element is not target.element:
        raise Invalid("source and result element type do not match")
    for axis, (whole, part) in enumerate(zip(source.shape, target.shape, strict=True)):
        if whole % part:
            raise Invalid(
                f"source dimension {axis} size ({whole}) must be evenly divisible by "
                f"result dimension {axis} size ({part})"
            )
    indices = operation.operands[1:]
    if len(indices) != source.rank:
        raise Invalid(f"expected {source.rank} indices, but got {len(indices)}")
    for axis, index in enumerate(indices):
        producer = index.defining_operation
        value = producer.attributes.get("value") if producer is not None else None
        if producer is None or producer.declaration is not CONSTANT or not isinstance(value, DenseAttribute):
            continue
        number = signed_value(32, value.bits(0))
        last = source.shape[axis] // target.shape[axis] - 1
        if number < 0:
            context.report(
                "warning",
                f"extract index {axis} has negative value {number}, which may cause undefined behavior",
                operation.location,
            )
        if number > last:
            context.report(
                "warning",
                f"extract index {axis} value {number} may be out of bounds (max valid index: {last})",
                operation.location,
            )


EXTRACT: Final[OperationDeclaration] = OperationDeclaration(
    "extract",
    section="8.3.5",
    opcode=0x26,
    summary="Take a sub-tile out of a tile",
    description=(
        "Divides the source into sub-tiles of the result's shape and returns the one the indices name.  An index counts "
        "sub-tiles, not elements: index 2 with a result extent of 4 starts at element 8.  Each result extent "
        "divides the source extent.  An index without a sub-tile is undefined behavior."
    ),
    example="%r = extract %t[%i, %j] : tile<32x8xf32> -> tile<4x2xf32>",
    operands=(
        operand("source", ANY_TILE, "the tile to divide"),
        operand("indices", SCALAR_I32, "the number of the sub-tile along each dimension", VARIADIC),
    ),
    results=(result("result", ANY_TILE, "the sub-tile"),),
    traits=PURE,
    fixed_types={"indices": _SCALAR_I32_TYPE},
    rules=(same_rank("source", "result"),),
    verify=_verify_extract,
    reads_program=True,
    inference=RESHAPED,
    syntax="$source '[' $indices ']' attr-dict ':' type($source) '->' type($result)",
)


def _insert_fits(operation: Operation) -> bool:
    source = tile_type_of(operation.operands[0])
    target = tile_type_of(operation.results[0])
    if source.rank != target.rank:
        raise Invalid("source and result must have the same rank")
    if source.element is not target.element:
        raise Invalid("source and result element type do not match")
    for axis, (part, whole) in enumerate(zip(source.shape, target.shape, strict=True)):
        if whole % part:
            raise Invalid(
                f"result dimension {axis} size ({whole}) must be evenly divisible by "
                f"source dimension {axis} size ({part})"
            )
    if len(operation.operands) - 2 != target.rank:
        raise Invalid(f"expected {target.rank} indices, but got {len(operation.operands) - 2}")
    return True


INSERT: Final[OperationDeclaration] = OperationDeclaration(
    "insert",
    opcode=0x76,
    since=V13_4,
    summary="Replace a sub-tile of a tile",
    description=(
        "Returns the destination with one sub-tile replaced by the source; the counterpart of `extract`.  An index "
        "counts sub-tiles of the source's shape, not elements.  Each source extent divides the destination extent. "
        " An index without a sub-tile is undefined behavior."
    ),
    example="%r = insert %part, %whole[%i] : tile<2xf32>, tile<8xf32>",
    operands=(
        operand("source", ANY_TILE, "the new sub-tile"),
        operand("destination", ANY_TILE, "the tile around it"),
        operand("indices", SCALAR_I32, "the number of the sub-tile along each dimension", VARIADIC),
    ),
    results=(result("result", ANY_TILE, "the changed tile"),),
    traits=PURE,
    same_types=(("destination", "result"),),
    fixed_types={"indices": _SCALAR_I32_TYPE},
    rules=(TypeRule(_insert_fits, ""),),
    syntax="$source ',' $destination '[' $indices ']' attr-dict ':' type($source) ',' type($destination)",
)


def _iota_fits(operation: Operation) -> bool:
    type = tile_type_of(operation.results[0])
    if type.rank != 1:
        raise Invalid("expects result type to be 1-d tile")
    width = element_width(type)
    if width < 64 and type.shape[0] > 1 << width:
        raise Invalid(
            f"the number of elements {type.shape[0]} exceeds the maximum value of element type '{type.element.text}'"
        )
    return True


IOTA: Final[OperationDeclaration] = OperationDeclaration(
    "iota",
    section="8.3.10",
    opcode=0x3A,
    summary="The numbers 0 to n-1",
    description=(
        "Returns a one-dimensional tile whose element `i` is `i`.  With an element type of width w there may be at "
        "most 2^w elements; read as signed, the upper half of a tile that long is negative."
    ),
    example="%r = iota : tile<8xi32>",
    results=(result("result", INT, "the counting tile"),),
    traits=PURE,
    rules=(TypeRule(_iota_fits, ""),),
    inference=GIVEN_TYPE,
    syntax="attr-dict ':' type($result)",
)
OFFSET: Final[OperationDeclaration] = OperationDeclaration(
    "offset",
    section="8.3.12",
    opcode=0x51,
    summary="Advance pointers by a number of elements",
    description=(
        "Adds to each pointer the matching offset times the storage size of the pointee in bytes.  The offset is "
        "signed, the pointer unsigned.  If the product overflows as a signed number or the sum as an unsigned one "
        "the result is undefined."
    ),
    example="%r = offset %p, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>",
    operands=(operand("ptr", POINTER_TILE, "the pointers"), operand("offset", INT, "how many elements to advance")),
    results=(result("result", POINTER_TILE, "the advanced pointers"),),
    traits=PURE | ELEMENTWISE,
    rules=(same_type("result", "ptr"), SAME_SHAPE_EVERYWHERE),
    inference=Inference(
        lambda call: [call.type_of("ptr")], numbers={"offset": lambda call: with_element(call.tile("ptr"), I32)}
    ),
    syntax="$ptr ',' $offset attr-dict ':' type($ptr) ',' type($offset) '->' type($result)",
)


def _verify_permute(operation: Operation, context: VerifyContext) -> None:
    source = tile_type_of(operation.operands[0]).shape
    target = tile_type_of(operation.results[0]).shape
    permutation = operation.permutation
    rank = len(source)
    if rank < 2:
        raise Invalid(f"expects at least rank 2, but got: {rank}")
    if len(permutation) != rank:
        raise Invalid(f"expect permutation size ({len(permutation)}) to equal the rank of the source ({rank})")
    if len(set(permutation)) != rank:
        raise Invalid("expect permutation elements to be unique")
    for index, axis in enumerate(permutation):
        if not 0 <= axis < rank:
            raise Invalid(f"permutation element at index {index} ({axis}) is out of bound [0, {rank})")
    for index, axis in enumerate(permutation):
        if target[index] != source[axis]:
            raise Invalid(f"result shape invalid at index {index}, expected: {source[axis]}, but got: {target[index]}")


def _permuted(call: Call) -> list[Type]:
    source = call.tile("source")
    order = call.attributes.get("permutation")
    axes = order.values if isinstance(order, DenseArrayAttribute) else ()
    if sorted(axes) != list(range(source.rank)):
        call.fail(f"'permutation' must name each dimension from 0 to {source.rank - 1} once, got {list(axes)}")
    return [tile([source.shape[axis] for axis in axes], source.element)]


PERMUTE: Final[OperationDeclaration] = OperationDeclaration(
    "permute",
    section="8.3.13",
    opcode=0x53,
    summary="Reorder the dimensions",
    description=(
        "Dimension `i` of the result is dimension `permutation[i]` of the source; `[1, 0]` transposes a matrix.  "
        "The source has at least two dimensions, and the permutation names each of them once."
    ),
    example="%r = permute %t [2, 0, 1] : tile<2x4x8xf16> -> tile<8x2x4xf16>",
    operands=(operand("source", ANY_TILE, "the tile to reorder"),),
    attributes=(attribute("permutation", I32_ARRAY, "the source dimension for each result dimension"),),
    results=(result("result", ANY_TILE, "the reordered tile"),),
    traits=PURE,
    rules=(same_element("source", "result"), same_rank("source", "result")),
    verify=_verify_permute,
    inference=Inference(_permuted),
    syntax="$source $permutation attr-dict ':' type($source) '->' type($result)",
)
RESHAPE: Final[OperationDeclaration] = OperationDeclaration(
    "reshape",
    section="8.3.15",
    opcode=0x5B,
    summary="Change the shape, keep the elements",
    description=(
        "Reads the elements of the source in row-major order and arranges them in row-major order in the shape of "
        "the result.  The number of elements and the element type stay; a 0-D tile counts as one element."
    ),
    example="%r = reshape %t : tile<8x2xf32> -> tile<2x2x4xf32>",
    operands=(operand("source", ANY_TILE, "the tile to reshape"),),
    results=(result("result", ANY_TILE, "the reshaped tile"),),
    traits=PURE,
    rules=(
        SAME_ELEMENT_EVERYWHERE,
        TypeRule(
            lambda op: tile_type_of(op.operands[0]).count == tile_type_of(op.results[0]).count,
            "expected source tile and result tile to have the same number of elements",
        ),
    ),
    name_hints=("reshape",),
    inference=RESHAPED,
    syntax="$source attr-dict ':' type($source) '->' type($result)",
)
SELECT: Final[OperationDeclaration] = OperationDeclaration(
    "select",
    section="8.3.17",
    opcode=0x5F,
    summary="Choose between two tiles, element by element",
    description=(
        "Takes each element from `val_if_true` where the condition is 1 and from `val_if_false` where it is 0.  "
        "Both are always computed.  All tiles have one shape; f4E2M1FN, smaller than a byte, is not supported."
    ),
    example="%r = select %c, %a, %b : tile<4xi1>, tile<4xf32>",
    operands=(
        operand("cond", I1_TILE, "the condition"),
        operand("val_if_true", ANY_TILE, "the elements where it holds"),
        operand("val_if_false", ANY_TILE, "the elements where it does not"),
    ),
    results=(result("result", ANY_TILE, "the chosen elements"),),
    traits=PURE | ELEMENTWISE,
    same_types=(("val_if_true", "val_if_false", "result"),),
    rules=(
        same_shape("cond", "val_if_true", "val_if_false", "result"),
        TypeRule(lambda op: element_of(op.results[0].type) is not F4E2M1FN, "cannot operate on sub-byte type F4E2M1FN"),
    ),
    syntax="$cond ',' $val_if_true ',' $val_if_false attr-dict ':' type($cond) ',' type($result)",
)
