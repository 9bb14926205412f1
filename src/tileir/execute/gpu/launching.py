"""Kernels on a GPU and their launches.

A launch is asynchronous, as CUDA's are: it returns when the driver has it.  What the kernel writes is in the arrays for
whatever comes after it in the same stream, and for the host after torch, CuPy or the driver has synchronized.  What
goes wrong on the GPU is reported by a later call, in the driver's words.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final, Protocol

from tileir.execute.arguments import bind
from tileir.execute.engine import LaunchOptions, PreparedKernel
from tileir.execute.errors import BlockId, LaunchError
from tileir.execute.gpu.arrays import DeviceBuffer, device_buffer
from tileir.execute.gpu.driver.devices import Device, current, current_ordinal, device, require_driver
from tileir.execute.gpu.driver.kernels import LoadedLibrary
from tileir.execute.gpu.driver.library import driver
from tileir.execute.gpu.packing import Packer
from tileir.execute.gpu.streams import stream_for, wait_for
from tileir.execute.memory import Region
from tileir.forking import NO_FORK
from tileir.ir.core import Operation

ASSEMBLER_DRIVER: Final = 13000
"""The version of CUDA that a driver must support for what NVIDIA's assembler makes (r580)."""


class Code(Protocol):
    """A compiled kernel, as `cubin.Cubin` is."""

    data: bytes
    kernel: str

    @property
    def target(self) -> str: ...


class LoadedKernel:
    """A kernel in the driver, for the GPUs of one architecture."""

    __slots__ = ("function", "library")

    def __init__(self, library: LoadedLibrary, name: str) -> None:
        self.library: LoadedLibrary = library
        self.function: Any = ctypes.c_void_p(library.kernel(name))


class GpuKernel(PreparedKernel):
    """A kernel ready to run on GPUs; `make_cubin` compiles it for a target such as "sm_90", once for each."""

    def __init__(
        self,
        entry: Operation,
        globals: dict[str, Region],
        make_cubin: Callable[[str], Code],
        *,
        oldest_driver: int = ASSEMBLER_DRIVER,
    ) -> None:
        self.entry: Final = entry
        self.globals: Final = globals
        self.name: Final = entry.symbol_name or ""
        self._make_cubin: Final = make_cubin
        self._oldest_driver: Final = oldest_driver
        self._packer: Final = Packer(entry)
        self._loaded: dict[str, LoadedKernel] = {}
        self._ready: dict[int, tuple[int, Any]] = {}
        """By number of GPU: its primary context and the kernel, for launches that have nothing else to do."""
        self._usual: LaunchOptions | None = None
        """Options that were seen to ask for nothing."""
        self._get_current: Any = None
        self._launch: Any = None

    def launch(self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions) -> None:
        if options is not self._usual:
            if not _asks_for_nothing(options):
                self._thorough(grid, arguments, options)
                return
            self._usual = options
        packer = self._packer
        record = packer.take()
        x, y, z = grid
        ordinal = packer.quick(arguments, record.memory, x, y, z)
        if ordinal in self._ready:
            context, function = self._ready[ordinal]
            if not self._get_current(record.current_reference) and record.current.value == context:
                code = self._launch(record.configuration, function, record.parameters, None)
                if code:
                    raise self._error(code)
                packer.give(record)
                return
        packer.give(record)
        self._thorough(grid, arguments, options)

    def _thorough(self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions) -> None:
        """Look at the arguments of a launch in all ways there are."""
        of = driver()
        require_driver(self._oldest_driver)
        stream = stream_for(arguments, options.stream)
        bound = bind(self.entry, arguments, lambda value, what: device_buffer(value, what, stream))
        buffers = [buffer for buffer, _ in bound.buffers]
        place, context = self._place(bound.buffers)
        kernel = self._kernel(place)
        with current(context):
            wait_for(stream, [each.stream for each in buffers if isinstance(each, DeviceBuffer) and each.stream])
            record = self._packer.take()
            self._packer.fill(record, grid, stream, bound.values)
            code = of.function("cuLaunchKernelEx")(record.configuration, kernel.function, record.parameters, None)
            self._packer.give(record)
        if code:
            raise self._error(code)
        self._get_current, self._launch = of.function("cuCtxGetCurrent"), of.function("cuLaunchKernelEx")
        self._ready[place.ordinal] = (place.context, kernel.function)

    def _place(self, buffers: list[Any]) -> tuple[Device, int]:
        """The GPU and the context that arrays are in; the current ones if there are no arrays."""
        found: DeviceBuffer | None = None
        where = ""
        for buffer, label in buffers:
            if not isinstance(buffer, DeviceBuffer) or buffer.ordinal < 0:
                continue
            if found is not None and found.ordinal != buffer.ordinal:
                raise LaunchError(
                    f"{label} of @{self.name} is on cuda:{buffer.ordinal}, but {where} is on cuda:{found.ordinal}: "
                    "pass arrays of one GPU"
                )
            found, where = buffer, str(label)
        place = device(current_ordinal() if found is None else found.ordinal)
        return place, place.context

    def _kernel(self, place: Device) -> LoadedKernel:
        """The kernel in the driver, for a GPU; compiled and loaded once."""
        found = self._loaded.get(place.target)
        if found is None:
            cubin = self._make_cubin(place.target)
            with NO_FORK:
                found = self._loaded.get(place.target)
                if found is None:
                    what = f"the cubin of @{self.name} for {cubin.target} on {place.words}"
                    with current(place.context):
                        found = LoadedKernel(LoadedLibrary(cubin.data, what), cubin.kernel)
                    self._loaded[place.target] = found
        return found

    def _error(self, code: int) -> LaunchError:
        return driver().error("cuLaunchKernelEx", code, f"launching @{self.name}")


def _asks_for_nothing(options: LaunchOptions) -> bool:
    return options.stream is None and options.progress is None and not options.memory
