"""What the README and the newcomer's page show is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tileir.tools.main import run

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/getting_started.md")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def sessions() -> list[tuple[str, str]]:
    """Each command of the console blocks with the output shown for it."""
    found = []
    for page in PAGES:
        for block in blocks(page, "console"):
            for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                line, _, output = command.partition("\n")
                found.append((line, output))
    return found


@pytest.mark.parametrize(("page", "code"), [(page, code) for page in PAGES for code in blocks(page, "python")])
def test_python_in_the_documents_runs(
    page: str, code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(code, page, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out


@pytest.mark.parametrize(("command", "output"), sessions())
def test_commands_in_the_documents_print_what_is_shown(
    command: str, output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(command)
    assert program == "tileir"
    run(arguments)
    captured = capsys.readouterr()
    printed = captured.out + captured.err
    shown, more, rest = output.partition("...\n")
    assert not rest, "only the end can be left out"
    if more:
        assert printed.startswith(shown) and len(printed) > len(shown)
    else:
        assert printed == shown


def test_both_pages_show_programs_and_commands() -> None:
    for page in PAGES:
        assert blocks(page, "python") and blocks(page, "console")


@pytest.mark.parametrize("page", DOCUMENTS)
def test_links_lead_to_files(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", re.sub(r"`[^`\n]*`", "", text)):
        assert (ROOT / page).parent.joinpath(target).exists(), target
