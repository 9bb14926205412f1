"""`cuda.tile.jax.cutile_call` in a context: JAX's graphs for the CPU launch kernels."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import tileir

ct: Any = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
jax: Any = pytest.importorskip("jax", reason="jax is not installed: pip install jax")
calls: Any = pytest.importorskip("cuda.tile.jax")
jnp: Any = jax.numpy


@pytest.fixture(autouse=True)
def _no_assembler(monkeypatch):
    """As on a machine without NVIDIA's assembler, which cuTile otherwise asks what it knows."""

    def missing(*_: Any) -> None:
        raise FileNotFoundError("'tileiras' compiler not found")

    monkeypatch.setattr("cuda.tile._compile._get_max_supported_bytecode_version", missing)


@ct.kernel
def scale(x, y, factor, shift: ct.Constant[int]):
    place = ct.bid(0)
    ct.store(y, place, ct.load(x, place, 4) * factor + shift)


@ct.kernel
def double(x):
    place = ct.bid(0)
    ct.store(x, place, ct.load(x, place, 4) * 2)


@ct.kernel
def refuse(x):
    ct.assert_(ct.load(x, 0, 4) < 0, "not negative")


def test_graphs_launch_kernels():
    @jax.jit
    def graph(x):
        y = calls.cutile_call((2,), scale, (x, calls.OutputPlaceholder(x.shape, x.dtype), 0.5, 3))
        return calls.cutile_call((2,), double, (calls.InputOutput(y),)) + x

    x = jnp.arange(8, dtype=jnp.float32)
    with tileir.emulate():
        assert numpy.array_equal(graph(x), (x * 0.5 + 3) * 2 + x)
        assert graph.lower(x).as_text().count("@cutile_launch") == 2


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "int8", "bool"])
def test_arrays_of_all_dtypes(dtype):
    x = jnp.asarray([0, 1, 2, 3], dtype=dtype)
    with tileir.emulate(target="b200"):
        y = calls.cutile_call((1,), copied(dtype), (x, calls.OutputPlaceholder(x.shape, x.dtype)))
    assert y.dtype == x.dtype and numpy.array_equal(y.astype("float32"), x.astype("float32"))


def copied(dtype: str) -> Any:
    @ct.kernel
    def copy(x, y):
        ct.store(y, 0, ct.load(x, 0, 4))

    return copy


def test_launches_are_looked_at_as_others_are():
    with tileir.emulate(watch_nan=True), pytest.raises(Exception, match=r"ct.load\(x, place, 4\) .* makes a NaN"):
        x = jnp.full(4, jnp.inf)
        place = calls.OutputPlaceholder(x.shape, x.dtype)
        calls.cutile_call((1,), scale, (x, place, 0.0, 1)).block_until_ready()


def test_errors_of_kernels_are_those_of_jax():
    with tileir.emulate(), pytest.raises(jax.errors.JaxRuntimeError, match="not negative"):
        calls.cutile_call((1,), refuse, (calls.InputOutput(jnp.zeros(4)),)).block_until_ready()


def test_outside_of_contexts_there_is_no_gpu():
    x = jnp.zeros(4)
    with pytest.raises(NotImplementedError):
        calls.cutile_call((1,), double, (calls.InputOutput(x),))


def test_an_exported_graph_has_its_kernels_with_it(monkeypatch):
    pytest.importorskip("flatbuffers", reason="JAX exports with it")
    from tileir.bridge.operators import jax_calls

    export: Any = pytest.importorskip("jax.export")

    @jax.jit
    def graph(x):
        return calls.cutile_call((2,), scale, (x, calls.OutputPlaceholder(x.shape, x.dtype), 0.25, 3))

    x = jnp.arange(8, dtype=jnp.float32)
    checks = (export.DisabledSafetyCheck.custom_call("cutile_launch"),)
    with tileir.emulate():
        exported = export.export(graph, disabled_checks=checks)(jax.ShapeDtypeStruct(x.shape, x.dtype)).serialize()
        # As in another process, which has not compiled the kernel.
        monkeypatch.setattr(jax_calls, "_KERNELS", {})
        assert numpy.array_equal(export.deserialize(exported).call(x), x * 0.25 + 3)
