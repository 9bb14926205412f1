"""`tileir diff --prove` and `tileir opt --prove`: what they print, and their exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tileir.passes import catalog
from tileir.tools.programs import diff, opt

pytest.importorskip("z3", reason="proofs need z3")

VECTOR_ADD = Path(__file__).parents[2] / "examples" / "vector_add.mlir"

# A pass that makes sums into differences.
WRONG_PASS = """
import tileir
from tileir.dialect.ops import ADDF, SUBF
from tileir.ir.core import Operation

def run(root, options, session):
    sums = [operation for operation in root.walk() if operation.declaration is ADDF]
    for each in sums:
        difference = Operation(SUBF, list(each.operands), [each.result.type], each.attributes, location=each.location)
        each.parent.insert_before(difference, each)
        each.replace_with([difference.result])
    return len(sums)

tileir.passes.register_pass("sums-into-differences", "wrong", run)
"""


@pytest.fixture
def optimized(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "fast.mlir"
    assert opt.run([str(VECTOR_ADD), "-O3", "--rules", "full", "--prove", "-o", str(path)]) == 0
    assert capsys.readouterr() == ("", "equivalent for all inputs\n")
    return path


def test_diff_says_which_of_the_three_it_is(
    optimized: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert diff.run(["--prove", str(VECTOR_ADD), str(optimized)]) == 0
    assert capsys.readouterr() == ("equivalent for all inputs\n", "")
    other = tmp_path / "other.mlir"
    other.write_text(optimized.read_text().replace("addf", "subf"))
    assert diff.run(["--prove", str(VECTOR_ADD), str(other)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("differs for --grid ") and ": argument 2 differs in " in out
    other.write_text(optimized.read_text().replace("store_ptr_tko weak", "store_ptr_tko relaxed device"))
    assert diff.run(["--prove", "--json", str(VECTOR_ADD), str(other)]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer == {
        "verdict": "unknown",
        "reason": "@vector_add: 'store_ptr_tko' has another 'memory_ordering_semantics'",
        "launch": None,
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--prove", "--semantic"], "'--semantic' and '--prove' exclude each other"),
        (["--prove", "-s"], "--prove shows results, and --summary the programs"),
        (["--prove", "--runs", "2"], "is about running the programs\nhelp: add --semantic"),
        (["--entry", "k"], "is about what programs compute\nhelp: add --semantic or --prove"),
        (["--prove", "--entry", "missing"], "the first program has no kernel @missing: it has @vector_add"),
    ],
)
def test_mistakes_are_trouble(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff.run([*arguments, str(VECTOR_ADD), str(VECTOR_ADD)]) == 2
    assert message in capsys.readouterr().err


def test_opt_writes_nothing_that_a_launch_refutes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "REGISTERED", dict(catalog.REGISTERED))
    loaded, target = tmp_path / "wrong.py", tmp_path / "out.mlir"
    loaded.write_text(WRONG_PASS)
    arguments = ["--load", str(loaded), "--passes", "sums-into-differences", "--prove", "-o", str(target)]
    assert opt.run([str(VECTOR_ADD), *arguments]) == 1
    assert capsys.readouterr().err.startswith("differs for --grid ") and not target.exists()
