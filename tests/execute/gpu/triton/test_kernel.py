"""Kernels of the engine of Triton: a code for each kind of launches, in all the ways that launches are made."""

from __future__ import annotations

import struct
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.execute.gpu.fake_cuda import PRIMARY, CudaArray, FakeDriver, FakeTorch, Tensor, pointer_bytes
from tests.execute.gpu.triton.fake_code import FakeTriton

import tileir
from tileir.analyze.forms.forms import Representations
from tileir.execute.arguments.binding import pointer_to
from tileir.execute.engine.interface import LaunchOptions
from tileir.execute.errors import CompilationError, HostCopyWarning, LaunchError
from tileir.execute.gpu.triton import kernel as kernels
from tileir.execute.gpu.triton.code import Schedule
from tileir.execute.gpu.triton.kernel import FINE_KINDS
from tileir.execute.gpu.triton.variants import launch_views

ORDINARY = LaunchOptions()
EXAMPLES = Path(__file__).parents[4] / "examples"


@pytest.fixture
def gpu(fake: FakeDriver, torch: FakeTorch) -> FakeDriver:
    fake.push(PRIMARY)
    return fake


def matrix(rows: int = 64, columns: int = 64, offset: int = 0) -> Tensor:
    """A tensor of f16 that begins so many elements behind an address that is a multiple of 256."""
    memory = numpy.zeros(rows * columns + 256, numpy.float16)
    start = -memory.ctypes.data % 256 // 2 + offset
    return Tensor(memory[start : start + rows * columns].reshape(rows, columns))


def launched(gpu: FakeDriver) -> list[list[str]]:
    """The parameters of all launches."""
    return [call.partition(" parameters ")[2].split(",") for call in gpu.calls("cuLaunchKernelEx")]


def threads(gpu: FakeDriver) -> list[int]:
    return [int(call.partition(" block ")[2].partition(" ")[0]) for call in gpu.calls("cuLaunchKernelEx")]


def test_array_is_described_to_the_code_where_it_can_be(gpu: FakeDriver) -> None:
    kernel = FakeTriton()
    aligned, odd = matrix(), matrix(offset=1)
    for _ in range(3):
        kernel.launch((1, 1, 1), (aligned, 64, 64, 64), ORDINARY)
    for parameters in launched(gpu):
        assert parameters[:4] == [pointer_bytes(aligned.array), *[struct.pack("<i", 64).hex()] * 3]
        # The descriptor, as the fake driver makes them, and two null pointers.
        words = numpy.frombuffer(bytes.fromhex(parameters[4]), numpy.uint64)
        assert list(words[:4]) == [aligned.array.ctypes.data, 2, 64, 3]
        assert parameters[5:] == ["00" * 8] * 2
    assert len(gpu.calls("cuTensorMapEncodeTiled")) == 1
    gpu.clear()
    for _ in range(3):
        kernel.launch((1, 1, 1), (odd, 64, 64, 64), ORDINARY)
    assert [parameters[0] for parameters in launched(gpu)] == [pointer_bytes(odd.array)] * 3
    assert [len(parameters) for parameters in launched(gpu)] == [6] * 3
    assert [kind.described for kind in kernel.compiled_for] == [{0}, frozenset()]
    assert [kind.divisors for kind in kernel.compiled_for] == [(16, 1, 16, 16), (2, 1, 16, 16)]


def test_values_decide_and_code_is_made_once(gpu: FakeDriver) -> None:
    kernel = FakeTriton()
    tensor = matrix()
    kernel.launch((1, 1, 1), (tensor, 64, 64, 64), ORDINARY)
    for _ in range(2):
        for rows, stride in ((64, 64), (64, 72), (60, 64), (64, 63), (0, 64)):
            kernel.launch((1, 1, 1), (tensor, rows, 64, stride), ORDINARY)
    assert threads(gpu) == [64, *[64, 64, 64, 32, 32] * 2]
    assert len(kernel.compiled_for) == 4 == len(set(kernel.compiled_for))


def test_descriptors_follow_the_arrays(gpu: FakeDriver) -> None:
    kernel = FakeTriton()
    tensors = [matrix() for _ in range(3)]
    for _ in range(2):
        for tensor in tensors:
            kernel.launch((1, 1, 1), (tensor, 64, 64, 64), ORDINARY)
    for parameters, tensor in zip(launched(gpu), tensors * 2, strict=True):
        assert parameters[4].startswith(pointer_bytes(tensor.array))
    assert len(gpu.calls("cuTensorMapEncodeTiled")) == 3 and len(kernel.compiled_for) == 1


def test_bound_launch_keeps_its_descriptors(gpu: FakeDriver) -> None:
    kernel = FakeTriton()
    tensor = matrix()
    bound = kernel.bind((1, 1, 1), (tensor, 64, 64, 64), ORDINARY)
    assert bound is not None
    gpu.clear()
    for _ in range(3):
        bound()
    assert [parameters[4][:16] for parameters in launched(gpu)] == [pointer_bytes(tensor.array)] * 3
    assert not gpu.calls("cuTensorMapEncodeTiled")


def given_again(tensor: Tensor) -> tuple[tuple[object, ...], tuple[object, ...]]:
    return (tensor, 64, 64, 64), ()


@pytest.mark.parametrize("count", [0, 3])
def test_direct_launches_get_the_code_of_their_kind(gpu: FakeDriver, count: int) -> None:
    """As those of cuTile's kernels are: with the extents and strides of arrays as bytes."""
    kernel = FakeTriton()
    kind = [(3, False)] if count else [(0, False), None, None, None]
    direct = kernel.direct(kind, ORDINARY)
    assert direct is not None
    tensors = [matrix(), matrix(), matrix(offset=4)]
    for _ in range(2):
        for tensor in tensors:
            numbers: tuple[Any, ...] = (64, 64, 64)
            if count:
                numbers = (tensor.data_ptr(), struct.pack("<3q", *numbers), tensor.array.nbytes)
            else:
                numbers = (tensor.data_ptr(), b"", tensor.array.nbytes, *numbers)
            direct.launch((1, 1, 1), numbers, partial(given_again, tensor))
    assert threads(gpu) == [64, 64, 32] * 2
    for parameters, tensor in zip(launched(gpu), tensors * 2, strict=True):
        assert parameters[:4] == [pointer_bytes(tensor.array), *[struct.pack("<i", 64).hex()] * 3]
        if len(parameters) == 7:
            assert parameters[4].startswith(pointer_bytes(tensor.array))
    assert len(kernel.compiled_for) == 2


def test_many_kinds_share_code_that_serves_them(gpu: FakeDriver) -> None:
    kernel = FakeTriton()
    tensor = matrix()
    for columns in (64, 4, 8, 1):
        for stride in (64, 68, 72, 65):
            kernel.launch((1, 1, 1), (tensor, 64, columns, stride), ORDINARY)
    made = kernel.compiled_for
    assert FINE_KINDS < len(made) < 16 and len(threads(gpu)) == 16
    assert all(divisor in (1, 16) for kind in made[FINE_KINDS:] for divisor in kind.divisors)


def test_after_many_kinds_one_code_serves_all(gpu: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "FINE_KINDS", 1)
    monkeypatch.setattr(kernels, "MOST_KINDS", 2)
    kernel = FakeTriton()
    for stride in (64, 68, 72, 65, 66):
        kernel.launch((1, 1, 1), (matrix(), 64, 64 if stride < 72 else 3, stride), ORDINARY)
    assert [kind.divisors for kind in kernel.compiled_for][2:] == [(1, 1, 1, 1)]


def test_array_that_the_driver_does_not_describe_goes_by_addresses(gpu: FakeDriver) -> None:
    kernel = FakeTriton()
    tensor = matrix()
    gpu.fail("cuTensorMapEncodeTiled", 1, times=100)
    for _ in range(3):
        kernel.launch((1, 1, 1), (tensor, 64, 64, 64), ORDINARY)
    assert threads(gpu) == [32] * 3


def test_old_gpu_has_no_descriptors(fake: FakeDriver, torch: FakeTorch) -> None:
    fake.reset(capability=80)
    fake.push(PRIMARY)
    kernel = FakeTriton()
    kernel.launch((1, 1, 1), (matrix(), 64, 64, 64), ORDINARY)
    assert threads(fake) == [32]


def test_array_of_the_host_is_copied_and_its_copy_described(gpu: FakeDriver) -> None:
    kernel = FakeTriton()
    array = numpy.zeros((64, 64), numpy.float16)
    with pytest.warns(HostCopyWarning):
        kernel.launch((1, 1, 1), (array, 64, 64, 64), ORDINARY)
    (parameters,) = launched(gpu)
    assert parameters[0] != pointer_bytes(array)
    assert len(parameters) == 7 and parameters[4].startswith(parameters[0])


def test_arrays_of_other_libraries_and_strides(gpu: FakeDriver) -> None:
    kernel = FakeTriton()
    array = numpy.zeros((64, 128), numpy.float16)
    given = CudaArray(gpu, array[:, :64])
    kernel.launch((1, 1, 1), (pointer_to(given), 64, 64, 128), ORDINARY)
    assert len(threads(gpu)) == 1 and launched(gpu)[0][0] == pointer_bytes(array)


def test_what_cannot_be_compiled_is_told_in_all_ways(gpu: FakeDriver) -> None:
    kernel = FakeTriton()
    aligned, odd = matrix(), matrix(offset=1)
    for _ in range(2):
        kernel.launch((1, 1, 1), (aligned, 64, 64, 64), ORDINARY)

    def fails(kind: object) -> None:
        raise CompilationError("no code for this")

    kernel.fails = fails
    for _ in range(2):
        with pytest.raises(CompilationError, match="no code for this"):
            kernel.launch((1, 1, 1), (odd, 64, 64, 64), ORDINARY)
    with pytest.raises(CompilationError, match="no code for this"):
        kernel.bind((1, 1, 1), (odd, 64, 64, 64), ORDINARY)
    kernel.launch((1, 1, 1), (aligned, 64, 64, 64), ORDINARY)
    assert len(threads(gpu)) == 3


def test_driver_that_is_too_old_for_the_code_is_told(fake: FakeDriver, torch: FakeTorch) -> None:
    from tests.execute.gpu.triton.fake_code import FakeCubin

    fake.reset(cuda=12040)
    fake.push(PRIMARY)
    kernel = FakeTriton()
    kernel.launch((1, 1, 1), (matrix(), 64, 64, 64), ORDINARY)
    made = FakeTriton()
    FakeCubin.oldest_driver = 13000
    try:
        with pytest.raises(LaunchError, match=r"it supports CUDA 12\.4, and 13\.0 is needed"):
            made.launch((1, 1, 1), (matrix(), 64, 64, 64), ORDINARY)
    finally:
        FakeCubin.oldest_driver = 12000


def test_views_of_a_kernel_are_kept(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "cache"))
    kernel = FakeTriton()
    first = launch_views(kernel.entry)
    monkeypatch.setattr("tileir.execute.gpu.triton.program.Program", None)
    assert launch_views(kernel.entry) == first and len(first) == 1
    assert first[0].base == ("argument", 0) and first[0].strides == (("argument", 3), ("constant", 1))


def test_engine_is_known_and_says_what_it_lacks(fake: FakeDriver) -> None:
    fake.reset(count=0)
    kernel = tileir.compile(FakeTriton().entry.parent_operation, backend="triton")
    assert kernel.backend == "triton"
    with pytest.raises(
        tileir.MissingDependencyError, match="the backend 'triton' cannot work here: there is no NVIDIA GPU"
    ):
        kernel.launch(1, (numpy.zeros((64, 64), numpy.float16), 64, 64, 64))


def test_ttir_is_shown_with_the_operations_that_its_lines_come_from() -> None:
    forms = Representations(tileir.load(Path(__file__).parents[4] / "examples" / "matmul.mlir"))
    found = {title.id: title for title in forms.list()}
    assert found["triton-ttir-sm_90"].reason is None
    form = forms.get("triton-ttir-sm_90")
    assert form.title == "TTIR for sm_90" and form.lines[0] == "module {"
    (product,) = [links for line, links in zip(form.lines, form.links, strict=True) if "tt.dot " in line]
    assert product


def test_stages_are_shown_without_a_gpu(fake: FakeDriver) -> None:
    fake.reset(count=0)
    kernel = tileir.compile(FakeTriton().entry.parent_operation, backend="triton")
    assert "tt.func public @k(" in kernel.dump("ttir", target="sm_90")
    with pytest.raises(
        LaunchError, match="there is no stage 'asm' to dump: choose one of schedule, tile, ttir, ttgir, llvm, ptx, sass"
    ):
        kernel.dump("asm")


def test_the_dump_of_the_schedule_says_what_was_decided_and_why(fake: FakeDriver) -> None:
    fake.reset(count=0)
    kernel = tileir.compile(str(EXAMPLES / "matmul.mlir"), backend="triton")
    lines = kernel.dump("schedule", target="sm_90").splitlines()
    assert lines[0] == "kernel @matmul for sm_90"
    assert "descriptors for TMA: 3, of 3 tensor views" in lines
    settings = {
        line.split()[0]: line
        for line in lines[lines.index("schedule, by the rules of docs/internals/triton.md:") + 1 :]
    }
    assert list(settings) == list(Schedule._fields)
    expected = ["5", "at most 64 bytes of K: 687 TFLOP/s, 527 with 3 stages (128x256x32)"]
    assert settings["num_stages"].split(None, 2)[1:] == expected
