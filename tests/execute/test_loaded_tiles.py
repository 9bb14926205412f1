"""A loaded tile has the contents of memory at the time of the load, whatever is written later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

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


def run(body: str, grid: int = 1) -> list[Any]:
    """The three arrays after a launch."""
    found = arrays()
    tileir.compile(module(body), backend="interpreter").launch(grid, found)
    return found


STORE = load("y", "vb") + store("y", "va")
IF = f"%yes = cmpi equal %zero, %zero, signed : tile<i32> -> tile<i1>\nif %yes {{ {STORE} }}\n"
FOR = f"for %k in (%zero to %one, step %one) : tile<i32> {{ {STORE} }}\n"
ATOMIC_VIEW = f"%red = atomic_red_view_tko relaxed device %va[%zero, %zero], addf, %empty_one : {TILE}, {VIEW}, tile<i32> -> token\n"
NUMBER = "%number = constant <f32: 77.0> : tile<f32>\n"
STORE_POINTER = NUMBER + "%sp = store_ptr_tko weak %a, %number : tile<ptr<f32>>, tile<f32> -> token\n"
ATOMIC_POINTER = NUMBER + (
    "%old, %ap = atomic_rmw_tko relaxed device %a, addf, %number : tile<ptr<f32>>, tile<f32> -> tile<f32>, token\n"
)
STORE_POINTERS = (
    "%lane = iota : tile<4xi32>\n%base = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>\n"
    "%all = broadcast %base : tile<1xptr<f32>> -> tile<4xptr<f32>>\n"
    "%pointers = offset %all, %lane : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>\n"
    "%ones = constant <f32: 5.0> : tile<4xf32>\n"
    "%sps = store_ptr_tko weak %pointers, %ones : tile<4xptr<f32>>, tile<4xf32> -> token\n"
)
WRITES = {
    "store": STORE, "if": IF, "for": FOR, "store_pointer": STORE_POINTER, "store_pointers": STORE_POINTERS,
    "atomic_pointer": ATOMIC_POINTER,
    "atomic_view": f"%empty_one = constant <f32: 1.0> : {TILE}\n" + ATOMIC_VIEW,
}  # fmt: skip


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("use", [add("r", "x", "x"), product("r", "x", "x", "empty")], ids=["addf", "mmaf"])
def test_a_tile_is_as_it_was_when_loaded_whatever_is_written_before_its_use(write: str, use: str) -> None:
    a, _, c = run(load("x", "va") + write + use + store("r", "vc"))
    before = arrays()[0][:4]
    assert a[:4].tobytes() != before.tobytes()
    assert c[:4].tolist() == (before + before if "addf %x" in use else before @ before).tolist()


def test_arrays_that_overlap_are_one_array() -> None:
    body = load("x", "va") + load("f", "vb") + product("r", "x", "f", "empty")
    body += store("r", "vc") + add("d", "f", "f") + store("d", "va", "%zero, %zero")
    memory = arrays()[0]
    out = numpy.zeros((16, 4), numpy.float32)
    start = memory[:4].copy()
    tileir.compile(module(body), backend="interpreter").launch(2, (memory, memory, out))
    assert memory[:4].tolist() == (4 * start).tolist()
    assert out[:4].tolist() == ((2 * start) @ (2 * start)).tolist()


def test_a_tile_carried_around_a_loop_is_as_it_was_when_loaded() -> None:
    inner = load("next", "va") + add("d", "next", "next") + store("d", "va") + add("sum", "last", "d")
    store_sum = store("sum", "vb")
    body = f"%out = for %k in (%zero to %two, step %one) : tile<i32> iter_values(%last = %empty) -> ({TILE}) {{\n"
    body += f"{inner}{store_sum} continue %next : {TILE} }}\n" + store("out", "vc")
    _, b, c = run(body)
    start = arrays()[0][:4]
    assert c[:4].tolist() == (2 * start).tolist()
    assert b[:4].tolist() == (5 * start).tolist()


def test_a_tile_carried_around_a_loop_survives_a_store_of_the_next_iteration() -> None:
    inner = add("d", "last", "last") + store("d", "va") + add("sum", "last", "d") + store("sum", "vb")
    body = (
        load("start", "vc")
        + f"%out = for %k in (%zero to %two, step %one) : tile<i32> iter_values(%last = %start) -> ({TILE}) {{\n"
    )
    body += inner + load("next", "va") + f"continue %next : {TILE} }}\n" + store("out", "vc", "%one, %zero")
    _, b, c = run(body)
    start = arrays()[2][:4]
    assert b[:4].tolist() == (6 * start).tolist()
    assert c[4:8].tolist() == (4 * start).tolist()


def test_a_tile_seen_in_another_shape_is_as_it_was_when_loaded() -> None:
    shapes = f"%p = permute %x [1, 0] : {TILE} -> {TILE}\n"
    a, _, c = run(load("x", "va") + shapes + store("empty", "va") + store("p", "vc"))
    assert not a[:4].any()
    assert c[:4].tolist() == arrays()[0][:4].T.tolist()


def test_other_tile_blocks_write_between_load_and_use_when_interleaved() -> None:
    # Block 1 stores later than block 0 loads, and before block 0 adds.
    wait = f"for %w in (%zero to %delay, step %one) : tile<i32> {{ {load('n', 'vb')} }}\n"
    number = "%f = itof %i signed : tile<i32> -> tile<f32>\n%g = reshape %f : tile<f32> -> tile<1x1xf32>\n"
    number += f"%mine = broadcast %g : tile<1x1xf32> -> {TILE}\n"
    later = "".join(load(f"l{k}", "vb") for k in range(4))
    body = number + "%delay = muli %i, %two : tile<i32>\n" + wait + store("mine", "va") + load("x", "va") + later
    body += add("r", "x", "l3") + store("r", "vc", "%i, %zero")
    found = arrays()
    tileir.compile(module(body), backend="interpreter").launch(2, found, schedule="interleaved")
    assert found[0][0, 0] == 1
    assert found[2][:4].tolist() == arrays()[1][:4].tolist()
    assert found[2][4:8].tolist() == (arrays()[1][:4] + 1).tolist()


@pytest.mark.parametrize("callback", ["output", "progress"])
def test_a_callback_of_a_launch_may_change_an_array(callback: str) -> None:
    body = load("x", "vb") + load("f", "va") + product("r", "x", "f", "empty") + store("r", "vc", "%i, %zero")
    body += '%p = print_tko "done" -> token\n'
    a, b, c = arrays()
    before = a[:4].copy()

    def change(*_: object) -> None:
        a[...] += 1

    quiet: Callable[[str], object] = lambda text: None  # noqa: E731
    options: dict[str, Any] = {"output": quiet, callback: change}
    tileir.compile(module(body), backend="interpreter").launch(2, (a, b, c), **options)
    first = before + 1 if callback == "progress" else before
    assert c[:4].tolist() == (b[:4] @ first).tolist()
    assert c[4:8].tolist() == (b[:4] @ (first + 1)).tolist()


def test_a_second_launch_sees_what_the_caller_wrote_between() -> None:
    kernel = tileir.compile(
        module(load("x", "vb") + load("f", "va") + product("r", "x", "f", "empty") + store("r", "vc"))
    )
    a, b, c = arrays()
    for _ in range(2):
        kernel.launch(1, (a, b, c))
        assert c[:4].tolist() == (b[:4] @ a[:4]).tolist()
        a += 1


def test_an_observer_sees_each_access_to_the_same_tile() -> None:
    places: list[int] = []

    class Accesses(tileir.observers.Observer):
        def watches(self, operation: Any) -> bool:
            return False

        def access(self, access: Any) -> None:
            places.append(access.box[0])

    body = load("x", "va") + load("f", "vb") + product("r", "x", "f", "empty") + store("r", "vc", "%i, %zero")
    a, b, c = arrays()
    tileir.compile(module(body), backend="interpreter").launch(3, (a, b, c), observer=Accesses())
    start = c.ctypes.data
    assert places == [p for i in range(3) for p in (a.ctypes.data, b.ctypes.data, start + 64 * i)]
