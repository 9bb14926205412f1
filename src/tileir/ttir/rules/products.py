"""Matmuls: `tt.dot` and `tt.dot_scaled`."""

from __future__ import annotations

from typing import Final

from tileir.dialect.types import TileType, tile_type, with_element
from tileir.ir.core import Operation
from tileir.ir.types import FLOAT_TYPES, FloatType, IntegerType, Type
from tileir.ir.values import Value
from tileir.ttir.rules.arithmetic import filled
from tileir.ttir.translation import Translation, rule

BF16: Final = FLOAT_TYPES["bf16"]
F16: Final = FLOAT_TYPES["f16"]
F32: Final = FLOAT_TYPES["f32"]
F4: Final = FLOAT_TYPES["f4E2M1FN"]
F8: Final = (FLOAT_TYPES["f8E4M3FN"], FLOAT_TYPES["f8E5M2"])
E8M0: Final = FLOAT_TYPES["f8E8M0FNU"]
TF32: Final = FLOAT_TYPES["tf32"]

# The values of `inputPrecision`: the type that f32 operands are split into, and the number of its parts.
_PRECISIONS: Final = {0: (TF32, 1), 1: (TF32, 2), 2: (F32, 1), 3: (BF16, 2), 4: (BF16, 3)}
_IEEE: Final = 2

# The formats of `tt.dot_scaled` by number, those without a type by name.
_FORMATS: Final = (F8[0], F8[1], "e2m3", "e3m2", F4, BF16, F16)


@rule("tt.dot")
def dot(t: Translation, op: Operation) -> Value:
    lhs, rhs, acc = t.operands(op)
    element, other = _element(lhs), _element(rhs)
    if isinstance(element, IntegerType):
        return t.build.mmai(lhs, rhs, acc, "signed", "signed")
    if element is F32:
        part, count = _PRECISIONS[t.attribute(op, "inputPrecision", _IEEE)]
        return _split_product(t, lhs, rhs, acc, part, count)
    if element is not other:
        # Two formats of 8 bits; each is a subset of f16.
        lhs, rhs = _converted(t, lhs, F16), _converted(t, rhs, F16)
    extent = _tile(lhs).shape[-1]
    imprecise = element is other and element in F8 and t.attribute(op, "maxNumImpreciseAcc", 0) >= extent
    return t.build.mmaf(lhs, rhs, acc, fast_acc=imprecise)


def _split_product(t: Translation, lhs: Value, rhs: Value, acc: Value, part: Type, count: int) -> Value:
    """The matmul of f32 operands as a sum of matmuls of their leading bits, the smallest terms first."""
    left, right = _parts(t, lhs, part, count), _parts(t, rhs, part, count)
    if count == 1:
        return t.build.mmaf(left[0], right[0], acc)
    small = zero = filled(t, 0, _tile(acc))
    for order in range(count - 1, 0, -1):
        for index in range(order + 1):
            small = t.build.mmaf(left[order - index], right[index], small)
    # Infinities have parts that are NaN; the product of the largest parts is right there.
    small = t.build.select(t.build.cmpf(small, small, "equal", "ordered"), small, zero)
    return t.build.addf(t.build.mmaf(left[0], right[0], small), acc)


def _parts(t: Translation, value: Value, part: Type, count: int) -> list[Value]:
    """A tile of f32 as the sum of narrower ones, the largest first."""
    found = []
    for index in range(count):
        found.append(_converted(t, value, part))
        if index < count - 1:
            value = t.build.subf(value, _converted(t, found[-1], F32))
    return found


@rule("tt.dot_scaled")
def dot_scaled(t: Translation, op: Operation) -> Value:
    """Both operands are scaled in f32 and multiplied in bf16, which holds the result; in f32 if one of them is f16.

    Scaling by hardware (`mmaf_scaled`) is left out: it takes fewer combinations of formats, and this one is exact.
    """
    lhs, rhs, acc, lhs_scale, rhs_scale = t.optional(op, 5)
    assert lhs is not None and rhs is not None and acc is not None
    formats = [_format(t, op, name) for name in ("a_elem_type", "b_elem_type")]
    target = F32 if F16 in formats else BF16
    lhs = _elements(t, lhs, formats[0], along_rows=bool(t.attribute(op, "lhs_k_pack", 1)))
    rhs = _elements(t, rhs, formats[1], along_rows=not t.attribute(op, "rhs_k_pack", 1))
    if lhs_scale is not None:
        lhs = _scaled(t, lhs, lhs_scale)
    if rhs_scale is not None:
        # The scales of the right matrix are transposed.
        rhs = _transposed(t, _scaled(t, _transposed(t, rhs), rhs_scale))
    lhs, rhs = _converted(t, lhs, target), _converted(t, rhs, target)
    if _element(acc) is F32:
        return t.build.mmaf(lhs, rhs, acc)
    wide = t.build.mmaf(lhs, rhs, _converted(t, acc, F32))
    return _converted(t, wide, _element(acc))


def _format(t: Translation, op: Operation, name: str) -> FloatType:
    found = _FORMATS[t.attribute(op, name)]
    if isinstance(found, str):
        raise t.unsupported(op, f"Tile IR has no format '{found}'")
    return found


def _elements(t: Translation, value: Value, format: FloatType, *, along_rows: bool) -> Value:
    """An operand as a tile of its format: formats of 8 bits may come as integers, those of 4 bits in pairs."""
    type = _tile(value)
    if type.element is format:
        return value
    if format is not F4:
        return t.build.bitcast(value, with_element(type, format))
    if not along_rows:
        return _transposed(t, _elements(t, _transposed(t, value), format, along_rows=True))
    size = type.count
    flat = t.build.unpack(t.build.reshape(value, (size,)), tile_type((2 * size,), F4))
    return t.build.reshape(flat, (*type.shape[:-1], 2 * type.shape[-1]))


def _scaled(t: Translation, value: Value, scale: Value) -> Value:
    """Rows in f32, each block of them multiplied by its scale; the scale 255 is a NaN."""
    shape, scales = _tile(value).shape, _tile(scale).shape
    if isinstance(_element(scale), IntegerType):
        scale = t.build.bitcast(scale, with_element(_tile(scale), E8M0))
    blocks = (*scales, shape[-1] // scales[-1])
    scale = t.build.broadcast(t.build.reshape(_converted(t, scale, F32), (*scales, 1)), blocks)
    product = t.build.mulf(t.build.reshape(_converted(t, value, F32), blocks), scale)
    return t.build.reshape(product, shape)


def _transposed(t: Translation, value: Value) -> Value:
    """A matrix, or each matrix of a batch, transposed."""
    rank = len(_tile(value).shape)
    return t.build.permute(value, [*range(rank - 2), rank - 1, rank - 2])


def _converted(t: Translation, value: Value, element: Type) -> Value:
    type = _tile(value)
    return value if type.element is element else t.build.ftof(value, with_element(type, element))


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def _element(value: Value) -> Type:
    return _tile(value).element
