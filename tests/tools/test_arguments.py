"""The reader of command lines that all tools share."""

from __future__ import annotations

import pytest

from tileir.tools.arguments import EXIT_USAGE, Arguments, Option, Usage, UsageFailure
from tileir.tools.command import command

OPTIONS = (
    Option("-o, --output OUT", "where to write"),
    Option("-v, --verbose", "say more"),
    Option("--mode fast|slow", "how"),
    Option("--split[=MARKER]", "cut", bare="----"),
)
EXAMPLES = ("tool a.mlir", "tool -v a.mlir")
USAGE = Usage("tool", "FILE...", EXAMPLES, OPTIONS, summary="Do something", most=2)
LLVM_USAGE = Usage("tool", "[FILE]", (), (*OPTIONS[1:], Option("-o OUT", "out")), least=0, single_dash=True)


def read(*arguments: str, usage: Usage = USAGE) -> Arguments:
    found = usage.parse(list(arguments))
    assert found is not None
    return found


@pytest.mark.parametrize("spelled", [["--output", "x"], ["--output=x"], ["-o", "x"], ["-ox"], ["-o=x"]])
def test_value_of_an_option_may_be_apart_attached_or_after_an_equals_sign(spelled: list[str]) -> None:
    found = read("file", *spelled)
    assert found.value("output", "") == "x"
    assert found.operands == ["file"]


def test_flag_is_present_only_when_given() -> None:
    assert read("file", "-v").has("verbose")
    assert not read("file").has("verbose")


def test_lone_dash_is_an_operand() -> None:
    assert read("-").operands == ["-"]


def test_everything_after_two_dashes_is_an_operand() -> None:
    assert read("--", "-v", "--output").operands == ["-v", "--output"]


def test_option_with_a_value_that_may_be_left_out_does_not_take_the_next_argument() -> None:
    found = read("--split", "file")
    assert found.value("split", "") == "----"
    assert found.operands == ["file"]
    assert read("--split=#", "file").value("split", "") == "#"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected FILE..."),
        (["a", "b", "c"], "unexpected argument 'c'"),
        (["a", "--nothing"], "unknown option '--nothing'"),
        (["a", "--verbos"], "unknown option '--verbos'\nhelp: did you mean '--verbose'?"),
        (["a", "-verbose"], "unknown option '-verbose'\nhelp: did you mean '--verbose'?"),
        (["a", "--output"], "option '--output' needs a value: -o, --output OUT"),
        (["a", "--verbose=yes"], "option '--verbose' takes no value"),
        (["a", "--mode", "odd"], "'odd' is not a value of '--mode': use fast or slow"),
        (["a", "---verbose"], "unknown option '---verbose'\nhelp: did you mean '--verbose'?"),
    ],
)
def test_mistake_on_the_command_line_is_named(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageFailure) as raised:
        USAGE.parse(arguments)
    assert "\nhelp: ".join(filter(None, (str(raised.value), raised.value.help))) == message


@pytest.mark.parametrize("spelled", [["-mode=fast"], ["--mode=fast"], ["-mode", "fast"]])
def test_llvm_style_takes_one_dash_or_two(spelled: list[str]) -> None:
    assert read(*spelled, usage=LLVM_USAGE).value("mode", "") == "fast"


def test_llvm_style_flag_may_be_switched_off_again() -> None:
    assert not read("-verbose", "-verbose=false", usage=LLVM_USAGE).has("verbose")
    assert read("-verbose=true", usage=LLVM_USAGE).has("verbose")


def test_mistake_is_printed_with_where_to_find_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(USAGE)(lambda given: 0)([]) == EXIT_USAGE
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "error: expected FILE...\nhelp: 'tool --help' shows the options\n"


def test_help_lists_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert USAGE.parse(["--help"]) is None
    printed = capsys.readouterr().out
    assert printed.startswith("Do something.\n\n  tool a.mlir\n  tool -v a.mlir\n\nusage: tool FILE... [options]\n")
    for line in (
        "-o, --output OUT",
        "-v, --verbose",
        "--mode fast|slow",
        "--split[=MARKER]",
        "-h, --help",
        "  130  interrupted",
    ):
        assert line in printed
