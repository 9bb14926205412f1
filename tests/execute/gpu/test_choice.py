"""`backend="auto"` takes the engine where the arrays are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import tileir
from tileir.execute.engine.registry import choose
from tileir.execute.errors import BlockId

VECTOR_ADD = Path(__file__).parents[3] / "examples" / "vector_add.mlir"


class OnGpu:
    """An array that says it is on a GPU, as CuPy's do."""

    def __init__(self, array: numpy.ndarray[Any, Any]) -> None:
        self.array = array
        self.nbytes = array.nbytes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.array.shape,
            "typestr": self.array.dtype.str,
            "data": (0x7F0000000000, False),
            "version": 3,
        }


class GpuKernel(tileir.backends.PreparedKernel):
    def __init__(self, engine: Gpu) -> None:
        self.engine = engine

    def launch(self, grid: BlockId, arguments: tuple[object, ...], options: tileir.backends.LaunchOptions) -> None:
        if not options.copies and any(isinstance(argument, numpy.ndarray) for argument in arguments):
            raise tileir.errors.WrongDeviceError("an array is on the host")
        self.engine.launched.append([type(argument).__name__ for argument in arguments])


class Gpu(tileir.backends.Backend):
    """An engine for GPUs that notes its launches."""

    name = "gpu_of_a_test"
    on_gpu = True

    def __init__(self) -> None:
        self.launched: list[list[str]] = []
        self.absent = ""

    def missing(self) -> str:
        return self.absent

    def prepare(self, entry: object, globals: object, settings: object) -> GpuKernel:
        return GpuKernel(self)


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    engine = Gpu()
    tileir.backends.register_backend(engine)
    yield engine
    tileir.backends.unregister_backend(engine.name)


def vectors() -> list[Any]:
    return [numpy.ones(128, numpy.float32), numpy.ones(128, numpy.float32), numpy.zeros(128, numpy.float32)]


def there(arrays: list[Any]) -> list[OnGpu]:
    return [OnGpu(array) for array in arrays]


@pytest.fixture
def kernel() -> tileir.Kernel:
    return tileir.compile(tileir.load(VECTOR_ADD))


def test_arrays_decide_for_each_launch(gpu: Gpu, kernel: tileir.Kernel) -> None:
    for _ in range(3):
        arrays = vectors()
        kernel.launch(1, (*arrays, 128))
        assert (arrays[2] == 2).all()
        before = len(gpu.launched)
        kernel.launch(1, (*there(vectors()), 128))
        assert gpu.launched[before:] == [["OnGpu", "OnGpu", "OnGpu", "int"]]


def test_first_launch_may_be_on_a_gpu(gpu: Gpu, kernel: tileir.Kernel) -> None:
    kernel.launch(1, (*there(vectors()), 128))
    arrays = vectors()
    kernel.launch(1, (*arrays, 128))
    assert len(gpu.launched) == 1 and (arrays[2] == 2).all()


def test_engine_is_that_of_the_last_launch_and_before_that_of_arrays_on_the_host(
    gpu: Gpu, kernel: tileir.Kernel
) -> None:
    expected = "cpu" if pytest.importorskip("llvmlite") else "interpreter"
    assert kernel.backend == expected
    for _ in range(2):
        kernel.launch(1, (*there(vectors()), 128))
        assert kernel.backend == gpu.name
        kernel.launch(1, (*vectors(), 128))
        assert kernel.backend == expected
    kernel.launch(1, (*vectors(), 128), sanitize=True)
    assert kernel.backend == expected


def test_bound_launch_follows_its_arrays(gpu: Gpu, kernel: tileir.Kernel) -> None:
    bound = kernel.bind(1, (*there(vectors()), 128))
    bound()
    bound()
    assert len(gpu.launched) == 2
    arrays = vectors()
    bound.replace((*arrays, 128))
    bound()
    assert len(gpu.launched) == 2 and (arrays[2] == 2).all()


def test_arrays_of_both_kinds_are_refused(gpu: Gpu, kernel: tileir.Kernel) -> None:
    a, b, c = vectors()
    for arguments in [(OnGpu(a), b, OnGpu(c)), (a, OnGpu(b), c)]:
        with pytest.raises(tileir.LaunchError, match=r"is on the host and argument \d on a GPU: pass all arrays"):
            kernel.launch(1, (*arguments, 128))
    assert gpu.launched == []


def test_without_an_engine_for_gpus_the_reason_is_told(gpu: Gpu, kernel: tileir.Kernel) -> None:
    gpu.absent = "its driver is too old"
    kernel.launch(1, (*vectors(), 128))
    with pytest.raises(tileir.LaunchError) as caught:
        kernel.launch(1, (*there(vectors()), 128))
    message = caught.value.message
    assert message.startswith(
        "the arrays of this launch of @vector_add are on a GPU, and no backend can run it there; "
    )
    assert "gpu_of_a_test: its driver is too old" in message
    assert message.endswith("copy the arrays to the host first (tensor.cpu(), cupy.asnumpy(x)) to run it here")


def test_what_no_engine_for_gpus_does_is_told(gpu: Gpu, kernel: tileir.Kernel) -> None:
    with pytest.raises(tileir.LaunchError, match=r"gpu_of_a_test: .* does not look for errors"):
        kernel.launch(1, (*there(vectors()), 128), sanitize=True)


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_engine_of_the_host_refuses_arrays_on_a_gpu(backend: str) -> None:
    kernel = tileir.compile(tileir.load(VECTOR_ADD), backend=backend)
    for _ in range(2):
        with pytest.raises(tileir.errors.WrongDeviceError, match="argument 0 of @vector_add is in the memory of a GPU"):
            kernel.launch(1, (*there(vectors()), 128))
        kernel.launch(1, (*vectors(), 128))


def test_launch_without_arrays_stays_on_the_host(gpu: Gpu) -> None:
    kernel = tileir.compile(tileir.load(VECTOR_ADD))
    assert not choose(kernel.entry, (), tileir.backends.LaunchOptions()).on_gpu
    assert not choose(kernel.entry, (1, 2.0), tileir.backends.LaunchOptions()).on_gpu


def test_gpu_is_timed_by_the_clock_of_the_host_if_it_has_none(gpu: Gpu, kernel: tileir.Kernel) -> None:
    timing = kernel.time(1, (*there(vectors()), 128), repeat=3)
    assert timing.backend == gpu.name and timing.count == 3
