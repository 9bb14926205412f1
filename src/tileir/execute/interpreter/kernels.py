"""Which kernel of `tileir.execute.arithmetic` an operation runs, by mnemonic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from tileir.dialect.types import TileType
from tileir.ir.attributes import EnumAttribute
from tileir.ir.core import Operation
from tileir.ir.types import Type

Kernel = Callable[..., Any]
Factory = Callable[[Operation, bool], Kernel]


def arithmetic() -> Any:
    try:
        import tileir.execute.arithmetic as found
    except ImportError:
        import tileir.execute.interpreter.stand_in as found  # type: ignore
    return found


def _element(operation: Operation, operand: int = 0) -> Type:
    return cast(TileType, operation.operands[operand].type).element


def _target(operation: Operation) -> Type:
    return cast(TileType, operation.results[0].type).element


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
    kernel: Kernel = arithmetic().float_binary(
        name, _element(operation), _rounding(operation), _flag(operation, "flush_to_zero")
    )
    return kernel


def _float_unary(operation: Operation, exact: bool) -> Kernel:
    name = operation.declaration.mnemonic
    kernel: Kernel = arithmetic().float_unary(
        name, _element(operation), _rounding(operation), _flag(operation, "flush_to_zero")
    )
    return kernel


def _float_fma(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().float_fma(
        _element(operation), _rounding(operation), _flag(operation, "flush_to_zero")
    )
    return kernel


def _float_minmax(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().float_minmax(
        operation.declaration.mnemonic,
        _element(operation),
        _flag(operation, "propagate_nan"),
        _flag(operation, "flush_to_zero"),
    )
    return kernel


def _float_compare(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().float_compare(
        _keyword(operation, "comparison_predicate"), _keyword(operation, "comparison_ordering"), _element(operation)
    )
    return kernel


def _by_element(name: str) -> Factory:
    """A factory that takes the element type only."""

    def factory(operation: Operation, exact: bool) -> Kernel:
        kernel: Kernel = getattr(arithmetic(), name)(_element(operation))
        return kernel

    return factory


def _integer_binary(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().integer_binary(operation.declaration.mnemonic, _element(operation))
    return kernel


def _integer_unary(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().integer_unary(operation.declaration.mnemonic, _element(operation))
    return kernel


def _integer_signed_binary(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().integer_signed_binary(
        operation.declaration.mnemonic, _element(operation), _keyword(operation, "signedness")
    )
    return kernel


def _integer_division(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().integer_division(
        _element(operation), _keyword(operation, "signedness"), _keyword(operation, "rounding") or "zero"
    )
    return kernel


def _integer_compare(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().integer_compare(
        _keyword(operation, "comparison_predicate"), _element(operation), _keyword(operation, "signedness")
    )
    return kernel


def _float_to_float(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().float_to_float(_element(operation), _target(operation), _rounding(operation))
    return kernel


def _float_to_integer(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().float_to_integer(
        _element(operation), _target(operation), _keyword(operation, "signedness"), _rounding(operation)
    )
    return kernel


def _integer_to_float(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().integer_to_float(
        _element(operation), _target(operation), _keyword(operation, "signedness"), _rounding(operation)
    )
    return kernel


def _extend_integer(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().extend_integer(
        _element(operation), _target(operation), _keyword(operation, "signedness")
    )
    return kernel


def _truncate_integer(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().truncate_integer(_element(operation), _target(operation))
    return kernel


def _bitcast(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().bitcast(_element(operation), _target(operation))
    return kernel


def _pack(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().pack(_element(operation))
    return kernel


def _unpack(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().unpack(_target(operation))
    return kernel


def _matrix_float(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().matrix_float(_element(operation), _element(operation, 2), exact)
    return kernel


def _matrix_integer(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().matrix_integer(
        _keyword(operation, "signedness_lhs"), _keyword(operation, "signedness_rhs")
    )
    return kernel


def _matrix_scaled(operation: Operation, exact: bool) -> Kernel:
    kernel: Kernel = arithmetic().matrix_scaled(_element(operation), _element(operation, 3), exact)
    return kernel


_FUNCTIONS: Final = (
    "absf", "negf", "ceil", "floor", "sqrt", "recipf", "rsqrt", "exp", "exp2", "log", "log2", "log10", "log1p",
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "tanhf", "sigmoid",
)  # fmt: skip

KERNELS: Final[dict[str, Factory]] = {
    **dict.fromkeys(("addf", "subf", "mulf", "divf"), _float_binary),
    **dict.fromkeys(_FUNCTIONS, _float_unary),
    "fma": _float_fma,
    "remf": _by_element("float_remainder"),
    **dict.fromkeys(("maxf", "minf", "maximumf", "minimumf"), _float_minmax),
    "cmpf": _float_compare,
    **dict.fromkeys(("pow", "powf"), _by_element("float_power")),
    "fpowi": _by_element("float_integer_power"),
    "atan2": _by_element("float_atan2"),
    **dict.fromkeys(
        ("addi", "subi", "muli", "mulhii", "mulhi", "andi", "ori", "xori", "shli"), _integer_binary
    ),
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
