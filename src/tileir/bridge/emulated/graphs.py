"""CUDA graphs: capture and replay.

While a graph is captured nothing happens on the device: launches are recorded only.  Operations are done, for their
results have shapes, with copies of what they write to, and recorded: a replay does them again and writes into the
tensors of the capture.  What happens to tensors of the CPU happens at once, and is not recorded.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from tileir.bridge.contexts import CAPTURE
from tileir.bridge.emulated.device import ACCELERATOR_ERROR, Tensor, functions_off, is_on_device, tensors_in
from tileir.bridge.emulated.gpu_interface import nothing
from tileir.bridge.emulated.torch_cuda import CUDA_MODULES, Replacing, Stream, replace_functions

_pools: Final = itertools.count(1)
_WAITING: Final = frozenset({torch.ops.aten._local_scalar_dense.default, torch.ops.aten.nonzero.default})
"""Operations whose result the host waits for."""


def _storage(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())


class Recording(TorchDispatchMode):  # type: ignore[misc]
    """What a graph does."""

    def __init__(self) -> None:
        super().__init__()
        self.work: list[Callable[[], object]] = []
        self._kept: list[Any] = []
        """Tensors of the capture: their memory belongs to the graph."""
        self._storages: set[int] = set()
        """Storages of tensors on the device."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with functions_off():
            given = list(tensors_in((args, kwargs)))
            if given and not any(is_on_device(tensor) or _storage(tensor) in self._storages for tensor in given):
                return func(*args, **kwargs)
            if func in _WAITING:
                raise ACCELERATOR_ERROR("CUDA error: operation not permitted when stream is capturing")
            written = _written(func, args, kwargs)
            copies = {id(tensor): tensor.clone() for tensor in written}
            arguments, keywords = _exchanged(copies, (args, kwargs))
            result = func(*arguments, **keywords)
            result = _exchanged({id(copies[id(tensor)]): tensor for tensor in written}, result)
            outputs = list(tensors_in(result))
            inside = {_storage(tensor) for tensor in given}
            self._kept += given + outputs
            self._storages |= {_storage(tensor) for tensor in given + outputs if is_on_device(tensor) or tensor.is_cpu}
            # A view needs no work: it sees what is written to the memory that it is of.
            if written or any(_storage(tensor) not in inside for tensor in outputs):
                self.work.append(functools.partial(_again, func, args, kwargs, outputs))
            return result


def _again(function: Any, arguments: Any, keywords: Any, outputs: list[Any]) -> None:
    """Do an operation again, into the tensors of its first results."""
    for output, result in zip(outputs, tensors_in(function(*arguments, **keywords)), strict=True):
        if output is not result:
            output.copy_(result)


def _written(function: Any, arguments: Any, keywords: Any) -> list[Any]:
    """The tensors that an operation writes to."""
    schema = function._schema.arguments
    given = dict(zip([each.name for each in schema], arguments, strict=False)) | keywords
    names = [each.name for each in schema if each.alias_info is not None and each.alias_info.is_write]
    return list(tensors_in([given.get(name) for name in names]))


def _exchanged(by_id: dict[int, Any], value: Any) -> Any:
    return tree_map_only(Tensor, lambda tensor: by_id.get(id(tensor), tensor), value)


class CUDAGraph(metaclass=Replacing):
    original: Any = torch.cuda.CUDAGraph
    instantiate = enable_debug_mode = debug_dump = staticmethod(nothing)

    def __init__(self, keep_graph: bool = False) -> None:
        self._recording: Recording | None = None
        self._pool: Any = None

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        if CAPTURE.recorder is not None:
            raise RuntimeError("CUDA error: a graph is being captured already")
        self._pool = torch.cuda.graph_pool_handle() if pool is None else pool
        self._recording = CAPTURE.recorder = Recording()
        self._recording.__enter__()

    def capture_end(self) -> None:
        recording = self._recording
        if recording is None or CAPTURE.recorder is not recording:
            raise RuntimeError("CUDA error: no graph is being captured")
        CAPTURE.recorder = None
        recording.__exit__(None, None, None)

    def replay(self) -> None:
        if self._recording is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        with torch.no_grad(), functions_off():
            for work in self._recording.work:
                work()

    def reset(self) -> None:
        self._recording = None

    def pool(self) -> Any:
        return self._pool


@contextmanager
def _graph(cuda_graph: Any, pool: Any = None, stream: Any = None, *modes: Any, **more: Any) -> Iterator[None]:
    """`torch.cuda.graph`: what is done within is recorded."""
    with torch.cuda.stream(Stream() if stream is None else stream):
        cuda_graph.capture_begin(pool)
        try:
            yield
        except BaseException:
            cuda_graph.capture_end()
            cuda_graph.reset()
            raise
        cuda_graph.capture_end()


def hook_graphs() -> None:
    # A torch without these schemas is found out here, and not by a capture.
    assert torch.ops.aten.add_.Tensor._schema.arguments[0].alias_info.is_write
    is_capturing: dict[str, Any] = {"is_current_stream_capturing": lambda: CAPTURE.recorder is not None}
    names = {"graph": _graph, "graph_pool_handle": lambda: (0, next(_pools)), "CUDAGraph": CUDAGraph, **is_capturing}
    replace_functions(names, *CUDA_MODULES)
