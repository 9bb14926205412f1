"""Hostile code ends as a row of the table, and does nothing outside its scratch directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.judging.hostile import IN_MEMORY, PIECES

from tileir.processes import landlock, seccomp

pytest.importorskip("numpy", reason="judging programs needs NumPy")
pytestmark = pytest.mark.skipif(
    bool(seccomp.why_no_filter()) or landlock.version() < 3,
    reason="this system has no seccomp or no Landlock: limits and time are all that confines",
)

ROOT = Path(__file__).parents[2]
LATE = {"timeout"}
FORBIDDEN = {"forbidden"}
EXPECTED = {
    "fine": {"passed"},
    "what libraries do": {"passed"},
    "endless loop": LATE,
    "much memory at once": {"memory"},
    "much memory by and by": {"memory"},
    "higher limits": {"memory"},
    "deep recursion": {"crashed"},
    # Whichever comes first.
    "deeper recursion": {"timeout", "memory", "crashed"},
    "native crash": {"crashed"},
    "abort": {"crashed"},
    "thread bomb": {"forbidden", "memory"},
    "many files": {"forbidden", "timeout"},
    "deep directories": {"passed", "forbidden", "timeout"},
    "stop": LATE,
    "end": {"crashed"},
    "exit": {"crashed"},
    "much output": {"passed"},
    "endless output": LATE,
    "daemon": {"passed"},
}
TRIED = {
    "fork bomb": "os.fork",
    "process": "subprocess.Popen",
    "program": "os.exec",
    "network": "socket.socket",
    "write elsewhere": "open",
    "remove elsewhere": "os.remove",
    "mode elsewhere": "os.chmod",
    "signal for the parent": "os.kill",
    "lock elsewhere": "fcntl.flock",
}


@pytest.fixture(scope="module")
def come_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    directory = tmp_path_factory.mktemp("hostile")
    secret = directory / "secret"
    secret.write_text("secret")
    before = secret.stat()
    script = Path(__file__).with_name("hostile.py")
    path = os.pathsep.join([*[each for each in sys.path if each], str(ROOT)])
    command = [sys.executable, str(script), str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    after = secret.stat()
    assert secret.read_text() == "secret"
    assert (before.st_mode, before.st_mtime_ns, before.st_nlink) == (after.st_mode, after.st_mtime_ns, after.st_nlink)
    assert sorted(each.name for each in directory.iterdir()) == ["root", "secret"]
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", [*PIECES, *IN_MEMORY, "daemon"])
def test_hostile_code_is_a_row(come_of: dict[str, dict], name: str) -> None:
    found = come_of[name]
    assert found["outcome"] in EXPECTED.get(name, FORBIDDEN), found
    # Nothing of it stays: no file, no process.
    assert found["left"] == [] and found["children"] == 0
    assert found["cause"] or found["outcome"] == "passed"
    assert found["output"] <= 1000


@pytest.mark.parametrize("name", TRIED)
def test_the_row_says_what_was_tried(come_of: dict[str, dict], name: str) -> None:
    assert come_of[name]["message"].endswith(f"({TRIED[name]})")


def test_what_other_processes_share_stays_as_it_was(come_of: dict[str, dict]) -> None:
    assert come_of["others are intact"]
