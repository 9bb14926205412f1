"""Integer operations on undefined inputs: overflow flags, division by zero, wide shifts, overflowing loop counters.

A check is made for one operation when the launch is prepared; from the operands it returns the wrong elements, or None.
The CPU backend traces the same functions into compiled code: they keep to what a tracer knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy

from tileir.dialect import ops
from tileir.execute.analysis.values import tile_of
from tileir.execute.dtypes import Array
from tileir.execute.locations.wording import DTYPES, THIS, in_script, phrase
from tileir.execute.sanitizer.report import Finding, FindingLocation, Kind
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import IntegerType

Wrong = Callable[..., Any]
_SIGNS = {ops.ADDI: "+", ops.SUBI: "-", ops.MULI: "*", ops.SHLI: "<<", ops.DIVI: "/", ops.REMI: "%", ops.SHRI: ">>"}
_WIDEN: Final = "widen first"
_COUNTERPART: Final = "the smallest number has no positive counterpart"
_UNDEFINED: Final = "the result is undefined, and traps on some machines"
_GUARD: Final = phrase("guard the divisor, as with `select`", script="guard the divisor, as with ct.where")


@dataclass(slots=True, eq=False)
class NumberCheck:
    """What an operation must not be given: `wrong` finds it, the rest explains it."""

    kind: Kind
    title: str
    hint: str
    wrong: Wrong
    unsigned: bool = False  # Whether the operation reads its operands as unsigned.

    def finding(self, operation: Operation, location: FindingLocation, operands: list[Any], chosen: Any) -> Finding:
        chosen = numpy.asarray(chosen)
        number = int(chosen.reshape(-1).argmax())
        tiles = [numpy.broadcast_to(numpy.asarray(value), chosen.shape) for value in operands]
        values = [int(tile.reshape(-1)[number]) for tile in tiles]
        reading = ""
        if self.unsigned and min(values) < 0:
            reading = ", read as unsigned"
            values = [value % (1 << _width(operation)) for value in values]
        sign = _SIGNS.get(operation.declaration)
        type = tile_of(operation.results[0]).element.spelling
        if sign is not None and len(values) == 2:
            text = f"{values[0]} {sign} {values[1]}"
        else:
            text = f"{operation.declaration.mnemonic} {', '.join([str(value) for value in values])}"
        named = DTYPES.get(type, type)
        details = [phrase(f"it computes {text} in {type}{reading}", script=f"it computes {text} in {named}{reading}")]
        if chosen.ndim:
            total, count = int(chosen.sum()), chosen.size
            details.append(f"{total} of the {count} elements of the tile {'is' if total == 1 else 'are'} like this")
        return Finding(self.kind, self.title, location, details, self.hint)


def number_checks(operation: Operation) -> list[NumberCheck]:
    build = CHECKS.get(operation.declaration)
    return build(operation) if build is not None else []


def _width(operation: Operation, operand: int = 0) -> int:
    return cast(IntegerType, tile_of(operation.operands[operand]).element).width


def _unsigned(value: Any, width: int) -> Any:
    """An integer tile read as unsigned; narrow types are stored sign-extended or as they are."""
    if value.dtype == numpy.bool_:
        return value.astype(numpy.uint64)
    wide = value.astype(numpy.int64).view(numpy.uint64)
    return wide if width == 64 else wide & numpy.uint64((1 << width) - 1)


def _signed(value: Any, width: int) -> Any:
    if value.dtype == numpy.bool_:
        return -value.astype(numpy.int64)
    return value.astype(numpy.int64)


def _found(wrong: Any) -> Any:
    return wrong if wrong.any() else None


def _division_checks(operation: Operation) -> list[NumberCheck]:
    width = _width(operation)

    def by_zero(left: Any, right: Any) -> Any:
        wrong = right == 0
        return wrong & (left == left) if wrong.any() else None  # In the shape of both.

    hint = phrase(f"{_GUARD}: {_UNDEFINED}", script=f"{in_script(_GUARD)}: {_UNDEFINED}")
    title, unsigned = phrase(f"{THIS} divides by zero", operation), operation.signedness == "unsigned"
    checks = [NumberCheck("division-by-zero", title, hint, by_zero, unsigned)]
    if not unsigned and operation.declaration is ops.DIVI:
        least = -(1 << (width - 1))
        advice = _WIDEN if width < 64 else _GUARD

        def overflows(left: Any, right: Any) -> Any:
            minus = _signed(right, width) == -1
            return _found(minus & (_signed(left, width) == least)) if minus.any() else None

        title = phrase(f"{THIS} overflows: the quotient does not fit", operation)
        hint = phrase(f"{_COUNTERPART}: {advice}", script=f"{_COUNTERPART}: {in_script(advice)}")
        checks.append(NumberCheck("overflow", title, hint, overflows))
    return checks


def _shift_checks(operation: Operation) -> list[NumberCheck]:
    width = _width(operation)

    def too_far(left: Any, right: Any) -> Any:
        return _found(right if right.dtype == numpy.bool_ else (right < 0) | (right >= width))

    title = phrase(f"{THIS} shifts by as many bits as the type has, or more", operation)
    hint = f"amounts are 0 to {width - 1}, read as unsigned: the result is undefined otherwise"
    check = NumberCheck("shift", title, hint, too_far)
    return [check, *_overflow_checks(operation)] if operation.declaration is ops.SHLI else [check]


def _overflow_checks(operation: Operation) -> list[NumberCheck]:
    flag = operation.keyword("overflow")
    wider = ", or compute in a wider type" if _width(operation) < 64 else ""
    found = []
    for signed in {"no_signed_wrap": (True,), "no_unsigned_wrap": (False,), "no_wrap": (True, False)}.get(flag, ()):
        reading = "a signed" if signed else "an unsigned"
        title = phrase(f"{THIS} promises {flag} and wraps as {reading} number", operation)
        wraps = _WRAPS[operation.declaration](operation, signed)
        found.append(NumberCheck("overflow", title, f"drop the flag if wrapping is meant{wider}", wraps, not signed))
    return found


def _fits(exact: Any, width: int, signed: bool) -> Any:
    """Which exact results are too large for the type; `exact` is int64 of a narrower type."""
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    return _found((exact < low) | (exact > high))


def _wraps_sum(operation: Operation, signed: bool) -> Wrong:
    width = _width(operation)
    subtracts = operation.declaration is ops.SUBI
    read = _signed if signed else _unsigned

    def narrow(left: Any, right: Any) -> Any:
        a, b = read(left, width).view(numpy.int64), read(right, width).view(numpy.int64)
        return _fits(a - b if subtracts else a + b, width, signed)

    def wide(left: Any, right: Any) -> Any:
        a, b = read(left, 64), read(right, 64)
        result = a - b if subtracts else a + b
        if not signed:
            return _found(a < b if subtracts else result < a)
        # The sign is wrong: both operands (the second one negated for a difference) disagree with the result.
        return _found((((a ^ b) & (a ^ result)) if subtracts else ((a ^ result) & (b ^ result))) < 0)

    return wide if width == 64 else narrow


def _wraps_product(operation: Operation, signed: bool) -> Wrong:
    width = _width(operation)
    read = _signed if signed else _unsigned

    def narrow(left: Any, right: Any) -> Any:
        a, b = read(left, width), read(right, width)
        # Two unsigned 32-bit numbers fill 64 bits, which are then compared as unsigned.
        return _found(a * b > numpy.uint64((1 << width) - 1)) if not signed else _fits(a * b, width, True)

    def wide(left: Any, right: Any) -> Any:
        a, b = read(left, 64), read(right, 64)
        product = a * b
        zero = a == 0
        divisor = numpy.where(zero, a.dtype.type(1), a)
        wrong = ~zero & (product // divisor != b)
        if signed:
            least = numpy.int64(-(1 << 63))
            wrong |= ((a == -1) & (b == least)) | ((b == -1) & (a == least))
        return _found(wrong)

    return wide if width == 64 else narrow


def _wraps_shift(operation: Operation, signed: bool) -> Wrong:
    width = _width(operation)
    read = _signed if signed else _unsigned

    def lost(left: Any, right: Any) -> Any:
        a = read(left, width)
        amount = numpy.clip(right.astype(numpy.int64), 0, width - 1).astype(a.dtype)
        shifted = a << amount
        if not signed:
            mask = numpy.uint64((1 << width) - 1)
            return _found(((shifted & mask) >> amount) != a)
        if width < 64:
            spare = numpy.int64(64 - width)
            shifted = (shifted << spare) >> spare
        return _found((shifted >> amount) != a)

    return lost


def _wraps_negation(operation: Operation, signed: bool) -> Wrong:
    width = _width(operation)
    # The operation is always signed, so no_wrap is the same as no_signed_wrap.
    return lambda value: _found(_signed(value, width) == -(1 << (width - 1))) if signed else None


def _wraps_truncation(operation: Operation, signed: bool) -> Wrong:
    source = _width(operation)
    width = cast(IntegerType, tile_of(operation.results[0]).element).width
    if signed:
        return lambda value: _fits(_signed(value, source), width, True)
    return lambda value: _found(_unsigned(value, source) > numpy.uint64((1 << width) - 1))


class CounterCheck(NumberCheck):
    """Whether the counter of a `for` still fits when it has passed the upper bound.

    If it wraps, behavior is undefined and a GPU never leaves the loop; the engines here count in a wider type.
    """

    def __init__(self, operation: Operation) -> None:
        self._width: int = _width(operation)
        unsigned = operation.unsigned_cmp
        self._most: int = (1 << self._width) - 1 if unsigned else (1 << (self._width - 1)) - 1
        title = phrase(f"{THIS} counts past the largest number of its type", operation)
        wider = ", or count in a wider type" if self._width < 64 else ""
        hint = f"the behavior is undefined, and a GPU may never leave the loop: end it earlier{wider}"
        super().__init__("overflow", title, hint, self._wrong, unsigned)

    def _wrong(self, lower: Any, upper: Any, step: Any, *initial: Any) -> Any:
        """In 64 bits; what wraps belongs to a loop that does not run."""
        read = _unsigned if self.unsigned else _signed
        low, high, stride = (read(value, self._width) for value in (lower, upper, step))
        runs = (low < high) & (stride > low.dtype.type(0))
        one = numpy.uint64(1)
        span, way = (high - low).view(numpy.uint64), numpy.where(runs, stride.view(numpy.uint64), one)
        last = (span - one) // way * way
        room = (low.dtype.type(self._most) - low).view(numpy.uint64) - last
        return _found(runs & (way > room))

    def finding(self, operation: Operation, location: FindingLocation, operands: list[Any], chosen: Any) -> Finding:
        numbers = [int(numpy.asarray(value).reshape(-1)[0]) for value in operands[:3]]
        if self.unsigned:
            numbers = [number % (1 << self._width) for number in numbers]
        lower, upper, step = numbers
        last = lower + (upper - 1 - lower) // step * step
        reading = " read as unsigned" if self.unsigned else ""
        details = [
            f"it counts from {lower} to {upper} in steps of {step}: after {last} comes {last + step}, and "
            f"i{self._width}{reading} ends at {self._most}"
        ]
        return Finding(self.kind, self.title, location, details, self.hint)


_WRAPS: dict[OperationDeclaration, Callable[[Operation, bool], Wrong]] = {
    ops.ADDI: _wraps_sum,
    ops.SUBI: _wraps_sum,
    ops.MULI: _wraps_product,
    ops.SHLI: _wraps_shift,
    ops.NEGI: _wraps_negation,
    ops.TRUNCI: _wraps_truncation,
}

CHECKS: dict[OperationDeclaration, Callable[[Operation], list[NumberCheck]]] = {
    **dict.fromkeys(_WRAPS, _overflow_checks),
    **dict.fromkeys((ops.DIVI, ops.REMI), _division_checks),
    **dict.fromkeys((ops.SHLI, ops.SHRI), _shift_checks),
    ops.FOR: lambda operation: [CounterCheck(operation)],
}

_ALL_OPERANDS: Final = "it is defined for all operands"

# The other element-wise operations that give integers.
DEFINED: Final[dict[OperationDeclaration, str]] = {
    **dict.fromkeys((ops.ABSI, ops.ANDI, ops.BITCAST, ops.BREV, ops.CLZ, ops.CMPF, ops.CMPI, ops.CTZ), _ALL_OPERANDS),
    **dict.fromkeys((ops.EXTI, ops.INT_TO_PTR, ops.MAXI, ops.MINI, ops.MULHII, ops.NOTI, ops.ORI), _ALL_OPERANDS),
    **dict.fromkeys((ops.POPCNT, ops.PTR_TO_INT, ops.PTR_TO_PTR, ops.SELECT, ops.XORI), _ALL_OPERANDS),
    ops.FTOI: "values out of range and NaN are clamped",
    ops.OFFSET: "an address is checked where it is used",
}


def first_element(chosen: Array | numpy.bool_) -> tuple[int, ...] | None:
    array = numpy.asarray(chosen)
    if not array.ndim:
        return None
    return tuple([int(position) for position in numpy.unravel_index(int(array.argmax()), array.shape)])
