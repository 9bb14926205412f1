"""The structure of a text that is kept over edits, and the values that are visible at a token, against the whole."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tileir.ir.location import TextLocation
from tileir.serve.language.document.document import Document
from tileir.serve.language.document.tree import SyntaxTree

ROOT = Path(__file__).parents[3]
PIECES = [
    "{",
    "}",
    "(",
    ")",
    "\n",
    " ",
    "%x",
    "%x = ",
    "addi ",
    ", ",
    ": tile<4xi32>",
    "^bb(%q: tile<i32>):\n",
    "=",
    "for ",
]
GENERIC = '"cuda_tile.module"() ({\n  "cuda_tile.entry"() ({\n  ^bb0(%a: tile<i32>):\n    "cuda_tile.return"() : () -> ()\n  }) {sym_name = "k"} : () -> ()\n}) {sym_name = "m"} : () -> ()\n'


def programs():
    names = ["examples/matmul.mlir", "examples/softmax.mlir", "examples/attention.mlir", "examples/histogram.mlir"]
    return [*[(ROOT / name).read_text() for name in names if (ROOT / name).exists()], GENERIC]


def tree(region):
    """A region as plain data."""
    operations = [
        (
            each.first,
            each.last,
            each.name,
            tuple(each.results),
            each.declaration,
            [tree(inner) for inner in each.regions],
        )
        for each in region.operations
    ]
    for each in region.operations:
        assert each.region is region
        assert all(inner.owner is each for inner in each.regions)
    return region.opening, region.closing, list(region.labels), operations


def edit(chance, document):
    text = document.text
    start = chance.randrange(len(text) + 1)
    kind = chance.randrange(6)
    if kind == 0:
        # Some lines, gone or written twice.
        begin = text.rfind("\n", 0, start) + 1
        end = text.find("\n", start) + 1 or len(text)
        lines = text[begin:end]
        document.replace(begin, end, chance.choice(["", lines + lines]))
    elif kind < 3:
        document.replace(start, start, chance.choice(PIECES))
    elif kind < 5:
        document.replace(start, min(start + chance.randrange(1, 4), len(text)), "")
    else:
        end = min(start + chance.randrange(40), len(text))
        document.replace(start, end, chance.choice(PIECES))


def check_edits(seed, text, count):
    chance = Random(seed)
    document = Document("file:///x.mlir", text)
    for _ in range(count):
        assert document.syntax.top is not None
        for _ in range(chance.choice([1, 1, 3])):
            edit(chance, document)
        assert tree(document.syntax.top) == tree(SyntaxTree(document.text).top), document.text
        if chance.random() < 0.05 or len(document.text) > 3 * len(text) + 100:
            document.replace(0, len(document.text), text)


@pytest.mark.parametrize("seed", range(3))
def test_operations_after_edits_are_those_of_the_whole_text(seed):
    for number, text in enumerate(programs()):
        check_edits(100 * seed + number, text, 25)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 140))
def test_operations_after_many_edits_are_those_of_the_whole_text(seed):
    for number, text in enumerate(programs()):
        check_edits(100 * seed + number, text, 300)


def placed_operations(module):
    """Operations by the tokens of their names."""
    found = {}
    for operation in module.walk() if module is not None else ():
        if isinstance(operation.location, TextLocation):
            if not operation.declaration.is_terminator or operation.location.token not in found:
                found[operation.location.token] = operation
    return found


def check_operations(text):
    analysis = Document("file:///x.mlir", text).analysis
    found = placed_operations(analysis.module)
    for written in analysis.syntax.operations:
        assert analysis.operation_of(written) is found.get(written.name), (written.name, text)


def test_operations_are_found_by_what_is_written():
    for text in programs():
        check_operations(text)


@pytest.mark.long
def test_operations_of_all_programs_are_found_by_what_is_written():
    for path in sorted((ROOT / "tests" / "programs").rglob("*.mlir")):
        check_operations(path.read_text())


def check_values(text, chance):
    syntax = SyntaxTree(text)
    for token in [chance.randrange(syntax.count) for _ in range(20)]:
        by_text: dict[str, Any] = {}
        for name in syntax.visible_values(token):
            by_text.setdefault(name.text, name)
        name = syntax.name_at(token)
        if name is not None and name.kind == "value" and name.definition not in (None, token) and name.uses:
            assert by_text[name.text].definition == name.definition, (token, text)


def test_visible_values_are_those_that_uses_mean():
    chance = Random(5)
    for text in programs():
        check_values(text, chance)
