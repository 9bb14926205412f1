"""Lowering of reductions and scans, with any body, and of matmuls: mmaf, mmai and mmaf_scaled.

A combiner of TTIR is a block of operations on scalars: its operands are in the dialect's order, elements are combined
in any.  Elements that Triton does not combine go by their bits.

Matmuls have tiles of any size, with or without a batch dimension.  Tensor cores take blocks of a certain depth along K:
one that is less deep is filled up with zeros.  Triton fills up M and N itself.
"""

from __future__ import annotations

from typing import Final, cast

from tileir.dialect import ops
from tileir.dialect.ops import ADDF, ADDI, CONSTANT, LOAD_PTR_TKO, LOAD_VIEW_TKO
from tileir.dialect.types import TileType
from tileir.execute.analysis.values import tile_of
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.conversions import widened
from tileir.execute.gpu.triton.lowering.shapes import as_bits, from_bits
from tileir.execute.gpu.triton.lowering.ttir_values import Shape, TtirValue, squeezed_axis
from tileir.execute.gpu.triton.schedule.features import promotes
from tileir.ir.core import Block, Operation
from tileir.ir.traversal import pre_order
from tileir.ir.types import F8E4M3FN, F8E5M2, F32, TF32, FloatType
from tileir.ir.values import Value

_PROMOTED: Final = 128
"""After so many elements of K, a sum of f8 on tensor cores is added to one of f32, as cuBLAS does by default.

Hopper's tensor cores keep 14 bits of sums of f8: over a long K the error would grow without bound.
"""
_UNBOUNDED: Final = 1 << 30
_F8_MATMULS: Final = 89
"""The capability from which on Triton takes f8 in matmuls; it converts it itself where there is no instruction."""
_FIRST_TO_WIDEN: Final = (3, 9)
"""The first Triton that has matmuls of f64 whose operands are loaded in 16 bits or less; before it, it crashes."""


def lower_mmaf(build: Lowering, operation: Operation) -> None:
    left, right, accumulator = [_matrix(build, operand) for operand in operation.operands]
    element = _element(operation.operands[0])
    is_f8 = element in (F8E4M3FN, F8E5M2)
    imprecise = _UNBOUNDED if _is_added_to(build, operation) else 0
    if is_f8 and build.capability < _F8_MATMULS:
        # f16 holds all of them.
        left, right = [build.convert("arith.truncf", widened(build, each, element), "f16") for each in (left, right)]
    elif is_f8 and accumulator.element == "f32":
        imprecise = _UNBOUNDED
        if promotes(operation, build.target, build.options.fast):
            # Triton has this too, but does not wait for tensor cores that it has at work at the same time.
            zero = build.zero("f32", accumulator.shape)
            imprecise = _UNBOUNDED if left.shape[-1] <= _PROMOTED else _PROMOTED
            total = _dot(build, left, right, zero, "ieee", imprecise)
            _result(build, operation, build.apply("arith.addf", accumulator, total))
            return
    if left.element == "f64" and build.has_ptx and build.version < _FIRST_TO_WIDEN:
        left = _hidden(build, operation.operands[0], left)
        right = _hidden(build, operation.operands[1], right)
    # Three matmuls of tf32 lose a few bits of one of f32, and are several times as fast.
    precision = "tf32x3" if element is F32 and build.options.fast and build.has_ptx else "ieee"
    precision = "tf32" if element is TF32 else precision
    _result(build, operation, _dot(build, left, right, accumulator, precision, imprecise))


def _hidden(build: Lowering, operand: Value, lowered: TtirValue) -> TtirValue:
    """An operand of f64 of which Triton does not see what it is made of, unless it is loaded."""
    maker = operand.defining_operation
    if maker is not None and maker.declaration in (LOAD_VIEW_TKO, LOAD_PTR_TKO):
        return lowered
    return build.effect("mov.b64 $0, $1;", "=d,d", [lowered], "f64", lowered.shape)


def lower_mmai(build: Lowering, operation: Operation) -> None:
    """Triton's are signed: an unsigned operand is one that is less by 128, plus 128 for each element of the other.

    Tensor cores may saturate, so the accumulator is added when the whole matmul is known, and last: Triton makes one
    matmul with an accumulator of a matmul with zero and the sum of both.
    """
    left, right, accumulator = [_matrix(build, operand) for operand in operation.operands]
    unsigned_left = operation.signedness_lhs == "unsigned"
    unsigned_right = operation.signedness_rhs == "unsigned"
    if not unsigned_left and not unsigned_right:
        total = _dot(build, left, right, accumulator)
        if build.has_ptx and _is_added_to(build, operation):
            total = build.assembly("mov.b32", [total], "i32")
        _result(build, operation, total)
        return
    left = build.apply("arith.xori", left, -128) if unsigned_left else left
    right = build.apply("arith.xori", right, -128) if unsigned_right else right
    zero = build.integer(0, "i32", accumulator.shape)
    total = _dot(build, left, right, zero)
    if unsigned_left:
        correction = _dot(build, build.integer(-128, "i8", left.shape), right, zero)
        total = build.apply("arith.subi", total, correction)
    if unsigned_right:
        correction = _dot(build, left, build.integer(-128, "i8", right.shape), zero)
        total = build.apply("arith.subi", total, correction)
    if unsigned_left and unsigned_right:
        total = build.apply("arith.addi", total, 128 * 128 * left.shape[-1])
    total = build.apply("arith.addi", accumulator, total)
    _result(build, operation, total)


def lower_mmaf_scaled(build: Lowering, operation: Operation) -> None:
    """The operands are multiplied by their scales before, as bf16, which holds every f8 or f4 times every scale:
    only operands beyond 2**-133 and 2**128, of f8E8M0FNU scales near the ends of its range, are not exact."""
    left, right, accumulator, left_scale, right_scale = [_matrix(build, operand) for operand in operation.operands]
    element, scale = _element(operation.operands[0]), _element(operation.operands[3])
    left = _scaled(build, (left, element), (left_scale, scale), len(left.shape) - 1)
    right = _scaled(build, (right, element), (right_scale, scale), len(right.shape) - 2)
    imprecise = _UNBOUNDED if _is_added_to(build, operation) else 0
    _result(build, operation, _dot(build, left, right, accumulator, "ieee", imprecise))


def _is_added_to(build: Lowering, operation: Operation) -> bool:
    """Whether Triton would take `addf(mmaf(a, b, 0), c)` for `mmaf(a, b, c)`: that rounds otherwise, and saturates
    sums of integers.  It leaves floats that may be imprecise alone, which means something for f8 only."""
    if build.options.fast:
        return False
    definition = operation.operands[2].defining_operation
    if definition is None or definition.declaration is not CONSTANT:
        return False
    return any(user.declaration in (ADDF, ADDI) for user in operation.results[0].users)


def _scaled(
    build: Lowering, operand: tuple[TtirValue, FloatType], scale: tuple[TtirValue, FloatType], axis: int
) -> TtirValue:
    shape, count = operand[0].shape, scale[0].shape[axis]
    blocks: Shape = (*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :])
    repeated = build.broadcast(build.expand(widened(build, *scale), axis + 1), blocks)
    made = build.apply("arith.mulf", widened(build, *operand), build.reshape(repeated, shape))
    return build.convert("arith.truncf", made, "bf16")


def _element(value: Value) -> FloatType:
    return cast(FloatType, tile_of(value).element)


def _matrix(build: Lowering, value: Value) -> TtirValue:
    """An operand or accumulator; a single matrix has rank 2, as tensor cores of Hopper and newer GPUs require."""
    shape = tile_of(value).shape
    lowered = build.value(value)
    first = len(shape) - 2
    skipped = 1 if first and shape[0] == 1 else 0
    for axis in range(first, len(shape)):
        if shape[axis] == 1:
            lowered = build.expand(lowered, axis - skipped)
    return lowered


def _result(build: Lowering, operation: Operation, lowered: TtirValue) -> None:
    _, shape = build.type_of(operation.results[0])
    build.result(operation, build.reshape(lowered, shape))


def _dot(
    build: Lowering,
    left: TtirValue,
    right: TtirValue,
    accumulator: TtirValue,
    precision: str = "ieee",
    imprecise: int = 0,
) -> TtirValue:
    left = _deep_enough(build, left, len(left.shape) - 1)
    right = _deep_enough(build, right, len(right.shape) - 2)
    return build.dot(left, right, accumulator, precision, imprecise)


def _deep_enough(build: Lowering, value: TtirValue, axis: int) -> TtirValue:
    """An operand filled up with zeros along K: repeated as often as it takes, all but the first replaced."""
    count = value.shape[axis]
    least = 32 if value.bits == 8 else 16
    if count >= least:
        return value
    repeated: Shape = (*value.shape[:axis], least // count, *value.shape[axis:])
    filled: Shape = (*value.shape[:axis], least, *value.shape[axis + 1 :])
    copies = build.reshape(build.broadcast(build.expand(value, axis), repeated), filled)
    inside = build.compare("slt", build.range(least), count)
    return build.select(build.along(inside, axis, filled), copies, 0)


_BY_BITS: Final = ("f8E4M3FN", "f8E5M2", "!tt.ptr")
_NOT_COMBINING: Final = (ops.FOR, ops.LOOP, ops.REDUCE, ops.SCAN, ops.ASSERT, ops.PRINT_TKO)


def lower_reduce(build: Lowering, operation: Operation) -> None:
    axis = _axis(operation)
    values = build.operands(operation)
    if axis is None:
        # Of one element, it is that element.
        made = values
    else:
        _check(build, operation)
        bits = _all_as_bits(build, values)
        if axis == 1 and len(bits[0].shape) == 3 and _is_product(build, operation):
            bits = [build.assembly(f"mov.b{value.bits}", [value], value.element) for value in bits]
        # Triton reorders the elements of a reshaped vector that is reduced, and forgets those reduced along with it.
        is_apart = len(bits) > 1 and len(bits[0].shape) == 1 and any(value.name in build.reshaped for value in bits)
        if is_apart:
            bits, axis = [build.expand(value, 0) for value in bits], 1
        made = build.reduce(
            bits,
            axis,
            # The body has for each operand the current element, and what came before.
            lambda before, element: _combine(build, operation, element, before),
        )
        if is_apart:
            made = [build.reshape(value, ()) for value in made]
    _give(build, operation, values, made)


def lower_scan(build: Lowering, operation: Operation) -> None:
    axis = _axis(operation)
    values = made = build.operands(operation)
    if axis is not None:
        _check(build, operation)
        # Here it is the other way round (docs/reference/conflicts.md C13).
        made = build.scan(
            _all_as_bits(build, values),
            axis,
            operation.reverse,
            lambda before, element: _combine(build, operation, before, element),
        )
    _give(build, operation, values, made)


def _is_product(build: Lowering, operation: Operation) -> bool:
    """Whether Triton would compile a sum of products of two broadcast tiles to a matmul, which rounds less."""
    definition = operation.operands[0].defining_operation
    is_multiplied = definition is not None and definition.declaration is ops.MULF
    return is_multiplied and len(operation.operands) == 1 and build.has_ptx and not build.options.fast


def _axis(operation: Operation) -> int | None:
    """The dimension in TTIR; None where it has one element."""
    shape = tile_of(operation.operands[0]).shape
    dim = operation.dim
    return None if shape[dim] == 1 else squeezed_axis(shape, dim)


def _check(build: Lowering, operation: Operation) -> None:
    for inner in pre_order(operation):
        if inner is operation:
            continue
        tiles = [each.type for each in (*inner.operands, *inner.results) if isinstance(each.type, TileType)]
        if inner.declaration in _NOT_COMBINING or any(type.count > 1 for type in tiles):
            build.refuse(inner, f"it stands in the body of a '{operation.name}', which has operations on scalars only")


def _combine(build: Lowering, operation: Operation, first: list[TtirValue], second: list[TtirValue]) -> list[TtirValue]:
    block: Block = operation.regions[0].blocks[0]
    for number, pair in enumerate(zip(first, second, strict=True)):
        for argument, value in zip(block.arguments[2 * number : 2 * number + 2], pair, strict=True):
            element, _ = build.type_of(argument)
            build.define(argument, from_bits(build, value, element))
    given: list[TtirValue] = []
    for inner in block:
        if inner.declaration is ops.YIELD:
            given = build.operands(inner)
        else:
            build.lower(inner)
    return _all_as_bits(build, given)


def _all_as_bits(build: Lowering, values: list[TtirValue]) -> list[TtirValue]:
    return [as_bits(build, value) if value.element.startswith(_BY_BITS) else value for value in values]


def _give(build: Lowering, operation: Operation, values: list[TtirValue], made: list[TtirValue]) -> None:
    for result, value, lowered in zip(operation.results, values, made, strict=True):
        build.define(result, from_bits(build, lowered, value.element))
