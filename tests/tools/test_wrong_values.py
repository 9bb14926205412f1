"""A value that an option does not take is a mistake of the command line: exit status 2, and a line that says so."""

from __future__ import annotations

import pytest
from tests.documents import ROOT

from tileir.tools import main
from tileir.tools.arguments import Usage
from tileir.tools.more.completion import usage_of

FILE = str(ROOT / "examples" / "vector_add.mlir")
ARGUMENTS = ["--arg", "ones:f32:8", "--arg", "ones:f32:8", "--arg", "zeros:f32:8", "--arg", "8"]


def usages() -> dict[str, Usage]:
    return {name: usage_of(name) for name in main.COMMANDS}


LISTED = [(name, option.name) for name, usage in usages().items() for option in usage.options if option.choices]


def test_many_options_list_their_values() -> None:
    assert len(LISTED) > 60 and len({name for name, _ in LISTED}) > 14


@pytest.mark.parametrize(("command", "option"), LISTED)
def test_a_value_that_is_not_listed(command: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    dash = "-" if len(option) == 1 else "--"
    assert main.run([command, f"{dash}{option}=nonsense", FILE]) == 2
    first, second, third = capsys.readouterr().err.splitlines()
    assert first == f"error: 'nonsense' is not a value of '{dash}{option}'" and second.startswith("help: use ")
    assert third == f"help: 'tileir {command} --help' shows the options"


@pytest.mark.parametrize(
    "words",
    [
        ["run", FILE, "--backend", "nonsense"],
        ["run", FILE, "--schedule", "nonsense"],
        ["run", FILE, "--schedule", "random:x"],
        ["run", FILE, "--entry", "nonsense"],
        ["run", FILE, "--dump", "nonsense"],
        ["run", FILE, "--dump", "nonsense", "--backend", "triton"],
        ["run", FILE, "--dump", "asm", "--cpu", "nonsense"],
        ["run", FILE, "--dump", "sass", "--backend", "tileiras", "--target", "nonsense"],
        ["explore", FILE, "--entry", "nonsense"],
        ["explore", FILE, "--schedule", "nonsense"],
        ["explore", FILE, "--target", "nonsense"],
        ["explore", FILE, "--picture", "a:nonsense=x.svg", *ARGUMENTS],
        ["debug", FILE, "--entry", "nonsense", "--batch"],
        ["debug", FILE, "--schedule", "nonsense", "--batch"],
        ["cost", FILE, "--entry", "nonsense"],
        ["cost", FILE, "--target", "nonsense"],
        ["compile", FILE, "--entry", "nonsense", "--target", "sm_90", "--resource-usage"],
        ["compile", FILE, "--target", "nonsense", "--resource-usage"],
        ["diff", FILE, FILE, "--semantic", "--backend", "nonsense"],
        ["diff", FILE, FILE, "--semantic", "--entry", "nonsense"],
        ["tune", FILE, "--entry", "nonsense"],
        ["reduce", FILE, "--crashes", "--backend", "nonsense"],
        ["reduce", FILE, "--message", "x", "--backend", "nonsense"],
        ["reduce", FILE, "--differs", "--backend", "interpreter,nonsense"],
        ["reduce", FILE, "--differs", "--backend", "interpreter,cpu", "--entry", "nonsense"],
        ["reduce", FILE, "--crashes", "--passes", "nonsense"],
        ["emulate", "--backend", "nonsense", "x.py"],
        ["emulate", "--target", "nonsense", "x.py"],
        ["sweep", FILE, "--backend", "nonsense", "-o", "{folder}/x.sqlite"],
        ["sweep", FILE, "--compile", "--target", "nonsense", "-o", "{folder}/x.sqlite"],
        ["sweep", FILE, "--cost", "--target", "nonsense", "-o", "{folder}/x.sqlite"],
        ["lint", FILE, "--select", "nonsense"],
        ["lint", FILE, "--target", "nonsense"],
        ["opt", FILE, "--passes", "nonsense"],
        ["completion", "nonsense"],
    ],
)
def test_a_name_that_does_not_exist(
    words: list[str], capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = str(tmp_path_factory.mktemp("results"))
    assert main.run([word.replace("{folder}", folder) for word in words]) == 2
    error = capsys.readouterr().err
    assert (error.startswith("error: ") and "nonsense" in error) or "random:x" in error
    assert [line.partition(": ")[0] for line in error.splitlines()] in (
        ["error"],
        ["error", "help"],
        ["error", "help", "help"],
    )
