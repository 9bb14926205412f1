"""`cuda.tile.jax.cutile_call` in graphs that JAX compiles for the CPU.

cuTile lowers the call to a foreign function of XLA, with the cubin as an attribute.  In a context it does so for the
CPU too, and the bytecode is in the place of the cubin: the graph looks the same, and can be exported.  The function
launches the kernel as any launch in a context; in a graph from another process, where the kernel is not at hand, it
runs the bytecode.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, Final

import numpy

from tileir.bridge.compiling import compile
from tileir.bridge.contexts import active
from tileir.bridge.emulated.xla_calls import handler
from tileir.bridge.entry_points import LAUNCHES, perform
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
    _kept.append(handler(functools.partial(_launched, module)))
    module.jax.ffi.register_ffi_target(_TARGET, module.jax.ffi.pycapsule(_kept[0]), platform="cpu")
    module.export_kernel = _exporting(module.export_kernel)
    register = module.register_primitive

    def register_lowering() -> None:
        lowering = functools.partial(_lowered, module._cutile_call_ffi_p_lower)
        module.mlir.register_lowering(module.cutile_call_ffi_p, lowering, platform="cpu")

    @functools.wraps(register)
    def register_primitive() -> None:
        register()
        register_lowering()

    module.register_primitive = register_primitive
    if module.cutile_call_ffi_p is not None:
        register_lowering()


def _lowered(original: Any, *arguments: Any, **parameters: Any) -> Any:
    if active() is None:
        raise NotImplementedError("cutile_call needs a GPU: in tileir.emulate() it runs on the CPU")
    return original(*arguments, **parameters)


def _exporting(original: Any) -> Any:
    @functools.wraps(original)
    def export_kernel(kernel: Any, signatures: Any, output_file: Any, *, output_format: str, **options: Any) -> None:
        if active() is None or output_format != "cubin":
            original(kernel, signatures, output_file, output_format=output_format, **options)
            return
        # Without a version cuTile asks the assembler, which need not be there, for the newest that it knows.
        options["bytecode_version"] = BYTECODE_VERSION
        original(kernel, signatures, output_file, output_format="tileir_bytecode", **options)
        _KERNELS[bytes(output_file.getvalue())] = (kernel, list(signatures[0].parameters))

    return export_kernel


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
