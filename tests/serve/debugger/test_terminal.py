"""The debugger at a terminal: gdb's commands, by files of commands and as they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileir.tools.cutile import debug

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
    out = batch("start", "block 2", "bt", "info blocks", "block", "info frame")
    assert "#0  softmax (2, 0, 0) at " in out
    assert "* 2     (2, 0, 0)  step 0 of 18 steps" in out
    assert "The grid is (4, 1, 1): 4 tile blocks, 3 of them begun; schedule forward." in out
    assert "[Current tile block is 2 (2, 0, 0), at step 0]" in out
    assert "  operation 0: %row, %y, %z = get_tile_block_id : tile<i32>\n" in out


def test_unknown_and_ambiguous_commands_are_named(batch) -> None:
    out = batch("foo", "re", "contniue", "next", status=1)
    assert 'Undefined command: "foo". Try "help".' in out
    assert 'Ambiguous command "re": reverse-continue, ' in out
    assert 'Undefined command: "contniue". Did you mean "continue"?' in out
    assert "The launch is not being run: 'run' or 'start' begins it." in out


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
    from tileir.serve.debugger.terminal.shell import COMMANDS

    out = batch("help")
    for name in COMMANDS.commands:
        assert f"  {name}" in out
    assert batch("help next").startswith("next, n [N]\n")


MATMUL = [
    str(EXAMPLES / "matmul.mlir"),
    *["--grid", "2,2", "--arg", "rand:f16:128x128", "--arg", "rand:f16:128x128", "--arg", "zeros:f32:128x128"],
    *["--arg", "128", "--arg", "128", "--arg", "128"],
]


def test_breakpoints_of_operations_lines_and_blocks(batch) -> None:
    commands = ["break mmaf if step == 2", "b matmul.mlir:27 block 3", "tbreak matmul", "run", "bt", "c", "p step"]
    out = batch(*commands, "c", "c", "c", "c", "info b", program=MATMUL)
    stops = [line for line in out.splitlines() if line.startswith("Breakpoint ") and " at " not in line]
    assert stops == [f"Breakpoint {number}" for number in (3, 1, 1, 1, 2, 2)]
    assert "$1 = 2" in out.splitlines()
    assert "\tstop only if step == 2" in out
    # The one that was for once is gone.
    assert "3    breakpoint" not in out


def test_breakpoints_are_changed_by_number(batch) -> None:
    out = batch(
        *["b 29", "condition 1 step == 3", "run", "p step", "disable 1", "info breakpoints", "enable", "ignore 1 1"],
        *["c", "block", "delete 1", "info breakpoints", "d 7"],
        program=MATMUL,
        status=1,
    )
    assert "$1 = 3" in out and "1    breakpoint  keep n " in out
    assert "[Current tile block is 2 (0, 1, 0), at step " in out
    assert "No breakpoints or watchpoints." in out and "No breakpoint number 7." in out


def test_watchpoints_stop_behind_what_writes(batch) -> None:
    out = batch("watch c[0, 0]", "run", "reverse-step", "p c[0,0]", "step", "p c[0,0] > 0", program=MATMUL)
    assert "Watchpoint 1: c[0, 0]\n" in out and "\nWatchpoint 1: c[0, 0] = " in out
    assert "$1 = 0.0\n" in out and "$2 = true\n" in out


def test_commands_and_texts_of_breakpoints(batch, tmp_path: Path) -> None:
    script = tmp_path / "commands"
    script.write_text(
        'break 29 block 1\ncommands\nprint step * 10\ncontinue\nend\ndprintf 27 block 2,"at {step}"\nrun\n'
    )
    out = batch(f"source {script}", program=MATMUL)
    assert [f"${number + 1} = {10 * number}\n" in out for number in range(4)] == [True] * 4
    assert "at 0\nat 1\nat 2\nat 3\n" in out


def test_dprintf_takes_formats_of_gdb(batch) -> None:
    out = batch(
        *['dprintf 29 block 1,"round %d of %d (100%%)\\n", step, max(step, 4)', "run", 'dprintf 29,"%d", 1, 2'],
        program=MATMUL,
        status=1,
    )
    assert "round 0 of 4 (100%)\nround 1 of 4 (100%)\n" in out
    assert "Bad format string: it takes 1 expressions, and 2 are given." in out


def test_breakpoints_that_have_no_place_are_refused(batch) -> None:
    out = batch(
        "b 900",
        "b nothing",
        "b 12 if",
        "b other.mlir:3",
        "watch nothing",
        "catch fish",
        "b 12 if y > 0 and yy > 0",
        status=1,
    )
    for words in (
        "from line 900",
        "The kernel has no operation or value nothing.",
        "Argument required (a condition behind 'if').",
        "No source file named other.mlir: there is ",
        "There is neither a value nothing nor such an element",
        'There is nothing called "fish" to catch: assert, sanitizer or nan.',
        "The kernel has no value yy.",
    ):
        assert words in out


def test_until_and_advance_run_to_a_place(batch) -> None:
    out = batch("start", "until 29", "until", "until", "advance 35", program=MATMUL)
    lines = [line.partition("\t")[0] for line in out.splitlines() if "\t" in line]
    assert lines == ["5", "29", "30", "34", "35"]


def test_place_to_run_to_is_forgotten_when_something_else_stops_the_launch(batch) -> None:
    out = batch("watch c[0, 0]", "start", "advance 34 block 2", "info breakpoints", "info watchpoints", program=MATMUL)
    assert "\nWatchpoint 1: c[0, 0] = " in out
    assert out.count("1    watchpoint  keep y   c[0, 0]") == 2 and "matmul.mlir:34" not in out


def test_printed_values_are_numbered_and_used_again(batch) -> None:
    commands = [
        "b 29",
        "run",
        "p step + 5",
        "c",
        "p step",
        "p $1 - $",
        "p",
        "p $$3 * 10",
        "p $$",
        "p/x $ ",
        "p $9",
    ]
    out = batch(*commands, program=MATMUL, status=1)
    values = [line for line in out.splitlines() if line.startswith("$")]
    assert values == ["$1 = 5", "$2 = 1", "$3 = 4", "$4 = 4", "$5 = 50", "$6 = 4", "$7 = 0x4"]
    assert "The history of values has no $9: its last is $7." in out


def test_kernel_that_fails_is_stopped_at_the_failure(batch, tmp_path: Path) -> None:
    program = tmp_path / "fails.mlir"
    program.write_text(
        "// tileir: --grid 3\n"
        "cuda_tile.module @m { entry @fails() {\n"
        "  %x, %y, %z = get_tile_block_id : tile<i32>\n"
        "  %two = constant <i32: 2> : tile<i32>\n"
        "  %small = cmpi less_than %x, %two, signed : tile<i32> -> tile<i1>\n"
        '  assert %small, "too large" : tile<i1>\n'
        "  return\n} }\n"
    )
    out = batch("run", "p x", "reverse-step", "c", "c", program=[str(program)])
    assert "\nThe launch fails: " in out and "too large" in out
    assert "$1 = 2\n" in out and "[Switching to tile block 2 (2, 0, 0)]" in out
