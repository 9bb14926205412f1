"""Kernels that read what a script allocated and did not write."""

from __future__ import annotations

import ctypes
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from tests.bridge.test_launch import ct

import tileir
from tileir.execute.sanitizer.uninitialized import ALLOCATIONS

torch = pytest.importorskip("torch")

COUNT = 256
TILE = 64


@ct.kernel
def double(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (64,)) * 2)


@ct.kernel
def accumulate(x, out):
    ct.atomic_add(out, (ct.bid(0),), ct.sum(ct.load(x, (ct.bid(0),), (64,))))


@ct.kernel
def copy_in_place(x):
    ct.store(x, (ct.bid(0),), ct.load(x, (ct.bid(0),), (64,)))


@pytest.fixture(params=["interpreter", "cpu"])
def backend(request: pytest.FixtureRequest) -> str:
    if request.param == "cpu":
        pytest.importorskip("llvmlite", reason="the cpu engine needs it")
    return str(request.param)


def _launch(kernel: Any, *arguments: Any, grid: int = COUNT // TILE) -> None:
    ct.launch(torch.cuda.current_stream(), (grid,), kernel, arguments)


def _finding(act: Callable[[], object], backend: str = "interpreter") -> tileir.sanitizer.Finding:
    with pytest.raises(tileir.SanitizerError) as caught, tileir.emulate(backend, sanitize=True):
        act()
    assert caught.value.report.kinds == ["uninitialized"], str(caught.value)
    return caught.value.report.findings[0]


def _of_cupy(count: int) -> Any:
    cupy: Any = importlib.import_module("cupy")
    return cupy.empty(count, "f4")


ALLOCATORS: dict[str, Callable[[], Any]] = {
    "torch.empty": lambda: torch.empty(COUNT, device="cuda"),
    "torch.empty_like": lambda: torch.empty_like(torch.zeros(COUNT, device="cuda")),
    "torch.empty_strided": lambda: torch.empty_strided((COUNT,), (1,), device="cuda"),
    "Tensor.new_empty": lambda: torch.zeros(1, device="cuda").new_empty(COUNT),
    "Tensor.resize_": lambda: torch.empty(0, device="cuda").resize_(COUNT),
    "a view": lambda: torch.empty(16, COUNT // 16, device="cuda").view(COUNT),
    "an old class": lambda: torch.cuda.FloatTensor(COUNT),
    "numpy.empty": lambda: numpy.empty(COUNT, "f4"),
    "numpy.empty_like": lambda: numpy.empty_like(numpy.zeros(COUNT, "f4")),
    "cupy.empty": lambda: _of_cupy(COUNT),
}


@pytest.mark.parametrize("name", list(ALLOCATORS))
def test_reading_an_allocation_that_nobody_wrote(name: str, backend: str) -> None:
    def act() -> None:
        x = ALLOCATORS[name]()
        _launch(double, x, torch.empty(COUNT, device="cuda"))

    finding = _finding(act, backend)
    line = inspect.getsourcelines(double._pyfunc)[1] + 3
    assert finding.block == (0, 0, 0) and finding.element == (0,)
    assert finding.title == "load_view_tko reads uninitialized memory"
    assert finding.count == COUNT // TILE
    text = finding.render()
    assert text.startswith("uninitialized: ct.load reads uninitialized memory\n  --> ")
    assert f"test_uninitialized.py:{line}, tile block (0, 0, 0), element [0]" in text
    lines = inspect.getsource(inspect.getmodule(_finding)).splitlines()
    allocated = next(number for number, each in enumerate(lines, 1) if each.startswith(f'    "{name}": lambda'))
    if name == "cupy.empty":
        allocated = next(number for number, each in enumerate(lines, 1) if "return cupy.empty(" in each)
    assert finding.details[0].endswith(" at [0] before")
    assert finding.details[1].startswith("it was allocated at ")
    assert f"test_uninitialized.py:{allocated} in " in finding.details[1]
    assert finding.help == "write to it before this launch, or allocate it with zeros"


def test_the_element_that_was_left_out_is_named(backend: str) -> None:
    def act() -> None:
        x = torch.empty(COUNT, device="cuda")
        x[:-3] = 1
        _launch(double, x, torch.empty_like(x))

    finding = _finding(act, backend)
    assert finding.block == (3, 0, 0) and finding.element == (TILE - 3,)
    assert f"at [{COUNT - 3}] before" in finding.details[0]


def test_adding_to_an_allocation_reads_it(backend: str) -> None:
    def act() -> None:
        _launch(accumulate, torch.ones(COUNT, device="cuda"), torch.empty(4, device="cuda"))

    assert "atomic" in _finding(act, backend).title


def test_zeros_instead_remove_the_finding(backend: str) -> None:
    with tileir.emulate(backend, sanitize=True):
        _launch(accumulate, torch.ones(COUNT, device="cuda"), torch.zeros(4, device="cuda"))
        x = torch.zeros(COUNT, device="cuda")
        _launch(double, x, torch.empty_like(x))


def test_what_a_kernel_wrote_is_written(backend: str) -> None:
    with tileir.emulate(backend, sanitize=True):
        x = torch.empty(COUNT, device="cuda")
        _launch(double, torch.ones(COUNT, device="cuda"), x)
        _launch(double, x, torch.empty_like(x))


def _by_address(x: Any) -> None:
    ctypes.memset(x.data_ptr(), 0, 4 * COUNT)


WRITES: dict[str, Callable[[Any], object]] = {
    "fill_": lambda x: x.fill_(1),
    "zero_": lambda x: x.zero_(),
    "copy_": lambda x: x.copy_(torch.ones(COUNT)),
    "copy_ from the device": lambda x: x.copy_(torch.ones(COUNT, device="cuda")),
    "normal_": lambda x: x.normal_(),
    "index assignment": lambda x: x.__setitem__(slice(None), 3),
    "masked assignment": lambda x: x.__setitem__(torch.ones(COUNT, dtype=torch.bool, device="cuda"), 3),
    "a view": lambda x: x.view(16, 16).fill_(1),
    "a view of other elements": lambda x: x.view(torch.int32).fill_(7),
    "data": lambda x: x.data.fill_(1),
    "detach": lambda x: x.detach().fill_(1),
    "out=": lambda x: torch.add(torch.ones(COUNT, device="cuda"), 1, out=x),
    "set_": lambda x: x.set_(torch.ones(COUNT, device="cuda")),
    "storage": lambda x: x.untyped_storage().fill_(0),
    "uniform": lambda x: torch.nn.init.uniform_(x),
    "DLPack": lambda x: torch.from_dlpack(x).fill_(1),
    "CuPy": lambda x: __import__("cupy").from_dlpack(x).fill(1),
    "an address": _by_address,
}


@pytest.mark.parametrize("name", list(WRITES))
def test_whoever_writes_leaves_nothing_to_report(name: str) -> None:
    with tileir.emulate("interpreter", sanitize=True):
        x = torch.empty(COUNT, device="cuda")
        WRITES[name](x)
        _launch(double, x, torch.empty_like(x))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "int64"])
def test_element_types(dtype: str, backend: str) -> None:
    kind = getattr(torch, dtype)
    _finding(lambda: _launch(copy_in_place, torch.empty(COUNT, dtype=kind, device="cuda")), backend)
    with tileir.emulate(backend, sanitize=True):
        x = torch.empty(COUNT, dtype=kind, device="cuda")
        x.fill_(1)
        _launch(copy_in_place, x)


def test_modules_of_torch_are_written_by_their_initialization() -> None:
    with tileir.emulate("interpreter", sanitize=True):
        weight = torch.nn.Linear(16, 16, device="cuda").weight.detach().view(COUNT)
        _launch(double, weight, torch.empty_like(weight))
        table = torch.nn.Embedding(16, 16).cuda().weight.detach().view(COUNT)
        _launch(double, table, torch.empty_like(table))


def test_without_sanitizing_nothing_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    with tileir.emulate("interpreter", sanitize=True):
        # Everything that watches is in its place.
        pass
    monkeypatch.setattr(ALLOCATIONS, "add", lambda *_: pytest.fail("an allocation was filled"))
    with tileir.emulate("interpreter"):
        for allocate in ALLOCATORS.values():
            allocate()
