"""Run a few operations on given tiles: `evaluate("%r = addf %x, %y : tile<4xf32>", x=.., y=.., r="tile<4xf32>")`."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy

import tileir
from tileir.execute.dtypes import memory_dtype, value_dtype
from tileir.ir.types import FLOAT_TYPES, Type, integer_type


def element_type(name: str) -> Type:
    return FLOAT_TYPES[name] if name in FLOAT_TYPES else integer_type(int(name[1:]))


def split_tile(text: str) -> tuple[tuple[int, ...], str]:
    """`tile<4x8xf32>` as a shape and an element type's name."""
    match = re.fullmatch(r"tile<((?:\d+x)*)(\w+)>", text)
    assert match is not None, text
    return tuple([int(extent) for extent in match[1].split("x")[:-1]]), match[2]


def _view(name: str, shape: tuple[int, ...], element: str) -> tuple[str, str]:
    """The operations that make a view of a whole array, and the view's type."""
    extents = "x".join([str(extent) for extent in shape])
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    tensor = f"tensor_view<{extents}x{element}, strides=[{','.join([str(s) for s in strides])}]>"
    view = f"partition_view<tile=({extents}), {tensor}>"
    text = (
        f"%{name}_t = make_tensor_view %{name}_p, shape = {list(shape)}, strides = {strides} : {tensor}\n"
        f"%{name}_v = make_partition_view %{name}_t : {view}\n"
    )
    return text, view


def program(body: str, inputs: dict[str, str], outputs: dict[str, str], module: str = "") -> str:
    """A kernel that loads the inputs, runs the body and stores the outputs; tiles are given by their types."""
    head, tail, parameters = "", "", []
    for name, text in {**inputs, **outputs}.items():
        shape, element = split_tile(text)
        parameters.append(f"%{name}_p: tile<ptr<{element}>>")
        index = ", ".join(["%zero_index"] * len(shape))
        if shape:
            made, view = _view(name, shape, element)
            head += made
        if name in inputs and shape:
            head += f"%{name}, %{name}_k = load_view_tko weak %{name}_v[{index}] : {view}, tile<i32> -> {text}, token\n"
        elif name in inputs:
            head += f"%{name}, %{name}_k = load_ptr_tko weak %{name}_p : tile<ptr<{element}>> -> {text}, token\n"
        elif shape:
            tail += (
                f"%{name}_k = store_view_tko weak %{name}, %{name}_v[{index}] : {text}, {view}, tile<i32> -> token\n"
            )
        else:
            tail += f"%{name}_k = store_ptr_tko weak %{name}_p, %{name} : tile<ptr<{element}>>, {text} -> token\n"
    return (
        f"cuda_tile.module @m {{ {module}\n entry @k({', '.join(parameters)}) {{\n"
        f"%zero_index = constant <i32: 0> : tile<i32>\n{head}{body}\n{tail}return }} }}"
    )


class Arranged(NamedTuple):
    """A body as a kernel, with what it is launched on."""

    text: str
    arrays: list[Any]
    outputs: dict[str, str]
    """The types of the last arrays."""

    def results(self) -> list[Any]:
        """The outputs, once the kernel has run."""
        found = []
        for array, tile in zip(self.arrays[len(self.arrays) - len(self.outputs) :], self.outputs.values(), strict=True):
            dtype = value_dtype(element_type(split_tile(tile)[1]))
            found.append(array.view(dtype) if array.dtype != dtype else array)
        return found


def arrange(body: str, values: dict[str, Any], module: str = "") -> Arranged:
    """A keyword with an array is an input of its shape; one with a type, as `r="tile<4xf32>"`, an output.

    An input may be a pair of an array and an element type's name where the dtype does not tell it.
    """
    inputs: dict[str, str] = {}
    outputs: dict[str, str] = {}
    arrays: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, str):
            shape, element = split_tile(value)
            outputs[name] = value
            arrays[name] = numpy.zeros(shape, memory_dtype(element_type(element)))
            continue
        array, element = value if isinstance(value, tuple) else (value, _element_name(numpy.asarray(value).dtype))
        array = numpy.ascontiguousarray(array)
        array = array if numpy.ndim(value[0] if isinstance(value, tuple) else value) else array.reshape(())
        inputs[name] = f"tile<{''.join([f'{extent}x' for extent in array.shape])}{element}>"
        arrays[name] = array.astype(array.dtype)
    text = program(body, inputs, outputs, module)
    return Arranged(text, [arrays[name] for name in {**inputs, **outputs}], outputs)


def evaluate(body: str, *, module: str = "", grid: Any = 1, observer: Any = None, **values: Any) -> Any:
    """Run a body (`arrange` says on what).  The result is the output, or a tuple of them."""
    arranged = arrange(body, values, module)
    kernel = tileir.compile(tileir.parse(arranged.text))
    kernel.launch(grid, arranged.arrays, observer=observer)
    found = arranged.results()
    return found[0] if len(found) == 1 else tuple(found)


def _element_name(dtype: Any) -> str:
    from tileir.execute.dtypes import element_of_dtype

    element = element_of_dtype(numpy.dtype(dtype))
    assert element is not None, dtype
    return element.text


def same(left: Any, right: Any) -> bool:
    """Whether two arrays agree bit for bit."""
    left, right = numpy.ascontiguousarray(left), numpy.ascontiguousarray(right)
    return left.shape == right.shape and left.dtype == right.dtype and left.tobytes() == right.tobytes()
