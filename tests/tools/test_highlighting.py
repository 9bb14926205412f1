"""The words that highlighters know: those of the declarations, each once, in files that are up to date."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tileir.declarations import declarations
from tileir.tools import highlighting
from tileir.tools.highlighting_words import words

EDITORS = Path(__file__).parents[2] / "editors"


def test_files_in_the_repository_are_what_the_declarations_give() -> None:
    for name, text in highlighting.files(str(EDITORS)).items():
        assert (EDITORS / name).read_text(encoding="utf-8") == text, f"{name}: run make docs"


def test_every_operation_and_no_word_twice() -> None:
    found = words()
    operations = {*found.control, *found.definitions, *found.operations}
    assert {declaration.name.rpartition(".")[2] for declaration in declarations()} <= operations
    lists = [list for name, list in found._asdict().items() if name != "also"]
    every = [word for list in lists for word in list]
    assert sorted(set(every)) == sorted(every)


def test_words_of_the_syntax_come_from_the_lines_of_the_documentation() -> None:
    found = words()
    for word in (
        "iter_values",
        "step",
        "rounding",
        "padding_value",
        "dim_map",
        "div_by",
        "optimization_hints",
        "sm_90",
    ):
        assert word in found.syntax
    # Parts of those lines that stand for something else.
    for word in ("body", "region", "thenRegion", "x", "lhs"):
        assert word not in found.syntax
    assert found.also == ("addf", "constant", "global")


def test_grammar_is_plain_json_of_one_scope() -> None:
    grammar = json.loads((EDITORS / highlighting.TEXTMATE).read_text(encoding="utf-8"))
    assert grammar["scopeName"] == "source.tileir"
    included = set(_includes(grammar))
    assert included <= set(grammar["repository"]) and len(included) == len(grammar["repository"])


def _includes(pattern: object) -> list[str]:
    if isinstance(pattern, dict):
        own = [pattern["include"].removeprefix("#")] if isinstance(pattern.get("include"), str) else []
        return own + [name for value in pattern.values() for name in _includes(value)]
    return [name for value in pattern for name in _includes(value)] if isinstance(pattern, list) else []


def test_a_directory_without_the_files_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tileir.tools.arguments import ToolFailure

    with pytest.raises(ToolFailure, match="cannot read"):
        highlighting.run([str(tmp_path)])
    assert highlighting.run(["--help"]) == 2
    assert "usage" in capsys.readouterr().err


def test_a_file_without_marks_is_refused(tmp_path: Path) -> None:
    from tileir.tools.arguments import ToolFailure

    (tmp_path / "vim" / "syntax").mkdir(parents=True)
    (tmp_path / highlighting.VIM).write_text("syntax case match\n", encoding="utf-8")
    with pytest.raises(ToolFailure, match="words: begin"):
        highlighting.run([str(tmp_path)])
