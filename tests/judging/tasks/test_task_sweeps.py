"""Sweeps of candidates for a task: killed and continued, and with hostile candidates among them."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.judging.tasks.test_judging_tasks import CANDIDATE, FORGETS_THE_END, written_task

import tileir
from tileir.judging.results.results import Results
from tileir.judging.tasks.plans import plan_for
from tileir.judging.tasks.settings import read_task
from tileir.processes import landlock, seccomp

HOSTILE = {
    "loops": "    while True:\n        pass\n",
    "forks": "    import os\n    while True:\n        os.fork()\n",
    "hoards": "    kept = []\n    while True:\n        kept.append(bytearray(1 << 26))\n",
    "floods": "    for _ in range(256):\n        print('x' * (1 << 18))\n",
    "kills": "    import os, signal\n    os.kill(os.getppid(), signal.SIGKILL)\n",
    "fills": "    import itertools\n    for n in itertools.count():\n        open(f'{n}', 'wb').write(bytes(1 << 20))\n",
}
EXPECTED = {
    "loops": "timeout",
    "forks": "cheat:starts-processes",
    "hoards": "memory",
    "floods": "correct",
    "kills": "cheat:sends-signals",
    "fills": "cheat:uses-files",
}


def reasons(path: Path) -> dict[str, str]:
    """Of each candidate, and how often it was judged."""
    with Results(str(path)) as results:
        return {Path(row.name).stem: row.verdict.steps[-1].details["reason"] for row in results.rows()}


def judged_so_far(path: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as connection:
            return int(connection.execute("SELECT count(*) FROM verdicts").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_a_sweep_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    task, candidates, path = written_task(tmp_path), tmp_path / "candidates", tmp_path / "results.sqlite"
    candidates.mkdir()
    expected = {}
    for number in range(8):
        source, expected[str(number)] = [(CANDIDATE, "correct"), (FORGETS_THE_END, "wrong-result")][number % 2]
        (candidates / f"{number}.py").write_text(f"{source}# {number}\n")
    words = [
        "sweep",
        str(candidates),
        "--task",
        str(task),
        "-o",
        str(path),
        "-q",
        "-j",
        "1",
        "--backend",
        "interpreter",
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    sweep = subprocess.Popen([sys.executable, "-m", "tileir", *words], env=environment)
    while judged_so_far(path) < 2 and sweep.poll() is None:
        time.sleep(0.02)
    sweep.kill()
    sweep.wait()
    before = judged_so_far(path)
    assert before >= 2
    finished: list[tileir.sweeps.SweepProgress] = []
    plan = plan_for(read_task(task).settings, backend="interpreter")
    tileir.sweep(candidates, path, task=task, plan=plan, jobs=1, progress=finished.append)
    assert finished[-1].known == before and finished[-1].judged == 8 - before
    assert reasons(path) == expected


@pytest.mark.skipif(
    bool(seccomp.why_no_filter()) or not landlock.version(), reason="this system has no seccomp or no Landlock"
)
def test_hostile_candidates_take_their_limits_and_disturb_nobody(tmp_path: Path) -> None:
    task, candidates = written_task(tmp_path), tmp_path / "candidates"
    candidates.mkdir()
    for number, (name, body) in enumerate(HOSTILE.items()):
        (candidates / f"{number}_{name}.py").write_text(CANDIDATE.replace("    out =", f"{body}    out ="))
        (candidates / f"{number}_honest.py").write_text(f"{CANDIDATE}# {number}\n")
    plan = plan_for(read_task(task).settings, backend="interpreter", timeout=5, memory_limit=1 << 30)
    found = tileir.sweep(candidates, tmp_path / "r.sqlite", task=task, plan=plan, jobs=1)
    expected = {f"{number}_{name}": reason for number, (name, reason) in enumerate(EXPECTED.items())}
    assert reasons(Path(found.path)) == expected | {f"{number}_honest": "correct" for number in range(len(HOSTILE))}
