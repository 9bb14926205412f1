"""The device, its context, streams and events, and the texts of errors.

Work is done when a call returns, so streams and events only exist.
"""

from __future__ import annotations

import ctypes
import time
from functools import partial
from typing import Final

from tileir.bridge.native.calls import (
    CONTEXT,
    FUNCTIONS,
    INVALID_CONTEXT,
    INVALID_DEVICE,
    INVALID_HANDLE,
    INVALID_VALUE,
    STATE,
    SUCCESS,
    TEXTS,
    add,
    done,
    put,
    put_int,
)
from tileir.execute.gpu import gpus

VERSION: Final = 13050

# Settings that change no result, and waiting for work that is done.
for _name, _parameters in {
    "cuCtxSetFlags": "i", "cuCtxSynchronize": "", "cuDevicePrimaryCtxRelease_v2": "i", "cuEventQuery": "p",
    "cuEventSynchronize": "p", "cuFuncSetAttribute": "pii", "cuFuncSetCacheConfig": "pi", "cuInit": "i",
    "cuKernelSetAttribute": "iipi", "cuMemPoolSetAttribute": "pip", "cuStreamDestroy_v2": "p", "cuStreamQuery": "p",
    "cuStreamSynchronize": "p", "cuStreamWaitEvent": "ppi",
}.items():  # fmt: skip
    FUNCTIONS[_name] = _parameters, done


# --- the device, and errors ---


@add("cuDriverGetVersion", "p")
def _version(found: int) -> int:
    return put_int(found, VERSION)


@add("cuDeviceGetCount", "p")
def _count(found: int) -> int:
    return put_int(found, 1)


@add("cuDeviceGet", "pi")
def _device(found: int, ordinal: int) -> int:
    return INVALID_DEVICE if ordinal else put_int(found, 0)


@add("cuDeviceGetName", "pii")
def _name_of_device(found: int, size: int, device: int) -> int:
    name = STATE.gpu.name.encode()[: size - 1] + b"\0"
    ctypes.memmove(found, name, len(name))
    return SUCCESS


@add("cuDeviceGetUuid_v2", "pi")
def _uuid(found: int, device: int) -> int:
    ctypes.memmove(found, b"emulated by tile", 16)
    return SUCCESS


@add("cuDeviceTotalMem_v2", "pi")
def _total(found: int, device: int) -> int:
    return put(found, STATE.gpu.memory)


@add("cuMemGetInfo_v2", "pp")
def _memory_info(free: int, total: int) -> int:
    put(total, STATE.gpu.memory)
    return put(free, max(STATE.gpu.memory - STATE.allocations.size, 0))


@add("cuDeviceGetAttribute", "pii")
def _attribute(found: int, attribute: int, device: int) -> int:
    gpu = STATE.gpu
    threads = {1: gpus.THREADS_PER_BLOCK, 2: 1024, 3: 1024, 4: 64, 10: gpus.WARP_SIZE, 39: gpu.limits.threads}
    grid = {5: 2**31 - 1, 6: 65535, 7: 65535}
    shared = {8: gpus.SHARED_MEMORY_PER_BLOCK, 81: gpu.limits.shared_memory, 97: gpu.limits.shared_memory_per_block}
    registers = {12: gpus.REGISTERS, 82: gpus.REGISTERS}
    clocks = {13: gpu.clock, 36: gpu.memory_clock, 37: gpu.memory_bus, 38: gpu.l2_cache}
    kind = {16: gpu.multiprocessors, 18: int(gpu.integrated), 34: 1, 75: gpu.major, 76: gpu.minor}
    # Mapped host memory, concurrent kernels, unified addresses, managed memory, cooperative launches, memory pools.
    has = dict.fromkeys((19, 31, 41, 83, 95, 115), 1)
    return put_int(found, (threads | grid | shared | registers | clocks | kind | has).get(attribute, 0))


def _error_text(which: int, code: int, found: int) -> int:
    texts = TEXTS.get(code)
    put(found, ctypes.addressof(texts[which]) if texts else 0)
    return SUCCESS if texts else INVALID_VALUE


FUNCTIONS["cuGetErrorName"] = "ip", partial(_error_text, 0)
FUNCTIONS["cuGetErrorString"] = "ip", partial(_error_text, 1)


# --- contexts ---


@add("cuDevicePrimaryCtxRetain", "pi")
def _retain(found: int, device: int) -> int:
    return INVALID_DEVICE if device else put(found, CONTEXT)


def _create_context(found: int, *arguments: int) -> int:
    STATE.stack.append(CONTEXT)
    return put(found, CONTEXT)


FUNCTIONS["cuCtxCreate_v2"] = "pii", _create_context
FUNCTIONS["cuCtxCreate_v4"] = "ppii", _create_context


@add("cuCtxPushCurrent_v2", "p")
def _push(context: int) -> int:
    STATE.stack.append(context)
    return SUCCESS


@add("cuCtxPopCurrent_v2", "p")
def _pop(found: int) -> int:
    if not STATE.stack:
        return INVALID_CONTEXT
    context = STATE.stack.pop()
    return put(found, context) if found else SUCCESS


@add("cuCtxDestroy_v2", "p")
def _destroy(context: int) -> int:
    return _pop(0)


@add("cuCtxSetCurrent", "p")
def _set_current(context: int) -> int:
    STATE.stack[-1:] = [context] if context else []
    return SUCCESS


@add("cuCtxGetCurrent", "p")
def _current(found: int) -> int:
    return put(found, STATE.stack[-1] if STATE.stack else 0)


@add("cuCtxGetDevice", "p")
def _current_device(found: int) -> int:
    return put_int(found, 0) if STATE.stack else INVALID_CONTEXT


@add("cuCtxGetDevice_v2", "pp")
def _device_of(found: int, context: int) -> int:
    return put_int(found, 0) if context or STATE.stack else INVALID_CONTEXT


@add("cuCtxGetId", "pp")
def _context_id(context: int, found: int) -> int:
    return put(found, 1)


@add("cuCtxGetApiVersion", "pp")
def _api_version(context: int, found: int) -> int:
    return put_int(found, VERSION)


# --- streams and events ---


def _stream(found: int, *arguments: int) -> int:
    return put(found, STATE.handle())


FUNCTIONS["cuStreamCreate"], FUNCTIONS["cuStreamCreateWithPriority"] = ("pi", _stream), ("pii", _stream)


@add("cuStreamGetCtx", "pp")
def _context_of_stream(stream: int, found: int) -> int:
    return put(found, CONTEXT)


@add("cuStreamGetId", "pp")
def _stream_id(stream: int, found: int) -> int:
    return put(found, stream)


@add("cuStreamIsCapturing", "pp")
def _is_capturing(stream: int, found: int) -> int:
    return put_int(found, 0)


@add("cuStreamWriteValue32_v2", "ppii")
def _write_value(stream: int, address: int, value: int, flags: int) -> int:
    return put(address, value, ctypes.c_uint)


def _call_host(stream: int, function: int, data: int, *mode: int) -> int:
    ctypes.CFUNCTYPE(None, ctypes.c_size_t)(function)(data)
    return SUCCESS


FUNCTIONS["cuLaunchHostFunc"], FUNCTIONS["cuLaunchHostFunc_v2"] = ("ppp", _call_host), ("pppi", _call_host)


@add("cuEventCreate", "pi")
def _event(found: int, flags: int) -> int:
    return put(found, STATE.handle())


@add("cuEventRecord", "pp")
def _record(event: int, stream: int) -> int:
    STATE.events[event] = time.perf_counter()
    return SUCCESS


@add("cuEventDestroy_v2", "p")
def _forget(event: int) -> int:
    STATE.events.pop(event, None)
    return SUCCESS


def _elapsed(found: int, begin: int, end: int) -> int:
    if begin not in STATE.events or end not in STATE.events:
        return INVALID_HANDLE
    ctypes.c_float.from_address(found).value = 1e3 * (STATE.events[end] - STATE.events[begin])
    return SUCCESS


FUNCTIONS["cuEventElapsedTime"], FUNCTIONS["cuEventElapsedTime_v2"] = ("ppp", _elapsed), ("ppp", _elapsed)
