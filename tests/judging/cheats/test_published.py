"""Kernels that NVIDIA publishes are accepted.

TILEIR_CUTILE_SAMPLES names the folder `samples` of a checkout of NVIDIA/cutile-python, TILEIR_TILEGYM a checkout of
NVIDIA/TileGym.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.judging.cheats.published import PUBLISHED, reference_of

SAMPLES, TILEGYM = os.environ.get("TILEIR_CUTILE_SAMPLES", ""), os.environ.get("TILEIR_TILEGYM", "")
_JUDGE = """
import json, sys, tileir
if __name__ == "__main__":
    task, candidate = sys.argv[1:]
    found = tileir.judge(task, candidate, seed=3, backend="interpreter", timeout=300)
    print(json.dumps([found.accepted, found.reason, str(found)]))
"""


@pytest.mark.long
@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_kernel_is_accepted(name: str, tmp_path: Path) -> None:
    kernel = PUBLISHED[name]
    if not (SAMPLES if kernel.file else TILEGYM):
        variable = "TILEIR_CUTILE_SAMPLES=PATH" if kernel.file else "TILEIR_TILEGYM=PATH"
        pytest.skip(f"kernels of NVIDIA: needs {variable}, a checkout")
    source = Path(SAMPLES, kernel.file).read_text() if kernel.file else ""
    (tmp_path / "candidate.py").write_text(f"{source}\n{kernel.run}")
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "reference.py").write_text(reference_of(kernel))
    (tmp_path / "judge.py").write_text(_JUDGE)
    # The processes of the judge find TileGym, and what samples share, on Python's path.
    sources = os.path.join(TILEGYM, "src") if TILEGYM else ""
    path = os.pathsep.join([each for each in (SAMPLES, sources, os.environ.get("PYTHONPATH", "")) if each])
    command = [sys.executable, str(tmp_path / "judge.py"), str(tmp_path / "task"), str(tmp_path / "candidate.py")]
    environment = {**os.environ, "PYTHONPATH": path, "TILEGYM_DISABLE_AUTOTUNE": "1"}
    found = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert found.returncode == 0, found.stderr
    accepted, _, text = json.loads(found.stdout.splitlines()[-1])
    assert accepted, text
