"""A sweep with hostile programs and modules in it: each is a row, and the sweep goes on to its end."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.judging.programs import ADDITION, ENDLESS

import tileir
from tileir.processes import landlock, seccomp

pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
if seccomp.why_no_filter() or not landlock.version():
    pytest.skip("this system has no seccomp or no Landlock", allow_module_level=True)

GREEDY = f"// tileir: --arg zeros:f32:{25 << 30} --arg zeros:f32:64\n{ADDITION}"
"""100 GB."""
REFERENCE = "import numpy\ndef inputs(seed): return [numpy.ones(4, numpy.float32)]\ndef reference(x): return x + x\n"
MODULES = {
    "fork_bomb": "import os\ndef run(x):\n    while True: os.fork()\n",
    "writes_elsewhere": "def run(x):\n    open({path!r}, 'w').write('x')\n",
    "network": "import socket\ndef run(x):\n    socket.create_connection(('127.0.0.1', 9))\n",
}


def test_a_sweep_with_hostile_programs_goes_on_to_its_end(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    path = tmp_path / "elsewhere"
    for name, text in {"a_endless": ENDLESS, "b_greedy": GREEDY, "c_fine": ADDITION, "z_fine": ADDITION + "\n"}.items():
        (folder / f"{name}.mlir").write_text(text)
    modules = []
    for name, source in MODULES.items():
        modules.append(tmp_path / f"{name}.py")
        modules[-1].write_text(source.format(path=str(path)))
    reference = tmp_path / "given.py"
    reference.write_text(REFERENCE)
    plan = tileir.sweeps.JudgePlan(backends=("interpreter",), trials=1, limits=tileir.sweeps.ProcessLimits(seconds=4))
    inputs = [str(folder), *map(str, modules)]
    found = tileir.sweep(inputs, tmp_path / "r.sqlite", plan=plan, jobs=1, reference=str(reference))
    with found.results() as results:
        outcomes = {Path(row.name).stem: row.verdict.outcome for row in results.rows()}
    assert outcomes == {
        "a_endless": "timeout",
        "b_greedy": "memory",
        "c_fine": "passed",
        "z_fine": "passed",
        "fork_bomb": "forbidden",
        "writes_elsewhere": "forbidden",
        "network": "forbidden",
    }
    assert not path.exists()
