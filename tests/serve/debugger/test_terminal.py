"""The debugger at a terminal: gdb's commands, by files of commands and as they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileir.tools import debug

EXAMPLES = Path(__file__).parents[3] / "examples"
SOFTMAX = [
    str(EXAMPLES / "softmax.mlir"),
    *["--grid", "4", "--arg", "signed:f32:4x1000", "--arg", "zeros:f32:4x1000", "--arg", "4", "--arg", "1000"],
]


@pytest.fixture
def batch(capsys: pytest.CaptureFixture[str]):
    def run(*commands: str, program: list[str] = SOFTMAX, status: int = 0) -> str:
        options = [word for command in commands for word in ("-ex", command)]
        assert debug.run([*program, "--batch", *options]) == status
        return capsys.readouterr().out

    return run


def test_steps_forwards_and_backwards(batch) -> None:
    out = batch("start", "next", "reverse-next")
    lines = [line for line in out.splitlines() if line[:1].isdecimal()]
    assert [line.partition("\t")[0] for line in lines] == ["5", "6", "5"]
    assert "  %row = 0" in out.splitlines()


def test_abbreviations_are_those_of_gdb(batch) -> None:
    assert batch("start", "n", "rn", "s", "si", "ni", "rs", "rsi", "rni", "fin") == batch(
        "start",
        "next",
        "reverse-next",
        "step",
        "stepi",
        "nexti",
        "reverse-step",
        "reverse-stepi",
        "reverse-nexti",
        "finish",
    )


def test_stack_and_blocks(batch) -> None:
    out = batch("start", "block 2", "bt", "info blocks", "block")
    assert "#0  softmax (2, 0, 0) at " in out
    assert "* 2     (2, 0, 0)  step 0 of 18 steps" in out
    assert "[Current tile block is 2 (2, 0, 0), at step 0]" in out


def test_unknown_and_ambiguous_commands_are_named(batch) -> None:
    out = batch("foo", "re", "contniue", "next", status=1)
    assert 'Undefined command: "foo". Try "help".' in out
    assert 'Ambiguous command "re": reverse-continue, ' in out
    assert 'Undefined command: "contniue". Did you mean "continue"?' in out
    assert "The launch is not being run." in out


def test_list_goes_on_and_back(batch) -> None:
    out = batch("list 12,13", "list", "list -", "list softmax.mlir:1,1", "list 900", status=1)
    numbers = [int(line[3:].partition("\t")[0]) for line in out.splitlines() if "\t" in line]
    assert numbers == [12, 13, *range(14, 24), *range(4, 14), 1]
    assert "Line number 895 out of range" in out


def test_files_of_commands_stop_at_the_first_mistake(batch, tmp_path: Path) -> None:
    script = tmp_path / "commands"
    script.write_text("# a comment\nstart\nnext\nfoo\nnext\n")
    out = batch(f"source {script}", status=1)
    assert f"{script}:4: Error in sourced command file." in out
    assert out.count("\t") == 2


def test_help_names_every_command(batch) -> None:
    from tileir.serve.debugger.terminal.catalogue import all_commands

    out = batch("help")
    for name in all_commands().names():
        assert f"  {name}" in out
    assert batch("help next").startswith("next, n [N]\n")
