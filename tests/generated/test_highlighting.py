"""The words that highlighters know: those of the declarations, each once, in files that are up to date."""

from __future__ import annotations

import json

from generators import ROOT
from generators.highlighting import TEXTMATE, words

from tileir.declarations import declarations


def test_every_operation_and_no_word_twice() -> None:
    found = words()
    operations = {*found.control, *found.definitions, *found.operations}
    assert {declaration.name.rpartition(".")[2] for declaration in declarations() if declaration.syntax} <= operations
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
    grammar = json.loads((ROOT / TEXTMATE).read_text(encoding="utf-8"))
    assert grammar["scopeName"] == "source.tileir"
    included = set(_includes(grammar))
    assert included <= set(grammar["repository"]) and len(included) == len(grammar["repository"])


def _includes(pattern: object) -> list[str]:
    if isinstance(pattern, dict):
        own = [pattern["include"].removeprefix("#")] if isinstance(pattern.get("include"), str) else []
        return own + [name for value in pattern.values() for name in _includes(value)]
    return [name for value in pattern for name in _includes(value)] if isinstance(pattern, list) else []
