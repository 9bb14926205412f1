"""Modules with kernels judged as in a sweep: in confined children of the server."""

from __future__ import annotations

import json
import os

import pytest
from tests.judging.kernels.judged import DOUBLING, EXAMPLES

from tileir.judging.model import JudgePlan, ProcessLimits, SweepInput, Verdict
from tileir.judging.server_pool.pool import judge_chunk
from tileir.processes import landlock, seccomp

if not hasattr(os, "fork"):
    pytest.skip("children are forked here", allow_module_level=True)
pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")

LIMITS = ProcessLimits(seconds=60)


def judged(source: str, limits: ProcessLimits = LIMITS) -> Verdict:
    item = SweepInput("candidate.py", "kernels", source.encode(), DOUBLING.encode())
    return judge_chunk([item], JudgePlan(trials=1, backends=("interpreter",), limits=limits))[0]


def test_a_right_and_a_wrong_module() -> None:
    reference = (EXAMPLES / "softmax/reference.py").read_bytes()
    names = ("softmax_good", "softmax_edge", "softmax_cheating", "softmax_broken")
    items = [SweepInput(f"{name}.py", "kernels", (EXAMPLES / f"{name}.py").read_bytes(), reference) for name in names]
    verdicts = judge_chunk(items, JudgePlan(trials=1, backends=("interpreter",), limits=LIMITS))
    assert [each.outcome for each in verdicts] == ["passed", "failed", "failed", "failed"]
    assert [each.cause for each in verdicts] == [
        "",
        "results differ (float32)",
        "no kernel of cuTile or Triton was launched",
        "TypeCheckingError: Module 'NAME' has no attribute 'NAME'",
    ]
    again = judge_chunk(items[1:2], JudgePlan(trials=1, backends=("interpreter",), limits=LIMITS))
    for one, other in zip(verdicts[1:2], again, strict=True):
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
        ("open('big', 'wb').write(bytes(100 << 20))", "import", "forbidden"),
    ],
)
def test_hostile_modules_end_in_their_row(source: str, step: str, outcome: str) -> None:
    verdict = judged(source, ProcessLimits(seconds=20 if outcome != "timeout" else 3))
    found = {each.name: each for each in verdict.steps}
    assert (verdict.outcome, found[step].outcome) == (outcome, outcome), verdict
    assert found["correct"].outcome == "skipped"


FORGING = """
import json, os, time
def told(kind, content):
    message = f'{{"{kind}": {content}}}'.encode()
    return len(message).to_bytes(4, "little") + message
def write(data):
    view = memoryview(data)
    while view:
        view = view[os.write(3, view):]
    time.sleep(60)
over = told("end", "0.1")
"""


@pytest.mark.parametrize(
    ("act", "outcome"),
    [
        ("""write(told("step", '{"name": "run", "outcome": "skipped"}') + over)""", "forbidden"),
        ("""write(told("step", '{"name": "run", "outcome": "passed"}') + over)""", "forbidden"),
        ("write(over)", "forbidden"),
        ("""write(told("end", "1" + "0" * 400))""", "forbidden"),
        ("""write(told("step", '{"outcome": "failed", "measured": {"x": 1' + "0" * 400 + "}}") + over)""", "forbidden"),
        ("""os.write(3, told("step", '{"name": "x", "outcome": "skipped"}')); os._exit(0)""", "crashed"),
        ("""os.write(3, told("begin", '"deterministic"')); os._exit(0)""", "crashed"),
        ("""write(told("value", '{"failed": {"name": "deterministic", "outcome": "refused"}}') + over)""", "refused"),
        ("""write(told("value", '{"failed": {"name": "correct", "outcome": "passed"}}') + over)""", "failed"),
        ("""write(told("step", '{"outcome": "passed"}') * 20_000)""", "forbidden"),
        ("""write(told("value", "[" + "[]," * (1 << 20) + "0]") + over)""", "forbidden"),
        ("""write(told("step", json.dumps({"outcome": "failed", "message": "x" * (5 << 20)})) + over)""", "forbidden"),
    ],
)
def test_a_forged_report_makes_no_step_pass_that_others_do(act: str, outcome: str) -> None:
    verdict = judged(FORGING + act, ProcessLimits(seconds=20))
    assert verdict.outcome == outcome, verdict
    assert [each.name for each in verdict.steps if each.outcome == "passed"] == ["inputs"]
    assert len(str(verdict.steps)) < 10_000


def test_forged_numbers_end_nobody() -> None:
    forged = {"launches": {"double": 10**400, "half": -1, "twice": 1}, "seconds": [10**400, "x", 0.5], "kept": {}}
    source = FORGING + f"""write(told("value", {json.dumps(json.dumps(forged))}) + over)"""
    item = SweepInput("candidate.py", "kernels", source.encode(), DOUBLING.encode())
    verdict = judge_chunk([item], JudgePlan(trials=1, backends=("interpreter",), limits=LIMITS, time=True))[0]
    found = {each.name: each for each in verdict.steps}
    assert (verdict.outcome, found["import"].cause) == ("failed", "a forged report")


def test_what_a_module_is_denied_is_told_at_its_line() -> None:
    if not landlock.version() or seccomp.why_no_filter():
        pytest.skip("this system has neither Landlock nor filters of system calls")
    for act in (
        "os.fork()",
        "open('../expected/inputs_0.bin', 'r+b')",
        "os.listdir('../expected')",
        "socket.create_connection(('127.0.0.1', 9))",
        "subprocess.run(['ls'])",
        "os.kill(os.getppid(), 9)",
    ):
        verdict = judged(f"import os, socket, subprocess\n{act}")
        assert (verdict.outcome, verdict.steps[1].name) == ("forbidden", "import")
        assert f"at candidate.py:2 in <module>: {act}" in verdict.steps[1].message


SEARCHING = r"""
import ctypes, re
found = 0
for line in open("/proc/self/maps").read().splitlines():
    bounds, rights, *rest = line.split()
    low, high = [int(each, 16) for each in bounds.split("-")]
    if rights.startswith("rw") and "[v" not in line:
        for place in range(low, high, 1 << 20):
            # Written so that it does not find itself.
            data = ctypes.string_at(place, min(high - place, (1 << 20) + 100))
            found += len(re.findall(rb"[w]ords that only one of the modules has", data))
raise ValueError(f"found {found}")
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="this system does not tell where memory is")
def test_the_reference_is_not_in_the_memory_of_the_candidates_process() -> None:
    mark = "\n# words that only one of the modules has\n"
    for source, reference, there in ((SEARCHING, DOUBLING + mark, False), (SEARCHING + mark, DOUBLING, True)):
        item = SweepInput("candidate.py", "kernels", source.encode(), reference.encode())
        verdict = judge_chunk([item], JudgePlan(trials=1, backends=("interpreter",), limits=LIMITS))[0]
        assert ("found 0" in verdict.steps[1].message) != there, verdict.steps[1]


@pytest.mark.parametrize("name", ["a/" + "n" * 300 + ".py", "a\0b.py", "a/..", "\ud800.py", "\u4e00" * 90 + ".py"])
def test_a_module_may_be_called_anything(name: str) -> None:
    item = SweepInput(name, "kernels", b"1 / 0", DOUBLING.encode())
    verdict = judge_chunk([item], JudgePlan(trials=1, backends=("interpreter",), limits=LIMITS))[0]
    assert verdict.cause == "ZeroDivisionError: division by zero", verdict


def test_what_a_module_prints_is_kept() -> None:
    assert judged("print('hello')\n1 / 0").output.startswith("hello\n")
