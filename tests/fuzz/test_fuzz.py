"""A bounded run of each fuzz target finds nothing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
# In the ordinary run, a few seconds each; tests/fuzz/README.md tells how to run for longer.
RUNS = {"bytecode": 500, "text": 300}

if importlib.util.find_spec("atheris") is None:
    pytest.skip(
        "atheris is not installed: pip install 'tileir[test]' (it exists for Linux on x86-64 only)",
        allow_module_level=True,
    )


def run(target: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, FOLDER / f"fuzz_{target}.py", *arguments]
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, errors="replace", timeout=600
    )


@pytest.mark.parametrize("target", ["bytecode", "text"])
def test_every_seed_is_accepted_and_survives_the_way_back(target):
    seeds = sorted((FOLDER / "corpus" / target).iterdir())
    assert len(seeds) > 20
    result = run(target, *seeds)
    assert result.returncode == 0, result.stderr[-4000:]


@pytest.mark.parametrize("target", ["bytecode", "text"])
def test_bounded_run_finds_nothing(target, tmp_path):
    import resource

    # A new process counts what the one that started it had as its own.
    inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    result = run(
        target,
        # Always the same inputs, so that a change is to blame when this fails; `make fuzz` looks for new ones.
        "-seed=1",
        f"-runs={RUNS[target]}",
        "-timeout=20",
        f"-rss_limit_mb={inherited + 1024}",
        f"-artifact_prefix={tmp_path}/",
        tmp_path,
        FOLDER / "corpus" / target,
    )
    assert result.returncode == 0, result.stderr[-4000:]
