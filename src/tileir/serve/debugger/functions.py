"""What expressions may use of NumPy, by name.

All of them are functions of their arguments alone: nothing here reads or writes files, changes an array, or calls
something that it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import numpy

Growth = Literal["together", "through", "product", "outer", "count"]
"""How large results get: as large as the arguments broadcast together, no larger than what they are made of, matrix
products, outer products, as many elements as a number says."""

_TOGETHER: Final = """
    abs absolute add allclose arctan arctan2 bitwise_and bitwise_or bitwise_xor ceil clip copysign cos cosh deg2rad
    divide equal exp exp2 expm1 fabs floor floor_divide fmax fmin fmod frexp greater greater_equal hypot invert isclose
    isfinite isinf isnan ldexp left_shift less less_equal log log10 log1p log2 logaddexp logical_and logical_not
    logical_or logical_xor maximum minimum mod multiply negative nextafter not_equal power rad2deg reciprocal
    remainder right_shift rint round sign signbit sin sinh sqrt square subtract tan tanh true_divide trunc where
    nan_to_num
"""
_THROUGH: Final = """
    all amax amin any argmax argmin argsort argwhere array array_equal asarray average concatenate
    count_nonzero cumprod cumsum diagonal expand_dims flatnonzero flip max mean median min moveaxis nanargmax
    nanargmin nanmax nanmean nanmin nanstd nansum nanvar nonzero prod ptp ravel reshape roll shape size sort squeeze
    stack std sum swapaxes trace transpose unique var
"""


def _difference(value: Any, axis: int = -1) -> Any:
    """Once: what is asked for more often would be computed as often."""
    return numpy.diff(value, axis=axis)


def _functions() -> dict[str, tuple[Callable[..., Any], Growth]]:
    found: dict[str, tuple[Callable[..., Any], Growth]] = {}
    growths: tuple[tuple[str, Growth], ...] = (
        (_TOGETHER, "together"),
        (_THROUGH, "through"),
        ("matmul dot vdot", "product"),
        ("outer percentile quantile", "outer"),
        ("arange", "count"),
    )
    for names, growth in growths:
        for name in names.split():
            function = getattr(numpy, name, None)
            if function is not None:
                found[name] = function, growth
    found["diff"] = _difference, "through"
    return found


FUNCTIONS: Final = _functions()
_METHODS: Final = """
    all any argmax argmin argsort astype clip conj copy cumprod cumsum diagonal dot flatten item max mean min
    nonzero prod ravel reshape round squeeze std sum swapaxes trace transpose var view
"""
_ATTRIBUTES: Final = """
    T dtype imag itemsize nbytes ndim real shape size strides
"""
_OPTIONS: Final = """
    axis axis1 axis2 ddof decimals dtype equal_nan keepdims k offset order q rtol atol
"""
_TYPES: Final = """
    bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128
"""
METHODS: Final = frozenset(_METHODS.split())
"""Of arrays."""
ATTRIBUTES: Final = frozenset(_ATTRIBUTES.split())
OPTIONS: Final = frozenset(_OPTIONS.split())
CONSTANTS: Final[dict[str, Any]] = {"inf": numpy.inf, "nan": numpy.nan, "pi": numpy.pi, "e": numpy.e, "newaxis": None}
TYPES: Final[dict[str, Any]] = {name: getattr(numpy, name) for name in _TYPES.split()}
TEXTS: Final = frozenset([*TYPES, "bool", "C", "F"])
"""The texts that stand for something: types, orders of elements."""


def _range_of(function: Callable[..., Any], method: str) -> Callable[..., Any]:
    """`min` and `max` of Python's, which take one array or several numbers."""

    def of(*values: Any) -> Any:
        if len(values) == 1 and isinstance(values[0], numpy.ndarray):
            return getattr(values[0], method)()
        return function(*values)

    return of


def _sum(value: Any) -> Any:
    return numpy.sum(value)


BUILTINS: Final[dict[str, Callable[..., Any]]] = {
    "abs": abs,
    "all": numpy.all,
    "any": numpy.any,
    "bool": bool,
    "float": float,
    "int": int,
    "len": len,
    "max": _range_of(max, "max"),
    "min": _range_of(min, "min"),
    "round": numpy.round,
    "sum": _sum,
}
