"""The emulated driver: the functions of `libcuda.so.1` by name and number, and the call of one."""

from __future__ import annotations

import ctypes
import traceback
from functools import partial
from typing import Any, Final

from tileir.bridge.native import device_calls, memory_calls
from tileir.bridge.native.calls import (
    FUNCTIONS,
    NOT_FOUND,
    NOT_SUPPORTED,
    STATE,
    SUCCESS,
    UNKNOWN,
    done,
    put,
    put_int,
    report,
)
from tileir.bridge.native.kernels import Launcher
from tileir.bridge.settings import settings_of_variable
from tileir.execute.gpu import gpus

__all__ = ["begin", "device_calls", "exported_names", "memory_calls"]

REFUSED: Final = (
    "cuGetExportTable", "cuGraphAddEventRecordNode", "cuGraphAddKernelNode_v2", "cuGraphAddMemAllocNode",
    "cuGraphAddMemFreeNode", "cuGraphAddMemsetNode", "cuGraphCreate", "cuGraphDestroy", "cuGraphExecDestroy",
    "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuIpcCloseMemHandle", "cuIpcGetMemHandle",
    "cuIpcOpenMemHandle_v2", "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuTensorMapEncodeTiled",
)  # fmt: skip
"""Functions that launchers load, and that return CUDA_ERROR_NOT_SUPPORTED with a message."""
_HINTS: Final = {"cuGetExportTable": ": it uses the CUDA runtime, whose driver calls are private"}
_TABLE_OF_NVRTC: Final = bytes.fromhex("da9151d33ae6cc41a5c04f26d533e328")
"""The private table that NVRTC looks for; it compiles without one."""
_CHANGED: Final = {"cuCtxGetDevice_v2": 13000, "cuCtxCreate_v4": 13000}
"""Functions whose parameters differ from those of the version before, and the version of CUDA they are for."""


def exported_names() -> list[str]:
    """What the library exports; it calls a function by its position here."""
    return [*FUNCTIONS, *REFUSED]


def begin(library: str, variable: int, settings: str) -> None:
    """Have a library call `FUNCTIONS` through the function pointer at an address; called once in a process."""
    found = settings_of_variable(settings)
    assert found is not None
    if found.target:
        STATE.gpu = gpus.gpu_named(found.target)
    STATE.launcher = Launcher(found)
    exported = ctypes.CDLL(library)
    names = exported_names()
    addresses = {name: ctypes.cast(getattr(exported, name), ctypes.c_void_p).value or 0 for name in names}
    FUNCTIONS["cuGetProcAddress"] = "ppip", partial(_address, addresses)
    FUNCTIONS["cuGetProcAddress_v2"] = "ppipp", partial(_address, addresses)
    STATE.callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_size_t))(
        lambda number, given: _end(given[0]) if number < 0 else _called(names[number], given)
    )
    ctypes.c_void_p.from_address(variable).value = ctypes.cast(STATE.callback, ctypes.c_void_p).value


def _called(name: str, given: Any) -> int:
    if name not in FUNCTIONS:
        if name == "cuGetExportTable" and ctypes.string_at(given[1], 16) == _TABLE_OF_NVRTC:
            return NOT_SUPPORTED
        report(f"tileir: the program calls {name}, which is not emulated{_HINTS.get(name, '')}")
        return NOT_SUPPORTED
    kinds, function = FUNCTIONS[name]
    try:
        return function(*[given[at] & 0xFFFFFFFF if kind == "i" else given[at] for at, kind in enumerate(kinds)])
    except Exception:
        # An error of tileir's own: the callers are native, and could not show it.
        traceback.print_exc()
        return UNKNOWN


def _end(status: int) -> int:
    """The status that a program ends with."""
    return STATE.launcher.end(status)


def _address(addresses: dict[str, int], symbol: int, found: int, version: int, flags: int, status: int = 0) -> int:
    """The function that a program of a version means by a name without its suffix."""
    name = ctypes.string_at(symbol).decode()
    names = [each for each in (f"{name}_v4", f"{name}_v2", name) if version >= _CHANGED.get(each, 0)]
    address = next((addresses[each] for each in names if each in addresses), 0)
    if status:
        put_int(status, 0 if address else 1)
    put(found, address)
    return SUCCESS if address else NOT_FOUND


FUNCTIONS["cuGetProcAddress"] = "ppip", done
FUNCTIONS["cuGetProcAddress_v2"] = "ppipp", done
