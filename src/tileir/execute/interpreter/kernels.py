"""Which function of `tileir.execute.arithmetic` an elementwise operation or a matmul calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from tileir.dialect import ops
from tileir.execute import arithmetic
from tileir.execute.analysis.values import tile_of
from tileir.execute.arithmetic.functions import DRAFT_FUNCTIONS, FUNCTIONS
from tileir.execute.interpreter.compiler import Compiler, Step, function_step
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import FloatType, IntegerType, Type

Kernel = Callable[..., Any]
Factory = Callable[[Operation, bool], Kernel]
"""From an operation, and whether matmuls are exact, to its kernel."""


def compile_elementwise(compiler: Compiler, operation: Operation) -> Step:
    return function_step(compiler, operation, KERNELS[operation.declaration](operation, compiler.options.exact))


def _element(op: Operation, operand: int = 0) -> Type:
    return tile_of(op.operands[operand]).element


def _float(op: Operation, operand: int = 0) -> FloatType:
    return cast(FloatType, _element(op, operand))


def _integer(op: Operation) -> IntegerType:
    return cast(IntegerType, _element(op))


def _target(op: Operation) -> Any:
    return tile_of(op.results[0]).element


def _rounding(op: Operation) -> str:
    return op.keyword("rounding_mode") or "nearest_even"


def _flushes(op: Operation) -> bool:
    return "flush_to_zero" in op.attributes


def _float_unary(op: Operation, exact: bool) -> Kernel:
    return arithmetic.float_unary(op.declaration, _float(op), _rounding(op), _flushes(op))


KERNELS: Final[dict[OperationDeclaration, Factory]] = {
    **dict.fromkeys(
        (ops.ADDF, ops.SUBF, ops.MULF, ops.DIVF),
        lambda op, exact: arithmetic.float_binary(op.declaration, _float(op), _rounding(op), _flushes(op)),
    ),
    **dict.fromkeys((ops.ABSF, ops.NEGF, ops.CEIL, ops.FLOOR, ops.SQRT, ops.RECIPF), _float_unary),
    **dict.fromkeys((*FUNCTIONS, *DRAFT_FUNCTIONS), _float_unary),
    ops.FMA: lambda op, exact: arithmetic.float_fma(_float(op), _rounding(op), _flushes(op)),
    ops.REMF: lambda op, exact: arithmetic.float_remainder(_float(op)),
    **dict.fromkeys(
        (ops.MAXF, ops.MINF, ops.MAXIMUMF, ops.MINIMUMF),
        lambda op, exact: arithmetic.float_minmax(
            op.declaration, _float(op), "propagate_nan" in op.attributes, _flushes(op)
        ),
    ),
    ops.CMPF: lambda op, exact: arithmetic.float_compare(
        op.comparison_predicate, op.comparison_ordering or "", _float(op)
    ),
    ops.POW: lambda op, exact: arithmetic.float_power(_float(op)),
    ops.FPOWI: lambda op, exact: arithmetic.float_integer_power(_float(op)),
    ops.ATAN2: lambda op, exact: arithmetic.float_atan2(_float(op)),
    **dict.fromkeys(
        (ops.ADDI, ops.SUBI, ops.MULI, ops.MULHII, ops.ANDI, ops.ORI, ops.XORI, ops.SHLI),
        lambda op, exact: arithmetic.integer_binary(op.declaration, _integer(op)),
    ),
    **dict.fromkeys(
        (ops.REMI, ops.MAXI, ops.MINI, ops.SHRI),
        lambda op, exact: arithmetic.integer_signed_binary(op.declaration, _integer(op), op.signedness),
    ),
    ops.DIVI: lambda op, exact: arithmetic.integer_division(_integer(op), op.signedness, op.rounding),
    **dict.fromkeys(
        (ops.NEGI, ops.ABSI, ops.NOTI, ops.POPCNT, ops.CLZ, ops.CTZ, ops.BREV),
        lambda op, exact: arithmetic.integer_unary(op.declaration, _integer(op)),
    ),
    ops.CMPI: lambda op, exact: arithmetic.integer_compare(op.comparison_predicate, _integer(op), op.signedness),
    ops.FTOF: lambda op, exact: arithmetic.float_to_float(_float(op), _target(op), _rounding(op)),
    ops.FTOI: lambda op, exact: arithmetic.float_to_integer(_float(op), _target(op), op.signedness, _rounding(op)),
    ops.ITOF: lambda op, exact: arithmetic.integer_to_float(_integer(op), _target(op), op.signedness, _rounding(op)),
    ops.EXTI: lambda op, exact: arithmetic.extend_integer(_integer(op), _target(op), op.signedness),
    ops.TRUNCI: lambda op, exact: arithmetic.truncate_integer(_integer(op), _target(op)),
    **dict.fromkeys(
        (ops.BITCAST, ops.INT_TO_PTR, ops.PTR_TO_INT, ops.PTR_TO_PTR),
        lambda op, exact: arithmetic.bitcast(_element(op), _target(op)),
    ),
    ops.PACK: lambda op, exact: arithmetic.pack(_element(op)),
    ops.UNPACK: lambda op, exact: arithmetic.unpack(_target(op)),
    ops.MMAF: lambda op, exact: arithmetic.matrix_float(_float(op), _float(op, 2), exact),
    ops.MMAI: lambda op, exact: arithmetic.matrix_integer(op.signedness_lhs, op.signedness_rhs),
    ops.MMAF_SCALED: lambda op, exact: arithmetic.matrix_scaled(_float(op), _float(op, 3), exact),
}
