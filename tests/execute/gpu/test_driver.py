"""The CUDA driver: found, asked, and what its failures become."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy
import pytest
from tests.execute.gpu.fake_cuda import PRIMARY, CudaArray, FakeDriver, FakeTorch, Tensor, forget, kernel_of

import tileir
from tileir.execute.cpu.engine import CpuEngine
from tileir.execute.engine.interface import LaunchOptions
from tileir.execute.errors import LaunchError
from tileir.execute.gpu.driver import library
from tileir.execute.gpu.driver.devices import current, device, devices, why_no_gpu
from tileir.execute.gpu.driver.library import DriverError, NoGpuError
from tileir.execute.gpu.loaded_code import unload_unused
from tileir.execute.gpu.targets import ASSEMBLER_DRIVER

ORDINARY = LaunchOptions()
ONE = "%a: tile<ptr<f32>>"


def four() -> numpy.ndarray:
    return numpy.zeros(4, numpy.float32)


# --- none, or none that can be used ---


def test_a_machine_without_a_driver_says_so_and_names_an_engine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = str(tmp_path / "libnothing.so")
    monkeypatch.setenv("TILEIR_LIBCUDA", path)
    forget()
    words = why_no_gpu()
    assert words.startswith(
        f"this machine has no NVIDIA driver: {path}, which TILEIR_LIBCUDA names, cannot be loaded ("
    )
    with pytest.raises(NoGpuError, match="here, choose backend='cpu'"):
        library.driver()
    # The second time nothing is looked for.
    assert why_no_gpu() == words
    forget()


def test_an_engine_that_works_here_is_named_where_a_gpu_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TILEIR_LIBCUDA", str(tmp_path / "libnothing.so"))
    forget()
    kernel = tileir.compile(tileir.parse(f"cuda_tile.module @m {{ entry @k({ONE}) {{ return }} }}"), backend="tileiras")
    for missing, name in (("", "cpu"), ("llvmlite is not installed", "interpreter")):
        monkeypatch.setattr(CpuEngine, "missing", lambda engine, missing=missing: missing)
        with pytest.raises(tileir.MissingDependencyError) as caught:
            kernel.launch(1, (four(),))
        assert caught.value.message.startswith("the backend 'tileiras' cannot work here: this machine has no NVIDIA")
        assert caught.value.message.endswith(f"; '{name}' can: backend='{name}', or --backend {name}")
    forget()


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="this machine has an NVIDIA driver")
def test_without_the_variable_the_library_of_the_system_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILEIR_LIBCUDA", raising=False)
    forget()
    assert "has no NVIDIA driver: " in why_no_gpu() or "no NVIDIA GPU" in why_no_gpu()
    forget()


def test_a_driver_without_a_device_says_so(fake: FakeDriver) -> None:
    fake.reset(0)
    assert why_no_gpu() == (
        "there is no NVIDIA GPU that this process can use: starting the NVIDIA driver failed: cuInit reports "
        "CUDA_ERROR_NO_DEVICE (the words for 100)"
    )


@pytest.mark.parametrize("code", [3, 34, 803, 804, 999])
def test_a_driver_that_does_not_start_says_why(fake: FakeDriver, code: int) -> None:
    fake.fail("cuInit", code)
    words = why_no_gpu()
    assert "cuInit reports CUDA_ERROR_" in words and f"the words for {code}" in words
    assert ("spawn" in words) == (code == 3)


def test_a_driver_of_long_ago_is_too_old(fake: FakeDriver) -> None:
    fake.reset(cuda=11080)
    assert why_no_gpu() == (
        "the NVIDIA driver of this machine is too old: it supports CUDA 11.8, and 12.0 is needed: install a newer one"
    )


def test_a_driver_too_old_for_an_engine_is_refused_with_both_versions(fake: FakeDriver) -> None:
    fake.reset(cuda=12040)
    assert why_no_gpu() == ""
    assert "it supports CUDA 12.4, and 13.0 is needed" in why_no_gpu(ASSEMBLER_DRIVER)
    with pytest.raises(NoGpuError, match=r"supports CUDA 12\.4, and 13\.0 is needed.*choose backend='cpu'"):
        kernel_of(ONE).launch((1, 1, 1), (CudaArray(fake, four()),), ORDINARY)
    kernel_of(ONE, oldest_driver=12000).launch((1, 1, 1), (CudaArray(fake, four()),), ORDINARY)


def test_a_function_that_the_library_lacks_is_named(fake: FakeDriver) -> None:
    with pytest.raises(NoGpuError, match=r"too old: it supports CUDA 13\.0 and has no cuFuture"):
        library.driver().call("cuFuture", "looking into the future")


def test_a_gpu_of_another_architecture_is_named_with_what_to_do(fake: FakeDriver) -> None:
    kernel = kernel_of(ONE, target="sm_80")
    with pytest.raises(LaunchError) as caught:
        kernel.launch((1, 1, 1), (CudaArray(fake, four()),), ORDINARY)
    assert caught.value.message == (
        "the cubin of @k for sm_80 does not run on cuda:0 (Fake GPU 0, sm_90): compile it for sm_90"
    )


def test_a_gpu_that_is_too_old_for_the_dialect_is_refused(fake: FakeDriver) -> None:
    fake.reset(capability=75)
    with pytest.raises(NoGpuError, match=r"cuda:0 \(Fake GPU 0, sm_75\) cannot run @k: .* sm_80 and newer"):
        kernel_of(ONE).launch((1, 1, 1), (CudaArray(fake, four()),), ORDINARY)


def test_devices_tell_what_they_are(fake: FakeDriver) -> None:
    fake.reset(3)
    found = devices()
    assert [each.words for each in found] == [f"cuda:{n} (Fake GPU {n}, sm_90)" for n in range(3)]


def test_a_gpu_that_is_not_there_is_refused_by_number(fake: FakeDriver, torch: FakeTorch) -> None:
    with pytest.raises(NoGpuError, match="there is no GPU cuda:3: this process sees 1"):
        kernel_of(ONE).launch((1, 1, 1), (Tensor(four(), 3),), ORDINARY)


# --- how it is loaded ---


def test_nothing_loads_the_driver_before_a_launch(fake: FakeDriver) -> None:
    program = (
        "import tileir.execute.gpu.launcher, tileir.execute.gpu.driver.library as library\n"
        "assert library._driver is None and 'fake_cuda' not in open('/proc/self/maps').read()\n"
        "from tileir.execute.gpu.driver.devices import why_no_gpu\n"
        "assert why_no_gpu() == 'x' or 'fake_cuda' in open('/proc/self/maps').read()\n"
    )
    environment = {**os.environ, "TILEIR_LIBCUDA": str(fake.path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


# --- failures of calls ---

CALLS = [
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuCtxGetCurrent",
    "cuCtxPushCurrent_v2",
    "cuPointerGetAttribute",
    "cuLibraryLoadData",
    "cuLibraryGetKernel",
    "cuKernelGetFunction",
    "cuEventCreate",
    "cuEventRecord",
    "cuStreamWaitEvent",
    "cuEventDestroy_v2",
    "cuLaunchKernelEx",
    "cuMemAlloc_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuStreamSynchronize",
    "cuMemFree_v2",
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("function", CALLS)
@pytest.mark.parametrize("code", [2, 700, 5000])
@pytest.mark.filterwarnings("ignore::tileir.errors.HostCopyWarning")
def test_every_call_that_fails_is_told_in_the_words_of_the_driver(fake: FakeDriver, function: str, code: int) -> None:
    """The launch has an array of the host, one of the GPU, and one with a stream, so that all is called."""
    parameters = "%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>"
    store = "%v = constant <f32: 1.0> : tile<f32> %t = store_ptr_tko weak %c, %v : tile<ptr<f32>>, tile<f32> -> token"
    kernel = kernel_of(parameters, store)
    a, b, c = four(), four(), four()
    streamed = CudaArray(fake, b, stream=fake.stream())
    # The first array decides on the stream, the second is waited for.
    arguments = (CudaArray(fake, a, stream=fake.stream()), streamed, c)
    fake.fail(function, code)
    with pytest.raises((DriverError, NoGpuError)) as caught:
        kernel.launch((1, 1, 1), arguments, ORDINARY)
    public = function.removesuffix("_v2")
    assert f"{public} reports " in caught.value.message
    name = {2: "CUDA_ERROR_OUT_OF_MEMORY", 700: "CUDA_ERROR_ILLEGAL_ADDRESS", 5000: "error 5000"}
    assert name[code] in caught.value.message
    assert isinstance(caught.value, DriverError) and (caught.value.function, caught.value.code) == (public, code)
    assert fake.depth() == 0
    fake.forgive()
    leaked = {"cuEventDestroy_v2": "events 1", "cuMemFree_v2": "allocations 1"}.get(function, "allocations 0, events 0")
    assert leaked in fake.live()
    # The next launch finds everything in order.
    kernel.launch((1, 1, 1), arguments, ORDINARY)
    assert "libraries 1" in fake.live()
    del kernel, caught
    if function == "cuMemFree_v2":
        # An error that ends a `with` and the error before it refer to each other.
        gc.collect()
    unload_unused()
    assert "libraries 0" in fake.live()


@pytest.mark.parametrize("code", [2, 100, 5000])
def test_gpus_that_cannot_be_counted_are_told_in_the_words_of_the_driver(fake: FakeDriver, code: int) -> None:
    fake.fail("cuDeviceGetCount", code)
    assert (
        f"counting GPUs failed: cuDeviceGetCount reports {'error 5000' if code == 5000 else 'CUDA_ERROR'}"
        in why_no_gpu()
    )
    assert why_no_gpu() == ""


def test_gpu_that_does_not_say_its_name_is_one_all_the_same(fake: FakeDriver) -> None:
    fake.fail("cuDeviceGetName", 999)
    assert device(0).words == "cuda:0 (a GPU, sm_90)"


def test_first_launch_calls_what_it_needs_and_no_more(fake: FakeDriver, torch: FakeTorch) -> None:
    """Each call more is a moment more; those for messages come when there is something to say."""
    kernel = kernel_of(ONE)
    fake.push(PRIMARY)
    fake.clear()
    kernel.launch((1, 1, 1), (Tensor(four()),), ORDINARY)
    assert [call.split()[0] for call in fake.calls()] == [
        "cuInit",
        "cuDriverGetVersion",
        "cuDeviceGet",
        "cuDeviceGetAttribute",
        "cuDeviceGetAttribute",
        "cuDevicePrimaryCtxRetain",
        "cuCtxGetCurrent",
        "cuCtxGetCurrent",
        "cuLibraryLoadData",
        "cuLibraryGetKernel",
        "cuKernelGetFunction",
        "cuLaunchKernelEx",
    ]


def test_code_stays_loaded_until_memory_is_released(fake: FakeDriver) -> None:
    given = CudaArray(fake, four())
    for _ in range(3):
        # Nobody holds the kernel while it is under way.
        kernel_of(ONE).launch((1, 1, 1), (given,), ORDINARY)
    assert len(fake.calls("cuLibraryLoadData")) == 1 and not fake.calls("cuLibraryUnload")
    kept = kernel_of("%a: tile<ptr<f32>>, %b: tile<ptr<f32>>")
    kept.launch((1, 1, 1), (given, given), ORDINARY)
    fake.clear()
    fake.fail("cuCtxSynchronize", 900)
    unload_unused()
    assert "libraries 2" in fake.live()
    tileir.kernels.release_memory()
    assert "libraries 1" in fake.live()
    assert [call.split()[0] for call in fake.calls()][-3:] == [
        "cuCtxSynchronize",
        "cuCtxPopCurrent_v2",
        "cuLibraryUnload",
    ]
    kept.launch((1, 1, 1), (given, given), ORDINARY)
    kernel_of(ONE).launch((1, 1, 1), (given,), ORDINARY)
    assert "libraries 2" in fake.live()


def test_a_context_that_cannot_be_popped_is_told(fake: FakeDriver) -> None:
    fake.fail("cuCtxPopCurrent_v2", 201)
    with pytest.raises(DriverError, match="cuCtxPopCurrent reports CUDA_ERROR_INVALID_CONTEXT"):
        kernel_of(ONE).launch((1, 1, 1), (CudaArray(fake, four()),), ORDINARY)
    fake.forgive()
    while fake.depth():
        fake._library.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_size_t()))


def test_the_error_of_a_kernel_that_ran_wild_names_the_one_before(fake: FakeDriver, torch: FakeTorch) -> None:
    wild, tame = kernel_of(ONE, does="wild"), kernel_of(ONE)
    tensor = Tensor(four())
    fake.push(PRIMARY)
    wild.launch((1, 1, 1), (tensor,), ORDINARY)
    tame.launch((1, 1, 1), (tensor,), ORDINARY)
    fake._library.cuCtxSynchronize()
    for _ in range(2):
        with pytest.raises(DriverError) as caught:
            tame.launch((1, 1, 1), (tensor,), ORDINARY)
        assert caught.value.is_sticky
        assert "reports CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)" in caught.value.message


# --- contexts, threads, processes ---


def test_the_context_that_was_current_is_current_afterwards(fake: FakeDriver, torch: FakeTorch) -> None:
    fake.reset(2)
    kernel = kernel_of(ONE)
    tensor = Tensor(four(), 1)
    for before in (0, PRIMARY, fake.context(1)):
        if before:
            fake.push(before)
        for _ in range(3):
            kernel.launch((1, 1, 1), (tensor,), ORDINARY)
            assert fake.current() == before
    assert {call.split(" context ")[1].split()[0] for call in fake.calls("cuLaunchKernelEx")} == {f"{PRIMARY + 1:#x}"}


def test_a_context_is_not_pushed_where_it_is_current(fake: FakeDriver) -> None:
    fake.push(PRIMARY)
    with current(PRIMARY):
        assert fake.depth() == 1
    with current(PRIMARY + 1):
        assert (fake.depth(), fake.current()) == (2, PRIMARY + 1)
    assert fake.depth() == 1


def test_threads_load_a_kernel_once_and_do_not_mix_their_arguments(fake: FakeDriver, torch: FakeTorch) -> None:
    add = "%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %n: tile<i32>"
    kernel = kernel_of(add, does="add")
    begin = threading.Barrier(6)
    wrong: list[object] = []

    def work(number: int) -> None:
        a, b = numpy.full(8, number, numpy.float32), numpy.arange(8, dtype=numpy.float32)
        try:
            begin.wait(30)
            for count in range(60):
                c = numpy.zeros(8, numpy.float32)
                kernel.launch((1, 1, 1), (Tensor(a), Tensor(b), Tensor(c), 8), ORDINARY)
                if (c != a + b).any():
                    wrong.append((number, count, c))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(fake.calls("cuLibraryLoadData")) == len(fake.calls("cuDevicePrimaryCtxRetain")) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_is_told_that_contexts_do_not_survive(fake: FakeDriver, torch: FakeTorch) -> None:
    kernel = kernel_of(ONE)
    tensor = Tensor(four())
    fake.push(PRIMARY)
    kernel.launch((1, 1, 1), (tensor,), ORDINARY)
    run = kernel.bind((1, 1, 1), (tensor,), ORDINARY)
    assert run is not None
    fake.clear()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        said = []
        for attempt in (run, lambda: kernel.launch((1, 1, 1), (tensor,), ORDINARY), lambda: devices()):
            try:
                attempt()
            except NoGpuError as error:
                said.append(error.message)
        said += [why_no_gpu(), *fake.calls()]
        os.write(writing, "\n".join(said).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        first, second, third, fourth = pipe.read().decode().splitlines()
    assert first.startswith("launching @k is not possible: this process was forked from one that uses CUDA")
    assert second == first and third.startswith("counting GPUs is not possible: this process was forked")
    assert "forked" in fourth
    # The parent goes on.
    run()
