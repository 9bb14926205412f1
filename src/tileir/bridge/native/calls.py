"""What the functions of the emulated driver share: the table of them, what the program has made, error codes."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from tileir.bridge.native.kernels import Allocations, Launcher, Library, NativeKernel
from tileir.bridge.settings import Settings
from tileir.execute.gpu import gpus

SUCCESS: Final = 0
INVALID_VALUE: Final = 1
OUT_OF_MEMORY: Final = 2
INVALID_DEVICE: Final = 101
INVALID_IMAGE: Final = 200
INVALID_CONTEXT: Final = 201
NO_BINARY_FOR_GPU: Final = 209
FILE_NOT_FOUND: Final = 301
INVALID_HANDLE: Final = 400
NOT_FOUND: Final = 500
ILLEGAL_ADDRESS: Final = 700
LAUNCH_FAILED: Final = 719
NOT_SUPPORTED: Final = 801
UNKNOWN: Final = 999
ERRORS: Final = {
    SUCCESS: ("CUDA_SUCCESS", "no error"),
    INVALID_VALUE: ("CUDA_ERROR_INVALID_VALUE", "invalid argument"),
    OUT_OF_MEMORY: ("CUDA_ERROR_OUT_OF_MEMORY", "out of memory"),
    INVALID_DEVICE: ("CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"),
    INVALID_IMAGE: ("CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"),
    INVALID_CONTEXT: ("CUDA_ERROR_INVALID_CONTEXT", "invalid device context"),
    NO_BINARY_FOR_GPU: ("CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"),
    FILE_NOT_FOUND: ("CUDA_ERROR_FILE_NOT_FOUND", "file not found"),
    INVALID_HANDLE: ("CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"),
    NOT_FOUND: ("CUDA_ERROR_NOT_FOUND", "named symbol not found"),
    ILLEGAL_ADDRESS: ("CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
    LAUNCH_FAILED: ("CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"),
    NOT_SUPPORTED: ("CUDA_ERROR_NOT_SUPPORTED", "operation not supported"),
    UNKNOWN: ("CUDA_ERROR_UNKNOWN", "unknown error"),
}
TEXTS: Final = {
    code: tuple([ctypes.create_string_buffer(text.encode()) for text in texts]) for code, texts in ERRORS.items()
}
CONTEXT: Final = 0xC0DE0

Function = Callable[..., int]
FUNCTIONS: Final[dict[str, tuple[str, Function]]] = {}
"""Each function: its parameters, and what it does."""


class State:
    """What the program has made."""

    def __init__(self) -> None:
        self.gpu = gpus.gpu_named(gpus.DEFAULT)
        self.launcher = Launcher(Settings())
        self.allocations = Allocations()
        self.libraries: dict[int, Library] = {}
        self.kernels: dict[int, NativeKernel] = {}
        self.events: dict[int, float] = {}
        self.contexts: dict[int, list[int]] = {}
        self.last_handle = 0x7A0000
        self.reported: set[str] = set()
        self.callback: Any = None

    def handle(self) -> int:
        self.last_handle += 16
        return self.last_handle

    @property
    def stack(self) -> list[int]:
        """The contexts of this thread.  Python's own thread-local data ends with each call from another language."""
        return self.contexts.setdefault(threading.get_ident(), [])


STATE: Final = State()


def report(message: str) -> None:
    if message not in STATE.reported:
        STATE.reported.add(message)
        sys.stdout.flush()
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()


def put(address: int, value: int, kind: Any = ctypes.c_size_t) -> int:
    kind.from_address(address).value = value
    return SUCCESS


put_int = partial(put, kind=ctypes.c_int)


def done(*arguments: int) -> int:
    return SUCCESS


def add(name: str, parameters: str) -> Callable[[Function], Function]:
    def add(function: Function) -> Function:
        FUNCTIONS[name] = parameters, function
        return function

    return add
