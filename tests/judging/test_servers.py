"""The server of a thread: started again when it dies, gone when its owner is, and the same for all programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.judging.programs import ADDITION, ENDLESS, program
from tests.judging.test_chunks import comparable

from tileir.judging.model import JudgePlan, ProcessLimits, SweepInput
from tileir.judging.server_pool import pool
from tileir.judging.server_pool.pool import Request, import_path, judge_chunk
from tileir.judging.server_pool.server import Children
from tileir.judging.server_pool.warm_up import warm_up
from tileir.judging.verdicts.programs import parts_of

pytest.importorskip("numpy", reason="running programs needs NumPy")
if not hasattr(os, "fork"):
    pytest.skip("children are forked here", allow_module_level=True)

ROOT = Path(__file__).parents[2]
PLAN = JudgePlan(backends=("interpreter",))
# More than any machine has.
GREEDY = f"// tileir: --arg zeros:f32:{1 << 45} --arg zeros:f32:64\n{ADDITION}"


def test_a_server_that_was_killed_is_started_again() -> None:
    assert judge_chunk([program(ADDITION)], PLAN)[0].outcome == "passed"
    before = pool.server_of_this_thread()
    os.kill(before.number, signal.SIGKILL)
    assert judge_chunk([program(ADDITION)], PLAN)[0].outcome == "passed"
    assert pool.server_of_this_thread() is not before
    assert not os.path.exists(before.root)


@pytest.mark.parametrize("engine", ["triton", "tileiras"])
def test_the_server_itself_does_not_use_a_gpu(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # CUDA does not survive a fork: the children could not use it.
    judged: list[str] = []
    monkeypatch.setattr("tileir.judging.verdicts.programs.judge_program", lambda work: judged.append(work.item.name))
    for engines in (("interpreter", engine), ("interpreter",)):
        warm_up(Request(program(ADDITION), JudgePlan(backends=engines)), set())
        parts = parts_of(JudgePlan(backends=engines))
        # Such an engine starts a compiler.
        assert [part.processes for part in parts] == [engine in engines]
    assert judged == ["warm"]


@pytest.mark.long
def test_each_thread_has_a_server_that_ends_with_it() -> None:
    def judged(_: int) -> tuple[str, int]:
        time.sleep(0.2)
        return judge_chunk([program(ADDITION)], PLAN)[0].outcome, pool.server_of_this_thread().number

    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(judged, range(2)))
    assert [outcome for outcome, _ in found] == ["passed", "passed"]
    assert len({number for _, number in found}) == 2
    assert all(_ends(number) for _, number in found)


def test_a_server_and_its_children_go_with_their_owner() -> None:
    source = """
import threading, time
from tests.judging.programs import ENDLESS, program
from tileir.judging.server_pool import pool
from tileir.judging.model import JudgePlan
server = pool.Server()
threading.Thread(target=server.judge, args=(program(ENDLESS), JudgePlan(backends=("interpreter",)))).start()
while not open("/proc/%d/task/%d/children" % (server.number, server.number)).read():
    time.sleep(0.05)
print(server.number, open("/proc/%d/task/%d/children" % (server.number, server.number)).read(), flush=True)
"""
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        pytest.skip("this system does not say who a process's children are")
    path = os.pathsep.join([*[each for each in sys.path if each], str(ROOT)])
    owner = subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert owner.stdout is not None
    numbers = [int(each) for each in owner.stdout.readline().split()]
    assert len(numbers) == 2
    owner.kill()
    owner.wait()
    owner.stdout.close()
    assert all(_ends(number) for number in numbers)


def _ends(number: int) -> bool:
    for _ in range(300):
        try:
            state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_what_others_were_judged_before_changes_no_verdict() -> None:
    seeds = [SweepInput(f"smith:{n}", "seed", json.dumps({"seed": n, "size": 8}).encode()) for n in range(3)]
    wrong = program(ADDITION.replace("addf", "addg"))
    short = program(f"// tileir: --arg zeros:f32:60 --arg zeros:f32:64\n{ADDITION}")
    items = [*seeds, wrong, seeds[0], short, program(GREEDY), program(ADDITION), program(ENDLESS), seeds[1]]
    together = JudgePlan(backends=("interpreter",), limits=ProcessLimits(seconds=3))
    apart = replace(together, limits=replace(together.limits, programs_per_child=1))
    one, other = judge_chunk(items, together), judge_chunk(items, apart)
    assert [comparable(each) for each in one] == [comparable(each) for each in other]
    assert [each.outcome for each in one] == [
        *("passed", "passed", "passed", "failed", "passed", "failed", "memory", "passed", "timeout", "passed")
    ]


def test_the_environment_of_programs_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("TILEIR_UNCHECKED", "1")
    monkeypatch.setenv("LC_ALL", "C")
    found = pool.environment()
    assert "AWS_SECRET_ACCESS_KEY" not in found and "TILEIR_UNCHECKED" not in found
    assert found["LC_ALL"] == "C" and found["TILEIR_CACHE"] == "0"


def test_what_lies_beside_a_script_is_not_for_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("here", "script", "meant", "site-packages", "other"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(tmp_path / "script" / "judge.py"), raising=False)
    monkeypatch.setattr(sys, "path", ["", *[str(tmp_path / each) for each in ("script", "meant", "other")]])
    assert import_path() == [str(tmp_path / "meant"), str(tmp_path / "other")]
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "script"))
    assert import_path() == [str(tmp_path / each) for each in ("script", "meant", "other")]
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(tmp_path / "site-packages" / "started.py"))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site-packages")])
    assert import_path() == [str(tmp_path / "site-packages")]


def test_programs_are_judged_without_a_fork_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As on Windows, where each has a new Python."""
    monkeypatch.setattr("tileir.judging.server_pool.server.CAN_FORK", False)
    plan = JudgePlan(backends=("interpreter",), limits=ProcessLimits(seconds=20))
    verdict = Children(str(tmp_path)).judge(Request(program(ADDITION), plan))
    assert [comparable(verdict)] == [comparable(each) for each in judge_chunk([program(ADDITION)], plan)]
    assert list(tmp_path.iterdir()) == []


CONTAMINATED = """
import json, os, sys
from tileir.judging.server_pool import server as children
from tileir.processes.linux import adopt_descendants
from tileir.judging.model import SweepInput
from tileir.judging.server_pool.pool import Request
from tileir.judging.verdicts.work import Part
from tileir.judging.model import JudgePlan

count = 0

def check(step):
    if count == 3 or name == "bad":
        os.abort()

def judge(work):
    global count, name
    count, name = count + 1, work.item.name
    work.attempt("check", check)

children.parts_of = lambda plan: [Part(judge)]
adopt_descendants()
judging = children.Children(sys.argv[1])
print(json.dumps([judging.judge(Request(SweepInput(name, "program", b""), JudgePlan())).outcome for name in "a b c d bad e".split()]))
judging.end()
"""


def test_a_crash_where_others_were_judged_before_is_looked_at_again_alone(tmp_path: Path) -> None:
    """The third program of a process crashes it, whichever it is, and one crashes always."""
    path = os.pathsep.join([each for each in sys.path if each])
    command = [sys.executable, "-c", CONTAMINATED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["passed", "passed", "passed", "passed", "crashed", "passed"]
    assert list(tmp_path.iterdir()) == []
