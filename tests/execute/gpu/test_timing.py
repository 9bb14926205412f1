"""Launches timed on a GPU, against a driver that writes down what it is told."""

from __future__ import annotations

import numpy
import pytest
from tests.execute.gpu.fake_cuda import CudaArray, FakeDriver, kernel_of

from tileir.execute.engine.interface import LaunchOptions
from tileir.execute.errors import WrongDeviceError
from tileir.execute.gpu.driver.library import DriverError

ADD = "%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %n: tile<i32>"
COUNTED = ("cuEventRecord", "cuLaunchKernelEx", "cuMemsetD8Async", "cuEventSynchronize", "cuMemcpy")


def floats(count: int) -> numpy.ndarray:
    return numpy.ones(count, numpy.float32)


def calls(fake: FakeDriver) -> list[str]:
    return [call.split()[0] for call in fake.calls() if call.startswith(COUNTED)]


def test_each_launch_stands_between_two_events_and_none_is_waited_for(fake: FakeDriver) -> None:
    kernel = kernel_of(ADD, does="add")
    arrays = [CudaArray(fake, floats(8)) for _ in range(3)]
    measured = kernel.timed((2, 1, 1), (*arrays, 8), LaunchOptions(), 3, False)
    assert measured is not None
    assert measured.seconds == [0.25e-3] * 3 and measured.clock == "CUDA events"
    pair = ["cuEventRecord", "cuLaunchKernelEx", "cuEventRecord"]
    expected = ["cuLaunchKernelEx", *pair, "cuEventSynchronize", *pair * 3, "cuEventSynchronize"]
    assert calls(fake) == expected
    assert len(fake.calls("cuEventCreate")) == len(fake.calls("cuEventDestroy")) == 8
    assert fake.depth() == 0


def test_cache_is_emptied_before_each_launch_in_its_stream(fake: FakeDriver) -> None:
    kernel = kernel_of(ADD, does="add")
    arrays = [CudaArray(fake, floats(8)) for _ in range(3)]
    stream = fake.stream()
    kernel.timed((1, 1, 1), (*arrays, 8), LaunchOptions(stream=stream), 2, True)
    flushes = fake.calls("cuMemsetD8Async")
    # What the cache holds twice over, but a MiB at least.
    assert flushes == [f"cuMemsetD8Async 0 {2 << 20} {stream:#x}"] * 3
    assert [call for call in calls(fake) if call != "cuEventSynchronize"][-4:] == [
        "cuMemsetD8Async",
        "cuEventRecord",
        "cuLaunchKernelEx",
        "cuEventRecord",
    ]
    assert all(f"{stream:#x}" in call for call in fake.calls("cuEventRecord"))
    assert len(fake.calls("cuMemFree")) == len(fake.calls("cuMemAlloc")) == 1


def test_arrays_of_the_host_are_copied_once(fake: FakeDriver) -> None:
    kernel = kernel_of(ADD, does="add")
    a, b, c = floats(8), floats(8), floats(8)
    with pytest.warns(UserWarning, match="are on the host"):
        kernel.timed((1, 1, 1), (a, b, c, 8), LaunchOptions(), 4, False)
    assert len(fake.calls("cuMemcpyHtoD")) == 3


def test_arrays_of_the_host_are_refused_where_nobody_asked_for_copies(fake: FakeDriver) -> None:
    kernel = kernel_of(ADD, does="add")
    arrays = [floats(8), CudaArray(fake, floats(8)), CudaArray(fake, floats(8))]
    options = LaunchOptions(copies=False)
    with pytest.raises(WrongDeviceError, match=r"argument 0 .* of @k is on the host, and the kernel runs on a GPU"):
        kernel.launch((1, 1, 1), (*arrays, 8), options)
    with pytest.raises(WrongDeviceError):
        kernel.bind((1, 1, 1), (*arrays, 8), options)
    assert fake.calls("cuLaunchKernelEx") == []


def test_number_of_launches_follows_from_their_length(fake: FakeDriver) -> None:
    kernel = kernel_of(ADD)
    arrays = [CudaArray(fake, floats(8)) for _ in range(3)]
    measured = kernel.timed((1, 1, 1), (*arrays, 8), LaunchOptions(), None, False)
    # A quarter of a millisecond each.
    assert measured is not None and len(measured.seconds) == 200


def test_failure_ends_in_the_words_of_the_driver_and_gives_events_back(fake: FakeDriver) -> None:
    kernel = kernel_of(ADD)
    arrays = [CudaArray(fake, floats(8)) for _ in range(3)]
    fake.fail("cuEventSynchronize", 700, skip=1)
    with pytest.raises(
        DriverError, match=r"timing a launch failed: cuEventSynchronize reports .*@k or a kernel before it"
    ):
        kernel.timed((1, 1, 1), (*arrays, 8), LaunchOptions(), 2, False)
    assert len(fake.calls("cuEventCreate")) == len(fake.calls("cuEventDestroy"))
