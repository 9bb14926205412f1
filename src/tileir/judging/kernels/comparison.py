"""Results against what is expected, in a process in which no foreign code has run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy

from tileir.execute.array_difference import near, same_numbers
from tileir.execute.dtypes import Array, DType
from tileir.execute.locations.wording import several
from tileir.ir.quoting import type_text
from tileir.judging.kernels.values import NotCarried, load, read_foreign
from tileir.judging.model import JudgePlan, JudgeStage
from tileir.judging.tasks.input_sets import HELD_OUT, NONFINITE, SHOWN, InputSet
from tileir.judging.verdicts.causes import DIFFERENT
from tileir.judging.verdicts.work import Work

_BLOCK: Final = 1 << 20


def compare(
    places: list[str],
    expected: str,
    sets: list[InputSet],
    stated: dict[str, list[float]] | None,
    plan: JudgePlan,
    work: Work,
    *,
    nonfinite: bool = False,
) -> list[dict[str, Any]]:
    """Compare files, whose directory `places` has for each set of inputs, with those that are expected.

    The steps are `results`, one for each group of sets, `unchanged` and `deterministic`.  What results are for NaN and
    infinity is only noted unless `nonfinite`."""
    work.begin(SHOWN)
    most = 2 * plan.limits.file_bytes
    groups = {each.group: JudgeStage(each.group, "passed") for each in sets}
    found, unchanged = JudgeStage("results", "passed"), JudgeStage("unchanged", "passed")
    for number, (place, inputs) in enumerate(zip(places, sets, strict=True)):
        where = "" if len(sets) == 1 else f"{inputs.label}: "
        wanted = _computed(expected, f"expected_{number}.bin", most)
        # Of another group it is that group that fails.
        step, failed = groups[inputs.group], JudgeStage("", "passed")
        try:
            mine = _computed(place, f"results_{number}.bin", most)
            pairs = _pairs(mine, wanted)
        except NotCarried as error:
            failed = JudgeStage("results", "failed", f"{where}{error}", "results cannot be read")
        except _OtherShapes as error:
            cause = "results with shapes or element types that the reference does not have"
            failed = JudgeStage("results", "failed", f"{where}{error}", cause)
        if failed.outcome != "passed":
            if inputs.group == SHOWN:
                found, unchanged = failed, JudgeStage("unchanged", "skipped")
                groups = {name: JudgeStage(name, "skipped") for name in groups}
                break
            _fail(step, failed.message, failed.cause)
            continue
        slacks: list[float | None] = [*inputs.slack] if len(inputs.slack) == len(pairs) else [None] * len(pairs)
        for pair, slack in zip(pairs, slacks, strict=True):
            _judge_values(step, where, pair, stated, slack)
        extra = [int(key) for key in mine.changed if key not in wanted.changed and key.isdecimal()]
        if extra and unchanged.outcome == "passed":
            message = f"{where}it changes input {min(extra)}, which the reference does not"
            unchanged = JudgeStage("unchanged", "failed", message, "it changes an input that the reference does not")
    if (hidden := groups.get(HELD_OUT)) is not None and hidden.outcome == "failed":
        # A message that locates the difference would reveal the shape.
        groups[HELD_OUT] = JudgeStage(HELD_OUT, "failed", "results for a held-out shape are wrong", hidden.cause)
    if (open_ones := groups.get(NONFINITE)) is not None and open_ones.outcome == "failed" and not nonfinite:
        groups[NONFINITE] = JudgeStage(NONFINITE, "passed", open_ones.message, details={"unknown": True})
    deterministic = _deterministic(places[0], most, found.outcome == "passed")
    return [asdict(step) for step in (found, *groups.values(), unchanged, deterministic)]


class Computed(NamedTuple):
    """What a file of results holds."""

    results: list[Any]
    changed: dict[str, Any]


def _computed(directory: str, name: str, most: int) -> Computed:
    held = load(read_foreign(directory, name, most), as_numpy=True)
    if not isinstance(held, dict) or not isinstance(held.get("results"), list):
        raise NotCarried("this is not a file of results")
    changed = held.get("changed")
    return Computed(held["results"], changed if isinstance(changed, dict) else {})


class _OtherShapes(Exception):
    """What differs before any element is compared, as text."""


def _pairs(found: Computed, expected: Computed) -> list[tuple[str, Any, Any]]:
    """The results and the inputs that the reference changes, in pairs; raises `_OtherShapes`."""
    if len(found.results) != len(expected.results):
        mine, theirs = [several(len(each.results), "result") for each in (found, expected)]
        raise _OtherShapes(f"it returns {mine}, the reference {theirs}")
    count = len(expected.results)
    names = ["the result"] if count == 1 else [f"result {number}" for number in range(count)]
    pairs = list(zip(names, found.results, expected.results, strict=True))
    pairs += [(f"input {key}", found.changed.get(key), theirs) for key, theirs in expected.changed.items()]
    for name, mine, theirs in pairs:
        if mine is None and theirs is not None:
            is_input = name.startswith("input")
            raise _OtherShapes(
                f"{name} is not changed, but the reference changes it" if is_input else f"{name} is None"
            )
        one, other = _words(mine), _words(theirs)
        if one != other and not any(isinstance(each, (bool, int, float)) for each in (mine, theirs)):
            raise _OtherShapes(f"{name} is {one}, that of the reference is {other}")
    return pairs


def _words(value: Any) -> str:
    return f"{value.dtype.name}{list(value.shape)}" if isinstance(value, numpy.ndarray) else type_text(value)


def _judge_values(
    step: JudgeStage,
    where: str,
    pair: tuple[str, Any, Any],
    stated: dict[str, list[float]] | None,
    slack: float | None,
) -> None:
    """Compare all elements; the message is about the first result that is wrong."""
    name, mine, theirs = where + pair[0], *pair[1:]
    if isinstance(theirs, str) or theirs is None:
        if mine != theirs:
            _fail(step, f"{name} is {mine!r}, not {theirs!r}", DIFFERENT)
        return
    found, expected = numpy.asarray(mine), numpy.asarray(theirs)
    if found.shape != expected.shape:
        _fail(step, f"{name} has shape {list(found.shape)}, not {list(expected.shape)}", DIFFERENT)
        return
    tolerance = tolerance_for(expected, stated) if slack is None else scaled_tolerance(expected, stated, slack)
    errors = Errors(found, expected, tolerance)
    for figure, error in (("max_error", errors.greatest), ("mean_error", errors.mean)):
        step.measured[figure] = max(step.measured.get(figure, 0.0), error)
    if errors.wrong and step.outcome == "passed":
        _fail(step, f"{name}: {errors.message(expected)}", f"{DIFFERENT} ({expected.dtype.name})")
        step.details.update(wrong=errors.wrong, elements=int(expected.size), first=list(errors.first))
        if errors.nans:
            step.details["nan"] = errors.nans


def _fail(step: JudgeStage, message: str, cause: str) -> None:
    if step.outcome == "passed":
        step.outcome, step.message, step.cause = "failed", message, cause


class Errors:
    """How far one array is from another."""

    def __init__(self, found: Array, expected: Array, tolerance: Tolerance) -> None:
        self.wrong: int = 0
        self.nans: int = 0
        """Elements that are NaN and should not be."""
        self.greatest: float = 0.0
        """Of the finite elements."""
        self.first: tuple[int, ...] = ()
        self.first_found: str = ""
        self.tolerance: Tolerance = tolerance
        one, other = numpy.ascontiguousarray(found).reshape(-1), numpy.ascontiguousarray(expected).reshape(-1)
        total, finite = 0.0, 0
        with numpy.errstate(all="ignore"):
            # Block by block: widened elements take up to eight times the memory.
            for begin in range(0, one.size, _BLOCK):
                mine, theirs = one[begin : begin + _BLOCK], other[begin : begin + _BLOCK]
                wide, wanted = widened(mine), widened(theirs)
                off = numpy.abs(wide - wanted)
                # Without a tolerance, integers that differ may be the same number when they are widened.
                right = near(wide, wanted, *tolerance) if any(tolerance) else same_numbers(mine, theirs)
                measurable = off[numpy.isfinite(off)]
                finite += measurable.size
                total += float(measurable.sum())
                self.greatest = max(self.greatest, float(measurable.max(initial=0.0)))
                self.nans += int((numpy.isnan(wide) & ~numpy.isnan(wanted)).sum())
                places = numpy.flatnonzero(~right)
                if places.size and not self.wrong:
                    place = begin + int(places[0])
                    self.first = tuple([int(each) for each in numpy.unravel_index(place, expected.shape)])
                    self.first_found = f"{_shown(one[place])}, not {_shown(other[place])}"
                self.wrong += int(places.size)
        self.mean: float = total / finite if finite else 0.0

    def message(self, expected: Array) -> str:
        """As in `3 of 64 elements are wrong; the first, [0, 5], is 1, not 2`."""
        count, verb = self.wrong, "is" if self.wrong == 1 else "are"
        nan = f", {self.nans} of them NaN" if self.nans else ""
        index = f"[{', '.join([str(each) for each in self.first])}]" if self.first else "it"
        first = index if count == 1 else f"the first, {index},"
        elements = f"{expected.size:,} element{'' if expected.size == 1 else 's'}"
        message = f"{count:,} of {elements} {verb} wrong{nan}; {first} is {self.first_found}"
        if not any(self.tolerance):
            return message
        return f"{message} (allowed: {self.tolerance.relative:.3g} of it + {self.tolerance.absolute:.3g})"


def _shown(value: Any) -> str:
    if value.dtype.kind in "biu":
        return str(value.item())
    return f"{complex(value) if value.dtype.kind == 'c' else float(value):.6g}"


def _deterministic(directory: str, most: int, is_there: bool) -> JudgeStage:
    """Whether a second run returned the same bits."""
    if not is_there:
        return JudgeStage("deterministic", "skipped")
    try:
        once, again = [read_foreign(directory, name, most) for name in ("results_0.bin", "again.bin")]
    except NotCarried as error:
        return JudgeStage("deterministic", "failed", str(error), "results cannot be read")
    if once == again:
        return JudgeStage("deterministic", "passed")
    return JudgeStage(
        "deterministic", "failed", "a second run with the same inputs has other results", "not deterministic"
    )


# --- how far off a result may be ---

# Those that KernelBench takes for float32, float16 and bfloat16; integers must be equal.
DEFAULTS: Final[dict[str, float]] = {
    "float64": 1e-8, "complex128": 1e-8, "float32": 1e-4, "complex64": 1e-4, "float16": 1e-2, "bfloat16": 1e-2,
    "float8_e4m3fn": 0.13, "float8_e5m2": 0.26,
}  # fmt: skip


class Tolerance(NamedTuple):
    relative: float
    absolute: float


def tolerance_for(expected: Array, stated: dict[str, list[float]] | None = None) -> Tolerance:
    """The tolerance for one result: an element is right if it is off by at most `relative * |expected| + absolute`.

    Where no tolerance is stated, it depends on the element type, and the absolute part is taken of the size of
    the results, up to 1: so a softmax over ten thousand columns is not passed by zeros."""
    given = stated and stated.get(expected.dtype.name, stated.get(""))
    if given:
        return Tolerance(*given) if is_inexact(expected.dtype) else Tolerance(0.0, 0.0)
    amount = DEFAULTS.get(expected.dtype.name, 0.0)
    if not amount or not expected.size:
        return Tolerance(amount, amount)
    wide = numpy.abs(widened(expected))
    finite = wide[numpy.isfinite(wide)]
    size = float(numpy.sqrt(numpy.mean(numpy.square(finite)))) if finite.size else 1.0
    return Tolerance(amount, amount * min(1.0, size))


FACTOR: Final = 4.0
"""How much farther off results may be for contents that nobody chose with a tolerance in mind."""


def scaled_tolerance(expected: Array, stated: dict[str, list[float]] | None, slack: float) -> Tolerance:
    """The tolerance for results of any size, which may be off by `slack` more."""
    if not is_inexact(expected.dtype):
        return Tolerance(0.0, 0.0)
    relative, absolute = tolerance_for(expected, stated)
    wide = numpy.abs(widened(expected))
    finite = wide[numpy.isfinite(wide)]
    size = float(numpy.sqrt(numpy.mean(numpy.square(finite)))) if finite.size else 0.0
    return Tolerance(FACTOR * relative, FACTOR * (max(relative, absolute) * size + slack))


def is_inexact(dtype: DType) -> bool:
    """Whether elements are rounded."""
    return dtype.kind in "fc" or (dtype.kind == "V" and dtype.name in vars(ml_dtypes)) or dtype.name in DEFAULTS


def widened(array: Array) -> Array:
    """Elements in which differences are exact enough."""
    return array.astype(numpy.complex128 if array.dtype.kind == "c" else numpy.float64)
