"""No page, help text or message has a word that a stranger stumbles on (tests/vocabulary.py)."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

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


@pytest.mark.parametrize("word", [*WORDS, *BRITISH], ids=lambda word: word.instead)
def test_the_list_finds_what_it_is_for(word: Word) -> None:
    pattern = pattern_of(word)
    assert all(pattern.search(text) for text in word.found), word
    assert not any(pattern.search(text) for text in word.stays), word


def complaints(text: str, where: str) -> list[str]:
    """Every forbidden word of a text, with what stands around it."""
    found = []
    for pattern, instead in PATTERNS:
        for match in pattern.finditer(text):
            around = text[max(0, match.start() - 50) : match.end() + 40].replace("\n", " ")
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{where}:{line}: '{match[0]}', better {instead}: ..{around}..")
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
            prose = re.sub(r"^ *>>> .*(\n *\.\.\. .*)*|`[^`\n]*`", "..", text, flags=re.MULTILINE)
            found += complaints(prose, f"{name} ({line})")
    assert found == []


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module that are sentences, without docstrings; values that are put in are left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            parts.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            parts.update(map(id, node.values))
            parts.update(id(each) for value in node.values for each in ast.walk(value) if each is not value)
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            text = node.value
        if " " in text:
            yield node.lineno, text


MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("folder", sorted({module.partition("/")[0] for module in MODULES}))
def test_messages_and_helps(folder: str) -> None:
    found = []
    for module in MODULES:
        if module.partition("/")[0] == folder and not module.startswith(tuple(FOREIGN)):
            for line, text in texts(PACKAGE / module):
                # Code of examples and names in quotes are not prose.
                clean = re.sub(r"`[^`\n]*`|%[\w.]+|\(\?P<\w+>", "..", text)
                found += complaints(clean, f"{module}:{line}")
    assert found == []


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
