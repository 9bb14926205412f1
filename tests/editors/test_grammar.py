"""The TextMate grammar, run by the engine of Visual Studio Code: every token gets the color of what it is.

What a token is comes from the lexer and the parser: where operations begin is read from the operations themselves.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from generators.highlighting import names
from tests.editors.installing import ROOT, run

import tileir
from tileir.analyze.documentation.examples import program_of
from tileir.analyze.documentation.meanings import ELEMENT_TYPES
from tileir.declarations import declarations
from tileir.dialect.enums import ENUM_KINDS
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.location import TextLocation
from tileir.ir.traits import SYMBOL, SYMBOL_TABLE
from tileir.text.lexer import TOKEN, tokenize

GRAMMAR = "syntaxes/tileir.tmLanguage.json"
OPERATIONS = {name: declaration for declaration in declarations() for name in names(declaration)}
KEYWORDS = {word for kind in ENUM_KINDS.values() for word in (*kind.values, *kind.aliases)}
TYPE = re.compile(r"!?(?:cuda_tile\.)?(?:tile|ptr|tensor_view|partition_view|strided_view|gather_scatter_view|token)\b")
# Only the drafts spell comparisons so; the parser says what it takes them for.
DRAFT_WORDS = ("olt",)
NUMBER = re.compile(r"0x[0-9A-Fa-f]+|\d")


def colored(paths: list[Path]) -> list[list[list[str]]]:
    """For each file, line and character, the innermost scope, without the name of the language."""
    lines = run("node", "checks/tokens.mjs", GRAMMAR, *[str(path) for path in paths]).splitlines()
    found = []
    for path, line in zip(paths, lines, strict=True):
        scopes = [[""] * len(text) for text in path.read_text(encoding="utf-8").split("\n")]
        for number, start, end, scope in json.loads(line):
            scopes[number][start:end] = [scope.removesuffix(".tileir")] * (end - start)
        found.append(scopes)
    return found


def tokens_of(text: str) -> list[tuple[int, int, str]]:
    """Tokens with the line and column where they begin."""
    found = []
    line = beginning = 0
    for match in TOKEN.finditer(text):
        start = match.start(1)
        if match[1]:
            line += text.count("\n", beginning, start)
            beginning = text.rfind("\n", 0, start) + 1
            found.append((line, start - beginning, match[1]))
    return found


def operation_tokens(text: str) -> dict[int, OperationDeclaration]:
    """The tokens that name an operation, by number; none where operations come from other places, as `loc` says."""
    found: dict[int, OperationDeclaration] = {}
    tokens = tokenize(text)
    for operation in tileir.parse(text, verify=False).walk():
        if isinstance(operation.location, TextLocation):
            token = operation.location.token
            if tokens[token][0] == "%":
                token = tokens.index("=", token) + 1
            # A terminator that is not written out stands where its parent does, which comes first.
            found.setdefault(token, operation.declaration)
    return found


def scope_of_operation(declaration: OperationDeclaration) -> str:
    if declaration.has_trait(SYMBOL) or declaration.has_trait(SYMBOL_TABLE):
        return "storage.type"
    return "keyword.control" if declaration.chapter == "Control flow" else "support.function.operation"


def expected(token: str, following: str) -> tuple[str, ...]:
    """The scopes a token may have that names no operation."""
    first = token[0]
    marked = {
        "%": "variable.other",
        "@": "entity.name.function",
        "^": "entity.name.label",
        "#": "variable.other.constant",
    }
    if first in marked and len(token) > 1:
        return (marked[first],)
    if first == '"':
        return ("punctuation.definition.string.begin",)
    if NUMBER.match(token):
        return ("constant.numeric",)
    if first.isalpha() and (following == "=" or re.fullmatch(r"[\w$]+(\.[\w$]+)+", token)):
        return ("entity.other.attribute-name",)
    if TYPE.match(token):
        return ("support.type",)
    if first == "!":
        return ("entity.name.type.alias",)
    if token in ELEMENT_TYPES:
        return ("support.type.element",)
    if token in KEYWORDS:
        return ("constant.language",)
    if token in ("true", "false"):
        return ("constant.language.boolean",)
    if first.isalpha() or first == "_":
        return ("keyword.other", "keyword.control")
    if token == "->":
        return ("keyword.operator.arrow",)
    return ("keyword.operator.assignment", "keyword.operator", "punctuation.separator", "punctuation.section")


def mistakes(text: str, scopes: list[list[str]]) -> list[str]:
    operations = operation_tokens(text)
    tokens = tokens_of(text)
    found = []
    for number, (line, column, token) in enumerate(tokens):
        following = tokens[number + 1][2] if number + 1 < len(tokens) else ""
        if number in operations and token[0] != '"':
            wanted: tuple[str, ...] = (scope_of_operation(operations[number]),)
        elif number in operations:
            wanted, column = ("support.function.operation",), column + 1
        elif not operations and token.rpartition(".")[2] in OPERATIONS:
            wanted = (scope_of_operation(OPERATIONS[token.rpartition(".")[2]]), *expected(token, following))
        else:
            wanted = expected(token, following)
        have = scopes[line][column]
        if have not in wanted and token not in DRAFT_WORDS:
            found.append(f"{line + 1}:{column + 1}: '{token}' is {have}, not {' or '.join(wanted)}")
        if "<" in token[1:]:
            found += _plain_inside(token, line, column, scopes)
    return found


def _plain_inside(token: str, line: int, column: int, scopes: list[list[str]]) -> list[str]:
    """Words and numbers inside a type that have no color of their own."""
    found = []
    for word in re.finditer(r"\w+", token):
        scope = scopes[line][column + word.start()] if "\n" not in token else "?"
        if scope in ("source", "meta.type"):
            found.append(f"{line + 1}:{column + 1}: '{word[0]}' in '{token}' has no color")
    return found


def programs() -> dict[str, str]:
    """Programs that can be parsed: the examples and those of the tests, and one for each operation, in two forms each."""
    texts = {}
    for path in (*ROOT.glob("examples/**/*.mlir"), *ROOT.glob("tests/programs/**/*.mlir")):
        texts[path.name] = path.read_text(encoding="utf-8")
    for declaration in declarations():
        texts[declaration.name] = program_of(declaration)
    readable = {}
    for name, text in texts.items():
        try:
            module = tileir.parse(text)
        except tileir.TileIRError:
            continue
        readable[name] = text
        if name.startswith("cuda_tile."):
            readable[f"{name}, generic"] = module.text(generic=True)
        else:
            readable[f"{name}, printed"] = module.text(debug_info=True)
    return readable


def test_every_token_has_the_color_of_what_it_is(tmp_path: Path) -> None:
    texts = programs()
    assert len(texts) > 300
    paths = []
    for number, text in enumerate(texts.values()):
        paths.append(tmp_path / f"{number}.mlir")
        paths[-1].write_text(text, encoding="utf-8")
    found = {}
    for (name, text), scopes in zip(texts.items(), colored(paths), strict=True):
        if wrong := mistakes(text, scopes):
            found[name] = wrong
    assert not found


PLACES = [
    ("%r, %t = atomic_rmw_tko relaxed device %p, addf, %x : tile<ptr<f32>>", "addf", "constant.language"),
    ("%r = addf %a, %b : tile<f32>", "addf", "support.function.operation"),
    ("  global private constant @table <f32: 1.0> : tile<1xf32>", "constant", "keyword.other"),
    ("global @t <i1: true> : tile<1xi1>", "true", "constant.language.boolean"),
    ("%r = constant <f32: 0.0> : tile<f32>", "constant", "support.function.operation"),
    (
        '%r = "cuda_tile.addf"(%a, %b) : (tile<f32>, tile<f32>) -> tile<f32>',
        "cuda_tile.addf",
        "support.function.operation",
    ),
    ("// addf %a", "addf", "comment.line.double-slash"),
    ('print_tko "addf %a\\n" -> token', "addf", "string.quoted.double"),
    ('print_tko "a\\n" -> token', "\\n", "constant.character.escape"),
    ('print_tko "a\\q" -> token', "\\q", "invalid.illegal.escape"),
    ("%addf.for = iota : tile<4xi32>", "addf.for", "variable.other"),
    ("%x = foo.addf %y", "addf", "source"),
]


def test_words_in_places(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text("\n".join([line for line, _, _ in PLACES]), encoding="utf-8")
    [found] = colored([path])
    for (line, word, scope), scopes in zip(PLACES, found, strict=True):
        start = line.index(word)
        assert set(scopes[start : start + len(word)]) == {scope}, line


def test_broken_programs_are_colored_to_the_end_of_a_line_only(tmp_path: Path) -> None:
    """A string or a type that is not closed does not take the rest of the file with it."""
    path = tmp_path / "program.mlir"
    path.write_text('print_tko "never closed\n%x = addi %y, %z : tile<i32>\n', encoding="utf-8")
    [scopes] = colored([path])
    assert scopes[1][:2] == ["variable.other"] * 2
