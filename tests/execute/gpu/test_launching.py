"""Launches on a GPU, against a driver that writes down what it is told."""

from __future__ import annotations

import numpy
import pytest
from tests.execute.gpu.fake_cuda import PRIMARY, CudaArray, FakeDriver, FakeTorch, Tensor, kernel_of, pointer_bytes

from tileir.execute.engine.interface import LaunchOptions
from tileir.execute.errors import LaunchError
from tileir.execute.gpu.driver.library import DriverError

ADD = "%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %n: tile<i32>"
ORDINARY = LaunchOptions()


def floats(count: int) -> numpy.ndarray:
    return numpy.arange(count, dtype=numpy.float32)


def stream_of(call: str) -> str:
    return call.partition(" stream ")[2].split()[0]


def test_a_kernel_adds_arrays_with_the_cuda_array_interface(fake: FakeDriver) -> None:
    kernel = kernel_of(ADD, does="add")
    a, b, c = floats(16), floats(16), numpy.zeros(16, numpy.float32)
    kernel.launch((4, 2, 1), (CudaArray(fake, a), CudaArray(fake, b), CudaArray(fake, c), 16), ORDINARY)
    assert (c == a + b).all()
    [call] = fake.calls("cuLaunchKernelEx")
    assert call == (
        f"cuLaunchKernelEx k grid 4 2 1 block 1 1 1 shared 0 stream 0 context {PRIMARY:#x} attributes 0 parameters "
        f"{pointer_bytes(a)},{pointer_bytes(b)},{pointer_bytes(c)},10000000"
    )
    assert fake.depth() == 0


def test_tensors_go_the_short_way_from_the_second_launch_on(fake: FakeDriver, torch: FakeTorch) -> None:
    kernel = kernel_of(ADD, does="add")
    a, b, c = floats(8), floats(8), numpy.zeros(8, numpy.float32)
    arguments = (Tensor(a), Tensor(b), Tensor(c), 8)
    fake.push(PRIMARY)
    for _ in range(2):
        kernel.launch((1, 1, 1), arguments, ORDINARY)
    first = fake.calls("cuLaunchKernelEx")
    fake.clear()
    kernel.launch((1, 1, 1), arguments, ORDINARY)
    assert fake.calls() == first[:1]
    assert (c == a + b).all()


def test_a_launch_goes_to_the_current_stream_of_torch(fake: FakeDriver, torch: FakeTorch) -> None:
    kernel = kernel_of("%a: tile<ptr<f32>>")
    tensor = Tensor(floats(4))
    fake.push(PRIMARY)
    streams = [fake.stream() for _ in range(3)]
    for stream in streams:
        torch.streams[0] = stream
        kernel.launch((1, 1, 1), (tensor,), ORDINARY)
    assert [stream_of(call) for call in fake.calls("cuLaunchKernelEx")] == [f"{stream:#x}" for stream in streams]


def test_arrays_of_two_gpus_are_refused_by_name(fake: FakeDriver, torch: FakeTorch) -> None:
    fake.reset(2)
    kernel = kernel_of(ADD)
    arguments = (Tensor(floats(4)), Tensor(floats(4), 1), Tensor(floats(4)), 4)
    for _ in range(3):
        with pytest.raises(LaunchError, match=r"argument 1 .* is on cuda:1, but argument 0 .* is on cuda:0"):
            kernel.launch((1, 1, 1), arguments, ORDINARY)


def test_an_error_of_a_launch_is_in_the_words_of_the_driver(fake: FakeDriver) -> None:
    kernel = kernel_of("%a: tile<ptr<f32>>")
    fake.fail("cuLaunchKernelEx", 701)
    with pytest.raises(DriverError) as caught:
        kernel.launch((1, 1, 1), (CudaArray(fake, floats(4)),), ORDINARY)
    assert caught.value.message == (
        "launching @k on cuda:0 (Fake GPU 0, sm_90) failed: cuLaunchKernelEx reports CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (the words for 701)"
    )
    assert (caught.value.code, fake.depth()) == (701, 0)


def test_a_bound_launch_launches_and_asks_nothing(fake: FakeDriver, torch: FakeTorch) -> None:
    kernel = kernel_of(ADD, does="add")
    a, b, c = floats(8), floats(8), numpy.zeros(8, numpy.float32)
    run = kernel.bind((1, 1, 1), (Tensor(a), Tensor(b), Tensor(c), 8), ORDINARY)
    assert run is not None and not fake.calls("cuLaunchKernelEx")
    fake.push(PRIMARY)
    fake.clear()
    run()
    assert [call.split()[0] for call in fake.calls()] == ["cuLaunchKernelEx"]
    assert (c == a + b).all()
    torch.streams[0] = fake.stream()
    run()
    assert stream_of(fake.calls("cuLaunchKernelEx")[1]) == f"{torch.streams[0]:#x}"
