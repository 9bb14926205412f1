"""The arguments of a launch as the driver gets them: every type of parameter, in both ways."""

from __future__ import annotations

import struct
from typing import Any

import ml_dtypes
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
    pointer_bytes,
)

from tileir.execute.arguments.binding import pointer_to
from tileir.execute.engine.interface import LaunchOptions
from tileir.execute.errors import LaunchError
from tileir.execute.gpu.launcher import GpuKernel

ORDINARY = LaunchOptions()


def parameters_of(call: str) -> list[str]:
    return call.rpartition(" parameters ")[2].split(",")


SCALARS: list[tuple[str, Any, bytes]] = [
    ("i1", True, b"\1"),
    ("i1", 0, b"\0"),
    ("i1", -1, b"\1"),
    ("i8", -2, b"\xfe"),
    ("i8", 255, b"\xff"),
    ("i16", -3, b"\xfd\xff"),
    ("i32", -4, struct.pack("<i", -4)),
    ("i32", 2**32 - 1, b"\xff" * 4),
    ("i32", numpy.int64(7), struct.pack("<i", 7)),
    ("i64", -(2**63), struct.pack("<q", -(2**63))),
    ("i64", 2**64 - 1, b"\xff" * 8),
    ("f16", 1.5, struct.pack("<e", 1.5)),
    ("f16", numpy.float16(2.5), struct.pack("<e", 2.5)),
    ("bf16", 1.5, b"\xc0\x3f"),
    ("bf16", ml_dtypes.bfloat16(2.0), b"\x00\x40"),
    ("f32", 2.5, struct.pack("<f", 2.5)),
    ("f32", 3, struct.pack("<f", 3.0)),
    ("f32", float("inf"), struct.pack("<f", float("inf"))),
    ("f64", -3.5, struct.pack("<d", -3.5)),
    ("f64", numpy.float64(0.1), struct.pack("<d", 0.1)),
    ("tf32", 1.0, struct.pack("<f", 1.0)),
    ("f8E4M3FN", 1.0, b"\x38"),
    ("f8E5M2", 1.0, b"\x3c"),
]


@pytest.mark.parametrize(("type", "value", "wanted"), SCALARS, ids=[f"{row[0]}-{row[1]}" for row in SCALARS])
def test_a_scalar_is_the_bytes_of_its_type(
    fake: FakeDriver, torch: FakeTorch, type: str, value: Any, wanted: bytes
) -> None:
    """Between a byte and a pointer, so that a neighbor would be hit; the third launch goes the short way if any."""
    kernel = kernel_of(f"%a: tile<i8>, %b: tile<{type}>, %c: tile<ptr<f32>>")
    array = numpy.zeros(4, numpy.float32)
    fake.push(PRIMARY)
    for _ in range(3):
        kernel.launch((1, 1, 1), (17, value, Tensor(array)), ORDINARY)
    for call in fake.calls("cuLaunchKernelEx"):
        assert parameters_of(call) == ["11", wanted.hex(), pointer_bytes(array)]


def test_a_scalar_that_its_type_cannot_hold_is_refused_in_both_ways(fake: FakeDriver, torch: FakeTorch) -> None:
    kernel = kernel_of("%a: tile<i8>, %f: tile<f32>, %c: tile<ptr<f32>>")
    tensor = Tensor(numpy.zeros(4, numpy.float32))
    fake.push(PRIMARY)
    for _ in range(2):
        with pytest.raises(LaunchError, match="argument 0 of @k is a scalar i8, which cannot hold 256"):
            kernel.launch((1, 1, 1), (256, 1.0, tensor), ORDINARY)
        with pytest.raises(LaunchError, match="argument 1 of @k is a scalar f32, but a str was given"):
            kernel.launch((1, 1, 1), (1, "1.0", tensor), ORDINARY)
        kernel.launch((1, 1, 1), (1, 1.0, tensor), ORDINARY)
        # Infinite as f32, as on the CPU.
        kernel.launch((1, 1, 1), (1, 1e300, tensor), ORDINARY)
        assert parameters_of(fake.calls("cuLaunchKernelEx")[-1])[1] == struct.pack("<f", float("inf")).hex()


@pytest.mark.parametrize("count", [0, 2, 4])
def test_another_number_of_arguments_is_refused(fake: FakeDriver, torch: FakeTorch, count: int) -> None:
    kernel = kernel_of("%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %n: tile<i32>")
    tensor = Tensor(numpy.zeros(4, numpy.float32))
    fake.push(PRIMARY)
    kernel.launch((1, 1, 1), (tensor, tensor, 4), ORDINARY)
    with pytest.raises(LaunchError, match=f"takes 3 arguments .* but {count} were given"):
        kernel.launch((1, 1, 1), (tensor,) * count, ORDINARY)


def test_a_kernel_without_parameters_is_launched_on_the_current_gpu(fake: FakeDriver) -> None:
    fake.reset(2)
    kernel = kernel_of("")
    kernel.launch((7, 1, 1), (), ORDINARY)
    fake.push(PRIMARY + 1)
    kernel.launch((8, 9, 10), (), ORDINARY)
    contexts = [call.split(" context ")[1].split()[0] for call in fake.calls("cuLaunchKernelEx")]
    assert contexts == [f"{PRIMARY:#x}", f"{PRIMARY + 1:#x}"]
    assert " grid 8 9 10 block 1 1 1 shared 0 " in fake.calls("cuLaunchKernelEx")[1]


def test_a_bare_address_is_passed_as_it_is(fake: FakeDriver) -> None:
    kernel = kernel_of("%a: tile<ptr<f32>>")
    kernel.launch((1, 1, 1), (0x123456789ABC,), ORDINARY)
    [call] = fake.calls("cuLaunchKernelEx")
    assert parameters_of(call) == [(0x123456789ABC).to_bytes(8, "little").hex()]


def test_many_parameters_keep_their_order(fake: FakeDriver, torch: FakeTorch) -> None:
    kernel = kernel_of(", ".join([f"%p{number}: tile<ptr<i32>>, %n{number}: tile<i64>" for number in range(20)]))
    arrays = [numpy.zeros(4, numpy.int32) for _ in range(20)]
    arguments = [value for number, array in enumerate(arrays) for value in (Tensor(array), -number)]
    wanted = [
        text for number, array in enumerate(arrays) for text in (pointer_bytes(array), struct.pack("<q", -number).hex())
    ]
    fake.push(PRIMARY)
    for _ in range(2):
        kernel.launch((1, 1, 1), tuple(arguments), ORDINARY)
        assert parameters_of(fake.calls("cuLaunchKernelEx")[-1]) == wanted


def test_a_strided_array_needs_to_be_meant(fake: FakeDriver, torch: FakeTorch) -> None:
    whole = numpy.arange(32, dtype=numpy.float32).reshape(4, 8)
    part = whole[1:, ::2]
    kernel = kernel_of("%a: tile<ptr<f32>>")
    for make in (lambda: CudaArray(fake, part), lambda: Tensor(part)):
        for _ in range(2):
            with pytest.raises(LaunchError, match="argument 0 of @k is not contiguous"):
                kernel.launch((1, 1, 1), (make(),), ORDINARY)
        kernel.launch((1, 1, 1), (pointer_to(make()),), ORDINARY)
        assert parameters_of(fake.calls("cuLaunchKernelEx")[-1]) == [pointer_bytes(part)]


def kernel_from(cubin: Any) -> GpuKernel:
    return GpuKernel(entry_of("%a: tile<ptr<f32>>"), {}, lambda target: cubin)


def test_a_cubin_of_another_program_is_refused(fake: FakeDriver) -> None:

    for sizes, name, words in (
        ("8,4", "k", "its parameters take 8, 4 bytes, and those of the kernel 8$"),
        ("8", "other", "has no kernel @k: it was made from another program"),
    ):
        cubin = TextCubin(name, sizes)
        cubin.kernel = "k"
        with pytest.raises(LaunchError, match=words):
            kernel_from(cubin).launch((1, 1, 1), (CudaArray(fake, numpy.zeros(4, numpy.float32)),), ORDINARY)
    cubin = TextCubin("k", "8")
    cubin.host = "riscv64"
    with pytest.raises(LaunchError, match=r"is to be launched from riscv64, and this machine is .*: compile it here"):
        kernel_from(cubin).launch((1, 1, 1), (CudaArray(fake, numpy.zeros(4, numpy.float32)),), ORDINARY)
