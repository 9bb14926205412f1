"""Matmuls: mmaf, mmaf_scaled (public floating point) and mmai (public integer); no draft section has them."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.constraints import SIGNEDNESS_ATTRIBUTE, UNIT_ATTRIBUTE, same_element, same_rank, tile_of
from tileir.dialect.types import TileType, list_text
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration, VerifyContext, attribute, operand, result
from tileir.ir.diagnostics import Invalid
from tileir.ir.traits import MATRIX_PRODUCT, OPEN_BITS, PURE
from tileir.ir.types import BF16, F4E2M1FN, F8E4M3FN, F8E5M2, F8E8M0FNU, F16, F32, F64, FNV8E5M3FNU, I8, I32, TF32, Type
from tileir.ir.versions import V13_3

CHAPTER: Final = "Floating point"

_MMAF_INPUT: Final = tile_of((F16, BF16, F32, F64, TF32, F8E4M3FN, F8E5M2), phrase="mmaf operand tile type of")
_MMAF_ACCUMULATOR: Final = tile_of((F16, F32, F64), phrase="mmaf acc/result tile type of")
_MMAI_INPUT: Final = tile_of((I8,), phrase="mmai operand tile type of")
_MMAI_ACCUMULATOR: Final = tile_of((I32,), phrase="mmai acc tile type of")
_MMAI_RESULT: Final = tile_of((I32,), phrase="mmai result tile type of")
_SCALED_INPUT: Final = tile_of((F8E4M3FN, F8E5M2, F4E2M1FN), phrase="mmaf_scaled operand tile type of")
_SCALED_ACCUMULATOR: Final = tile_of((F32,), phrase="mmaf_scaled result tile type of")
_SCALE: Final = tile_of((F8E4M3FN, F8E8M0FNU), newer=(FNV8E5M3FNU,), phrase="mmaf_scaled scale tile type of")

# Which accumulators an input type goes with.
_ACCUMULATORS: Final[dict[Type, tuple[Type, ...]]] = {
    F8E4M3FN: (F16, F32),
    F8E5M2: (F16, F32),
    F16: (F16, F32),
    BF16: (F32,),
    TF32: (F32,),
    F32: (F32,),
    F64: (F64,),
}
# How many elements along K one scale may stand for, by the type of the scale, where the inputs are f4E2M1FN.
_F4_BLOCKS: Final[dict[Type, tuple[int, ...]]] = {F8E4M3FN: (16,), F8E8M0FNU: (16, 32), FNV8E5M3FNU: (16, 32)}
_SHAPES: Final = (
    "The operands have the shapes M x K, K x N and M x N, or with a batch dimension in front B x M x K, B x K x N and "
    "B x M x N."
)


class _Side:
    """An operand of a matmul: its name in diagnostics and its shape."""

    def __init__(self, operation: Operation, name: str) -> None:
        (value,) = operation.operand_group(name)
        if not isinstance(value.type, TileType):
            raise Invalid(f"operand '{name}' must be a tile")
        self.name: str = name
        self.shape: tuple[int, ...] = value.type.shape
        self.element: Type = value.type.element

    @property
    def shape_text(self) -> str:
        return f"{self.name} shape ({list_text(self.shape)})"


def _match(left: _Side, left_dim: int, right: _Side, right_dim: int, blank: str = "") -> None:
    """Two extents that must agree; `blank` is the stray blank some of NVIDIA's texts begin with."""
    if left.shape[left_dim] != right.shape[right_dim]:
        raise Invalid(
            f"{blank}shape error: dim {left_dim} of {left.name} ({left.shape[left_dim]}) and dim {right_dim} of "
            f"{right.name} ({right.shape[right_dim]}) must match, but got {left.shape_text} and {right.shape_text}"
        )


def _verify_shapes(operation: Operation, context: VerifyContext) -> None:
    """Batch, then K, M and N; that the ranks agree is a declared rule."""
    lhs = _Side(operation, "lhs")
    rhs = _Side(operation, "rhs")
    acc = _Side(operation, "acc")
    rank = len(lhs.shape)
    if rank not in (2, 3):
        raise Invalid("operands must be 2D or 3D tiles")
    if rank == 3:
        _match(lhs, 0, rhs, 0)
        _match(lhs, 0, acc, 0)
    row = rank - 2
    column = rank - 1
    _match(lhs, column, rhs, row, " ")
    _match(lhs, row, acc, row, " ")
    _match(rhs, column, acc, column, " ")


def _verify_mmaf(operation: Operation, context: VerifyContext) -> None:
    _verify_shapes(operation, context)
    element = _Side(operation, "lhs").element
    accumulator = _Side(operation, "acc").element
    allowed = _ACCUMULATORS.get(element)
    if allowed is None:
        raise Invalid(f"unsupported input element type: '{element.text}'")
    if accumulator not in allowed:
        names = ", ".join([f"'{t.text}'" for t in allowed])
        raise Invalid(
            f"unsupported combination of element types. Input type '{element.text}' expects accumulator/result type "
            f"to be one of {{{names}}}, but got '{accumulator.text}'"
        )


def _verify_mmaf_scaled(operation: Operation, context: VerifyContext) -> None:
    _verify_shapes(operation, context)
    lhs = _Side(operation, "lhs")
    rhs = _Side(operation, "rhs")
    lhs_scale = _Side(operation, "lhs_scale")
    rhs_scale = _Side(operation, "rhs_scale")
    row = len(lhs.shape) - 2
    column = row + 1
    if row == 1:
        _match(lhs, 0, lhs_scale, 0)
        _match(rhs, 0, rhs_scale, 0)
    _match(lhs, row, lhs_scale, row)
    _match(rhs, column, rhs_scale, column)
    _match(lhs_scale, column, rhs_scale, row)
    # Scales of f8E8M0FNU go with every input type, the others with f4E2M1FN only.
    if lhs_scale.element is not F8E8M0FNU and lhs.element is not F4E2M1FN:
        raise Invalid(
            f"unsupported combination of element types. Scale type '{lhs_scale.element.text}' expects lhs and rhs "
            f"element types to be 'f4E2M1FN', but got '{lhs.element.text}'"
        )
    _verify_block(lhs, lhs_scale, column)


def _verify_block(lhs: _Side, scale: _Side, column: int) -> None:
    """One scale stands for a block of elements along K; how many depends on the types."""
    inner = lhs.shape[column]
    blocks = scale.shape[column]
    if inner % blocks:
        raise Invalid(
            f"shape error: dim {column} of lhs_scale ({blocks}) must be a divisor of dim {column} of lhs ({inner}), "
            f"but got {scale.shape_text} and {lhs.shape_text}"
        )
    factor = inner // blocks
    requirement = "requires block scale factor of lhs_scale and rhs_scale to be"
    if lhs.element is not F4E2M1FN:
        if factor != 32:
            raise Invalid(f"shape error: f8 element type {requirement} 32, but got {factor}")
        return
    allowed = _F4_BLOCKS.get(scale.element, ())
    if factor not in allowed:
        sizes = " or ".join([str(size) for size in allowed])
        raise Invalid(
            f"shape error: f4E2M1FN element type with {scale.element.text} scales {requirement} {sizes}, but got {factor}"
        )


MMAF: Final[OperationDeclaration] = OperationDeclaration(
    "mmaf",
    opcode=0x49,
    class_name="MmaF",
    summary="Multiply matrices of floats and accumulate",
    description=(
        f"Multiplies two matrices and adds a third: `lhs * rhs + acc`.  {_SHAPES}  The inputs share one element "
        "type: f8E4M3FN, f8E5M2 and f16 accumulate in f16 or f32; bf16, tf32 and f32 in f32; f64 in f64.  The "
        "order of the additions along K is not specified.  `fast_acc` lets an f8 product accumulate in the "
        "reduced precision of the hardware where there is one (Hopper)."
    ),
    example="%r = mmaf %a, %b, %c : tile<16x32xf16>, tile<32x8xf16>, tile<16x8xf32>",
    operands=(
        operand("lhs", _MMAF_INPUT, "the left matrix"),
        operand("rhs", _MMAF_INPUT, "the right matrix"),
        operand("acc", _MMAF_ACCUMULATOR, "the matrix added to the product"),
    ),
    attributes=(
        attribute("fast_acc", UNIT_ATTRIBUTE, "accumulate faster and less exactly", optional=True, since=V13_3),
    ),
    results=(result("result", _MMAF_ACCUMULATOR, "the sum, of the type of `acc`"),),
    traits=PURE | OPEN_BITS | MATRIX_PRODUCT,
    same_types=(("acc", "result"),),
    rules=(same_element("lhs", "rhs"), same_rank("lhs", "rhs", "acc")),
    verify=_verify_mmaf,
    syntax="$lhs ',' $rhs ',' $acc flag(fast_acc) attr-dict ':' type($lhs) ',' type($rhs) ',' type($acc)",
)
MMAF_SCALED: Final[OperationDeclaration] = OperationDeclaration(
    "mmaf_scaled",
    opcode=0x72,
    class_name="MmaFScaled",
    since=V13_3,
    summary="Multiply matrices of block-scaled floats and accumulate",
    description=(
        f"Multiplies two matrices whose elements carry a common scale per block along K, and adds a third.  "
        f"{_SHAPES}  The scales have the shapes M x K/V and K/V x N, where V is the size of a block: 32 for f8 "
        "inputs; 16 for f4E2M1FN with f8E4M3FN scales; 16 or 32 for f4E2M1FN with f8E8M0FNU or (13.4) fnv8E5M3FNU "
        "scales.  f8 inputs take f8E8M0FNU scales only.  A negative f8E4M3FN scale is undefined behavior."
    ),
    example=(
        "%r = mmaf_scaled %a, %b, %c, %sa, %sb : tile<16x64xf8E4M3FN>, tile<64x8xf8E4M3FN>, tile<16x8xf32>, "
        "tile<16x2xf8E8M0FNU>, tile<2x8xf8E8M0FNU>"
    ),
    operands=(
        operand("lhs", _SCALED_INPUT, "the left matrix", since=V13_3),
        operand("rhs", _SCALED_INPUT, "the right matrix", since=V13_3),
        operand("acc", _SCALED_ACCUMULATOR, "the matrix added to the product", since=V13_3),
        operand("lhs_scale", _SCALE, "one scale per row and block of the left matrix", since=V13_3),
        operand("rhs_scale", _SCALE, "one scale per block and column of the right matrix", since=V13_3),
    ),
    results=(result("result", _SCALED_ACCUMULATOR, "the sum, of the type of `acc`", since=V13_3),),
    traits=PURE | OPEN_BITS | MATRIX_PRODUCT,
    same_types=(("acc", "result"),),
    rules=(
        same_element("lhs", "rhs"),
        same_element("lhs_scale", "rhs_scale"),
        same_rank("lhs", "rhs", "acc", "lhs_scale", "rhs_scale"),
    ),
    verify=_verify_mmaf_scaled,
    syntax=(
        "$lhs ',' $rhs ',' $acc ',' $lhs_scale ',' $rhs_scale attr-dict ':' type($lhs) ',' type($rhs) ',' "
        "type($acc) ',' type($lhs_scale) ',' type($rhs_scale)"
    ),
)
MMAI: Final[OperationDeclaration] = OperationDeclaration(
    "mmai",
    chapter="Integer",
    opcode=0x4A,
    class_name="MmaI",
    summary="Multiply matrices of integers and accumulate",
    description=(
        f"Multiplies two matrices of `i8`, each read as signed or unsigned, and adds a matrix of `i32`.  {_SHAPES}"
        "  Products are exact; the sum wraps modulo 2^32."
    ),
    example="%r = mmai %a, %b, %c signed unsigned : tile<16x32xi8>, tile<32x8xi8>, tile<16x8xi32>",
    operands=(
        operand("lhs", _MMAI_INPUT, "the left matrix"),
        operand("rhs", _MMAI_INPUT, "the right matrix"),
        operand("acc", _MMAI_ACCUMULATOR, "the matrix added to the product"),
    ),
    attributes=(
        attribute("signedness_lhs", SIGNEDNESS_ATTRIBUTE, "how the left matrix is read"),
        attribute("signedness_rhs", SIGNEDNESS_ATTRIBUTE, "how the right matrix is read"),
    ),
    results=(result("result", _MMAI_RESULT, "the sum"),),
    traits=PURE | MATRIX_PRODUCT,
    same_types=(("acc", "result"),),
    rules=(same_element("lhs", "rhs"), same_rank("lhs", "rhs", "acc")),
    verify=_verify_shapes,
    syntax=(
        "$lhs ',' $rhs ',' $acc keyword(signedness_lhs) keyword(signedness_rhs) attr-dict "
        "':' type($lhs) ',' type($rhs) ',' type($acc)"
    ),
)
