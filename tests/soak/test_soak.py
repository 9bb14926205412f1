"""The soak: a few seconds of it always, an hour with the long tests (TILEIR_SOAK_SECONDS is another length)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="it forks, interrupts itself, and asks Linux how much memory it has"
)


def soaked(seconds: int, seed: int, threads: int) -> dict[str, Any]:
    command = [sys.executable, "tests/soak/soak.py", f"--seconds={seconds}", f"--seed={seed}", f"--threads={threads}"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds + 400)
    assert found.returncode == 0, found.stdout[-2000:] + found.stderr[-20000:]
    report: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return report


def test_soak_of_a_few_seconds() -> None:
    report = soaked(2, 7, 2)
    assert sum(report["actions"].values()) > 0


@pytest.mark.long
def test_soak_of_an_hour() -> None:
    seconds = int(os.environ.get("TILEIR_SOAK_SECONDS", "3600"))
    report = soaked(seconds, 1, 4)
    print(report)
    actions = {
        "read",
        "refuse",
        "fail",
        "make",
        "launch",
        "loop",
        "overlap",
        "call_back",
        "damage",
        "fork",
        "start_process",
    }
    assert actions | {"interrupt", "handle"} <= set(report["actions"])
