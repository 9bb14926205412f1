"""No page, help text, message, docstring or comment has a word that a stranger stumbles on (tests/vocabulary.py)."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from tests.documents import ROOT
from tests.test_public_examples import SPACES, definition, names_of, tree
from tests.vocabulary import BRITISH, PATTERNS, WORDS, Word, pattern_of

PACKAGE = ROOT / "src" / "tileir"
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("docs", "action", "editors/vscode", "benchmarks", "tests/fuzz", ".")
    for path in (ROOT / folder).glob("**/*.md" if folder in ("docs", "action") else "*.md")
)
# What users run and read: programs, scripts, and what `make` prints.
SOURCES = [
    "Makefile",
    "action/action.yml",
    *sorted(f"examples/{path.name}" for path in (ROOT / "examples").glob("*.*")),
]
# Texts that are not tileir's: code for other languages, and NVIDIA's messages.
FOREIGN = {
    "execute/cpu/codegen": "LLVM IR",
    "execute/cpu/matmul": "LLVM IR",
    "execute/gpu/triton/lowering/atomics.py": "PTX",
    "execute/gpu/short_launches.py": "Python that is generated",
    "tools/more/completion.py": "shell scripts",
}
# The code calls what runs programs an engine; users read of backends.
FOR_DEVELOPERS = [each for each in PATTERNS if not each[0].search("engine")]
# Strings come first, as they may hold a `#`.
COMMENT = re.compile(r""""{3}.*?(?<!\\)"{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?P<comment>#[^\n]*)""", re.DOTALL)


@pytest.mark.parametrize("word", [*WORDS, *BRITISH], ids=lambda word: word.instead)
def test_the_list_finds_what_it_is_for(word: Word) -> None:
    pattern = pattern_of(word)
    assert all(pattern.search(text) for text in word.found), word
    assert not any(pattern.search(text) for text in word.stays), word


def complaints(
    text: str, where: str, line: int = 1, patterns: Sequence[tuple[re.Pattern[str], str]] = PATTERNS
) -> list[str]:
    """Every forbidden word of a text that begins at a line, with what stands around it."""
    found = []
    for pattern, instead in patterns:
        for match in pattern.finditer(text):
            around = text[max(0, match.start() - 50) : match.end() + 40].replace("\n", " ")
            at = line + text.count("\n", 0, match.start())
            found.append(f"{where}:{at}: '{match[0]}', better {instead}: ..{around}..")
    return found


def prose(page: str) -> str:
    """The text of a page without code and addresses; lines stay where they are."""
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```", lambda match: "\n" * match[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "`..`", text)
    return re.sub(r"\]\([^)\n]*\)|https?://\S+|<[^>\n]*>", "]", text)


@pytest.mark.parametrize("page", PAGES)
def test_pages(page: str) -> None:
    assert complaints(prose(page), page) == []


@pytest.mark.parametrize("source", SOURCES)
def test_examples(source: str) -> None:
    text = (ROOT / source).read_text(encoding="utf-8")
    assert complaints(re.sub(r"`[^`\n]*`", "`..`", text), source) == []


def shown_docstrings(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> Iterator[tuple[int, str]]:
    """The docstring of a definition, and those of the public members of a class."""
    text = ast.get_docstring(node, clean=False)
    if text is not None:
        yield node.body[0].lineno, text
    for member, following in pairwise(node.body) if isinstance(node, ast.ClassDef) else ():
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant) and member is not node.body[0]:
            yield following.lineno, str(following.value.value)
    for member in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(member, ast.FunctionDef) and (member.name[0] != "_" or member.name == "__init__"):
            yield from shown_docstrings(member)


@pytest.mark.parametrize("space", SPACES)
def test_docstrings_of_public_names(space: str) -> None:
    """They are the pages of the Python API."""
    found = []
    for name, node in [
        (space, tree(space)),
        *[(f"{space}.{name}", definition(space, name)) for name in names_of(space)],
    ]:
        for line, text in shown_docstrings(node):
            found += complaints(without_code(text), name, line)
    assert found == []


def without_code(text: str) -> str:
    """A docstring or comment without names in backticks and examples; lines stay where they are."""
    return re.sub(r"^ *(>>>|\.\.\.) .*|`[^`\n]*`", "..", text, flags=re.MULTILINE)


def texts(module: ast.Module) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """The messages of a module, and its docstrings, each with its line.

    A message is a string with a blank, which values are left out of.
    """
    messages, docstrings = [], []
    parts: set[int] = set()
    nodes = list(ast.walk(module))
    for node in nodes:
        if isinstance(node, ast.Expr):
            parts.add(id(node.value))
            if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                docstrings.append((node.lineno, node.value.value))
        elif isinstance(node, ast.JoinedStr):
            parts.update(map(id, node.values))
            parts.update(id(each) for value in node.values for each in ast.walk(value) if each is not value)
    for node in nodes:
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            text = node.value
        if " " in text:
            messages.append((node.lineno, text))
    return messages, docstrings


def comments(source: str) -> Iterator[tuple[int, str]]:
    """The comments of a module, each with its line; in a fraction of the time that `tokenize` takes."""
    line = end = 0
    for match in COMMENT.finditer(source):
        line += source.count("\n", end, match.start())
        end = match.start()
        if match["comment"]:
            yield line + 1, match[0]


MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("folder", sorted({module.partition("/")[0] for module in MODULES}))
def test_modules(folder: str) -> None:
    """Messages, helps, docstrings and comments."""
    found = []
    for module in MODULES:
        if module.partition("/")[0] == folder:
            source = (PACKAGE / module).read_text(encoding="utf-8")
            messages, remarks = texts(ast.parse(source))
            for line, text in [] if module.startswith(tuple(FOREIGN)) else messages:
                # Code of examples and names in quotes are not prose.
                clean = re.sub(r"`[^`\n]*`|%[\w.]+|\(\?P<\w+>", "..", text)
                found += complaints(clean, module, line)
            for line, text in [*remarks, *comments(source)]:
                found += complaints(without_code(text), module, line, FOR_DEVELOPERS)
    assert not found, "\n".join(["", *found])


def test_comments_are_found() -> None:
    source = 'a = "#1"  # one\n"""\n# no\n"""\nb = \'#\'\n# two'
    assert list(comments(source)) == [(1, "# one"), (6, "# two")]


def test_texts_of_pages_in_the_browser() -> None:
    found = []
    for path in sorted([*PACKAGE.rglob("assets/*.js"), *PACKAGE.rglob("assets/*.html")]):
        source = path.read_text(encoding="utf-8")
        source = re.sub(r"/\*.*?\*/|(?<!:)//[^\n]*", lambda match: "\n" * match[0].count("\n"), source, flags=re.DOTALL)
        for text in re.findall(r'"([^"\n]*)"|`([^`\n]*)`|>([^<>{}\n]+)<', source):
            sentence = re.sub(r"\$\{[^`]*?\}(?![^`]*\})|\$\{[^}]*\}", "..", "".join(text))
            if " " in sentence.strip():
                found += complaints(sentence, path.name)
    assert found == []


def test_descriptions_of_the_extension() -> None:
    manifest = json.loads((ROOT / "editors" / "vscode" / "package.json").read_text(encoding="utf-8"))
    assert complaints(json.dumps(manifest["contributes"], indent=1, ensure_ascii=False), "package.json") == []
