"""Fixtures of the tests of the engine that runs Triton."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from tests.execute.gpu.triton.fake_triton import write_fake_triton

from tileir.execute.errors import MissingDependencyError
from tileir.execute.gpu.triton.toolchain import MISSING, why_missing
from tileir.execute.gpu.triton.worker.pool import close_workers

_NONE_HERE = why_missing()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """Where no Triton is installed, skip what turns out to need it; tests that take one away do so where there is."""
    try:
        yield
    except MissingDependencyError as error:
        if not _NONE_HERE or MISSING not in error.message:
            raise
        pytest.skip(_NONE_HERE)


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
