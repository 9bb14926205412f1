"""Programs of TTIR from a few statements: tiles are loaded before them and stored after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tileir
from tileir.ttir import translate

Array = np.ndarray[Any, Any]

_ELEMENTS = {
    np.dtype(np.int8): "i8",
    np.dtype(np.uint8): "i8",
    np.dtype(np.int16): "i16",
    np.dtype(np.int32): "i32",
    np.dtype(np.int64): "i64",
    np.dtype(np.float16): "f16",
    np.dtype(np.float32): "f32",
    np.dtype(np.float64): "f64",
    np.dtype(ml_dtypes.bfloat16): "bf16",
    np.dtype(ml_dtypes.float8_e4m3fn): "f8E4M3FN",
    np.dtype(ml_dtypes.float8_e5m2): "f8E5M2",
}

each_backend = pytest.mark.parametrize("backend", ["interpreter", "cpu"])


def tensor(array: Array, element: str | None = None) -> str:
    """The type of a tile that has the elements of an array."""
    element = element or _ELEMENTS[array.dtype]
    return f"tensor<{''.join(f'{extent}x' for extent in array.shape)}{element}>"


def module(parameters: Sequence[tuple[str, str]], body: str) -> str:
    types = ", ".join(type for _, type in parameters)
    arguments = ", ".join(f"%{name}: {type}" for name, type in parameters)
    return f"""
"builtin.module"() ({{
  "tt.func"() <{{function_type = ({types}) -> (), sym_name = "kernel", sym_visibility = "public"}}> ({{
  ^bb0({arguments}):
    {body}
    "tt.return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""


def pointers(name: str, array: Array) -> str:
    """Statements that make `%name.at`, pointers to the elements of the array behind `%name.p`."""
    flat, element = f"tensor<{array.size}xi32>", _ELEMENTS[array.dtype]
    place, pointer = tensor(array, "i32"), tensor(array, f"!tt.ptr<{element}>")
    return f"""
    %{name}.range = "tt.make_range"() <{{end = {array.size} : i32, start = 0 : i32}}> : () -> {flat}
    %{name}.place = "tt.reshape"(%{name}.range) : ({flat}) -> {place}
    %{name}.splat = "tt.splat"(%{name}.p) : (!tt.ptr<{element}>) -> {pointer}
    %{name}.at = "tt.addptr"(%{name}.splat, %{name}.place) : ({pointer}, {place}) -> {pointer}
"""


def tile_program(body: str, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> str:
    """A kernel that loads each input as the tile `%name`, and stores the tile `%name` to each output."""
    arrays = {**inputs, **outputs}
    text = "".join(pointers(name, array) for name, array in arrays.items())
    for name, array in inputs.items():
        pointer = tensor(array, f"!tt.ptr<{_ELEMENTS[array.dtype]}>")
        text += f'    %{name} = "tt.load"(%{name}.at) : ({pointer}) -> {tensor(array)}\n'
    text += body
    for name, array in outputs.items():
        pointer = tensor(array, f"!tt.ptr<{_ELEMENTS[array.dtype]}>")
        text += f'\n    "tt.store"(%{name}.at, %{name}) : ({pointer}, {tensor(array)}) -> ()'
    parameters = [(f"{name}.p", f"!tt.ptr<{_ELEMENTS[array.dtype]}>") for name, array in arrays.items()]
    return module(parameters, text)


def run(body: str, inputs: Mapping[str, Array], outputs: Mapping[str, Array], backend: str) -> None:
    """Run the statements on the inputs, and fill the outputs."""
    kernel = tileir.compile(translate(tile_program(body, inputs, outputs)), backend=backend)
    kernel.launch((1,), [*inputs.values(), *outputs.values()])
