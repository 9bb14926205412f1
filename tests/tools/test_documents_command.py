"""`tileir docs`: pages in the terminal, from a checkout and from a wheel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tileir.analyze.documentation import markdown
from tileir.tools import main
from tileir.tools.more import documents

ROOT = Path(__file__).parents[2]
# Of a checkout those of the repository, of a wheel those that it carries.
FOLDER = Path(documents.directory_of_pages())
PAGES = documents.pages_in(str(FOLDER))


def test_every_page_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert documents.run([]) == 0
    listed = re.findall(r"^    (\S+)  +\S", capsys.readouterr().out, re.MULTILINE)
    assert listed == list(PAGES)
    paths = [path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.md")]
    assert sorted(PAGES.values()) == sorted(paths), "two pages have one name"


@pytest.mark.parametrize("spelled", ["cpu", "cpu.md", "internals/cpu", "docs/internals/cpu.md"])
def test_page_is_printed_as_it_is(spelled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert documents.run([spelled]) == 0
    assert capsys.readouterr().out == (FOLDER / "internals" / "cpu.md").read_text(encoding="utf-8")


def test_section_of_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert documents.run(["command_line#exit-status"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("## Exit status\n") and "| 130 |" in printed and "\n## " not in printed


def test_headings_in_code_are_none() -> None:
    text = "# A\n```\n# no heading\n```\n## B, c: `d`\nx\n### E\ny\n## F\nz\n"
    assert markdown.sections(text) == [
        ("a", 1, "A", 0),
        ("b-c-d", 2, "B, c: `d`", 4),
        ("e", 3, "E", 6),
        ("f", 2, "F", 8),
    ]
    assert markdown.section(text, "b-c-d") == "## B, c: `d`\nx\n### E\ny\n"
    assert markdown.section(text, "no-heading") == ""


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("sanitiser", "there is no page 'sanitiser'\nhelp: did you mean 'sanitizer'?"),
        ("../pyproject", "there is no page '../pyproject'\nhelp: 'tileir docs' lists the pages"),
        ("command_line#nothing\x1b", r"'command_line' has no section 'nothing\x1b', but the-command-line, "),
    ],
)
def test_page_that_is_not_there(page: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert documents.run([page]) == 1
    assert capsys.readouterr().err.startswith(f"error: {message}")


def test_terminal_gets_pages_laid_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert documents.run(["execution", "--color", "always"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("\033[1mRunning programs\033[0m\n") and "\n```" not in printed and "](" not in printed
    assert documents.run(["--color", "always"]) == 0
    assert "\n    getting_started " in capsys.readouterr().out


def test_help_refers_to_pages_that_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Who installed a wheel has no folder docs/."""
    for command in main.COMMANDS:
        assert main.run([command, "--help"]) == 0
    printed = capsys.readouterr().out
    assert "docs/" not in printed
    named = re.findall(r"'tileir docs ([\w/#-]+)'", printed)
    assert {name.partition("#")[0] for name in named} <= set(PAGES)
    assert {"sanitizer", "cpu", "writing_passes"} <= set(named)


def test_wheel_has_the_pages() -> None:
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    included = settings.partition("[tool.hatch.build.targets.wheel.force-include]\n")[2].partition("\n\n")[0]
    assert '"docs" = "tileir/docs"' in included
