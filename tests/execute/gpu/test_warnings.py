"""Warnings are at the line of the user's that led to them, through every way to launch and to compile."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from tests.execute.gpu.assembled_kernel import TEXT, kernel
from tests.execute.gpu.cubin_files import cubin
from tests.execute.gpu.fake_assembler import SUCCEED, FakeAssembler
from tests.execute.gpu.fake_cuda import FakeDriver, FakeTorch, Tensor
from tests.execute.gpu.fake_gpu import FakeGpu

import tileir

COPY = "cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>, %n: tile<i32>) { return } }"


def place_of_warning(action: Callable[[], object], category: type[Warning]) -> tuple[str, int]:
    """Where the one warning of an action is said to be."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    (found,) = caught
    assert found.category is category, found.message
    return found.filename, found.lineno


def line_of(action: Callable[[], object]) -> tuple[str, int]:
    """Where a function of one line is, that of a `lambda`."""
    return __file__, inspect.getsourcelines(action)[1]


def ways_to_launch() -> dict[str, Callable[[], object]]:
    array = numpy.zeros(8, numpy.float32)

    def made() -> tileir.Kernel:
        return tileir.compile(tileir.parse(COPY), backend="fake_gpu")

    plain, with_options, timed = made(), made(), made()
    bound = made().bind(1, (array, 8))
    replaced = made().bind(1, (array, 8))
    replaced[0] = numpy.zeros(8, numpy.float32)
    return {
        "launch": lambda: plain.launch(1, (array, 8)),
        "options": lambda: with_options.launch(1, (array, 8), progress=lambda done, count: None),
        "time": lambda: timed.time(1, (array, 8), repeat=1),
        "bound": lambda: bound(),
        "replaced": lambda: replaced(),
        "bound at once": lambda: made().bind(1, (array, 8))(),
    }


WAYS = ("launch", "options", "time", "bound", "replaced", "bound at once")


@pytest.mark.parametrize("name", WAYS)
def test_copies_are_warned_of_at_the_line_that_launches(fake: FakeDriver, engine: FakeGpu, name: str) -> None:
    way = ways_to_launch()[name]
    assert place_of_warning(way, tileir.errors.HostCopyWarning) == line_of(way)


def test_launch_again_after_a_tensor_of_the_gpu_is_warned_of(
    fake: FakeDriver, engine: FakeGpu, torch: FakeTorch
) -> None:
    """The functions that were written for the kernel are in between."""
    made = tileir.compile(tileir.parse(COPY), backend="fake_gpu")
    tensor = Tensor(numpy.zeros(8, numpy.float32))
    fake.own(tensor.data_ptr(), 32)
    for _ in range(2):
        made.launch(1, (tensor, 8))
    way = lambda: made.launch(1, (numpy.zeros(8, numpy.float32), 8))  # noqa: E731
    assert place_of_warning(way, tileir.errors.HostCopyWarning) == line_of(way)


def test_cutile_launches_are_warned_of_at_their_line(fake: FakeDriver, engine: FakeGpu) -> None:
    ct = pytest.importorskip("cuda.tile", reason="cuTile's kernels need cuda-tile: pip install cuda-tile")
    from tests.execute.gpu.test_cutile_launches import new_kernel

    arrays = [numpy.zeros(64, numpy.float32) for _ in range(3)]
    arguments = (*arrays, 2.0, 16)
    specialized = tileir.compile(new_kernel(), (*arrays, 2.0, 32), backend="fake_gpu")
    way = lambda: tileir.launch(new_kernel(), (4,), arguments, backend="fake_gpu")  # noqa: E731
    assert place_of_warning(way, tileir.errors.HostCopyWarning) == line_of(way)
    way = lambda: specialized.launch((2,), (*arrays, 2.0, 32))  # noqa: E731
    assert place_of_warning(way, tileir.errors.HostCopyWarning) == line_of(way)
    with tileir.emulate(backend="fake_gpu"):
        way = lambda: ct.launch(0, (8,), new_kernel(), (*arrays, 2.0, 8))  # noqa: E731
        assert place_of_warning(way, tileir.errors.HostCopyWarning) == line_of(way)


def test_libraries_that_launch_for_the_user_are_passed_over(fake: FakeDriver, engine: FakeGpu) -> None:
    made = tileir.compile(tileir.parse(COPY), backend="fake_gpu")
    names: dict[str, Any] = {"__name__": "torch._ops"}
    exec(compile("def call(function): return function()", "/lib/torch/_ops.py", "exec"), names)
    arguments = (1, (numpy.zeros(8, numpy.float32), 8))
    way = lambda: names["call"](SimpleNamespace(run=made.bind(*arguments)).run)  # noqa: E731
    assert place_of_warning(way, tileir.errors.HostCopyWarning) == line_of(way)


# --- what the assembler says ---

SPILLING = cubin(registers=255, stack=96, instructions=[0x387, 0x983, 0x983])


def test_assemblers_warnings_are_warnings_of_python_at_the_callers_line(assembler: FakeAssembler) -> None:
    assembler.does(SUCCEED + "\nprint('loc(\"<tileir>\":4:1): warning: slow store')")
    for way in (
        lambda: kernel().cubin("sm_90"),
        lambda: kernel().resources("sm_90"),
        lambda: kernel("\n" + TEXT).cubin("sm_90"),
    ):
        assert place_of_warning(way, tileir.errors.AssemblerWarning) == line_of(way)
    assert len(assembler.calls) == 1, "also where the cubin is from the cache"
    with pytest.warns(tileir.errors.AssemblerWarning) as caught:
        kernel("\n" + TEXT).cubin("sm_90")
    assert str(caught[0].message) == (
        "warning: 'cuda_tile.store_ptr_tko' op: slow store\n"
        " --> kernel.mlir:5:15\n"
        "  |\n"
        "5 |     %stored = store_ptr_tko weak %p, %one : tile<ptr<f32>>, tile<f32> -> token\n"
        "  |               ^"
    )


def test_kernel_that_runs_out_of_registers_is_warned_of(assembler: FakeAssembler) -> None:
    assembler.does(f'open(output, "wb").write({SPILLING!r})')
    for _ in range(2):
        with pytest.warns(
            tileir.errors.AssemblerWarning, match="kernel @k runs out of registers on sm_90: it keeps 96 bytes"
        ):
            assert kernel().resources("sm_90").spills


def test_kernel_with_nothing_to_say_about_is_silent(assembler: FakeAssembler) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            kernel().cubin("sm_90")


def test_launches_do_not_repeat_what_the_assembler_said(assembler: FakeAssembler) -> None:
    from tileir.execute.gpu.tileiras.kernel import TileirasKernel

    assembler.does(f'open(output, "wb").write({SPILLING!r})')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert TileirasKernel(kernel().entry, {}).code._make_cubin("sm_90").data == SPILLING
    # Whoever asks for the cubin next is told.
    with pytest.warns(tileir.errors.AssemblerWarning):
        kernel().cubin("sm_90")
