"""Which kernel of `tileir.execute.arithmetic` an operation runs, by mnemonic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from tileir.dialect.types import TileType
from tileir.execute import arithmetic
from tileir.ir.attributes import EnumAttribute
from tileir.ir.core import Operation
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


def _keyword(operation: Operation, name: str) -> str:
    """The keyword of an enumeration attribute."""
    found = operation.attribute(name)
    return found.keyword if isinstance(found, EnumAttribute) else ""


def _rounding(operation: Operation) -> str:
    return _keyword(operation, "rounding_mode") or "nearest_even"


def _flag(operation: Operation, name: str) -> bool:
    return name in operation.attributes


def _float_binary(operation: Operation, exact: bool) -> Kernel:
    name = operation.declaration.mnemonic
    return arithmetic.float_binary(name, _float(operation), _rounding(operation), _flag(operation, "flush_to_zero"))


def _float_unary(operation: Operation, exact: bool) -> Kernel:
    name = operation.declaration.mnemonic
    return arithmetic.float_unary(name, _float(operation), _rounding(operation), _flag(operation, "flush_to_zero"))


def _float_fma(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.float_fma(_float(operation), _rounding(operation), _flag(operation, "flush_to_zero"))


def _float_minmax(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.float_minmax(
        operation.declaration.mnemonic,
        _float(operation),
        _flag(operation, "propagate_nan"),
        _flag(operation, "flush_to_zero"),
    )


def _float_compare(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.float_compare(
        _keyword(operation, "comparison_predicate"), _keyword(operation, "comparison_ordering"), _float(operation)
    )


def _by_element(build: Callable[[FloatType], Kernel]) -> Factory:
    """A factory that takes the element type only."""

    def factory(operation: Operation, exact: bool) -> Kernel:
        return build(_float(operation))

    return factory


def _integer_binary(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.integer_binary(operation.declaration.mnemonic, _integer(operation))


def _integer_unary(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.integer_unary(operation.declaration.mnemonic, _integer(operation))


def _integer_signed_binary(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.integer_signed_binary(
        operation.declaration.mnemonic, _integer(operation), _keyword(operation, "signedness")
    )


def _integer_division(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.integer_division(
        _integer(operation), _keyword(operation, "signedness"), _keyword(operation, "rounding") or "zero"
    )


def _integer_compare(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.integer_compare(
        _keyword(operation, "comparison_predicate"), _integer(operation), _keyword(operation, "signedness")
    )


def _float_to_float(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.float_to_float(_float(operation), _float_target(operation), _rounding(operation))


def _float_to_integer(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.float_to_integer(
        _float(operation), _integer_target(operation), _keyword(operation, "signedness"), _rounding(operation)
    )


def _integer_to_float(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.integer_to_float(
        _integer(operation), _float_target(operation), _keyword(operation, "signedness"), _rounding(operation)
    )


def _extend_integer(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.extend_integer(_integer(operation), _integer_target(operation), _keyword(operation, "signedness"))


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
    return arithmetic.matrix_integer(_keyword(operation, "signedness_lhs"), _keyword(operation, "signedness_rhs"))


def _matrix_scaled(operation: Operation, exact: bool) -> Kernel:
    return arithmetic.matrix_scaled(_float(operation), _float(operation, 3), exact)


_FUNCTIONS: Final = (
    "absf", "negf", "ceil", "floor", "sqrt", "recipf", "rsqrt", "exp", "exp2", "log", "log2", "log10", "log1p",
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "tanhf", "sigmoid",
)  # fmt: skip

KERNELS: Final[dict[str, Factory]] = {
    **dict.fromkeys(("addf", "subf", "mulf", "divf"), _float_binary),
    **dict.fromkeys(_FUNCTIONS, _float_unary),
    "fma": _float_fma,
    "remf": _by_element(arithmetic.float_remainder),
    **dict.fromkeys(("maxf", "minf", "maximumf", "minimumf"), _float_minmax),
    "cmpf": _float_compare,
    **dict.fromkeys(("pow", "powf"), _by_element(arithmetic.float_power)),
    "fpowi": _by_element(arithmetic.float_integer_power),
    "atan2": _by_element(arithmetic.float_atan2),
    **dict.fromkeys(("addi", "subi", "muli", "mulhii", "mulhi", "andi", "ori", "xori", "shli"), _integer_binary),
    **dict.fromkeys(("remi", "maxi", "mini", "shri"), _integer_signed_binary),
    "divi": _integer_division,
    **dict.fromkeys(("negi", "negsi", "absi", "noti", "popcnt", "clz", "ctz", "brev"), _integer_unary),
    "cmpi": _integer_compare,
    "ftof": _float_to_float,
    "ftoi": _float_to_integer,
    "itof": _integer_to_float,
    "exti": _extend_integer,
    "trunci": _truncate_integer,
    **dict.fromkeys(("bitcast", "int_to_ptr", "ptr_to_int", "ptr_to_ptr"), _bitcast),
    "pack": _pack,
    "unpack": _unpack,
    "mmaf": _matrix_float,
    "mmai": _matrix_integer,
    "mmaf_scaled": _matrix_scaled,
}
