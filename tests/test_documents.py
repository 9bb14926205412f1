"""What the README and the newcomer's page show is what happens, and files that are named anywhere are there."""

from __future__ import annotations

import functools
import re
import shlex
from pathlib import Path

import pytest

from tileir.tools.main import run

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/getting_started.md")
# What a user follows line by line.
GUIDES = (
    *PAGES,
    "docs/writing_passes.md",
    "docs/execution.md",
    "docs/cpu.md",
    "docs/sanitizer.md",
    "docs/cutile.md",
    "docs/command_line.md",
)
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


def plain_commands() -> dict[str, list[str]]:
    """The commands of the blocks without a language, which show no output, of each page."""
    found: dict[str, list[str]] = {}
    for page in GUIDES:
        language: str | None = None
        for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
            if line.startswith("```"):
                language = line[3:] if language is None else None
            elif language == "" and line.startswith("tileir "):
                found.setdefault(page, []).append(line)
    return found


@pytest.mark.parametrize(("page", "commands"), plain_commands().items())
def test_commands_without_output_work_as_they_stand(
    page: str, commands: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One after the other, in a place that has the examples and nothing else."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    for command in commands:
        status = run(shlex.split(command, comments=True)[1:])
        errors = capsys.readouterr().err
        assert status == 0 or (status == 1 and errors.startswith("sanitizer: ")), (command, errors)


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
    if "0x.." in output:
        printed = re.sub(r"\b0x[0-9a-f]+", "0x..", printed)
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


# --- files that are named ---

# A path of a source, a page or a folder, in backquotes in a document; in the sources with a folder in front.
_IN_DOCUMENTS = re.compile(r"`((?:[\w-]+/)*[\w-]+\.(?:py|pyi|md|toml)|[a-z_]+(?:/[a-z_]+)*/)`")
_IN_SOURCES = re.compile(r"(?<![\w/.<])((?:[a-z_]+/)+[a-z_]+\.(?:py|md))\b")


@functools.cache
def known_places() -> frozenset[str]:
    """Every file and folder of the repository by every ending of its path: `cpu/kernel.py`, `kernel.py`."""
    found: set[str] = set()
    for top in ("src", "tests", "docs", "benchmarks", "examples", ".ci"):
        for path in [ROOT / top, *(ROOT / top).rglob("*")]:
            if "__pycache__" not in path.parts:
                parts = path.relative_to(ROOT).parts
                found.update("/".join(parts[start:]) for start in range(len(parts)))
    return frozenset([*found, *(path.name for path in ROOT.iterdir())])


@pytest.mark.parametrize("page", [*DOCUMENTS, "benchmarks/README.md", "tests/fuzz/README.md"])
def test_files_that_a_document_names_exist(page: str) -> None:
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    missing = [name for name in _IN_DOCUMENTS.findall(text) if name.rstrip("/") not in known_places()]
    assert [name for name in missing if "NAME" not in name] == []


def test_files_that_the_sources_name_exist() -> None:
    for path in sorted((ROOT / "src").rglob("*.py")):
        for name in _IN_SOURCES.findall(path.read_text(encoding="utf-8")):
            assert name in known_places(), f"{path.relative_to(ROOT)} speaks of {name}"
