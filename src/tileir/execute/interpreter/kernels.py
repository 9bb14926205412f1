"""Which kernel of `tileir.execute.arithmetic` an operation runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute import arithmetic
from tileir.execute.arithmetic.draft_functions import DRAFT_FUNCTIONS
from tileir.execute.arithmetic.functions import FUNCTIONS
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import FloatType, IntegerType, Type

Kernel = Callable[..., Any]
Factory = Callable[[Operation, bool], Kernel]


def _element(operation: Operation, operand: int = 0) -> Type:
    return cast(TileType, operation.operands[operand].type).element


def _float(operation: Operation, operand: int = 0) -> FloatType:
    return cast(FloatType, _element(operation, operand))


def _integer(operation: Operation, operand: int = 0) -> IntegerType:
    return cast(IntegerType, _element(operation, operand))


def _target(operation: Operation) -> Type:
    return cast(TileType, operation.results[0].type).element


def _float_target(operation: Operation) -> FloatType:
    return cast(FloatType, _target(operation))


def _integer_target(operation: Operation) -> IntegerType:
    return cast(IntegerType, _target(operation))


def _rounding(operation: Operation) -> str:
    return operation.keyword("rounding_mode") or "nearest_even"


def _flag(operation: Operation, name: str) -> bool:
    return name in operation.attributes


def _float_binary(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.float_binary(
        operation.declaration, _float(operation), _rounding(operation), _flag(operation, "flush_to_zero")
    )


def _float_unary(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.float_unary(
        operation.declaration, _float(operation), _rounding(operation), _flag(operation, "flush_to_zero")
    )


def _float_fma(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.float_fma(_float(operation), _rounding(operation), _flag(operation, "flush_to_zero"))


def _float_minmax(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.float_minmax(
        operation.declaration,
        _float(operation),
        _flag(operation, "propagate_nan"),
        _flag(operation, "flush_to_zero"),
    )


def _float_compare(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.float_compare(
        operation.comparison_predicate, operation.comparison_ordering or "", _float(operation)
    )


def _by_element(build: Callable[[FloatType], Kernel]) -> Factory:
    """A factory that takes the element type only."""

    def factory(operation: Operation, exact: bool) -> Kernel:
        return build(_float(operation))

    return factory


def _integer_binary(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.integer_binary(operation.declaration, _integer(operation))


def _integer_unary(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.integer_unary(operation.declaration, _integer(operation))


def _integer_signed_binary(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.integer_signed_binary(operation.declaration, _integer(operation), operation.signedness)


def _integer_division(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.integer_division(_integer(operation), operation.signedness, operation.rounding)


def _integer_compare(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.integer_compare(operation.comparison_predicate, _integer(operation), operation.signedness)


def _float_to_float(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.float_to_float(_float(operation), _float_target(operation), _rounding(operation))


def _float_to_integer(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.float_to_integer(
        _float(operation), _integer_target(operation), operation.signedness, _rounding(operation)
    )


def _integer_to_float(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.integer_to_float(
        _integer(operation), _float_target(operation), operation.signedness, _rounding(operation)
    )


def _extend_integer(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.extend_integer(_integer(operation), _integer_target(operation), operation.signedness)


def _truncate_integer(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.truncate_integer(_integer(operation), _integer_target(operation))


def _bitcast(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.bitcast(_element(operation), _target(operation))


def _pack(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.pack(_element(operation))


def _unpack(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.unpack(_target(operation))


def _matrix_float(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.matrix_float(_float(operation), _float(operation, 2), exact)


def _matrix_integer(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.matrix_integer(operation.signedness_lhs, operation.signedness_rhs)


def _matrix_scaled(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.matrix_scaled(_float(operation), _float(operation, 3), exact)


KERNELS: Final[dict[OperationDeclaration, Factory]] = {
    **dict.fromkeys((ops.ADDF, ops.SUBF, ops.MULF, ops.DIVF), _float_binary),
    **dict.fromkeys((ops.ABSF, ops.NEGF, ops.CEIL, ops.FLOOR, ops.SQRT, ops.RECIPF), _float_unary),
    **dict.fromkeys((*FUNCTIONS, *DRAFT_FUNCTIONS), _float_unary),
    ops.FMA: _float_fma,
    ops.REMF: _by_element(arithmetic.float_remainder),
    **dict.fromkeys((ops.MAXF, ops.MINF, ops.MAXIMUMF, ops.MINIMUMF), _float_minmax),
    ops.CMPF: _float_compare,
    ops.POW: _by_element(arithmetic.float_power),
    ops.FPOWI: _by_element(arithmetic.float_integer_power),
    ops.ATAN2: _by_element(arithmetic.float_atan2),
    **dict.fromkeys((ops.ADDI, ops.SUBI, ops.MULI, ops.MULHII, ops.ANDI, ops.ORI, ops.XORI, ops.SHLI), _integer_binary),
    **dict.fromkeys((ops.REMI, ops.MAXI, ops.MINI, ops.SHRI), _integer_signed_binary),
    ops.DIVI: _integer_division,
    **dict.fromkeys((ops.NEGI, ops.ABSI, ops.NOTI, ops.POPCNT, ops.CLZ, ops.CTZ, ops.BREV), _integer_unary),
    ops.CMPI: _integer_compare,
    ops.FTOF: _float_to_float,
    ops.FTOI: _float_to_integer,
    ops.ITOF: _integer_to_float,
    ops.EXTI: _extend_integer,
    ops.TRUNCI: _truncate_integer,
    **dict.fromkeys((ops.BITCAST, ops.INT_TO_PTR, ops.PTR_TO_INT, ops.PTR_TO_PTR), _bitcast),
    ops.PACK: _pack,
    ops.UNPACK: _unpack,
    ops.MMAF: _matrix_float,
    ops.MMAI: _matrix_integer,
    ops.MMAF_SCALED: _matrix_scaled,
}
