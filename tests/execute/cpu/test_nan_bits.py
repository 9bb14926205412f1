"""Which NaN a NaN is (docs/reference/numerics.md), in both engines: every operation, type and lane."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy
import pytest
from tests.execute.cpu.nan_programs import (
    EXTREMES,
    MOVES,
    Case,
    Program,
    Trivial,
    cases,
    is_nan,
    is_signalling,
    programs,
    shift_of,
    trivial_programs,
)

from tileir.execute.cpu.runtime.target import host
from tileir.ir import floats
from tileir.ir.types import BF16, F16, F32, F64, FloatType

MACHINES = [name for name in ("native", "x86-64-v3", "x86-64", "cortex-a72") if host(name).runnable]
EXTENTS = (0, 1, 2, 8, 64)
"""No dimensions, parts of vectors, several vectors."""


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE", "0")


# --- what the page says ---


def expected(mnemonic: str, propagates: bool, flushes: bool, element: FloatType, operands: list[Any]) -> Any:
    """The bits of moves and of maxf and minf, from the patterns alone."""
    form = floats.FORMATS[element.name]
    sign = operands[-1].dtype.type(form.sign_mask << shift_of(element))
    if mnemonic == "absf":
        return operands[0] & ~sign
    if mnemonic == "negf":
        return operands[0] ^ sign
    if mnemonic == "bitcast":
        return operands[0]
    if mnemonic == "select":
        return numpy.where(operands[0] != 0, operands[1], operands[2])
    a, b = operands
    nans = [is_nan(element, operand) for operand in (a, b)]
    if flushes:
        smallest = a.dtype.type(1 << form.mantissa_bits)
        a, b = (numpy.where((operand & ~sign) < smallest, operand & sign, operand) for operand in (a, b))
    # Patterns of numbers in their order: those below zero the other way round.
    keys = [
        numpy.where(operand & sign, -(operand & ~sign).astype(object) - 1, operand.astype(object)) for operand in (a, b)
    ]
    first = keys[0] >= keys[1] if mnemonic in ("maxf", "maximumf") else keys[0] <= keys[1]
    result = numpy.where(first.astype(bool), a, b)
    result = numpy.where(nans[0], b, numpy.where(nans[1], a, result))
    canonical = (nans[0] | nans[1]) if propagates else (nans[0] & nans[1])
    return numpy.where(canonical, a.dtype.type(form.quiet_nan or 0), result)


def wrong_bits(case: Case | Trivial, program: Program, found: Any) -> str:
    """Where the bits of one operation are against the rules, in words."""
    if not isinstance(case.result, FloatType):
        if case.mnemonic != "bitcast":
            return ""
        wrong = found != program.arrays[0]
    elif case.mnemonic == "ftof" and (program.elements[0], case.result) == (BF16, F32):
        # The one conversion that is a move.
        wrong = found != program.arrays[0].astype(numpy.uint32) << 16
    elif case.mnemonic in MOVES + EXTREMES:
        propagates = case.mnemonic.startswith(("maximum", "minimum")) or "propagate_nan" in case.text
        flushes = "flush_to_zero" in case.text
        wrong = found != expected(case.mnemonic, propagates, flushes, case.result, case.operands(program))
    else:
        wrong = is_signalling(case.result, found)
    return _told(case.text, program, found, wrong)


def different(case: Case | Trivial, program: Program, found: Any, other: Any) -> str:
    """Where two engines differ, but for the bits that the page leaves open."""
    wrong = found != other
    if isinstance(case.result, FloatType):
        wrong &= ~(is_nan(case.result, found) & is_nan(case.result, other))
    return _told(case.text, program, found, wrong)


def _told(text: str, program: Program, found: Any, wrong: Any) -> str:
    if not wrong.any():
        return ""
    place = int(numpy.flatnonzero(wrong)[0])
    operands = ", ".join([f"{int(array[place]):#x}" for array in program.arrays])
    return f"{text}, tiles of {program.extent}, element {place}: ({operands}) gives {int(found[place]):#x}"


# --- tests ---


def compare(group: Sequence[Case | Trivial], program: Program, machines: list[str]) -> Iterator[str]:
    """What is wrong with a kernel in the interpreter and in code for each machine."""
    interpreted = program.run("interpreter")
    for case, bits in zip(group, interpreted, strict=True):
        if words := wrong_bits(case, program, bits):
            yield f"interpreter: {words}"
    for machine in machines:
        for case, bits, definition in zip(group, program.run("cpu", machine), interpreted, strict=True):
            if words := wrong_bits(case, program, bits) or different(case, program, bits, definition):
                yield f"{machine}: {words}"


def rule_breakers(groups: Iterable[tuple[Sequence[Case | Trivial], Program]], machines: list[str]) -> str:
    return "\n".join([words for group, program in groups for words in compare(group, program, machines)])


def test_nans_are_quiet_canonical_or_copied() -> None:
    """A few of every operation and type, and all maxima and minima, as vectors."""
    chosen, seen = [], set()
    for case in cases():
        key = case.mnemonic, case.elements, case.result if case.mnemonic != "bitcast" else None
        if case.mnemonic not in SLOW and (key not in seen or (case.mnemonic in EXTREMES and case.elements[0] is F32)):
            seen.add(key)
            chosen.append(case)
    found = rule_breakers(programs(chosen, 64), ["native"])
    assert not found, found


SLOW = (
    "itof", "ftoi", "cmpf", "pow", "fpowi", "atan2", "sinh", "cosh", "tan", "tanh", "sigmoid", "log10", "log1p", "sin",
    "log2", "exp2", "cos", "rsqrt", "remf",
)  # fmt: skip
"""Left to the long test: they give no NaN of an operand's, or are long programs that end like shorter ones."""


@pytest.mark.long
@pytest.mark.parametrize("extent", EXTENTS)
def test_nans_are_quiet_canonical_or_copied_everywhere(extent: int) -> None:
    found = rule_breakers(programs(cases(), extent), MACHINES)
    assert not found, found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("extent", [64, *[pytest.param(extent, marks=pytest.mark.long) for extent in (0, 1, 2, 8)]])
@pytest.mark.parametrize("element", [F16, BF16, F32, F64], ids=str)
def test_operations_that_compilers_leave_out_quiet_a_nan_all_the_same(element: FloatType, extent: int) -> None:
    found = rule_breakers(trivial_programs(element, extent), MACHINES[:1])
    assert not found, found


@pytest.mark.long
@pytest.mark.parametrize("machine", MACHINES)
def test_operations_that_compilers_leave_out_on_other_machines(machine: str) -> None:
    for element in (F16, BF16, F32, F64):
        found = rule_breakers(trivial_programs(element, 64), [machine])
        assert not found, found
