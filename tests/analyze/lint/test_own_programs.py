"""The repository's own programs are clean, or say in a comment why not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.kernels.export import TOOLS_MISSING, all_cases, export, tools_available

import tileir
from tileir.analyze.lint.configuration import LintSettings
from tileir.analyze.lint.linting import lint_module

ROOT = Path(__file__).parents[3]
# Not a program: it shows what mistakes look like.
EXAMPLES = sorted(set((ROOT / "examples").rglob("*.mlir")) - {ROOT / "examples" / "broken.mlir"})


@pytest.mark.parametrize("path", EXAMPLES, ids=[str(path.relative_to(ROOT)) for path in EXAMPLES])
def test_examples_are_clean(path: Path) -> None:
    assert [str(finding) for finding in tileir.lint(tileir.load(path))] == []


def kernel_findings(version: str) -> list[str]:
    sources = {str(path): path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "kernels").glob("*.py")}
    found: list[str] = []
    # A comment of a file silences findings of one of its kernels, so it is unused in the others.
    settings = LintSettings(ignore=["silences"])
    for case in all_cases():
        if version in case.versions:
            module = tileir.load(export(case, version))
            found.extend([str(finding.diagnostic()) for finding in lint_module(module, settings, sources)])
    return found


@pytest.mark.long
@pytest.mark.skipif(not tools_available(), reason=TOOLS_MISSING)
@pytest.mark.parametrize("version", ["13.1", "13.4"])
def test_kernels_of_the_tests_are_clean_or_say_why(version: str) -> None:
    assert kernel_findings(version) == []
