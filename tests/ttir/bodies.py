"""Small modules of TTIR in generic form, and launches of what they become."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import ml_dtypes
import numpy as np

import tileir
from tileir.ttir import translate
from tileir.ttir.tokens import MemoryOrder

COUNT = 16
NUMPY = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
}


def module(parameters: str, body: str, others: str = "") -> str:
    """A module with a kernel `k`; `others` are further functions."""
    types = ", ".join(each.split(":")[1].strip() for each in parameters.split(", ")) if parameters else ""
    return f"""
"builtin.module"() ({{
  "tt.func"() <{{function_type = ({types}) -> (), sym_name = "k", sym_visibility = "public"}}> ({{
  ^bb0({parameters}):
    {body}
    "tt.return"() : () -> ()
  }}) {{noinline = false}} : () -> ()
{others}
}}) : () -> ()
"""


def launch(text: str, *arguments: object, grid: tuple[int, ...] = (1,), order: MemoryOrder = "program") -> None:
    """Translate a module and run its kernel in the interpreter, which checks what the builder does not."""
    kernel = tileir.compile(translate(text, memory_order=order), backend="interpreter")
    kernel.launch(grid, list(arguments))


def pointers(name: str, type: str, base: str, shape: Sequence[int] = (COUNT,)) -> str:
    """Statements that make `name` a tile of pointers to the elements of a row-major array, in order."""
    count = int(np.prod(shape))
    extents = "x".join(str(each) for each in shape)
    lines = [
        f'%{name}_r = "tt.make_range"() <{{end = {count} : i32, start = 0 : i32}}> : () -> tensor<{count}xi32>',
        f'%{name}_o = "tt.reshape"(%{name}_r) : (tensor<{count}xi32>) -> tensor<{extents}xi32>',
        f'%{name}_p = "tt.splat"(%{base}) : (!tt.ptr<{type}>) -> tensor<{extents}x!tt.ptr<{type}>>',
        f'%{name} = "tt.addptr"(%{name}_p, %{name}_o) : (tensor<{extents}x!tt.ptr<{type}>>, tensor<{extents}xi32>)'
        f" -> tensor<{extents}x!tt.ptr<{type}>>",
    ]
    return "\n    ".join(lines)


def load(name: str, type: str, base: str, shape: Sequence[int] = (COUNT,)) -> str:
    """Statements that load an array as `name`."""
    extents = "x".join(str(each) for each in shape)
    statements = pointers(f"{name}_a", type, base, shape)
    return (
        statements + f'\n    %{name} = "tt.load"(%{name}_a) <{{operandSegmentSizes = array<i32: 1, 0, 0>}}> :'
        f" (tensor<{extents}x!tt.ptr<{type}>>) -> tensor<{extents}x{type}>"
    )


def store(name: str, type: str, base: str, shape: Sequence[int] = (COUNT,)) -> str:
    """Statements that store `name` into an array."""
    extents = "x".join(str(each) for each in shape)
    where = f"to_{base}"
    return (
        pointers(where, type, base, shape) + f'\n    "tt.store"(%{where}, %{name}) :'
        f" (tensor<{extents}x!tt.ptr<{type}>>, tensor<{extents}x{type}>) -> ()"
    )


def applied(
    operation: str,
    inputs: Sequence[np.ndarray],
    results: Sequence[tuple[str, Sequence[int]]],
    attributes: str = "",
    *,
    order: MemoryOrder = "program",
) -> list[np.ndarray]:
    """The results of an operation applied to arrays, of the shapes and types that are given."""
    names = {np.dtype(value): key for key, value in NUMPY.items()}
    types = [names[each.dtype] for each in inputs]
    parameters = [f"%x{i}: !tt.ptr<{type}>" for i, type in enumerate(types)]
    parameters += [f"%y{i}: !tt.ptr<{type}>" for i, (type, _) in enumerate(results)]
    lines = [load(f"v{i}", type, f"x{i}", each.shape) for i, (type, each) in enumerate(zip(types, inputs, strict=True))]
    tensors = [
        f"tensor<{'x'.join(str(extent) for extent in shape)}x{type}>"
        for type, shape in itertools.chain(zip(types, [each.shape for each in inputs], strict=True), results)
    ]
    made = ", ".join(f"%w{i}" for i in range(len(results)))
    taken = ", ".join(f"%v{i}" for i in range(len(inputs)))
    lines.append(
        f'{made} = "{operation}"({taken}) {attributes} : ({", ".join(tensors[: len(inputs)])})'
        f" -> ({', '.join(tensors[len(inputs) :])})"
    )
    lines += [store(f"w{i}", type, f"y{i}", shape) for i, (type, shape) in enumerate(results)]
    arrays = [np.zeros(shape, NUMPY[type]) for type, shape in results]
    launch(module(", ".join(parameters), "\n    ".join(lines)), *inputs, *arrays, order=order)
    return arrays
