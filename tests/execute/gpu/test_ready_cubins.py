"""Kernels that were compiled before: `tileir.compile(.., backend="tileiras", cubin=..)`."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.execute.gpu.assembled_kernel import TEXT
from tests.execute.gpu.cubin_files import cubin
from tests.execute.gpu.fake_assembler import FakeAssembler

import tileir
from tileir.execute.gpu.tileiras.kernel import TileirasKernel


def prepared(kernel: tileir.Kernel) -> TileirasKernel:
    """As the engine prepares it on a machine with a GPU."""
    return TileirasKernel(kernel.entry, {}, kernel.settings.cubin)


def ready(cubin: Any) -> tileir.Kernel:
    return tileir.compile(tileir.parse(TEXT), backend="tileiras", cubin=cubin)


def test_cubin_is_given_as_bytes_or_by_its_path(assembler: FakeAssembler, tmp_path: Path) -> None:
    data = cubin(registers=77)
    path = tmp_path / "k.cubin"
    path.write_bytes(data)
    for given in (data, path, str(path)):
        made = prepared(ready(given)).code._make_cubin("sm_90")
        assert (made.data, made.kernel, made.resources.registers) == (data, "k", 77)
    assert assembler.calls == [], "nothing is compiled"


def test_only_kernel_of_a_cubin_may_have_another_name() -> None:
    assert prepared(ready(cubin(("renamed",)))).code._make_cubin("sm_90").kernel == "renamed"


def test_kernel_is_not_mistaken_for_another_of_its_module() -> None:
    module = tileir.parse("cuda_tile.module @pair { entry @a() { return } entry @b() { return } }")
    with pytest.raises(tileir.errors.CubinError, match="has no kernel 'b': those in it are a"):
        tileir.compile(module, entry="b", backend="tileiras", cubin=cubin(("a",)))
    sibling = tileir.compile(module, entry="a", backend="tileiras", cubin=cubin(("a",))).sibling("b")
    with pytest.raises(tileir.errors.CubinError, match="has no kernel 'b': those in it are a"):
        prepared(sibling)
    assert prepared(tileir.compile(module, entry="a", backend="tileiras", cubin=cubin(("a", "b"))).sibling("b"))


def test_copies_and_siblings_keep_it() -> None:
    kernel = ready(cubin(registers=77))
    for twin in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel)), kernel.sibling("k")):
        assert prepared(twin).code._make_cubin("sm_90").resources.registers == 77


def test_kernel_gives_the_cubin_that_it_was_given(assembler: FakeAssembler) -> None:
    kernel = ready(cubin(registers=77))
    for target in (None, "sm_90", "9.0"):
        assert kernel.resources(target).registers == 77
    assert not assembler.calls
    # Another one is made.
    assert kernel.cubin("sm_100").target == "sm_100"
    kernel.cubin("sm_90", opt_level=1)
    assert len(assembler.calls) == 2


def test_what_is_no_cubin_of_the_kernel_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(tileir.errors.CubinError, match="this is no cubin"):
        ready(b"something else")
    with pytest.raises(
        tileir.errors.CubinError, match="has several kernels, and none was chosen: those in it are a, b"
    ):
        ready(cubin(("a", "b")))
    with pytest.raises(FileNotFoundError):
        ready(tmp_path / "missing.cubin")
    with pytest.raises(TypeError, match="a cubin is given by its path or its bytes, not as an int"):
        ready(7)


@pytest.mark.parametrize("backend", ["auto", "cpu", "interpreter"])
def test_other_engines_have_no_use_for_it(backend: str) -> None:
    with pytest.raises(tileir.LaunchError, match="a cubin is for a GPU: compile with backend='tileiras'"):
        tileir.compile(tileir.parse(TEXT), backend=backend, cubin=cubin())
