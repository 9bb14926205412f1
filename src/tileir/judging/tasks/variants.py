"""Contents of inputs that find bugs, and whether they are fair.

Contents are made from what the reference's own inputs look like: signs, ranges and structure stay, since a reference
may need them.  A variant counts only where the reference itself is well-conditioned: it is evaluated in its own types,
in float64, and again for inputs that differ by roundings.  Where those disagree by more than the tolerance, or are not
finite, nobody is judged by that variant; otherwise their difference is allowed in addition.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy

from tileir.execute.dtypes import Array
from tileir.judging.kernels.comparison import FACTOR, is_inexact, scaled_tolerance, widened
from tileir.judging.kernels.values import NotCarried, dump, load, replaced, results_of

_SCALES: Final = {"float64": 2.0**200, "float32": 2.0**32, "bfloat16": 2.0**32, "float16": 16.0}
"""How much larger, or smaller, huge and tiny inputs are; element types with little range have none."""
_FEW: Final = 3
"""An array with fewer different elements is a mask or a table, whose contents mean something."""
_NOTHING: Final = 1e-12
"""What is nothing beside numbers of usual size: zeros and subnormal numbers have no size of their own."""
_FLUSHED: Final = 2.0**-126
"""What GPUs may flush to zero."""
_ROUNDINGS: Final = {8: 8.0, 4: 8.0, 2: 1.0}
"""Units in the last place by which inputs are moved, by bytes of an element: what honest kernels round otherwise."""

Change = Callable[[Array], Array]


def _scaled(factor: int) -> Change:
    def change(array: Array) -> Array:
        scale = _SCALES.get(array.dtype.name, 1.0)
        return (widened(array) * scale**factor).astype(array.dtype)

    return change


def _constant(number: float) -> Change:
    return lambda array: numpy.full_like(array, number)


def _subnormal(array: Array) -> Array:
    smallest = float(ml_dtypes.finfo(array.dtype).smallest_normal)
    return (numpy.sign(widened(array)) * smallest / 4).astype(array.dtype)


def _negated_zero(array: Array) -> Array:
    return numpy.full_like(array, -0.0)


def _identity(array: Array) -> Array:
    found = numpy.zeros_like(array)
    if array.ndim < 2:
        return _one_hot(array)
    found[..., :, :] = numpy.eye(*array.shape[-2:]).astype(array.dtype)
    return found


def _one_hot(array: Array) -> Array:
    found = numpy.zeros_like(array)
    rows = found.reshape(-1, array.shape[-1])
    # The last elements too: those that a kernel forgets.
    rows[numpy.arange(len(rows)), -1 - numpy.arange(len(rows)) % array.shape[-1]] = 1
    return found


def _sorted(array: Array) -> Array:
    return numpy.sort(widened(array), axis=-1)[..., ::-1].astype(array.dtype)


def _equal_rows(array: Array) -> Array:
    flat = array.reshape(-1, array.shape[-1])
    return numpy.broadcast_to(flat[:1], flat.shape).reshape(array.shape).copy()


def _with(number: float) -> Change:
    def change(array: Array) -> Array:
        found = array.copy()
        found.reshape(-1)[array.size // 2] = number
        return found

    return change


class _Kind(NamedTuple):
    change: Change
    is_of_all: bool
    """Whether all arrays are changed, and not only the first: a product with an identity shows more than two."""


CONTENTS: Final[dict[str, _Kind]] = {
    "zeros": _Kind(_constant(0.0), True),
    "ones": _Kind(_constant(1.0), True),
    "negative zeros": _Kind(_negated_zero, True),
    "huge": _Kind(_scaled(1), True),
    "tiny": _Kind(_scaled(-1), True),
    "subnormal": _Kind(_subnormal, True),
    "identity": _Kind(_identity, False),
    "one-hot rows": _Kind(_one_hot, False),
    "descending rows": _Kind(_sorted, False),
    "equal rows": _Kind(_equal_rows, False),
}
NONFINITE: Final[dict[str, _Kind]] = {
    "a NaN": _Kind(_with(numpy.nan), False),
    "an infinity": _Kind(_with(numpy.inf), False),
    "a negative infinity": _Kind(_with(-numpy.inf), False),
}


class Variant(NamedTuple):
    label: str
    inputs: Any
    slack: list[float]
    """Of each result, an absolute error that rounding explains."""


Evaluate = Callable[[Any, bool], Any]
"""The reference's function: of inputs, and whether they are in float64; returns its results."""


def variants_of(
    inputs: Any, kinds: dict[str, _Kind], evaluate: Evaluate, stated: dict[str, list[float]] | None
) -> Iterator[Variant]:
    """The variants of inputs that are fair."""
    data = dump(inputs)
    seen = {data}
    for label, kind in kinds.items():
        changed = [False]

        def change(array: Array, kind: _Kind = kind, changed: list[bool] = changed) -> Array:
            if not _is_free(array) or (changed[0] and not kind.is_of_all):
                return array
            with numpy.errstate(all="ignore"):
                found = _kept_in_range(kind.change(array), array)
            changed[0] |= found is not array
            return found

        varied = replaced(data, change)
        if varied in seen:
            continue
        seen.add(varied)
        slack = _slack(varied, evaluate, stated, is_finite=kinds is not NONFINITE)
        if slack is not None:
            yield Variant(label, load(varied), slack)


def _is_free(array: Array) -> bool:
    """Whether an array holds numbers that may be others."""
    if not is_inexact(array.dtype) or array.dtype.kind == "c" or array.ndim == 0 or array.size < _FEW:
        return False
    wide = widened(array)
    if not numpy.isfinite(wide).all() or numpy.unique(wide.reshape(-1)[:4096]).size < _FEW:
        return False
    steps = numpy.diff(wide, axis=-1)
    is_ordered = steps.shape[-1] > 1 and bool((steps >= 0).all() or (steps <= 0).all())
    are_shares = wide.min() >= 0 and numpy.allclose(wide.sum(axis=-1), 1, atol=1e-2)
    return not (is_ordered or are_shares)


def _kept_in_range(found: Array, array: Array) -> Array:
    """The new contents if the reference might expect them: positive where all were, within 0 and 1 where all were."""
    wide, old = widened(found), widened(array)
    low, high = old.min(), old.max()
    if (low > 0 and wide.min() <= 0) or (low >= 0 and (wide.min() < 0 or numpy.signbit(wide).any())):
        return array
    return array if low >= 0 and high <= 1 and wide.max() > 1 else found


def _slack(
    data: bytes, evaluate: Evaluate, stated: dict[str, list[float]] | None, *, is_finite: bool
) -> list[float] | None:
    """The error that rounding explains for each result of some inputs; None if they are not fair."""
    generator = numpy.random.default_rng(0)

    def moved(array: Array) -> Array:
        """Other inputs that round to these."""
        if not is_inexact(array.dtype) or array.dtype.kind == "c":
            return array
        about = ml_dtypes.finfo(array.dtype)
        signs = generator.choice([-1.0, 1.0], array.shape)
        roundings = _ROUNDINGS.get(array.dtype.itemsize, 0.5) * float(about.eps)
        found: Array = widened(array) * (1 + roundings * signs) + _FLUSHED * signs
        return found

    try:
        with numpy.errstate(all="ignore"):
            own = _evaluated(evaluate, load(data), False)
            exact, other = (_evaluated(evaluate, _in_float64(load(data), change), True) for change in (widened, moved))
    # A reference may refuse contents in any way it likes.
    except Exception:
        return None
    if not len(own) == len(exact) == len(other):
        return None
    found: list[float] = []
    for mine, precise, near in zip(own, exact, other, strict=True):
        if not mine.shape == precise.shape == near.shape:
            return None
        wide = [widened(each) for each in (mine, precise, near)]
        finite = numpy.isfinite(wide[0])
        if is_finite and not finite.all():
            return None
        if any((finite != numpy.isfinite(each)).any() for each in wide):
            return None
        if not all(numpy.array_equal(wide[0][~finite], each[~finite], equal_nan=True) for each in wide):
            return None
        wide = [each[finite] for each in wide]
        difference = numpy.maximum(abs(wide[1] - wide[0]), abs(wide[2] - wide[1]))
        tolerance = scaled_tolerance(mine, stated, 0.0)
        # Of the elements that are judged, a part may be off by as much again.
        allowed = (tolerance.relative * (abs(wide[0]) + _NOTHING) + tolerance.absolute) / FACTOR
        if (difference > allowed).any():
            return None
        found.append(float(difference.max(initial=0.0)))
    return found


def _evaluated(evaluate: Evaluate, inputs: Any, is_wide: bool) -> list[Array]:
    """The results for inputs, and inputs that were changed, as arrays."""
    flat = results_of(inputs)
    before = [dump(value) for value in flat]
    found = results_of(evaluate(inputs, is_wide))
    found += [value for value, old in zip(flat, before, strict=True) if dump(value) != old]
    arrays: list[Array] = []
    for value in load(dump(found), as_numpy=True):
        array = numpy.asarray(value)
        if array.dtype.kind not in "biufcV":
            raise NotCarried("it is no number")
        arrays.append(array)
    return arrays


def _in_float64(value: Any, change: Change) -> Any:
    """Inputs with their floats in float64, after a change that an array of NumPy has gone through."""
    if isinstance(value, dict):
        return {key: _in_float64(each, change) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)([_in_float64(each, change) for each in value])
    if isinstance(value, numpy.ndarray):
        return change(value) if is_inexact(value.dtype) else value
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and value.is_floating_point():
        host = load(dump(value), as_numpy=True)
        made = torch.from_numpy(numpy.ascontiguousarray(change(host)).astype(numpy.float64))
        return made.cuda() if value.is_cuda else made
    return value


# --- other memory ---

LAYOUTS: Final = ("with gaps", "at an odd address")


def laid_out(value: Any, layout: str) -> Any:
    """Inputs whose arrays lie in memory in another way."""
    if not layout:
        return value
    if isinstance(value, dict):
        return {key: laid_out(each, layout) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)([laid_out(each, layout) for each in value])
    if not getattr(value, "shape", ()) or not hasattr(value, "reshape"):
        return value
    torch: Any = sys.modules.get("torch")
    is_tensor = torch is not None and isinstance(value, torch.Tensor)
    shape, count = tuple(value.shape), int(numpy.prod(value.shape))
    # Twice as many columns, of which every second one is used; or one element more at the beginning.
    room = (*shape[:-1], 2 * shape[-1]) if layout == LAYOUTS[0] else (count + 1,)
    made = torch.empty(room, dtype=value.dtype, device=value.device) if is_tensor else numpy.empty(room, value.dtype)
    found = made[..., ::2] if layout == LAYOUTS[0] else made[1:].reshape(shape)
    found[...] = value
    return found
