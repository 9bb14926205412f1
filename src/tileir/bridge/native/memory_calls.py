"""Memory, which is the host's, and kernels, which have run when their launch returns."""

from __future__ import annotations

import ctypes
import os
from functools import partial
from typing import Final

from tileir.bridge.native.calls import (
    CONTEXT,
    FILE_NOT_FOUND,
    FUNCTIONS,
    ILLEGAL_ADDRESS,
    INVALID_HANDLE,
    INVALID_IMAGE,
    INVALID_VALUE,
    LAUNCH_FAILED,
    NO_BINARY_FOR_GPU,
    NOT_FOUND,
    NOT_SUPPORTED,
    OUT_OF_MEMORY,
    STATE,
    SUCCESS,
    add,
    done,
    put,
    put_int,
    report,
)
from tileir.bridge.native.image import NoBytecode, bytecode_at
from tileir.bridge.native.kernels import Library
from tileir.execute.errors import ExecutionError
from tileir.ir.diagnostics import TileIRError

_MEMORY_POOL: Final = 0xC0DF0

# --- memory ---


def _allocate(found: int, size: int, *arguments: int) -> int:
    address = STATE.allocations.add(size) if size else 0
    return put(found, address) if address else OUT_OF_MEMORY if size else INVALID_VALUE


for _name, _parameters in {
    "cuMemAlloc_v2": "pp", "cuMemAllocAsync": "ppp", "cuMemAllocFromPoolAsync": "pppp", "cuMemAllocHost_v2": "pp",
    "cuMemAllocManaged": "ppi", "cuMemHostAlloc": "ppi",
}.items():  # fmt: skip
    FUNCTIONS[_name] = _parameters, _allocate


def _free(address: int, *arguments: int) -> int:
    return SUCCESS if not address or STATE.allocations.remove(address) else INVALID_VALUE


for _name, _parameters in {"cuMemFree_v2": "p", "cuMemFreeAsync": "pp", "cuMemFreeHost": "p"}.items():
    FUNCTIONS[_name] = _parameters, _free


@add("cuMemHostGetDevicePointer_v2", "ppi")
def _device_pointer(found: int, address: int, flags: int) -> int:
    return put(found, address)


@add("cuMemGetAddressRange_v2", "ppp")
def _address_range(base: int, size: int, address: int) -> int:
    own = STATE.allocations.around(address)
    if own is None:
        return NOT_FOUND
    for place, value in ((base, own.address), (size, own.size)):
        if place:
            put(place, value)
    return SUCCESS


@add("cuPointerGetAttribute", "pip")
def _pointer_attribute(found: int, attribute: int, address: int) -> int:
    own = STATE.allocations.around(address)
    if own is None:
        return INVALID_VALUE
    # The context, the kind of memory (a device's), the address for the device and the host, the device.
    wide, narrow = {1: CONTEXT, 3: address, 4: address}, {2: 2, 8: 0, 9: 0}
    if attribute in wide:
        return put(found, wide[attribute])
    return put_int(found, narrow[attribute]) if attribute in narrow else NOT_SUPPORTED


def _pool(found: int, *arguments: int) -> int:
    return put(found, _MEMORY_POOL)


FUNCTIONS["cuDeviceGetDefaultMemPool"] = "pi", _pool
FUNCTIONS["cuMemPoolCreate"] = "pp", _pool
FUNCTIONS["cuMemPoolDestroy"] = "p", done


def _copy(to: int, source: int, size: int, *stream: int) -> int:
    ctypes.memmove(to, source, size)
    return SUCCESS


def _fill(size: int, to: int, value: int, count: int, *stream: int) -> int:
    pattern = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    ctypes.memmove(to, pattern * count, size * count)
    return SUCCESS


FUNCTIONS["cuMemcpy"], FUNCTIONS["cuMemcpyAsync"] = ("ppp", _copy), ("pppp", _copy)
for _name in ("HtoD", "DtoH", "DtoD"):
    FUNCTIONS[f"cuMemcpy{_name}_v2"], FUNCTIONS[f"cuMemcpy{_name}Async_v2"] = ("ppp", _copy), ("pppp", _copy)
for _size in (1, 2, 4):
    _name, _function = f"cuMemsetD{8 * _size}", partial(_fill, _size)
    FUNCTIONS[f"{_name}_v2"], FUNCTIONS[f"{_name}Async"] = ("pip", _function), ("pipp", _function)


# --- kernels ---


def _load(found: int, image: int, *options: int) -> int:
    try:
        library = Library(bytecode_at(image), STATE.launcher)
    except NoBytecode as error:
        report(f"tileir: the program loads {error}")
        return NO_BINARY_FOR_GPU
    except TileIRError as error:
        report(str(error))
        return INVALID_IMAGE
    handle = STATE.handle()
    STATE.libraries[handle] = library
    return put(found, handle)


for _name, _parameters in {
    "cuModuleLoadData": "pp",
    "cuModuleLoadDataEx": "ppipp",
    "cuLibraryLoadData": "ppppippi",
}.items():
    FUNCTIONS[_name] = _parameters, _load


@add("cuModuleLoad", "pp")
def _load_file(found: int, path: int) -> int:
    try:
        with open(os.fsdecode(ctypes.string_at(path)), "rb") as file:
            image = ctypes.create_string_buffer(file.read())
    except OSError:
        return FILE_NOT_FOUND
    return _load(found, ctypes.addressof(image))


def _unload(library: int) -> int:
    return SUCCESS if STATE.libraries.pop(library, None) is not None else INVALID_HANDLE


FUNCTIONS["cuModuleUnload"], FUNCTIONS["cuLibraryUnload"] = ("p", _unload), ("p", _unload)


def _kernel(found: int, library: int, name: int) -> int:
    if library not in STATE.libraries:
        return INVALID_HANDLE
    kernel = STATE.libraries[library].kernel(ctypes.string_at(name).decode())
    if kernel is None:
        return NOT_FOUND
    handle = STATE.handle()
    STATE.kernels[handle] = kernel
    return put(found, handle)


FUNCTIONS["cuModuleGetFunction"], FUNCTIONS["cuLibraryGetKernel"] = ("ppp", _kernel), ("ppp", _kernel)


@add("cuKernelGetFunction", "pp")
def _function_of(found: int, kernel: int) -> int:
    return put(found, kernel)


def _kernel_attribute(found: int, *arguments: int) -> int:
    return put_int(found, 0)


FUNCTIONS["cuFuncGetAttribute"], FUNCTIONS["cuKernelGetAttribute"] = (
    ("pip", _kernel_attribute),
    ("pipi", _kernel_attribute),
)


def _launch(kernel: int, grid: tuple[int, int, int], parameters: int, extra: int) -> int:
    found = STATE.kernels.get(kernel)
    if found is None:
        return INVALID_HANDLE
    if extra:
        report("tileir: the program packs the parameters of a launch into a buffer (`extra`), which is not emulated")
        return NOT_SUPPORTED
    try:
        found.launch(grid, parameters, STATE.allocations)
    except ExecutionError as error:
        report(str(error))
        return ILLEGAL_ADDRESS
    except TileIRError as error:
        report(str(error))
        return LAUNCH_FAILED
    return SUCCESS


@add("cuLaunchKernel", "piiiiiiippp")
def _launch_kernel(kernel: int, x: int, y: int, z: int, *others: int) -> int:
    return _launch(kernel, (x, y, z), *others[-2:])


@add("cuLaunchKernelEx", "pppp")
def _launch_extended(configuration: int, kernel: int, parameters: int, extra: int) -> int:
    x, y, z = (ctypes.c_uint * 3).from_address(configuration)
    return _launch(kernel, (x, y, z), parameters, extra)
