"""Small programs of TTIR in generic form, and launches of what they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tileir
from tileir.ttir import translate
from tileir.ttir.tokens import MemoryOrder

Array = np.ndarray[Any, Any]

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
_ELEMENTS = {np.dtype(np.uint8): "i8", **{np.dtype(dtype): name for name, dtype in NUMPY.items()}}

each_backend = pytest.mark.parametrize("backend", ["interpreter", "cpu"])


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


def launch(
    text: str,
    *arguments: object,
    grid: tuple[int, ...] = (1,),
    order: MemoryOrder = "program",
    backend: str = "interpreter",
) -> None:
    """Translate a module and run its kernel; the interpreter checks what the builder does not."""
    tileir.compile(translate(text, memory_order=order), backend=backend).launch(grid, list(arguments))


def tensor(array: Array, element: str | None = None) -> str:
    """The type of a tile that has the elements of an array."""
    return _tensor(array.shape, element or _ELEMENTS[array.dtype])


def _tensor(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"


def pointers(name: str, type: str, base: str, shape: Sequence[int] = (COUNT,)) -> str:
    """Statements that make `name` a tile of pointers to the elements of a row-major array, in order."""
    count = int(np.prod(shape))
    offsets, pointer = _tensor(shape, "i32"), _tensor(shape, f"!tt.ptr<{type}>")
    lines = [
        f'%{name}_r = "tt.make_range"() <{{end = {count} : i32, start = 0 : i32}}> : () -> tensor<{count}xi32>',
        f'%{name}_o = "tt.reshape"(%{name}_r) : (tensor<{count}xi32>) -> {offsets}',
        f'%{name}_p = "tt.splat"(%{base}) : (!tt.ptr<{type}>) -> {pointer}',
        f'%{name} = "tt.addptr"(%{name}_p, %{name}_o) : ({pointer}, {offsets}) -> {pointer}',
    ]
    return "\n    ".join(lines)


def load(name: str, type: str, base: str, shape: Sequence[int] = (COUNT,)) -> str:
    """Statements that load an array as `name`."""
    types = f"({_tensor(shape, f'!tt.ptr<{type}>')}) -> {_tensor(shape, type)}"
    statements = pointers(f"{name}_a", type, base, shape)
    return f'{statements}\n    %{name} = "tt.load"(%{name}_a) <{{operandSegmentSizes = array<i32: 1, 0, 0>}}> : {types}'


def store(name: str, type: str, base: str, shape: Sequence[int] = (COUNT,)) -> str:
    """Statements that store `name` into an array."""
    types = f"({_tensor(shape, f'!tt.ptr<{type}>')}, {_tensor(shape, type)}) -> ()"
    return f'{pointers(f"to_{base}", type, base, shape)}\n    "tt.store"(%to_{base}, %{name}) : {types}'


def run(
    body: str,
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
    backend: str = "interpreter",
    order: MemoryOrder = "program",
) -> None:
    """Run statements on tiles that are loaded before them, and fill the outputs with tiles stored after them."""
    arrays = {**inputs, **outputs}
    types = {name: _ELEMENTS[array.dtype] for name, array in arrays.items()}
    lines = [load(name, types[name], f"{name}.p", array.shape) for name, array in inputs.items()]
    lines += [body, *[store(name, types[name], f"{name}.p", array.shape) for name, array in outputs.items()]]
    parameters = ", ".join([f"%{name}.p: !tt.ptr<{type}>" for name, type in types.items()])
    launch(module(parameters, "\n    ".join(lines)), *arrays.values(), order=order, backend=backend)


def applied(
    operation: str,
    operands: Sequence[Array],
    results: Sequence[tuple[str, Sequence[int]]],
    attributes: str = "",
    backend: str = "interpreter",
) -> list[Array]:
    """The results of an operation applied to arrays, of the types and shapes that are given."""
    inputs = {f"x{number}": each for number, each in enumerate(operands)}
    outputs = {f"y{number}": np.zeros(shape, NUMPY[type]) for number, (type, shape) in enumerate(results)}
    made, taken = (", ".join([f"%{name}" for name in each]) for each in (outputs, inputs))
    types = ", ".join(map(tensor, inputs.values())), ", ".join([_tensor(shape, type) for type, shape in results])
    run(f'{made} = "{operation}"({taken}) {attributes} : ({types[0]}) -> ({types[1]})', inputs, outputs, backend)
    return list(outputs.values())
