"""Modules with kernels judged as in a sweep: in confined children of the server."""

from __future__ import annotations

import os

import pytest
from tests.judge.kernels.judged import DOUBLING, EXAMPLES

from tileir.judge.chunks import judge_chunk
from tileir.judge.items import Item
from tileir.judge.plans import Limits, Plan
from tileir.judge.verdicts import Verdict

if not hasattr(os, "fork"):
    pytest.skip("children are forked here", allow_module_level=True)
pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")

LIMITS = Limits(seconds=60)


def judged(source: str, limits: Limits = LIMITS) -> Verdict:
    item = Item("candidate.py", "kernels", source.encode(), DOUBLING.encode())
    return judge_chunk([item], Plan(trials=1, engines=("interpreter",), limits=limits))[0]


def test_a_right_and_a_wrong_module() -> None:
    reference = (EXAMPLES / "softmax_reference.py").read_bytes()
    names = ("softmax_good", "softmax_edge", "softmax_cheating", "softmax_broken")
    items = [Item(f"{name}.py", "kernels", (EXAMPLES / f"{name}.py").read_bytes(), reference) for name in names]
    verdicts = judge_chunk(items, Plan(trials=1, engines=("interpreter",), limits=LIMITS))
    assert [each.outcome for each in verdicts] == ["passed", "failed", "failed", "failed"]
    assert [each.cause for each in verdicts] == [
        "",
        "results differ (float32)",
        "no cuTile kernel was launched",
        "TypeCheckingError: Module 'NAME' has no attribute 'NAME'",
    ]
    again = judge_chunk(items, Plan(trials=1, engines=("interpreter",), limits=LIMITS))
    for one, other in zip(verdicts, again, strict=True):
        assert [(s.name, s.outcome, s.message, s.details) for s in one.steps] == [
            (s.name, s.outcome, s.message, s.details) for s in other.steps
        ]


@pytest.mark.parametrize(
    ("source", "step", "outcome"),
    [
        ("import os\nos._exit(7)", "import", "crashed"),
        ("import ctypes\nctypes.string_at(0)", "import", "crashed"),
        ("def run(x):\n    while True: pass", "run", "timeout"),
        ("def run(x):\n    return bytearray(1 << 40)", "run", "memory"),
        ("def run(x):\n    import os; os.write(3, b'B' * 999)", "run", "forbidden"),
    ],
)
def test_hostile_modules_end_in_their_row(source: str, step: str, outcome: str) -> None:
    verdict = judged(source, Limits(seconds=20 if outcome != "timeout" else 3))
    found = {each.name: each for each in verdict.steps}
    assert (verdict.outcome, found[step].outcome) == (outcome, outcome), verdict
    assert found["correct"].outcome == "skipped"


def test_what_a_module_prints_is_kept() -> None:
    assert judged("print('hello')\n1 / 0").output.startswith("hello\n")
