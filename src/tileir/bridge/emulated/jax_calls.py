"""`cuda.tile.jax.cutile_call` in graphs that JAX compiles for the CPU.

cuTile lowers the call to a foreign function of XLA, with the cubin as an attribute.  In a context it does so for the
CPU too, and the bytecode is in the place of the cubin: the graph looks the same, and can be exported.  The function
launches the kernel as any launch in a context; in a graph from another process, where the kernel is not at hand, it
runs the bytecode.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from ctypes import POINTER, Structure, c_char, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_void_p
from typing import Any, Final

import ml_dtypes
import numpy

from tileir.bridge.compiling import compile
from tileir.bridge.contexts import active
from tileir.bridge.entry_points import LAUNCHES, perform
from tileir.bridge.hooks import replace
from tileir.bridge.launch import BYTECODE_VERSION
from tileir.execute.launching.kernel import Kernel

_TARGET: Final = "cutile_launch"
_KERNELS: Final[dict[bytes, tuple[Any, list[Any]]]] = {}
"""For each bytecode, the kernel that it was made of, and what it was told of the arguments."""
_EXPORTED: Final[dict[bytes, Kernel]] = {}
_kept: Final[list[Any]] = []


def hook_jax_calls(module: Any) -> None:
    """`module` is `cuda.tile.jax._jax`."""
    if _kept or not module.HAS_JAX:
        return
    _kept.append(_handler(functools.partial(_launched, module)))
    module.jax.ffi.register_ffi_target(_TARGET, module.jax.ffi.pycapsule(_kept[0]), platform="cpu")
    replace(module, "export_kernel", _export_kernel)

    def register_lowering() -> None:
        lowering = functools.partial(_lowered, module._cutile_call_ffi_p_lower)
        module.mlir.register_lowering(module.cutile_call_ffi_p, lowering, platform="cpu")

    def register_primitive(original: Any) -> None:
        original()
        register_lowering()

    replace(module, "register_primitive", register_primitive)
    if module.cutile_call_ffi_p is not None:
        register_lowering()


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
    # Without a version cuTile asks the assembler, which need not be there, for the newest that it knows.
    options["bytecode_version"] = BYTECODE_VERSION
    original(kernel, signatures, output_file, output_format="tileir_bytecode", **options)
    _KERNELS[bytes(output_file.getvalue())] = (kernel, list(signatures[0].parameters))


# --- a launch ---


def _launched(module: Any, operands: list[Any], results: list[Any], attributes: dict[str, Any]) -> None:
    grid = tuple([int(attributes[name]) for name in ("grid_x", "grid_y", "grid_z")])
    buffers = [*operands, *results]
    numbers = attributes["scalar_packed"]
    given = [buffers[at] if at < len(buffers) else numbers[at - len(buffers)] for at in attributes["buffer_ids"]]
    code = attributes["cubin_code"]
    context = active()
    if code in _KERNELS and context is not None:
        kernel, constraints = _KERNELS[code]
        rest = iter(given)
        perform(context, grid, kernel, tuple([_argument(module, constraint, rest) for constraint in constraints]))
        return
    exported = _EXPORTED.get(code)
    if exported is None:
        exported = _EXPORTED[code] = compile(code, attributes["function_name"].decode())
    LAUNCHES.here += 1
    types = exported.parameters
    flat: list[Any] = []
    for value in given:
        if isinstance(value, numpy.ndarray):
            flat += [value, *value.shape, *[stride // value.itemsize for stride in value.strides]]
        else:
            flat.append(_unpacked(value, "f32" in types[len(flat)], "i64" in types[len(flat)]))
    exported.launch(grid, *flat)


def _argument(module: Any, constraint: Any, rest: Iterator[Any]) -> Any:
    if isinstance(constraint, module.TupleConstraint):
        return tuple([_argument(module, item, rest) for item in constraint.items])
    if isinstance(constraint, module.ConstantConstraint):
        return constraint.value
    value = next(rest)
    if isinstance(constraint, module.ScalarConstraint):
        return _unpacked(value, constraint.dtype == module.ct.float32, constraint.dtype == module.ct.int64)
    return value


def _unpacked(packed: Any, is_float: bool, is_wide: bool) -> int | float:
    """A number from the low bits of a word."""
    words = numpy.array([packed], numpy.uint64)
    if is_float:
        return float(words.astype(numpy.uint32).view(numpy.float32)[0])
    return int(words.view(numpy.int64)[0] if is_wide else words.astype(numpy.uint32).view(numpy.int32)[0])


# --- XLA's foreign function interface ---
# The structures are those of XLA's C header (`xla/ffi/api/c_api.h`, version 0.3), which is part of jaxlib and stable.

_METADATA: Final = 1
_EXECUTE: Final = 3
_ARRAY, _SCALAR, _STRING = 1, 3, 4
_INTERNAL_ERROR: Final = 13

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


def _structure(*fields: Any) -> Any:
    return type("_Structure", (Structure,), {"_fields_": fields})


_HEAD: Final = (("struct_size", c_size_t), ("extension", c_void_p))
_Version: Final = _structure(*_HEAD, ("major", c_int), ("minor", c_int))
_Extension: Final = _structure(("struct_size", c_size_t), ("type", c_int), ("next", c_void_p))
_Metadata: Final = _structure(("struct_size", c_size_t), ("version", _Version), ("traits", c_uint32))
_MetadataExtension: Final = _structure(("base", _Extension), ("metadata", POINTER(_Metadata)))
_Api: Final = _structure(*_HEAD, ("version", _Version), ("internal", c_void_p), ("create_error", c_void_p))
_ErrorArguments: Final = _structure(*_HEAD, ("message", c_char_p), ("code", c_int))
_Buffer: Final = _structure(
    *_HEAD, ("dtype", c_int), ("data", c_void_p), ("rank", c_int64), ("extents", POINTER(c_int64))
)
_Span: Final = _structure(("data", c_void_p), ("size", c_size_t))
_Scalar: Final = _structure(("dtype", c_int), ("value", c_void_p))
_Array: Final = _structure(("dtype", c_int), ("size", c_size_t), ("data", c_void_p))
_Buffers: Final = _structure(*_HEAD, ("size", c_int64), ("types", c_void_p), ("items", POINTER(POINTER(_Buffer))))
_Attributes: Final = _structure(
    *_HEAD,
    ("size", c_int64),
    ("types", POINTER(c_int)),
    ("names", POINTER(POINTER(_Span))),
    ("items", POINTER(c_void_p)),
)
_CallFrame: Final = _structure(
    *_HEAD,
    ("api", POINTER(_Api)),
    ("context", c_void_p),
    ("stage", c_int),
    ("arguments", _Buffers),
    ("results", _Buffers),
    ("attributes", _Attributes),
)
_CREATE_ERROR: Final = ctypes.CFUNCTYPE(c_void_p, POINTER(_ErrorArguments))
_HANDLER: Final = ctypes.CFUNCTYPE(c_void_p, POINTER(_CallFrame))


def _handler(function: Callable[[list[Any], list[Any], dict[str, Any]], None]) -> Any:
    """For `jax.ffi.pycapsule`: calls a function with the arrays of operands, of results, and attributes.

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
