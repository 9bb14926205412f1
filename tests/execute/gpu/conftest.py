"""Fixtures of the tests of GPU engines."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from tests.execute.gpu.fake_assembler import assembler
from tests.execute.gpu.fake_cuda import PRIMARY, FakeDriver, FakeTorch, compiled, forget
from tests.execute.gpu.fake_gpu import FakeGpu
from tests.optional import needs

import tileir

__all__ = ["assembler"]


@pytest.fixture(scope="session")
def fake_library(tmp_path_factory: pytest.TempPathFactory) -> FakeDriver:
    needs("cc")
    return FakeDriver(compiled(tmp_path_factory.mktemp("fake_cuda")))


@pytest.fixture
def fake(fake_library: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """A machine with one GPU, which is not there."""
    monkeypatch.setenv("TILEIR_LIBCUDA", str(fake_library.path))
    fake_library.reset()
    yield fake_library
    fake_library.forgive()
    forget()


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> FakeTorch:
    """A torch with CUDA, which is not there either."""
    module = FakeTorch()
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


@pytest.fixture
def engine(fake: FakeDriver) -> Iterator[FakeGpu]:
    made = FakeGpu()
    tileir.backends.register_backend(made)
    fake.push(PRIMARY)
    yield made
    tileir.backends.unregister_backend(made.name)
