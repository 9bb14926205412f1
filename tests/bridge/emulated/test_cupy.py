"""`import cupy` within a context gives CuPy's interface in main memory."""

from __future__ import annotations

import copy
import importlib
import pickle
from typing import Any

import numpy
import pytest
from tests.bridge.test_launch import add, ct

import tileir

cupy: Any = None


@pytest.fixture(autouse=True)
def _imported(_emulated):
    global cupy
    found = importlib.import_module("cupy")
    if not found.__doc__ or "tileir" not in found.__doc__:
        pytest.skip("there is a CuPy with a driver, which is used")
    cupy = found


def test_kernels_work_in_the_memory_of_arrays_of_cupy():
    a = cupy.arange(32, dtype=cupy.float32)
    out = cupy.zeros_like(a)
    with cupy.cuda.Stream() as stream:
        assert cupy.cuda.get_current_stream() == stream
        ct.launch(stream, (2, 1, 1), add, (a, a, out))
    assert cupy.asnumpy(out).tolist() == (2 * numpy.arange(32)).tolist()
    cupy.testing.assert_array_equal(out, a * 2)


def test_launches_with_arrays_of_cupy_are_recognized(thorough):
    pytest.importorskip("llvmlite")

    @ct.kernel
    def add_all(arrays, b, out):
        ct.store(out, (0,), ct.load(arrays[0], (0,), (16,)) + ct.load(arrays[1], (0,), (16,)) + ct.load(b, (0,), (16,)))

    for number in range(6):
        a, out = cupy.full(16, number, "f4"), cupy.zeros(16, "f4")
        ct.launch(None, (1,), add_all, ([a, a], a, out))
        assert out.get().tolist() == [3.0 * number] * 16
    assert len(thorough) == 2


def test_arrays_of_cupy_are_no_arrays_of_numpy():
    a = cupy.ones(3)
    assert not isinstance(a, numpy.ndarray) and cupy.get_array_module(a) is cupy
    with pytest.raises(TypeError, match="Implicit conversion to a NumPy array is not allowed"):
        numpy.asarray(a)
    for mix in (lambda: a + numpy.ones(3), lambda: cupy.add(a, numpy.ones(3)), lambda: a.dot(numpy.ones(3))):
        with pytest.raises(TypeError, match=r"Unsupported type <class 'numpy\.ndarray'>"):
            mix()
    host = numpy.zeros(3)
    device = cupy.asarray(host)
    device += 1
    assert host.sum() == 0 and device.get().sum() == 3


def test_results_are_arrays_of_the_device():
    a = cupy.arange(6.0).reshape(2, 3)
    for result in (
        a.sum(),
        a.max(axis=1),
        a[0, 0],
        a.T,
        cupy.exp(a),
        cupy.linalg.norm(a),
        cupy.allclose(a, a),
        numpy.add(a, a),
    ):
        assert type(result) is cupy.ndarray
    a[0, 0][...] = 5
    assert float(a[0, 0]) == 5 and a.tolist()[0] == [5, 1, 2]
    out = cupy.empty(3)
    assert cupy.add(a[0], a[1], out=out) is out and out.tolist() == [8, 5, 7]
    assert a.shape == (2, 3) and a.data.ptr == a.__cuda_array_interface__["data"][0]
    for copied in (copy.deepcopy(a), pickle.loads(pickle.dumps(a)), a.copy()):
        assert type(copied) is cupy.ndarray and copied.data.ptr != a.data.ptr and bool((copied == a).all())


def test_random_numbers_are_those_of_numpy():
    assert cupy.random.default_rng(3).random(4).tolist() == numpy.random.default_rng(3).random(4).tolist()
    assert cupy.random.rand(2, dtype=cupy.float32).dtype == numpy.float32
    cupy.random.seed(1)
    assert cupy.random.randn(2).tolist() == numpy.random.RandomState(1).randn(2).tolist()


def test_properties_are_those_of_the_gpu_that_is_named():
    with tileir.emulate(target="gb10"):
        assert cupy.cuda.Device().compute_capability == "121"
        assert cupy.cuda.runtime.getDeviceProperties(0)["multiProcessorCount"] == 48
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    end.record()
    assert cupy.cuda.get_elapsed_time(start, end) >= 0


def test_torch_and_cupy_share_memory():
    torch = pytest.importorskip("torch")
    a = cupy.zeros(3)
    for tensor in (torch.as_tensor(a, device="cuda"), torch.from_dlpack(a)):
        tensor += 1
        assert tensor.is_cuda
    assert a.tolist() == [2, 2, 2]
    tensor = torch.zeros(2, device="cuda")
    for array in (cupy.asarray(tensor), cupy.from_dlpack(tensor)):
        array += 1
    assert tensor.tolist() == [2, 2]


@pytest.mark.parametrize("name", ["RawKernel", "ElementwiseKernel", "ReductionKernel", "RawModule"])
def test_what_cannot_be_met_is_named_where_it_is_called(name):
    with pytest.raises(tileir.LaunchError, match=rf"cupy\.{name} cannot be had .* write the kernel with cuda\.tile"):
        getattr(cupy, name)("code", "name")
    with pytest.raises(tileir.LaunchError, match=r"cupy\.cuda\.runtime\.launchKernel cannot be had"):
        cupy.cuda.runtime.launchKernel()
    assert not hasattr(cupy, "no_such_function")
