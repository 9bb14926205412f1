"""The pytest plugin for a checkout of TileGym (`tests/bridge/checkout.py --suite tilecpp`): its C++ kernels on the CPU.

TileGym compiles its headers with nvcc and launches them with cuda.core.  Here a class in the place of its TileCppKernel
loads a header with `tileir.load`, by NVRTC, and launches it with `tileir.launch`; its launchers and tests are unchanged.
The report of a test names the headers that it has used.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest

import tileir
from tileir.bridge.hooks import after_import
from tileir.dialect.types import PointerType
from tileir.execute.dtypes import memory_dtype
from tileir.kernels import pointer_to

_headers: list[str] = []
"""The headers whose kernels the test has asked for."""
_tensors: dict[int, Any] = {}
"""The tensors whose addresses a launcher has asked for since the last launch."""
_sanitize: list[bool] = []


def pytest_configure(config: pytest.Config) -> None:
    _sanitize[:] = [bool(config.getoption("tileir_sanitize"))]
    for name, members in (
        ("cuda.bindings", ("driver",)),
        ("cuda.core", ("Device", "LaunchConfig", "ObjectCode", "Stream", "launch")),
    ):
        module: Any = sys.modules.setdefault(name, ModuleType(name))
        for member in members:
            setattr(module, member, None)
    after_import("tilegym.backend.selector", _have_compiler)
    after_import("tilegym.ops.tilecpp.utils._cuda_utils", lambda module: setattr(module, "TileCppKernel", Kernel))
    after_import("tilegym.ops", _decode_single_queries)
    after_import("torch", _watch_addresses)


def _have_compiler(selector: Any) -> None:
    selector._nvcc_version_supported = lambda: True


def _decode_single_queries(ops: Any) -> None:
    """Judge the decoder of attention with sinks, which has no test, by the attention that has one.

    TileGym's models take it for one query as well.
    """
    attention = ops.attention_sink

    def attention_sink(query: Any, *rest: object) -> Any:
        return (ops.attention_sink_decode if query.shape[1] == 1 else attention)(query, *rest)

    ops.attention_sink = attention_sink


def _watch_addresses(torch: Any) -> None:
    original = torch.Tensor.data_ptr

    def data_ptr(tensor: Any) -> int:
        address: int = original(tensor)
        _tensors[address] = tensor
        return address

    torch.Tensor.data_ptr = data_ptr


@cache
def _loaded(path: Path, entry: str, include: tuple[str, ...]) -> Any:
    return tileir.compile(tileir.load(path, entry=entry, include=include), backend="cpu")


class Kernel:
    """What TileGym's launchers use of their TileCppKernel."""

    def __init__(self, source_path: Path, kernel_name: str, include_paths: list[Path] | None = None) -> None:
        self.source_path = source_path
        self.kernel_name = kernel_name
        self.include_paths = include_paths or []

    def get_kernel(self, dtype: Any, template_params: list[object], signature: str) -> tuple[Any, str, Any]:
        utils: Any = sys.modules["tilegym.ops.tilecpp.utils._cuda_utils"]
        name, converter = utils.get_dtype_info(dtype)
        parameters = [name, *[str(each).lower() if isinstance(each, bool) else str(each) for each in template_params]]
        entry = f"{self.kernel_name}<{', '.join(parameters)}>"
        _headers.append(self.source_path.name)
        folders = (self.source_path.parent, *self.include_paths)
        return _loaded(self.source_path, entry, tuple([str(each) for each in folders])), entry, converter

    def launch(self, grid: Any, kernel: Any, args: list[Any], stream: object = None) -> None:
        types = [parameter.type.element for parameter in kernel.entry.regions[0].blocks[0].arguments]
        values = [_argument(type, each) for type, each in zip(types, args, strict=True)]
        # A kernel may reach all of the memory that a tensor is part of.
        memory = [each.untyped_storage() for each in _tensors.values()]
        _tensors.clear()
        extents = tuple([int(each) for each in grid]) if isinstance(grid, (tuple, list)) else int(grid)
        kernel.launch(extents, values, memory=[_bytes(each) for each in memory], sanitize=_sanitize[0])


def _bytes(storage: Any) -> Any:
    import torch

    return torch.empty(0, dtype=torch.uint8).set_(storage)


def _argument(type: Any, value: Any) -> Any:
    """The tensor at an address; a scalar by its bytes, as a driver takes it."""
    if isinstance(type, PointerType):
        return pointer_to(_tensors[int(value)]) if int(value) in _tensors else int(value)
    dtype = memory_dtype(type)
    assert value.dtype.itemsize == dtype.itemsize, f"{value!r} is given for a parameter of type {type.spelling}"
    return numpy.frombuffer(value.tobytes(), dtype)[0]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome: Any = yield
    if call.when == "call":
        outcome.get_result().user_properties += [("source", name) for name in dict.fromkeys(_headers)]
        _headers.clear()
