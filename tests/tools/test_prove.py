"""`tileir prove`, and `--prove` of `check` and `lint`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from tests.proofs.test_prover import ADD, RACY

from tileir.tools.main import run

pytest.importorskip("z3")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "add.mlir").write_text(ADD)
    (tmp_path / "racy.mlir").write_text(RACY)
    (tmp_path / "broken.mlir").write_text("entry @k() { nonsense }")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_proofs_are_printed_and_decide_the_exit_status(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "add.mlir"]) == 0
    first, *lines = capfd.readouterr().out.splitlines()
    assert first.startswith("add.mlir @vector_add: ")
    assert "  bounds       proved    3 claims" in lines
    assert "  for every launch with" in lines
    assert run(["prove", "-q", "add.mlir", "racy.mlir"]) == 1
    output = capfd.readouterr().out
    assert output.startswith("racy.mlir @racy: ") and "add.mlir" not in output
    assert "race: two tile blocks access the same memory" in output
    assert run(["prove", "broken.mlir"]) == 1


def test_the_printed_command_repeats_the_finding(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(["prove", "racy.mlir"])
    lines = capfd.readouterr().out.splitlines()
    command = next(line for line in lines if line.startswith("  = repeat: ")).removeprefix("  = repeat: ")
    program, *words = shlex.split(command)
    assert program == "tileir" and run(words) == 1
    assert "race: two tile blocks access the same memory" in capfd.readouterr().err


def test_json_has_the_contract_and_each_answer(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "--json", "racy.mlir", "--assume", "n > 128", "--grid", "cdiv(n, 128)"]) == 1
    found = json.loads(capfd.readouterr().out)
    assert (found["file"], found["kernel"]) == ("racy.mlir", "racy")
    assert {"text": "n > 128", "source": "stated"} in found["contract"]
    race = found["answers"]["race"]
    assert race["verdict"] == "refuted" and race["instance"].startswith("for n = ")
    assert race["finding"]["kind"] == "race" and race["finding"]["line"] == 29
    assert race["command"].startswith("tileir run racy.mlir --sanitize --grid ")


@pytest.mark.parametrize("command", ["prove", "check --prove", "lint --prove --timeout 20s --ignore all"])
def test_code_scanning_sees_what_is_refuted(command: str, files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = [*command.split(), "--format", "sarif"]
    assert run([*words, "racy.mlir"]) == 1
    (document,) = json.loads(capfd.readouterr().out)["runs"]
    (result, *_) = document["results"]
    rules = document["tool"]["driver"]["rules"]
    assert result["ruleId"] == rules[result["ruleIndex"]]["id"] == "prove-race"
    assert result["level"] == "error" and ", for n = " in result["message"]["text"]
    assert run([*words, "add.mlir"]) == 0
    (document,) = json.loads(capfd.readouterr().out)["runs"]
    assert document["results"] == []


def test_a_kernel_is_chosen_by_name(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "add.mlir", "--entry", "other"]) == 2
    assert "the module has no entry @other" in capfd.readouterr().err
    assert run(["prove", "add.mlir", "--entry", "vector_add", "--timeout", "20s"]) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--assume", "rows > 0"], "names 'rows', which is no integer parameter"),
        (["--grid", "1,"], "'1,' is no grid\nhelp: give one to three expressions"),
        (["--timeout", "soon"], "is no time"),
    ],
)
def test_wrong_options_are_usage_errors(
    options: list[str], words: str, files: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["prove", "add.mlir", *options]) == 2
    assert words in capfd.readouterr().err


SCRIPT = """
import cuda.tile as ct
import numpy

@ct.kernel
def double(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (128,)) * 2)

def main(count):
    x, out = numpy.ones(count, "f4"), numpy.zeros(count, "f4")
    ct.launch(None, (ct.cdiv(x.shape[0], 128){more},), double, (x, out))

main(1000)
main(128)
"""


def test_a_script_gives_the_rule_of_its_grid(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cuda.tile")
    (files / "script.py").write_text(SCRIPT.replace("{more}", ""))
    assert run(["prove", "--json", "script.py"]) == 0
    for line in capfd.readouterr().out.splitlines():
        found = json.loads(line)
        assert {"text": "grid.x == cdiv(x.shape[0], 128)", "source": "script"} in found["contract"]
        assert found["answers"]["bounds"]["verdict"] == "proved"


def test_a_grid_of_a_script_that_is_too_large_is_refuted(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cuda.tile")
    (files / "script.py").write_text(SCRIPT.replace("{more}", " + 1").replace("main(128)\n", ""))
    assert run(["prove", "--json", "script.py", "--assume", "out.shape[0] == x.shape[0]"]) == 1
    bounds = json.loads(capfd.readouterr().out)["answers"]["bounds"]
    assert bounds["finding"]["kind"] == "index-space"
    first, second = bounds["command"].split(" && ")
    assert run(shlex.split(first)[1:]) == 0
    assert run(shlex.split(second)[1:]) == 1
    assert "index-space" in capfd.readouterr().err
