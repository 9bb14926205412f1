"""The examples run, and give what NumPy gives."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from tests.optional import has, needs

import tileir

EXAMPLES = Path(__file__).parents[1] / "examples"
# Without cuTile, the examples written in it are left out.
BLOCK_CUTILE = "import sys; sys.modules['cuda'] = None; import runpy; path = sys.argv.pop(); runpy.run_path(path, run_name='__main__')"


@pytest.mark.parametrize("with_cutile", [True, False])
def test_all_examples_agree_with_numpy(with_cutile: bool) -> None:
    path = str(EXAMPLES / "run_all.py")
    command = (
        [path] if with_cutile else ["-c", f"import sys; sys.path.insert(0, {str(EXAMPLES)!r}); {BLOCK_CUTILE}", path]
    )
    result = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    forms = 3 if with_cutile and has("cuda.tile") else 2
    lines = [line for line in result.stdout.splitlines() if line.endswith("  ok")]
    assert len(lines) == 6 * forms
    assert result.stdout.count("interleaved 128") == forms
    assert "race: two tile blocks write the same memory" in result.stdout
    assert ("pip install cuda-tile" in result.stdout) == (forms == 2)


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_operator_of_a_framework_agrees_with_its_own(framework: str) -> None:
    needs(framework)
    needs("cuda.tile")
    command = [sys.executable, str(EXAMPLES / f"{framework}_operator.py")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "activation, gradient and compiled model agree with" in result.stdout


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.mlir")), ids=lambda path: path.stem)
def test_program_of_the_examples_is_right_or_wrong_on_purpose(path: Path) -> None:
    if path.stem == "broken":
        with pytest.raises(tileir.VerifyError):
            tileir.verify(tileir.load(path))
    else:
        assert tileir.verify(tileir.load(path)) == []


def test_examples_leave_nothing_out_and_make_no_odd_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    for example in importlib.import_module("run_all").examples():
        launch = example.written("interpreter")
        launch(sanitize="all")
        watch = tileir.sanitizer.NumberWatch()
        launch(observer=watch)
        assert not watch.report, watch.report.render()
        assert [note.title for note in watch.report.notes] == (
            ["load_view_tko pads with an infinity"] if example.name == "softmax" else []
        )
