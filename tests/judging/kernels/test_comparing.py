"""Results against what is expected, and what modules state about both."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy
import pytest

from tileir.judging.kernels.comparison import compare
from tileir.judging.kernels.runs import (
    CANDIDATES,
    WrongModule,
    case_of,
    failure_of,
    find,
    load_module,
    shapes_of,
    speedup_of,
    tolerance_of,
)
from tileir.judging.kernels.values import dump
from tileir.judging.model import JudgePlan, SweepInput
from tileir.judging.tasks.input_sets import SHOWN, InputSet
from tileir.judging.verdicts.work import Work

X = numpy.linspace(-2, 2, 100, dtype="f4")


def compared(
    folder: Path, found: Any, expected: Any, *, tolerance: list[float] | None = None, **files: Any
) -> dict[str, Any]:
    """The steps that did not pass, by name, with their messages."""
    for name, results in [("results_0", found), ("again", found), ("expected_0", expected), *files.items()]:
        held = results if isinstance(results, dict) else {"results": results, "changed": {}}
        (folder / f"{name}.bin").write_bytes(dump(held))
    steps = compare(
        [str(folder)],
        str(folder),
        [InputSet("", SHOWN, "inputs 0")],
        None if tolerance is None else {"": tolerance},
        JudgePlan(),
        Work(SweepInput("", "kernels", b""), JudgePlan(), "", lambda message: None),
    )
    assert [step["name"] for step in steps] == ["results", "correct", "unchanged", "deterministic"]
    return {step["name"]: step["message"] for step in steps if step["outcome"] == "failed"}


def changed(array: numpy.ndarray, place: int, value: float) -> numpy.ndarray:
    copy = array.copy()
    copy[place] = value
    return copy


@pytest.mark.parametrize(
    ("found", "expected", "step", "message"),
    [
        ([X[:50]], [X], "results", "the result is float32[50], that of the reference is float32[100]"),
        ([X.astype("f8")], [X], "results", "the result is float64[100], that of the reference is float32[100]"),
        ([X, X], [X], "results", "it returns 2 results, the reference 1 result"),
        ([], [X], "results", "it returns 0 results, the reference 1 result"),
        ([X, None], [X, X], "results", "result 1 is None"),
        (
            [changed(X, 7, numpy.nan)],
            [X],
            "correct",
            "the result: 1 of 100 elements is wrong, 1 of them NaN; [7] is nan",
        ),
        ([changed(X, 7, numpy.inf)], [X], "correct", "the result: 1 of 100 elements is wrong; [7] is inf, not -1.71"),
        (
            [X],
            [changed(X, 7, numpy.inf)],
            "correct",
            "the result: 1 of 100 elements is wrong; [7] is -1.71717, not inf",
        ),
        ([X - X], [X * 1e-6], "correct", "the result: 100 of 100 elements are wrong; the first, [0], is 0, not -2e-06"),
        (
            [X.reshape(10, 10).T],
            [X.reshape(10, 10)],
            "correct",
            "the result: 90 of 100 elements are wrong; the first, [0, 1],",
        ),
        (
            [numpy.arange(3)],
            [numpy.array([0, 1, 3])],
            "correct",
            "the result: 1 of 3 elements is wrong; [2] is 2, not 3",
        ),
        ([3.0], [3.5], "correct", "the result: 1 of 1 element is wrong; it is 3, not 3.5"),
        (["a"], ["b"], "correct", "the result is 'a', not 'b'"),
        ({"results": [X], "changed": {"0": X}}, [X], "unchanged", "it changes input 0, which the reference does not"),
        ([X], {"results": [X], "changed": {"1": X}}, "results", "input 1 is not changed, but the reference changes it"),
    ],
)
def test_results_that_are_not_the_references(
    tmp_path: Path, found: Any, expected: Any, step: str, message: str
) -> None:
    told = compared(tmp_path, found, expected)
    assert list(told) == [step]
    assert told[step].startswith(message)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([X * (1 + 1e-6)], [X]),
        ([changed(X, 3, numpy.nan)], [changed(X, 3, numpy.nan)]),
        ([changed(X, 3, -numpy.inf)], [changed(X, 3, -numpy.inf)]),
        ([X.astype(ml_dtypes.bfloat16)], [(X * 1.004).astype(ml_dtypes.bfloat16)]),
        ([X[:0]], [X[:0]]),
        ([numpy.float32(2)], [2.0]),
        ([X + 1j * X], [X + 1j * X]),
        ([], []),
    ],
)
def test_results_that_are_the_references(tmp_path: Path, found: Any, expected: Any) -> None:
    assert compared(tmp_path, found, expected) == {}


def test_a_stated_tolerance_is_taken_as_it_is(tmp_path: Path) -> None:
    assert "correct" in compared(tmp_path, [X + 0.01], [X])
    assert compared(tmp_path, [X + 0.01], [X], tolerance=[0.0, 0.02]) == {}
    assert "(allowed: 0 of it + 0.001)" in compared(tmp_path, [X + 0.01], [X], tolerance=[0.0, 0.001])["correct"]


def test_other_bits_of_a_second_run_are_noticed(tmp_path: Path) -> None:
    assert list(compared(tmp_path, [X], [X], again=[changed(X, 0, -2.0000002)])) == ["deterministic"]


def test_files_that_are_none_are_told(tmp_path: Path) -> None:
    (tmp_path / "expected_0.bin").write_bytes(dump({"results": [X], "changed": {}}))
    for data, why in ((b"nothing", "this is no file of values"), (dump([X]), "this is not a file of results")):
        (tmp_path / "results_0.bin").write_bytes(data)
        steps = compare(
            [str(tmp_path)],
            str(tmp_path),
            [InputSet("", SHOWN, "inputs 0")],
            None,
            JudgePlan(),
            Work(SweepInput("", "kernels", b""), JudgePlan(), "", lambda message: None),
        )
        assert [(step["outcome"], step["message"]) for step in steps][:2] == [("failed", why), ("skipped", "")]


# --- modules ---


def test_what_a_module_states_is_read_or_refused() -> None:
    assert tolerance_of(SimpleNamespace()) is None
    assert tolerance_of(SimpleNamespace(tolerance=0.1)) == {"": [0.1, 0.1]}
    assert tolerance_of(SimpleNamespace(tolerance={"atol": 1})) == {"": [0.0, 1.0]}
    assert speedup_of(SimpleNamespace(speedup=2)) == 2.0
    wrong: list[tuple[str, Any, Any]] = [
        ("speedup", "fast", speedup_of),
        ("shapes", 3, shapes_of),
        ("shapes", [], shapes_of),
    ]
    wrong += [("tolerance", value, tolerance_of) for value in ("small", -1, (1, 2, 3), {"other": 1})]
    for name, value, read in wrong:
        with pytest.raises(WrongModule, match=f"^{name} is a"):
            read(SimpleNamespace(**{name: value}))


def test_candidates_are_functions() -> None:
    with pytest.raises(WrongModule, match="run is an int, not a function"):
        find(SimpleNamespace(run=5), CANDIDATES, "candidate")
    with pytest.raises(WrongModule, match="there is no candidate: define run, ModelNew or custom_kernel"):
        find(SimpleNamespace(), CANDIDATES, "candidate")


@pytest.mark.parametrize(
    ("make", "shape", "expected"),
    [
        (lambda: (1,), (), (1,)),
        (lambda seed: (seed,), (), (7,)),
        (lambda seed, rows: (seed, rows), (3,), (7, 3)),
        (lambda seed, *, rows: (seed, rows), {"rows": 3}, (7, 3)),
        (lambda other, rows: (other, rows), 3, (7, 3)),
    ],
)
def test_inputs_are_made_for_a_seed_and_a_shape(make: Any, shape: Any, expected: Any) -> None:
    assert case_of(SimpleNamespace(inputs=make), 7, shape).inputs == expected


def test_an_error_is_told_at_the_line_of_the_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ZeroDivisionError) as caught:
        load_module(b"def f():\n    return 1 / 0\nf()", str(tmp_path), "a.py", "tests_of_loading")
    failure = failure_of(caught.value, "a.py")
    assert failure.message == "ZeroDivisionError: division by zero\n  at a.py:2 in f: return 1 / 0"
    assert failure.cause == "ZeroDivisionError: division by zero"
    error = ValueError(f"in {tmp_path}/b.py at 0xffff12345678")
    assert failure_of(error, "a.py").message == "ValueError: in b.py at 0x.."
