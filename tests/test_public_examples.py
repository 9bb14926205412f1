"""Every public name has a docstring, and is in an example that is run: its own, or that of its module."""

from __future__ import annotations

import ast
import doctest
import functools
import importlib
import re
import shutil
from pathlib import Path
from typing import Any, TypeGuard

import pytest

from tileir.public import MODULES, TABLES

ROOT = Path(__file__).parents[1]
SPACES = ["tileir", *[f"tileir.{name}" for name in MODULES]]
# What an example may take for granted (docs/reference/api.md); where it needs a package, the name that it uses of it.
GIVEN = """
import numpy, tileir
module = tileir.load("examples/vector_add.mlir")
kernel = tileir.compile(module, backend="interpreter")
a, b, c = [numpy.ones(1000, "f4") for _ in range(3)]
args = (a, b, c, 1000)
"""
OF_FUNCTIONS = ("tileir.types", "tileir.attributes", "tileir.declarations")
NEEDS = {"vector_add": "cuda.tile", "torch": "torch", "custom_op": "torch"}


@functools.cache
def tree(module: str) -> ast.Module:
    path = ROOT / "src" / module.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def definition(space: str, name: str) -> ast.FunctionDef | ast.ClassDef:
    """The definition of a public name in the source: classes of a compiled module come without docstrings."""
    home = TABLES.get(space, {}).get(name, ("", ""))[0].removeprefix("!")
    home = TABLES[home][name][0] if home in TABLES else home
    found = getattr(importlib.import_module(space), name)
    nodes = ast.walk(tree(home if home not in ("", "tileir.builder") else found.__module__))
    named = [node for node in nodes if is_named(node, name)]
    # Overloads have no docstring.
    return next((node for node in named if ast.get_docstring(node)), named[0])


def documentation(space: str, name: str) -> str:
    return ast.get_docstring(definition(space, name)) or ""


def is_named(node: ast.AST, name: str) -> TypeGuard[ast.FunctionDef | ast.ClassDef]:
    return isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name


def examples(text: str) -> str:
    """The examples in a docstring, with what they print."""
    return "\n".join([example.source + example.want for example in doctest.DocTestParser().get_examples(text)])


def names_of(space: str) -> list[str]:
    """The functions and classes that a public module has; constants have no docstring."""
    found = importlib.import_module(space)
    return [name for name in found.__all__ if callable(getattr(found, name))]


ALL = [(space, name) for space in SPACES for name in names_of(space)]


@pytest.mark.parametrize("space", SPACES)
def test_every_public_name_is_documented_and_in_an_example(space: str) -> None:
    shared = examples(ast.get_docstring(tree(space)) or "")
    of_errors = examples(ast.get_docstring(tree("tileir.errors")) or "")
    for name in names_of(space):
        text = documentation(space, name)
        assert text, f"{space}.{name} has no docstring"
        # Other errors are in a table of docs/reference/api.md; classes of types and attributes come from the functions.
        is_made = isinstance(getattr(importlib.import_module(space), name), type) and space in OF_FUNCTIONS
        if not is_made and space != "tileir.errors":
            known = examples(text) + (of_errors if name.endswith("Error") else shared)
            assert re.search(rf"\b{name}\b", known), f"{space}.{name} is in no example"
    assert shared, f"{space} has no example"


@functools.cache
def cases() -> dict[str, str]:
    texts = {space: ast.get_docstring(tree(space)) or "" for space in SPACES}
    texts |= {f"{space}.{name}": documentation(space, name) for space, name in ALL}
    return {name: text for name, text in texts.items() if examples(text)}


@pytest.mark.parametrize("case", cases())
def test_an_example_prints_what_is_shown(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(GIVEN, names)
    for word, package in NEEDS.items():
        if re.search(rf"(?<!/)\b{word}\b", examples(cases()[case])):
            pytest.importorskip(package, reason=f"{package} is not installed")
            if word == "vector_add":
                monkeypatch.syspath_prepend(tmp_path / "examples")
                names[word] = importlib.import_module("cutile_kernels").vector_add
    test = doctest.DocTestParser().get_doctest(cases()[case], names, case, None, 0)
    output: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=output.append)
    assert result.failed == 0, "".join(output)
