"""Small programs on 4 x 4 tiles of three arrays, run plainly and watched."""

from __future__ import annotations

from typing import Any

import numpy

import tileir

TILE = "tile<4x4xf32>"
TENSOR = "tensor_view<16x4xf32, strides=[4,1]>"
VIEW = f"partition_view<tile=(4x4), {TENSOR}>"


def load(result: str, view: str, index: str = "%zero, %zero", ordering: str = "weak") -> str:
    return f"%{result}, %t_{result} = load_view_tko {ordering} %{view}[{index}] : {VIEW}, tile<i32> -> {TILE}, token\n"


def store(value: str, view: str, index: str = "%zero, %zero") -> str:
    return f"%s_{value}_{view} = store_view_tko weak %{value}, %{view}[{index}] : {TILE}, {VIEW}, tile<i32> -> token\n"


def add(result: str, left: str, right: str) -> str:
    return f"%{result} = addf %{left}, %{right} : {TILE}\n"


def product(result: str, left: str, right: str, accumulator: str) -> str:
    return f"%{result} = mmaf %{left}, %{right}, %{accumulator} : {TILE}, {TILE}, {TILE}\n"


def module(body: str) -> Any:
    """A kernel with arrays a, b, c of rows of four elements, and views va, vb, vc of their 4 x 4 tiles."""
    made = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [16, 4], strides = [4, 1] : {TENSOR}\n"
        f"%v{x} = make_partition_view %t{x} : {VIEW}\n"
        for x in "abc"
    )
    return tileir.parse(f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>) {{
      %i, %y_id, %z_id = get_tile_block_id : tile<i32>
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %two = constant <i32: 2> : tile<i32>
      %empty = constant <f32: 0.0> : {TILE}
      {made}
      {body}
      return }} }}""")


def arrays() -> list[Any]:
    rng = numpy.random.default_rng(3)
    return [rng.integers(-8, 8, (16, 4)).astype(numpy.float32) for _ in range(3)]


class Everything(tileir.Observer):
    """Watches everything, so that the interpreter takes no short cut."""

    def before(self, operation: Any, block: Any, operands: list[Any]) -> None: ...

    def after(self, operation: Any, block: Any, results: list[Any]) -> None: ...


def run(body: str, grid: int = 1, **options: Any) -> list[Any]:
    """The three arrays after a launch; a watched launch, where everything is copied, must give the same."""
    found, watched = arrays(), arrays()
    kernel = tileir.compile(module(body))
    kernel.launch(grid, *found, **options)
    kernel.launch(grid, *watched, observer=Everything(), **options)
    assert [array.tobytes() for array in found] == [array.tobytes() for array in watched]
    return found
