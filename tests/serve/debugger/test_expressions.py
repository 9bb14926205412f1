"""Expressions over tiles: NumPy's terms, and nothing else."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest

from tileir.serve.debugger.expressions import BadExpression, Expression, Opaque, plain

ACC = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
KNOWN: dict[str, Any] = {
    "acc": ACC,
    "a": numpy.arange(4, dtype=numpy.int32),
    "x": numpy.array([1, numpy.nan, numpy.inf], numpy.float32),
    "n": numpy.int32(7),
    "%12": numpy.float32(2.5),
    "%count#0": numpy.int32(3),
    "%a.b-c": numpy.int32(5),
    "view": Opaque("tensor_view<4xf32>", "a: 4, strides [1]"),
    "numpy_": 3,
}


def value(text: str) -> Any:
    return Expression(text, KNOWN.__contains__).evaluate(KNOWN.get)


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("acc.max()", 11),
        ("acc[1, 2]", 6),
        ("acc[-1]", ACC[-1]),
        ("acc[:, ::2].sum(axis=0)", ACC[:, ::2].sum(axis=0)),
        ("a[0] * 2 + n", 7),
        ("numpy.isnan(x).sum()", 1),
        ("np.isinf(x).any()", True),
        ("acc @ a", ACC @ numpy.arange(4)),
        ("acc.T.shape", (4, 3)),
        ("acc[acc > 5].mean()", 8.5),
        ("%12 * 2", 5),
        ("n %2", 1),
        ("n % %count#0", 1),
        ("%a.b-c.max() - 1", 4),
        ("(n)%2", 1),
        ("not %12", False),
        ("n and %12", 2.5),
        ("1 if n > 3 else 2", 1),
        ("0 < n <= 7", True),
        ("len(a), max(a), min(3, 4), abs(-2)", (4, 3, 3, 2)),
        ("a.astype(numpy.float64) / 2", numpy.arange(4) / 2),
        ("a.astype('float16').itemsize", 2),
        ("numpy.where(a > 1, a, 0)", [0, 0, 2, 3]),
        ("numpy.array([1, 2]) << 3", [8, 16]),
        ("a[[0, 0, 3]]", [0, 0, 3]),
        ("a[None].shape", (1, 4)),
        ("numpy.round(1000.25, 1), numpy.round(n * 100)", (1000.2, 700)),
        ("numpy.arange(2, n, n - 5)", [2, 4, 6]),
        ("acc.clip(1, a + 1)[2]", [1, 2, 3, 4]),
        ("numpy.roll(acc, (1, 1), (0, 1))[0, 0]", 11),
        ("numpy.float32(1) / 3", numpy.float32(1) / 3),
        ("inf", numpy.inf),
        ("2 ** 10", 1024),
    ],
)
def test_an_expression_is_what_numpy_computes(text: str, wanted: Any) -> None:
    numpy.testing.assert_array_equal(value(text), wanted)


@pytest.mark.parametrize(
    "text, words",
    [
        ("a = 3", "nothing can be changed"),
        ("a[0] += 1", "nothing can be changed"),
        ("(b := 3)", "nothing can be changed"),
        ("import os", "statements cannot be run"),
        ("a +", "cannot be read"),
        ("", "empty"),
        ("missing + 1", "there is no value missing here"),
        ("%missing + 1", "there is no value %missing here"),
        ("view + 1", "has no numbers: a: 4, strides"),
        ("acc.mx()", "did you mean max"),
        ("numpy.isnam(x)", "did you mean isnan"),
        ("acc.max", "is a function: call it"),
        ("acc[99]", "out of bounds"),
        ("acc @ acc", "mismatch"),
        ("acc + numpy.arange(5)", r"shapes \(3,4\) \(5,\)"),
        ("'text'", "a text cannot be computed with"),
    ],
)
def test_what_is_wrong_with_an_expression_is_said(text: str, words: str) -> None:
    with pytest.raises(BadExpression, match=words):
        value(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "().__class__.__bases__[0].__subclasses__()",
        "acc.__class__",
        "acc.ctypes.data",
        "acc.base",
        "acc.tofile('/tmp/x')",
        "acc.dump('/tmp/x')",
        "numpy.load('/etc/passwd')",
        "numpy.lib",
        "numpy.os",
        "numpy.float32.__subclasses__()",
        "numpy.fromfile('/etc/passwd')",
        "numpy.memmap('/tmp/x')",
        "open('/etc/passwd')",
        "eval('1')",
        "getattr(acc, 'base')",
        "(lambda: 1)()",
        "[x for x in a]",
        "f'{acc}'",
        "'{0.__class__}'.format(acc)",
        "acc.sort()",
        "acc.fill(0)",
        "acc.setflags(write=True)",
        "numpy.add(acc, 1, acc)",
        "numpy.add(acc, 1, out=acc)",
        "acc.max(0, a)",
        "max(*a)",
        "dict(**{})",
        "acc.astype('S100000000')",
        "acc.astype('O')",
        "acc.view('O')",
        "acc.newbyteorder()",
        "type(acc)",
        "numpy.vectorize(abs)",
        "numpy.apply_along_axis(abs, 0, acc)",
        "numpy.array(numpy)",
        "_percent_0",
        "%12 if __builtins__ else 0",
    ],
)
def test_nothing_but_numpy_is_reached_and_nothing_is_changed(text: str) -> None:
    before = ACC.copy()
    with pytest.raises(BadExpression):
        value(text)
    assert ACC.tobytes() == before.tobytes()


@pytest.mark.parametrize("text", ["(" * 5000 + "1" + ")" * 5000, "-" * 9000 + "1", "1" + "+1" * 4000, "%" * 9999])
def test_what_python_cannot_parse_is_refused(text: str) -> None:
    with pytest.raises(BadExpression):
        value(text)


def test_conditions_have_one_truth_value() -> None:
    assert Expression("acc.max() > 10").is_true(KNOWN.get) and not Expression("n == 8").is_true(KNOWN.get)
    with pytest.raises(BadExpression, match=r"write \(acc > 1\).any\(\)"):
        Expression("acc > 1").is_true(KNOWN.get)
    with pytest.raises(BadExpression, match="neither true nor false"):
        Expression("view").is_true(KNOWN.get)


def test_small_types_are_computed_with_as_larger_ones() -> None:
    for kind in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn):
        assert plain(numpy.array([1, 2], kind)).dtype == numpy.float32
    assert plain(numpy.array([1, 2], ml_dtypes.int4)).dtype == numpy.int8
    assert plain(ACC) is ACC
