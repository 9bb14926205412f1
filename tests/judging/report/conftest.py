"""Files of results, and the command that reports them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.judging.report.made_results import several, written

from tileir.judging.report.contents import Contents
from tileir.judging.results.results import Results
from tileir.tools.main import run


class Said(NamedTuple):
    status: int
    out: str
    error: str


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """Runs `tileir report` with a command line, as wide as it likes."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def reported(*arguments: str) -> Said:
        status = run(["report", *arguments])
        captured = capsys.readouterr()
        return Said(status, captured.out, captured.err)

    return reported


@pytest.fixture
def results(tmp_path: Path) -> str:
    return written(tmp_path / "results.sqlite", several())


@pytest.fixture
def contents() -> Callable[[str], Contents]:
    def read(path: str) -> Contents:
        with Results(path) as opened:
            return Contents(opened)

    return read
