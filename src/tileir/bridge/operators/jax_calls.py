"""`cuda.tile.jax.cutile_call` in graphs that JAX compiles for the CPU.

cuTile lowers the call to a foreign function of XLA, with the cubin as an attribute.  In a context it does so for the
CPU too, with the bytecode instead of the cubin: the graph looks the same, and can be exported.  The function
launches the kernel as any launch in a context; in a graph from another process, where the kernel is not at hand, it
runs the bytecode.
"""

from __future__ import annotations

import ctypes
import functools
import math
import struct
from collections.abc import Callable, Iterator
from ctypes import c_char, c_int, c_uint64, c_void_p
from typing import Any, Final, cast

import ml_dtypes
import numpy

from tileir.bridge.compiling import compile
from tileir.bridge.contexts import LAUNCHES, active
from tileir.bridge.entry_points import perform
from tileir.bridge.hooks import replace
from tileir.bridge.launch import BYTECODE_VERSION
from tileir.execute.launching.kernel import Kernel

_TARGET: Final = "cutile_launch"
_KERNELS: Final[dict[bytes, tuple[Any, list[Any]]]] = {}
"""For each bytecode, the kernel that it was compiled from, and the parameters of its signature."""
_EXPORTED: Final[dict[bytes, Kernel]] = {}
_kept: Final[list[Any]] = []


def hook_jax_calls(module: Any) -> None:
    """`module` is `cuda.tile.jax._jax`."""
    if not module.HAS_JAX:
        return
    _kept.append(_handler(functools.partial(_launched, module)))
    module.jax.ffi.register_ffi_target(_TARGET, module.jax.ffi.pycapsule(_kept[0]), platform="cpu")
    replace(module, "export_kernel", _export_kernel)

    def register_lowering(register_primitive: Callable[[], object]) -> None:
        register_primitive()
        lowering = functools.partial(_lowered, module._cutile_call_ffi_p_lower)
        module.mlir.register_lowering(module.cutile_call_ffi_p, lowering, platform="cpu")

    replace(module, "register_primitive", register_lowering)
    if module.cutile_call_ffi_p is not None:
        register_lowering(lambda: None)


def _lowered(original: Any, *arguments: Any, **parameters: Any) -> Any:
    if active() is None:
        raise NotImplementedError("cutile_call needs a GPU: in tileir.emulate() it runs on the CPU")
    return original(*arguments, **parameters)


def _export_kernel(
    original: Any, kernel: Any, signatures: Any, output_file: Any, *, output_format: str, **options: Any
) -> None:
    if active() is None or output_format != "cubin":
        original(kernel, signatures, output_file, output_format=output_format, **options)
        return
    # Without a version cuTile queries the assembler, which need not be there, for the newest that it knows.
    options["bytecode_version"] = BYTECODE_VERSION
    original(kernel, signatures, output_file, output_format="tileir_bytecode", **options)
    _KERNELS[bytes(output_file.getvalue())] = (kernel, list(signatures[0].parameters))


def _launched(module: Any, operands: list[Any], results: list[Any], attributes: dict[str, Any]) -> None:
    grid = tuple([int(attributes[name]) for name in ("grid_x", "grid_y", "grid_z")])
    buffers = [*operands, *results, *attributes["scalar_packed"]]
    given = [buffers[at] for at in attributes["buffer_ids"]]
    code = attributes["cubin_code"]
    context = active()
    if code in _KERNELS and context is not None:
        kernel, constraints = _KERNELS[code]
        rest = iter(given)
        perform(context, grid, kernel, tuple([_argument(module, constraint, rest) for constraint in constraints]))
        return
    if code not in _EXPORTED:
        _EXPORTED[code] = compile(code, entry=attributes["function_name"].decode())
    LAUNCHES.here += 1
    flat: list[Any] = []
    for value in given:
        if isinstance(value, numpy.ndarray):
            flat += [value, *value.shape, *[stride // value.itemsize for stride in value.strides]]
        else:
            kind = _EXPORTED[code].parameters[len(flat)]
            flat.append(_unpacked(value, "f32" in kind, "i64" in kind))
    _EXPORTED[code].launch(grid, flat)


def _argument(module: Any, constraint: Any, rest: Iterator[Any]) -> Any:
    if isinstance(constraint, module.TupleConstraint):
        return tuple([_argument(module, item, rest) for item in constraint.items])
    if isinstance(constraint, module.ConstantConstraint):
        return constraint.value
    value = next(rest)
    if isinstance(constraint, module.ScalarConstraint):
        return _unpacked(value, constraint.dtype == module.ct.float32, constraint.dtype == module.ct.int64)
    return value


def _unpacked(packed: Any, is_float: bool, is_wide: bool) -> float:
    """A number from the low bits of a word."""
    format = "<f" if is_float else "<q" if is_wide else "<i"
    return cast(float, struct.unpack_from(format, int(packed).to_bytes(8, "little"))[0])


# The structures are those of XLA's C header (`xla/ffi/api/c_api.h`, version 0.3), which is part of jaxlib and stable.
# Each field takes 64 bits, except for pairs of version numbers; most begin with the size and a pointer to an extension.

_METADATA: Final = 1
_EXECUTE: Final = 3
_ATTRIBUTES: Final[dict[int, Callable[[int], Any]]] = {
    1: lambda address: _view(*[_words(address, 3)[at] for at in (0, 2, 1)]).copy(),
    2: lambda address: None,
    3: lambda address: _view(*_words(address, 2))[()],
    4: lambda address: ctypes.string_at(*_words(address, 2)),
}
"""What reads an array (its type, extent and address), a dictionary, which cuTile has none of, a scalar and a text."""
_INTERNAL_ERROR: Final = 13
_INT: Final = 0xFFFFFFFF
"""The bits of a field that is a C `int`."""

_DTYPES: Final[dict[int, Any]] = {
    **dict(enumerate(("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), 1)),
    **dict(enumerate(("float16", "float32", "float64"), 10)),
    16: ml_dtypes.bfloat16,
    19: ml_dtypes.float8_e5m2,
    20: ml_dtypes.float8_e4m3fn,
    32: ml_dtypes.float4_e2m1fn,
    33: ml_dtypes.float8_e8m0fnu,
}
"""By the numbers of XLA's `PrimitiveType`."""
_FUNCTION: Final = ctypes.CFUNCTYPE(c_void_p, c_void_p)
"""The type of handlers, which are given a call frame, and of `XLA_FFI_Error_Create`."""


def _words(address: int, count: int) -> list[int]:
    return list((c_uint64 * count).from_address(address))


def _handler(function: Callable[[list[Any], list[Any], dict[str, Any]], None]) -> Any:
    """For `jax.ffi.pycapsule`: calls a function with the arrays of operands, of results, and attributes.

    Whoever registers it keeps it: XLA calls it as long as the process lives.
    """

    def handle(address: int) -> Any:
        _, extension, api, _, stage, *rest = _words(address, 21)
        if extension and _words(extension, 2)[1] & _INT == _METADATA:
            # After the record prefixes of the metadata, or of the API, and of the version in it.
            major = c_int.from_address(api + 32).value if api else 0
            (c_int * 2).from_address(_words(extension, 4)[3] + 24)[:] = [major, 1]
            return None
        if stage & _INT != _EXECUTE:
            return None
        try:
            function(_arrays(rest[:5]), _arrays(rest[5:10]), _attributes(rest[10:]))
        except BaseException as error:
            message = ctypes.create_string_buffer(f"{type(error).__name__}: {error}".encode())
            given = (c_uint64 * 4)(32, 0, ctypes.addressof(message), _INTERNAL_ERROR)
            return _FUNCTION(_words(api, 7)[6])(ctypes.addressof(given))
        return None

    return _FUNCTION(handle)


def _arrays(buffers: list[int]) -> list[Any]:
    """The memory of XLA's arrays, which are contiguous."""
    arrays = [_words(address, 6) for address in _words(buffers[4], buffers[2])]
    return [_view(dtype, data, *_words(extents, rank)) for _, _, dtype, data, rank, extents in arrays]


def _view(dtype: int, address: int, *extents: int) -> Any:
    if dtype & _INT not in _DTYPES:
        raise TypeError(f"arrays of XLA's type {dtype & _INT} are not among those of cuTile")
    kind = numpy.dtype(_DTYPES[dtype & _INT])
    count = math.prod(extents)
    if not count or not address:
        return numpy.empty(extents, kind)
    memory = (c_char * (count * kind.itemsize)).from_address(address)
    return numpy.frombuffer(memory, kind).reshape(extents)


def _attributes(given: list[int]) -> dict[str, Any]:
    _, _, count, kinds, names, items = given
    read = [_ATTRIBUTES[kind] for kind in (c_int * count).from_address(kinds)]
    values = [function(address) for function, address in zip(read, _words(items, count), strict=True)]
    texts = [ctypes.string_at(*_words(name, 2)).decode() for name in _words(names, count)]
    return dict(zip(texts, values, strict=True))
