"""The code of a kernel in the driver: compiled when a launch first needs it for a GPU, and loaded once.

The driver puts a library into each context that launches one of its kernels.  What is loaded stays, as in torch and
Triton, since a kernel without references may still run or be in a graph; `release_memory` unloads what no kernel needs.

Global variables are in the cubin, with their first values; each context has its own.  Kernels of one module
(`Kernel.sibling`) that can write to them share one cubin, loaded once.
"""

from __future__ import annotations

import ctypes
from _blake2 import blake2b
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple
from weakref import WeakSet

from tileir.dialect.types import PointerType, TileType
from tileir.execute.arguments.binding import BoundArguments
from tileir.execute.dtypes import memory_dtype
from tileir.execute.errors import BlockId, LaunchError
from tileir.execute.gpu.arrays import synchronize
from tileir.execute.gpu.cubin import Cubin
from tileir.execute.gpu.driver.devices import Device, copy_to_gpu, current
from tileir.execute.gpu.driver.library import NOT_FOUND, DriverError, NoGpuError, driver
from tileir.execute.gpu.launch_record import Hidden, Packer, Record
from tileir.execute.gpu.targets import TARGETS, host_here, runs_on, target_of_device
from tileir.execute.launching.release import release_with
from tileir.execute.memory import Region
from tileir.forking import NO_FORK
from tileir.ir.core import Operation

_PLAIN_SHARED: Final = 48 << 10
"""Bytes of shared memory that a launch may reserve without opting in by `_MOST_SHARED`."""
_MOST_SHARED: Final = 8
_libraries: Final[dict[tuple[int, bytes], LoadedLibrary]] = {}
"""What is loaded, by its content, and by the globals of the module it is from if it has any."""
_codes: Final[WeakSet[LaunchedCode]] = WeakSet()  # What may be launched.


class LoadedLibrary:
    """A cubin in the driver, until `unload`."""

    def __init__(self, data: bytes, what: Callable[[], str], keep: object = None) -> None:
        """`what` returns its name for errors; `keep` lives as long as this."""
        self._what: Final = what
        self._keep: Final = keep
        self.contexts: set[int] = set()  # Those in which its kernels may be under way.
        self.filled: set[int] = set()  # Those in which its global variables have their values.
        self.handle: Final = driver().handle(
            "cuLibraryLoadData", lambda: f"loading {what()}", data, None, None, 0, None, None, 0
        )

    def kernel(self, name: str) -> int:
        """A kernel, to launch."""
        found = ctypes.c_size_t()
        code = driver().function("cuLibraryGetKernel")(ctypes.byref(found), self.handle, name.encode())
        if code == NOT_FOUND:
            raise LaunchError(f"{self._what()} has no kernel @{name}: it was made from another program")
        if code:
            raise driver().error("cuLibraryGetKernel", code, f"looking for @{name} in {self._what()}")
        return found.value

    def unload(self) -> None:
        """Take it out of the driver; no kernel of it may be under way, nor be in a graph that is replayed."""
        driver().call("cuLibraryUnload", lambda: f"unloading {self._what()}", self.handle)

    def variable(self, name: str) -> tuple[int, int] | None:
        """The address and size of a global variable, in the context that is current; None if there is none."""
        address, size = ctypes.c_size_t(), ctypes.c_size_t()
        function = driver().function("cuLibraryGetGlobal")
        code = function(ctypes.byref(address), ctypes.byref(size), self.handle, name.encode())
        if code not in (0, NOT_FOUND):
            raise driver().error("cuLibraryGetGlobal", code, f"looking for the global @{name} in {self._what()}")
        return None if code else (address.value, size.value)


def unload_unused() -> None:
    """Unload what no kernel needs, once the GPUs have done what is under way."""
    if not _libraries or driver().forked:
        return
    with NO_FORK:
        used = {library for code in _codes for library, _ in code.loaded.values()}
        for key, library in list(_libraries.items()):
            if library in used:
                continue
            try:
                for context in library.contexts:
                    with current(context):
                        driver().call("cuCtxSynchronize", "waiting for a GPU")
                library.unload()
            except DriverError:
                # A graph is being captured, or a kernel ran wild: another time, or never.
                continue
            del _libraries[key]


release_with(unload_unused)


Complete = Callable[..., None]
"""Fills in what code takes beside the arguments: of a record, a context, a grid, a stream, the arguments, and whether
the record is kept, to be launched again and again."""


class NotDescribed(Exception):
    """The driver makes no descriptor of an array, and the code that was chosen needs one."""


class Launching(NamedTuple):
    """A launch, as the choice of its code sees it."""

    place: Device
    context: int
    grid: BlockId
    stream: int
    values: Sequence[Any]  # The arguments: addresses, numbers of Python or NumPy.
    bound: BoundArguments | None = None
    """The inspected arguments; None where only `values` are known."""
    is_described: bool = True  # Whether code may take descriptors of arrays.


class LaunchedCode:
    """Code for launches of a kernel, compiled and loaded for each architecture; `complete` fills in hidden
    parameters."""

    def __init__(
        self,
        packer: Packer,
        entry: Operation,
        globals: dict[str, Region],
        make_cubin: Callable[[str], Cubin],
        complete: Complete | None = None,
    ) -> None:
        self.packer: Final = packer
        self.complete: Final = complete
        self._name: Final = entry.symbol_name or ""
        self._globals: Final = globals
        self._make_cubin: Final = make_cubin
        self._sizes: Final = [
            each.size if isinstance(each, Hidden) else _parameter_bytes(packer.types[each]) for each in packer.sources
        ]
        self.loaded: Final[dict[str, tuple[LoadedLibrary, int]]] = {}  # By target, a library and the kernel in it.
        self._functions: Final[dict[int, Any]] = {}  # By context.
        _codes.add(self)

    def fill(self, record: Record, launching: Launching, is_kept: bool = False) -> None:
        """Fill a record with all that a launch is given, or launches that are made again and again, if it `is_kept`."""
        _, context, grid, stream, values, *_ = launching
        self.packer.fill(record, grid, stream, values)
        if self.complete is not None:
            self.complete(record, context, grid, stream, values, is_kept)

    def load(self, place: Device, context: int) -> int:
        """The kernel in the driver, to be launched in a context of a GPU."""
        library, kernel = self.loaded.get(place.target) or self._load(place)
        library.contexts.add(context)
        if self._globals and context not in library.filled:
            self._fill(library, context)
        return kernel

    def function(self, place: Device, context: int) -> Any:
        """What launches in a context take, which is current: the driver refuses it in others."""
        kernel = self.load(place, context)
        found = self._functions.get(context)
        if found is None:
            handle = driver().handle("cuKernelGetFunction", f"loading @{self._name}", kernel)
            shared = self.packer.form.shared
            if shared > _PLAIN_SHARED:
                attempt = f"reserving {shared} bytes of shared memory for @{self._name}"
                driver().call("cuFuncSetAttribute", attempt, handle, _MOST_SHARED, shared)
            found = self._functions[context] = ctypes.c_void_p(handle)
        return found

    def _load(self, place: Device) -> tuple[LoadedLibrary, int]:
        target = target_of_device(*place.capability)
        if not target:
            raise NoGpuError(
                f"{place.words} cannot run @{self._name}: Tile IR programs are compiled for {TARGETS[0]} and newer"
            )
        cubin = self._make_cubin(target)
        what = f"the cubin of @{self._name} for {cubin.target}"
        if not runs_on(cubin.target, *place.capability):
            raise LaunchError(f"{what} does not run on {place.words}: compile it for {target}")
        machine = host_here()
        if cubin.host not in ("", machine):
            raise LaunchError(
                f"{what} is to be launched from {cubin.host}, and this machine is {machine}: compile it here"
            )
        sizes = cubin.parameter_sizes
        if sizes is not None and sizes != self._sizes:
            # The driver would read arguments that are not there.
            raise LaunchError(
                f"{what} was made from another program: its parameters take {_listed(sizes)} bytes, and "
                f"those of the kernel {_listed(self._sizes)}"
            )
        with NO_FORK:
            found = self.loaded.get(place.target)
            if found is None:
                with current(place.context):
                    library = self._library(cubin.data, lambda: f"{what} on {place.words}")
                    found = self.loaded[place.target] = library, library.kernel(cubin.kernel)
        return found

    def _library(self, data: bytes, what: Callable[[], str]) -> LoadedLibrary:
        key = (id(self._globals) if self._globals else 0, blake2b(data, digest_size=16).digest())
        found = _libraries.get(key)
        if found is None:
            # What the key is made of stays as long as the library.
            found = _libraries[key] = LoadedLibrary(data, what, self._globals)
        return found

    def _fill(self, library: LoadedLibrary, context: int) -> None:
        """Give global variables the values that they have on the host, before a context's first launch."""
        with NO_FORK, current(context):
            if context in library.filled:
                return
            for name, region in self._globals.items():
                found = library.variable(name) if region.writable else None
                if found is not None:
                    address, size = found
                    copy_to_gpu(address, region.start, min(size, region.size), 0)
            synchronize(0, f"copying the globals of @{self._name} to the GPU")
            library.filled.add(context)


def _parameter_bytes(type: object) -> int:
    if not isinstance(type, TileType):
        return 0
    return 8 if isinstance(type.element, PointerType) else int(memory_dtype(type.element).itemsize)


def _listed(sizes: list[int]) -> str:
    return ", ".join([str(size) for size in sizes]) or "no"


def launch_filled(record: Record, function: Any, failed: Callable[[int], LaunchError]) -> None:
    """Launch with a record that is filled; `failed` makes the error of a code."""
    code = driver().function("cuLaunchKernelEx")(record.configuration, function, record.parameters, None)
    if code:
        raise failed(code)
