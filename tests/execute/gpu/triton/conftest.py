"""Fixtures of the tests of the engine that runs Triton."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.execute.gpu.triton.fake_triton import write_fake_triton

from tileir.execute.gpu.triton.versions import why_missing
from tileir.execute.gpu.triton.worker.pool import close_workers


@pytest.fixture
def triton() -> None:
    """A Triton that is installed."""
    reason = why_missing()
    if reason:
        pytest.skip(reason)


@pytest.fixture
def fake_triton(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """One that does what programs say."""
    folder = write_fake_triton(tmp_path / "fake")
    monkeypatch.setenv("TILEIR_TRITON", str(folder))
    monkeypatch.setenv("TILEIR_CRASH_DIR", str(tmp_path / "crashes"))
    yield folder
    close_workers()
