"""A sweep that is killed at any moment loses nothing that it has told of, and repeats nothing of it."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tileir.judging.model import JudgePlan, JudgeStage, SweepInput, Verdict
from tileir.judging.results.results import Results
from tileir.judging.results.store import Store

ROOT = Path(__file__).parents[2]
PLAN = JudgePlan()

# A sweep with a double that notes each item that it judges; how many are finished is told on standard output.
SWEEP = """
import os, sys, time
from tileir.judging.executor.executors import ThreadExecutor
from tileir.judging.executor.scheduler import Scheduler
from tileir.judging.inputs import Inputs
from tileir.judging.results.store import Store
from tests.judging.test_killed_sweep import PLAN, items, verdict

path, log, count, seconds = sys.argv[1], os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND), int(sys.argv[3]), float(sys.argv[4])

def judge(all, plan):
    found = []
    for each in all:
        time.sleep(seconds)
        os.write(log, each.digest.encode() + b"\\n")
        found.append(verdict(each))
    return found

def tell(progress):
    sys.stdout.write(f"{progress.known + progress.judged}\\n")
    sys.stdout.flush()

with Store(path) as store:
    store.begin(PLAN)
    executor = ThreadExecutor(2, judge)
    done = Scheduler(Inputs(items(count)), store, PLAN, executor, report=tell).run()
    executor.close(done)
"""


def items(count: int) -> list[SweepInput]:
    return [SweepInput(f"{number}.mlir", "program", b"%d" % number) for number in range(count)]


def verdict(item: SweepInput) -> Verdict:
    steps = [
        JudgeStage(f"step {number}", "passed", "words " * 20, "", {"value": number}, {"seconds": 0.5})
        for number in range(5)
    ]
    return Verdict(item.digest, "passed", "", steps, "printed " * 50, {"seconds": 1.0})


def recorded(path: Path) -> set[str]:
    """The digests in the file, which is whole."""
    if not path.exists():
        return set()
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            # It was killed before there were tables.
            return set()
        rows = connection.execute("SELECT digest, verdicts.id FROM items JOIN verdicts ON item = items.id").fetchall()
        steps = dict(connection.execute("SELECT verdict, count(*) FROM steps GROUP BY verdict"))
        names = connection.execute("SELECT count(*) FROM names").fetchone()[0]
    finally:
        connection.close()
    assert names == len(rows) == len({digest for digest, _ in rows})
    # Each with all that belongs to it.
    assert {key: 5 for _, key in rows} == steps
    return {digest for digest, _ in rows}


def killed(folder: Path, kills: int, count: int, seconds: float, seed: int) -> None:
    path, log = folder / "results.sqlite", folder / "log"
    log.touch()
    moments = random.Random(seed)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
    command = [sys.executable, "-c", SWEEP, str(path), str(log), str(count), str(seconds)]
    whole = 0
    for run in range(kills + 1):
        before, judged_before = recorded(path), log.stat().st_size
        sweep = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        assert sweep.stdout is not None
        if run < kills:
            if moments.random() < 0.8:
                # Once it is at work; otherwise at any moment, from the very first.
                sweep.stdout.readline()
                time.sleep(moments.random() * count * seconds / kills)
            else:
                time.sleep(moments.random())
            sweep.send_signal(signal.SIGKILL)
        told = [int(line) for line in sweep.stdout.read().splitlines()]
        sweep.wait()
        after = recorded(path)
        judged = log.read_bytes()[judged_before:].decode().split()
        # What was told of is there; what was there is there still, and was not judged again.
        assert len(after) >= max(told, default=0)
        assert before <= after
        assert not before & set(judged)
        assert len(judged) == len(set(judged))
        whole += sweep.returncode == 0
    assert whole >= 1 and sweep.returncode == 0
    assert after == {item.digest for item in items(count)}


def test_a_sweep_that_is_killed_again_and_again_loses_and_repeats_nothing(tmp_path: Path) -> None:
    killed(tmp_path, 5, 750, 0.002, 1)


@pytest.mark.long
def test_the_same_fifty_times(tmp_path: Path) -> None:
    killed(tmp_path, 50, 6000, 0.002, 2)


@pytest.mark.long
def test_a_sweep_of_real_programs_that_is_killed_gives_the_table_of_one_that_is_not(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tileir", "sweep", "--seeds", "0:400", "-j", "2", "-o"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    moments = random.Random(3)
    for _ in range(10):
        sweep = subprocess.Popen([*command, str(tmp_path / "killed.sqlite")], env=environment)
        time.sleep(1 + 3 * moments.random())
        sweep.kill()
        sweep.wait()
    for name in ("killed.sqlite", "whole.sqlite"):
        subprocess.run([*command, str(tmp_path / name)], env=environment, check=True)
    with Results(str(tmp_path / "killed.sqlite")) as one, Results(str(tmp_path / "whole.sqlite")) as two:
        assert list(one.comparable()) == list(two.comparable())
        assert sum(one.counts().values()) == 400


def test_a_disk_that_is_full_ends_the_sweep_with_words_and_leaves_whole_verdicts(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk."""
    path = tmp_path / "results.sqlite"
    code = f"""
import resource, signal
from tests.judging.test_killed_sweep import PLAN, items, verdict
from tileir.judging.results.store import Finished, Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
store = Store({str(path)!r})
store.begin(PLAN)
for number, item in enumerate(items(1000)):
    store.add(Finished(item, verdict(item)))
    if number % 20 == 19:
        store.flush()
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert "ResultsError" in done.stderr and f"cannot write '{path}'" in done.stderr
    found = recorded(path)
    assert len(found) and len(found) % 20 == 0
    with Store(str(path)) as store:
        store.begin(PLAN)
        assert sum(store.outcome(item.digest, item.name) is not None for item in items(1000)) == len(found)
