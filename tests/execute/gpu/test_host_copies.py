"""Arrays of the host with a kernel on a GPU, and what comes back from one: output, asserts, globals."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy
import pytest
from tests.execute.gpu.fake_cuda import (
    PRIMARY,
    CudaArray,
    FakeDriver,
    FakeTorch,
    Tensor,
    TextCubin,
    entry_of,
    kernel_of,
)

import tileir
from tileir.execute.engine.interface import LaunchOptions
from tileir.execute.errors import AssertionFailedError, LaunchError
from tileir.execute.gpu.driver.library import DriverError
from tileir.execute.gpu.launcher import GpuKernel
from tileir.execute.memory import Globals

ORDINARY = LaunchOptions()
ADD = "%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %n: tile<i32>"
STORE = "%v = constant <f32: 1.0> : tile<f32> %t = store_ptr_tko weak %c, %v : tile<ptr<f32>>, tile<f32> -> token"


def floats(count: int) -> numpy.ndarray:
    return numpy.arange(count, dtype=numpy.float32)


# --- copies ---


def test_arrays_of_the_host_are_copied_there_and_back_with_one_warning(fake: FakeDriver) -> None:
    kernel = kernel_of(ADD, STORE, does="add")
    a, b, c = floats(8), floats(8), numpy.zeros(8, numpy.float32)
    with pytest.warns(tileir.errors.HostCopyWarning) as caught:
        kernel.launch((1, 1, 1), (a, b, c, 8), ORDINARY)
    assert [str(each.message) for each in caught] == [
        "@k runs on cuda:0 (Fake GPU 0, sm_90), and argument 0 (array float32[8]), argument 1 (array float32[8]), "
        "argument 2 (array float32[8]) are on the host: copied there and back in each launch"
    ]
    assert (c == a + b).all()
    # Only what the kernel may write to comes back.
    assert len(fake.calls("cuMemcpyHtoD")) == 3 and len(fake.calls("cuMemcpyDtoH")) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c[:] = 0
        kernel.launch((1, 1, 1), (a, b, c, 8), ORDINARY)
    assert (c == a + b).all()
    assert "allocations 0" in fake.live() and fake.depth() == 0


@pytest.mark.filterwarnings("ignore::tileir.errors.HostCopyWarning")
def test_arrays_that_share_memory_share_its_copy(fake: FakeDriver) -> None:
    whole = floats(16)
    a, b, c = whole[:8], whole[4:12], whole[8:]
    wanted = a[:4] + b[:4]
    kernel_of(ADD, STORE, does="add").launch((1, 1, 1), (a, b, c, 4), ORDINARY)
    assert (whole[8:12] == wanted).all() and (whole[:8] == floats(8)).all()
    assert fake.calls("cuMemAlloc") == ["cuMemAlloc_v2 64"]


@pytest.mark.filterwarnings("ignore::tileir.errors.HostCopyWarning")
def test_arrays_of_both_kinds_are_launched_with_together(fake: FakeDriver, torch: FakeTorch) -> None:
    kernel = kernel_of(ADD, STORE, does="add")
    a, b, c = floats(8), floats(8), numpy.zeros(8, numpy.float32)
    torch.streams[0] = fake.stream()
    for _ in range(2):
        c[:] = 0
        kernel.launch((1, 1, 1), (Tensor(a), b, c, 8), ORDINARY)
        assert (c == a + b).all()
    # All in one stream, so that one thing follows the other.
    names = {call.split()[-1] for call in fake.calls("cuMemcpy")} | {
        call.split()[-1] for call in fake.calls("cuStreamSync")
    }
    assert names == {f"{torch.streams[0]:#x}"}


def test_arrays_of_the_host_among_further_memory_are_refused(fake: FakeDriver) -> None:
    kernel = kernel_of("%a: tile<ptr<f32>>")
    given = CudaArray(fake, floats(4))
    kernel.launch((1, 1, 1), (given,), LaunchOptions(memory=[CudaArray(fake, floats(4))]))
    with pytest.raises(LaunchError, match="element 0 of `memory` is on the host, where a kernel on a GPU"):
        kernel.launch((1, 1, 1), (given,), LaunchOptions(memory=[floats(4)]))


def test_progress_is_told_at_the_beginning_and_at_the_end(fake: FakeDriver) -> None:
    told: list[tuple[int, int]] = []
    options = LaunchOptions(progress=lambda done, count: told.append((done, count)))
    kernel_of("%a: tile<ptr<f32>>").launch((2, 3, 1), (CudaArray(fake, floats(4)),), options)
    assert told == [(0, 6), (6, 6)] and len(fake.calls("cuStreamSynchronize")) == 1


def test_a_launch_is_not_waited_for(fake: FakeDriver) -> None:
    kernel_of("%a: tile<ptr<f32>>").launch((1, 1, 1), (CudaArray(fake, floats(4)),), ORDINARY)
    assert not fake.calls("cuStreamSynchronize") and not fake.calls("cuCtxSynchronize")


# --- output ---

PRINT = '%t = print_tko "hello\\n" -> token'
ASSERT = '%c = constant <i1: true> : tile<i1> assert %c, "it holds" : tile<i1>'


def test_what_a_kernel_prints_goes_to_who_asked_for_it(fake: FakeDriver) -> None:
    heard: list[str] = []
    kernel = kernel_of("", PRINT, does="print")
    kernel.launch((1, 1, 1), (), LaunchOptions(output=heard.append))
    kernel.launch((1, 1, 1), (), LaunchOptions(output=heard.append))
    assert heard == ["printed by k\n"] * 2


def test_what_a_kernel_prints_goes_to_standard_output_of_python(
    fake: FakeDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    print("before")
    kernel_of("", PRINT, does="print").launch((1, 1, 1), (), ORDINARY)
    print("after")
    assert capsys.readouterr().out == "before\nprinted by k\nafter\n"


def test_the_descriptor_of_standard_output_is_what_it_was(fake: FakeDriver) -> None:
    before = os.fstat(1)
    descriptors = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        kernel_of("", PRINT, does="print").launch((1, 1, 1), (), LaunchOptions(output=lambda _: None))
    fake.fail("cuStreamSynchronize", 999)
    with pytest.raises(DriverError, match="running @k failed: cuStreamSynchronize reports CUDA_ERROR_UNKNOWN"):
        kernel_of("", PRINT, does="print").launch((1, 1, 1), (), LaunchOptions(output=lambda _: None))
    after = os.fstat(1)
    assert (before.st_dev, before.st_ino) == (after.st_dev, after.st_ino)
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_an_error_of_the_function_that_is_given_output_reaches_the_caller(fake: FakeDriver) -> None:
    def output(text: str) -> None:
        raise ValueError(text)

    with pytest.raises(ValueError, match="printed by k"):
        kernel_of("", PRINT, does="print").launch((1, 1, 1), (), LaunchOptions(output=output))
    assert fake.depth() == 0


def test_an_assert_that_fails_is_an_error_at_the_operation(fake: FakeDriver) -> None:
    kernel = kernel_of("", ASSERT, does="assert")
    heard: list[str] = []
    with pytest.raises(AssertionFailedError) as caught:
        kernel.launch((1, 1, 1), (), LaunchOptions(output=heard.append))
    error = caught.value
    assert (error.message, error.block) == ("failed: it holds (at element [2])", (1, 0, 0))
    assert error.operation.name == "cuda_tile.assert" and heard == ["said before\n"]
    assert isinstance(error.__cause__, DriverError) and error.__cause__.code == 719
    # Nothing can be launched any more, and that is said.
    with pytest.raises(DriverError, match=r"CUDA_ERROR_LAUNCH_FAILED.*this process cannot use the GPU any more"):
        kernel_of("").launch((1, 1, 1), (), ORDINARY)


def test_an_assert_is_found_by_its_place_where_it_is_known(fake: FakeDriver) -> None:
    body = ASSERT + ASSERT.replace("%c", "%d")
    entry = entry_of("", body)
    second = [each for each in entry.walk() if each.name == "cuda_tile.assert"][1]
    asked: list[tuple[str, int]] = []

    def operation_at(file: str, line: int) -> Any:
        asked.append((file, line))
        return second

    kernel = GpuKernel(entry, {}, lambda target: TextCubin("k", "", target, "assert"), operation_at=operation_at)
    with pytest.raises(AssertionFailedError) as caught:
        kernel.launch((1, 1, 1), (), LaunchOptions(output=lambda _: None))
    assert caught.value.operation is second and asked == [("<tileir>", 7)]


def test_a_kernel_that_prints_is_not_waited_for_while_a_graph_is_captured(fake: FakeDriver) -> None:
    fake.capture(True)
    kernel_of("", PRINT, does="print").launch((1, 1, 1), (), LaunchOptions(output=lambda _: None))
    fake.capture(False)
    assert len(fake.calls("cuLaunchKernelEx")) == 1 and not fake.calls("cuStreamSynchronize")


# --- globals ---

GLOBALS = """
cuda_tile.module @m {
  global @counter <i32: [5, 6, 7, 8]> : tile<4xi32>
  entry @one(%a: tile<ptr<i32>>) { return }
  entry @two(%a: tile<ptr<i32>>) { return }
}
"""


def test_kernels_of_a_module_share_globals_which_begin_with_the_values_of_the_host(fake: FakeDriver) -> None:
    module = tileir.parse(GLOBALS)
    [first, second] = [each for each in module.walk() if each.name == "cuda_tile.entry"]
    globals = Globals(first.parent_operation)
    data = "target sm_90\nkernel one 8\nkernel two 8\nglobal counter 16\n"

    def kernel(entry: Any, shared: Globals) -> GpuKernel:
        cubin = TextCubin(entry.symbol_name, "8")
        cubin.data = data.encode() + b"\0"
        return GpuKernel(entry, shared.regions, lambda target: cubin)

    globals.array("counter")[:4] = [9, 0, 0, 0]
    kernels = [kernel(first, globals), kernel(second, globals)]
    array = CudaArray(fake, numpy.zeros(4, numpy.int32))
    for each in kernels * 2:
        each.launch((1, 1, 1), (array,), ORDINARY)
    assert len(fake.calls("cuLibraryLoadData")) == 1
    assert fake.calls("cuMemcpy") == ["cuMemcpyHtoDAsync_v2 16 0"]
    # Another module of the same text has its own.
    kernel(first, Globals(first.parent_operation)).launch((1, 1, 1), (array,), ORDINARY)
    assert len(fake.calls("cuLibraryLoadData")) == 2
    # Each GPU has its own.
    fake.push(PRIMARY)
    kernels.clear()


# --- through the public interface ---


def test_kernels_of_an_engine_bind_and_launch(fake: FakeDriver, torch: FakeTorch) -> None:
    class FakeEngine(tileir.backends.Backend):
        name = "fake_gpu"
        on_gpu = True
        options = frozenset(("stream",))

        def prepare(self, entry: Any, globals: Any, settings: Any) -> GpuKernel:
            return GpuKernel(entry, globals, lambda target: TextCubin("k", "8,8,8,4", target, "add"))

    tileir.backends.register_backend(FakeEngine())
    try:
        kernel = tileir.compile(
            tileir.parse(f"cuda_tile.module @m {{ entry @k({ADD}) {{ {STORE} return }} }}"), backend="fake_gpu"
        )
        a, b, c, d = floats(8), floats(8), numpy.zeros(8, numpy.float32), numpy.zeros(8, numpy.float32)
        fake.push(PRIMARY)
        bound = kernel.bind(1, (Tensor(a), Tensor(b), Tensor(c), 8))
        bound()
        assert (c == a + b).all()
        bound[2] = Tensor(d)
        bound()
        assert (d == a + b).all()
        with pytest.raises(LaunchError, match="is a pointer to f32, but a tensor int32"):
            bound[0] = Tensor(numpy.zeros(4, numpy.int32))
        bound()
        with pytest.raises(LaunchError, match="takes 4 arguments"):
            kernel.bind(1, (Tensor(a),))
        stream = fake.stream()
        kernel.launch(1, (Tensor(a), Tensor(b), Tensor(c), 8), stream=stream)
        assert f" stream {stream:#x} " in fake.calls("cuLaunchKernelEx")[-1]
    finally:
        tileir.backends.unregister_backend("fake_gpu")


def test_a_stream_is_refused_by_engines_that_have_none() -> None:
    for backend in ("cpu", "interpreter"):
        kernel = tileir.compile(tileir.parse("cuda_tile.module @m { entry @k() { return } }"), backend=backend)
        with pytest.raises(LaunchError, match="has no streams, which are a GPU's: compile with a GPU backend"):
            kernel.launch(1, stream=0)


def test_a_stream_without_arrays_on_a_gpu_is_refused() -> None:
    kernel = tileir.compile(tileir.parse("cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>) { return } }"))
    with pytest.raises(LaunchError, match="has no streams, which are a GPU's"):
        kernel.launch(1, (floats(4),), stream=0)
