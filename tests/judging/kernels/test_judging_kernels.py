"""Modules with kernels judged: right, and wrong in each way that there is."""

from __future__ import annotations

import os

import numpy
import pytest
from tests.judging.kernels.judged import DOUBLING, example, judged, outcomes

from tileir.judging.kernels.comparison import Errors, tolerance_for

if not hasattr(os, "fork"):
    pytest.skip("children are forked here", allow_module_level=True)
pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")

KERNEL, _, _ = DOUBLING.partition("def inputs")
RUN = """
def run(x):
    out = numpy.empty_like(x)
    ct.launch(None, (2,), double, (x, out))
    return out
"""
GOOD = KERNEL + RUN


def test_a_right_module_passes_every_step() -> None:
    steps = example("softmax_good", trials=1)
    assert outcomes(steps) == {}
    assert list(steps) == [
        *("inputs", "import", "compile", "run", "launches", "results", "correct", "unchanged", "deterministic"),
    ]
    # One for each shape, and the first once more.
    assert steps["launches"].details == {"kernels": {"softmax": 3}}
    assert steps["inputs"].details == {"sets": 2}
    assert 0 < steps["correct"].measured["max_error"] < 1e-6


def test_wrong_elements_are_told_with_the_first_of_them() -> None:
    steps = example("softmax_edge", trials=1)
    assert outcomes(steps) == {"correct": "failed"}
    step = steps["correct"]
    assert step.message.startswith(
        "inputs 0: the result: 2,400 of 2,400 elements are wrong; the first, [0, 0], is 0.00"
    )
    assert step.cause == "results differ (float32)"
    assert step.details == {"wrong": 2400, "elements": 2400, "first": [0, 0]}


def test_cutiles_own_error_is_the_message_at_the_line_of_the_module() -> None:
    steps = example("softmax_broken", trials=1, sanitize=True)
    assert outcomes(steps) == {"compile": "failed"}
    assert "Module 'cuda.tile' has no attribute 'softmax'" in steps["compile"].message
    assert '"candidate.py", line 11' in steps["compile"].message
    assert steps["correct"].outcome == steps["sanitize"].outcome == "skipped"


def test_a_module_that_launches_nothing_is_no_kernel() -> None:
    steps = example("softmax_cheating", trials=1)
    assert outcomes(steps) == {"launches": "failed"}
    assert steps["launches"].message == "no kernel of cuTile or Triton was launched"
    assert steps["correct"].outcome == "passed"


def test_a_kernel_that_is_launched_for_show_is_noted() -> None:
    shown = judged(GOOD.replace("return out", "return x * 2"))
    assert outcomes(shown) == {}
    assert shown["launches"].details == {"kernels": {"double": 3}, "not_from_kernels": [0]}
    assert judged(GOOD.replace("return out", "return out[:].reshape(100)"))["launches"].details == {
        "kernels": {"double": 3}
    }


def test_a_module_may_be_its_own_reference() -> None:
    assert outcomes(judged(DOUBLING + RUN, reference="")) == {}


@pytest.mark.parametrize(
    ("source", "step", "outcome", "message"),
    [
        ("def run(x:\n", "import", "failed", "candidate.py:1: SyntaxError: '(' was never closed"),
        (
            "import missing_package",
            "import",
            "refused",
            "missing_package is not installed: pip install missing_package",
        ),
        ("x = 1", "import", "failed", "there is no candidate: define run, ModelNew or custom_kernel"),
        ("def run(x):\n    exit(0)", "run", "failed", "it ends the process (SystemExit: 0)"),
        ("def run(x): return open", "run", "failed", "what it returns['results'][0] is a builtin_function_or_method"),
        ("import os\ndef run(x): os._exit(3)", "run", "crashed", "status 768"),
    ],
)
def test_a_module_that_fails_says_where(source: str, step: str, outcome: str, message: str) -> None:
    steps = judged(source)
    assert (steps[step].outcome, steps[step].message[: len(message)]) == (outcome, message)
    assert steps["correct"].outcome == "skipped"


def test_results_that_are_learned_by_heart_fail_with_other_inputs() -> None:
    learned = "found = []\ndef run(x):\n    found.append(numpy_run(x))\n    return found[0]\n"
    steps = judged(GOOD.replace("def run", "def numpy_run") + learned)
    assert steps["correct"].message.startswith("inputs 1: the result: 100 of 100 elements are wrong")


@pytest.mark.parametrize("count", [100, 5000])
def test_what_is_never_written_is_wrong_in_the_same_way_each_time(count: int) -> None:
    reference = DOUBLING.replace("(100,", f"({count},")
    steps = judged(GOOD.replace("(2,)", f"({count // 64},)"), reference)
    first = count // 64 * 64
    assert (
        f"{count - first} of {count:,} elements are wrong; the first, [{first}], is -2.26" in steps["correct"].message
    )
    assert outcomes(steps) == {"correct": "failed"}


def test_a_second_run_must_give_the_same_bits() -> None:
    counting = (
        GOOD.replace("return out", "calls.append(0)\n    out[0] += len(calls) * 1e-7\n    return out") + "calls = []"
    )
    steps = judged(counting)
    assert outcomes(steps) == {"deterministic": "failed"}
    assert steps["deterministic"].message == "a second run with the same inputs has other results"


def test_what_the_reference_changes_is_compared_too() -> None:
    reference = DOUBLING.replace("return (numpy", "x = (numpy").replace(
        'dtype="f4"),)', 'dtype="f4"))\n    return x, x * 0'
    )
    reference = reference.replace("def reference(x):\n    return x * 2", "def reference(x, out):\n    out[:] = x * 2")
    good = KERNEL + "def run(x, out):\n    ct.launch(None, (2,), double, (x, out))\n"
    assert outcomes(judged(good, reference)) == {}
    lazy = judged(good.replace("(x, out))", "(x, x * 0))"), reference)
    assert lazy["results"].message.endswith("input 1 is not changed, but the reference changes it")
    half = judged(good.replace("(2,)", "(1,)"), reference)
    assert "input 1: 36 of 100 elements are wrong; the first, [64], is 0, not" in half["correct"].message


def test_the_reference_is_not_to_be_seen() -> None:
    spying = GOOD.replace(
        "return out", "import os, sys\n    raise ValueError((sorted(os.listdir()), 'reference' in sys.modules))"
    )
    message = judged(spying)["run"].message
    assert "ValueError: (['candidate.py', 'inputs_0.bin', 'inputs_1.bin', 'launch_0.bin'], False)" in message


def test_inputs_that_are_changed_behind_the_back_are_noticed() -> None:
    changing = GOOD + "open('../expected/inputs_0.bin', 'r+b').write(b'zeros')\n"
    steps = judged(changing)
    assert (steps["reference"].outcome, steps["correct"].outcome) == ("forbidden", "skipped")


def test_a_link_to_what_is_expected_is_not_followed() -> None:
    linking = GOOD + (
        "import os, tileir.judging.kernels.runs as runs\n"
        "def compute(function, inputs, file):\n"
        "    function(inputs)\n"
        "    os.symlink('../expected/' + file.replace('results', 'expected'), file)\n"
        "    return 0.0\n"
        "runs.compute = compute\n"
    )
    steps = judged(linking)
    assert steps["results"].message == "inputs 0: results_0.bin is a link"


@pytest.mark.parametrize(
    ("change", "step", "message"),
    [
        (("return x * 2", "return y"), "reference", "NameError: name 'y' is not defined"),
        (("def reference", "def other"), "reference", "there is no reference: define reference, Model or ref_kernel"),
        (("def inputs(seed)", "def inputs(seed, n)"), "inputs", "inputs cannot be called with what there is (missing"),
    ],
)
def test_a_reference_that_fails_is_told_as_such(change: tuple[str, str], step: str, message: str) -> None:
    steps = judged(GOOD, DOUBLING.replace(*change))
    assert outcomes(steps) == {step: "failed"}
    assert steps[step].message.startswith(message)


def test_the_plans_tolerance_counts_before_the_references() -> None:
    off = GOOD.replace("return out", "out += 0.01\n    return out")
    stated = DOUBLING + "tolerance = {'atol': 0.02, 'rtol': 0}\n"
    assert outcomes(judged(off, stated)) == {}
    assert outcomes(judged(off, stated, tolerance=1e-5)) == {"correct": "failed"}


def test_large_integers_that_round_to_the_same_number_differ() -> None:
    expected = numpy.array([2**60, 2**60 + 1, -1])
    errors = Errors(expected - [0, 1, 0], expected, tolerance_for(expected, None))
    assert (errors.wrong, errors.first) == (1, (1,))
