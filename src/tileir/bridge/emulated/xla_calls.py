"""A function in Python that XLA calls, by its foreign function interface.

The structures are those of XLA's C header (`xla/ffi/api/c_api.h`, version 0.3), which is part of jaxlib and stable.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, Structure, c_char, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_void_p
from typing import Any, Final

import ml_dtypes
import numpy

_METADATA: Final = 1
_EXECUTE: Final = 3
_ARRAY, _SCALAR, _STRING = 1, 3, 4
_INTERNAL_ERROR: Final = 13

# The numbers are those of XLA's `PrimitiveType`.
_DTYPES: Final[dict[int, Any]] = {
    1: numpy.bool_,
    2: numpy.int8,
    3: numpy.int16,
    4: numpy.int32,
    5: numpy.int64,
    6: numpy.uint8,
    7: numpy.uint16,
    8: numpy.uint32,
    9: numpy.uint64,
    10: numpy.float16,
    11: numpy.float32,
    12: numpy.float64,
    16: ml_dtypes.bfloat16,
    19: ml_dtypes.float8_e5m2,
    20: ml_dtypes.float8_e4m3fn,
    32: ml_dtypes.float4_e2m1fn,
    33: ml_dtypes.float8_e8m0fnu,
}
_HEAD: Final[list[Any]] = [("struct_size", c_size_t), ("extension", c_void_p)]


class _Version(Structure):
    _fields_ = [*_HEAD, ("major", c_int), ("minor", c_int)]


class _Extension(Structure):
    _fields_ = [("struct_size", c_size_t), ("type", c_int), ("next", c_void_p)]


class _Metadata(Structure):
    _fields_ = [("struct_size", c_size_t), ("version", _Version), ("traits", c_uint32)]


class _MetadataExtension(Structure):
    _fields_ = [("base", _Extension), ("metadata", POINTER(_Metadata))]


class _Api(Structure):
    _fields_ = [*_HEAD, ("version", _Version), ("internal", c_void_p), ("create_error", c_void_p)]


class _ErrorArguments(Structure):
    _fields_ = [*_HEAD, ("message", c_char_p), ("code", c_int)]


class _Buffer(Structure):
    _fields_ = [*_HEAD, ("dtype", c_int), ("data", c_void_p), ("rank", c_int64), ("extents", POINTER(c_int64))]


class _Span(Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class _Scalar(Structure):
    _fields_ = [("dtype", c_int), ("value", c_void_p)]


class _Array(Structure):
    _fields_ = [("dtype", c_int), ("size", c_size_t), ("data", c_void_p)]


class _Buffers(Structure):
    _fields_ = [*_HEAD, ("size", c_int64), ("types", c_void_p), ("items", POINTER(POINTER(_Buffer)))]


class _Attributes(Structure):
    _fields_ = [
        *_HEAD,
        ("size", c_int64),
        ("types", POINTER(c_int)),
        ("names", POINTER(POINTER(_Span))),
        ("items", POINTER(c_void_p)),
    ]


class _CallFrame(Structure):
    _fields_ = [
        *_HEAD,
        ("api", POINTER(_Api)),
        ("context", c_void_p),
        ("stage", c_int),
        ("arguments", _Buffers),
        ("results", _Buffers),
        ("attributes", _Attributes),
    ]


_CREATE_ERROR: Final = ctypes.CFUNCTYPE(c_void_p, POINTER(_ErrorArguments))
_HANDLER: Final = ctypes.CFUNCTYPE(c_void_p, POINTER(_CallFrame))


def handler(function: Callable[[list[Any], list[Any], dict[str, Any]], None]) -> Any:
    """Something for `jax.ffi.pycapsule`: calls a function with the arrays of operands, of results, and attributes.

    Whoever registers it keeps it: XLA calls it as long as the process lives.
    """

    def handle(pointer: Any) -> Any:
        frame = pointer.contents
        if frame.extension and _Extension.from_address(frame.extension).type == _METADATA:
            version = _MetadataExtension.from_address(frame.extension).metadata.contents.version
            version.major, version.minor = (frame.api.contents.version.major, 1) if frame.api else (0, 1)
            return None
        if frame.stage != _EXECUTE:
            return None
        try:
            function(_arrays(frame.arguments), _arrays(frame.results), _attributes(frame.attributes))
        except BaseException as error:
            message = f"{type(error).__name__}: {error}".encode()
            given = _ErrorArguments(ctypes.sizeof(_ErrorArguments), None, message, _INTERNAL_ERROR)
            return _CREATE_ERROR(frame.api.contents.create_error)(ctypes.byref(given))
        return None

    return _HANDLER(handle)


def _arrays(buffers: Any) -> list[Any]:
    """The memory of XLA's arrays, which are contiguous."""
    found = []
    for number in range(buffers.size):
        buffer = buffers.items[number].contents
        extents = tuple(buffer.extents[: buffer.rank])
        found.append(_view(buffer.data, buffer.dtype, extents))
    return found


def _view(address: int | None, dtype: int, extents: tuple[int, ...]) -> Any:
    if dtype not in _DTYPES:
        raise TypeError(f"arrays of XLA's type {dtype} are not among those of cuTile")
    kind = numpy.dtype(_DTYPES[dtype])
    count = int(numpy.prod(extents, dtype=numpy.int64))
    if not count or address is None:
        return numpy.empty(extents, kind)
    memory = (c_char * (count * kind.itemsize)).from_address(address)
    return numpy.frombuffer(memory, kind).reshape(extents)


def _attributes(given: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number in range(given.size):
        name = given.names[number].contents
        address = given.items[number]
        kind = given.types[number]
        value: Any = None
        if kind == _ARRAY:
            array = _Array.from_address(address)
            value = _view(array.data, array.dtype, (array.size,)).copy()
        elif kind == _SCALAR:
            scalar = _Scalar.from_address(address)
            value = _view(scalar.value, scalar.dtype, ())[()]
        elif kind == _STRING:
            text = _Span.from_address(address)
            value = ctypes.string_at(text.data, text.size)
        found[ctypes.string_at(name.data, name.size).decode()] = value
    return found
