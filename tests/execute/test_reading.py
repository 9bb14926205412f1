"""Loaded tiles that are not copied: borrowed from memory, or kept from an earlier load.  No program may notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from tests.execute.tile_programs import TILE, VIEW, Everything, add, arrays, load, module, product, run, store

import tileir
from tileir.dialect.ops import MMAF
from tileir.execute.interpreter import view_accesses
from tileir.execute.interpreter.kernels import KERNELS
from tileir.execute.interpreter.reading import BORROWED, COPIED, KEPT, READERS, how_held
from tileir.execute.memory import KEPT_BYTES, Region


def held(body: str, monkeypatch: pytest.MonkeyPatch, exact: bool = False, **options: Any) -> list[int]:
    """How the loads of a kernel hold their tiles."""
    answers: list[int] = []

    def listen(compiler: Any, operation: Any) -> int:
        answers.append(how_held(compiler, operation))
        return answers[-1]

    monkeypatch.setattr(view_accesses, "how_held", listen)
    tileir.compile(module(body), backend="interpreter", exact=exact).launch(1, *arrays(), **options)
    return answers


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


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_kept_factor_is_read_again_once_its_array_was_written(write: str) -> None:
    body = load("x", "vc") + load("f", "va") + product("r", "x", "f", "empty") + store("r", "vc", "%one, %zero") + write
    _, _, c = run(body, grid=2)
    # Of the two blocks the second multiplies with what the first one left.
    between, b, _ = arrays()
    tileir.compile(module(write)).launch(1, between, b, arrays()[2])
    assert between.tobytes() != arrays()[0].tobytes()
    assert c[4:8].tolist() == (arrays()[2][:4] @ between[:4]).tolist()


def test_arrays_that_overlap_are_one_array() -> None:
    body = load("x", "va") + load("f", "vb") + product("r", "x", "f", "empty")
    body += store("r", "vc") + add("d", "f", "f") + store("d", "va", "%zero, %zero")
    memory = arrays()[0]
    out = numpy.zeros((16, 4), numpy.float32)
    start = memory[:4].copy()
    tileir.compile(module(body)).launch(2, memory, memory, out)
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


def test_a_tile_carried_around_a_loop_survives_a_store_of_the_next_round() -> None:
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
    tileir.compile(module(body)).launch(2, *found, schedule="interleaved")
    assert found[0][0, 0] == 1
    assert found[2][:4].tolist() == arrays()[1][:4].tolist()
    assert found[2][4:8].tolist() == (arrays()[1][:4] + 1).tolist()


@pytest.mark.parametrize("told", ["output", "progress"])
def test_whoever_is_called_during_a_launch_may_change_an_array(told: str) -> None:
    body = load("x", "vb") + load("f", "va") + product("r", "x", "f", "empty") + store("r", "vc", "%i, %zero")
    body += '%p = print_tko "done" -> token\n'
    a, b, c = arrays()
    before = a[:4].copy()

    def change(*_: object) -> None:
        a[...] += 1

    quiet: Callable[[str], object] = lambda text: None  # noqa: E731
    options: dict[str, Any] = {"output": quiet, told: change}
    tileir.compile(module(body), backend="interpreter").launch(2, a, b, c, **options)
    first = before + 1 if told == "progress" else before
    assert c[:4].tolist() == (b[:4] @ first).tolist()
    assert c[4:8].tolist() == (b[:4] @ (first + 1)).tolist()


def test_a_second_launch_sees_what_the_caller_wrote_between() -> None:
    kernel = tileir.compile(
        module(load("x", "vb") + load("f", "va") + product("r", "x", "f", "empty") + store("r", "vc"))
    )
    a, b, c = arrays()
    for _ in range(2):
        kernel.launch(1, a, b, c)
        assert c[:4].tolist() == (b[:4] @ a[:4]).tolist()
        a += 1


def test_factors_of_a_product_are_borrowed_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    body = load("x", "va") + load("f", "vb") + product("r", "x", "f", "empty") + store("r", "vc")
    assert held(body, monkeypatch) == [BORROWED, KEPT]
    assert held(body, monkeypatch, exact=True) == [BORROWED, BORROWED]
    assert held(body, monkeypatch, observer=Everything()) == [COPIED, COPIED]
    assert held(body, monkeypatch, schedule="interleaved") == [COPIED, COPIED]
    strong = load("x", "va", ordering="relaxed device") + load("f", "vb", ordering="relaxed device")
    assert held(strong + product("r", "x", "f", "empty"), monkeypatch) == [COPIED, COPIED]


def test_an_observer_is_told_of_each_access_to_a_kept_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[int] = []

    class Accesses(tileir.Observer):
        def watches(self, operation: Any) -> bool:
            return False

        def access(self, access: Any) -> None:
            places.append(access.box[0])

    body = load("x", "va") + load("f", "vb") + product("r", "x", "f", "empty") + store("r", "vc", "%i, %zero")
    a, b, c = arrays()
    tileir.compile(module(body)).launch(3, a, b, c, observer=Accesses())
    start = c.ctypes.data
    assert places == [p for i in range(3) for p in (a.ctypes.data, b.ctypes.data, start + 64 * i)]
    assert held(body, monkeypatch, observer=Accesses()) == [BORROWED, KEPT]


def test_a_tile_that_is_handed_on_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    assert held(load("x", "va") + store("x", "vb"), monkeypatch) == [COPIED]
    inner = f"for %k in (%zero to %one, step %one) : tile<i32> {{ {add('d', 'x', 'x')} }}\n"
    assert held(load("x", "va") + inner, monkeypatch) == [COPIED]
    assert held(load("x", "va") + store("empty", "vc") + add("d", "x", "x"), monkeypatch) == [COPIED]
    assert held(load("x", "va") + add("d", "x", "x") + store("empty", "vc"), monkeypatch) == [BORROWED]


def test_readers_make_new_arrays_with_bits_that_do_not_depend_on_the_layout() -> None:
    rng = numpy.random.default_rng(5)
    wide = [rng.integers(0, 1 << 32, (64, 96), numpy.uint32) for _ in range(3)]
    for declaration in (*READERS, MMAF):
        mnemonic = declaration.mnemonic
        element = "i32" if mnemonic.endswith("i") else "f32"
        tile = f"tile<64x64x{element}>"
        suffix = {"fma": f"%x, %y, %z : {tile}", "mmaf": f"%x, %y, %z : {tile}, {tile}, {tile}"}.get(
            mnemonic, f"%x, %y : {tile}"
        )
        if mnemonic == "cmpf":
            suffix = f"less_than ordered %x, %y : {tile} -> tile<64x64xi1>"
        elif mnemonic == "cmpi":
            suffix = f"less_than %x, %y, signed : {tile} -> tile<64x64xi1>"
        text = f"cuda_tile.module @m {{ entry @k(%x: {tile}, %y: {tile}, %z: {tile}) {{ %r = {mnemonic} {suffix} return }} }}"
        operation = next(one for one in tileir.parse(text).walk() if one.declaration is declaration)
        kernel = KERNELS[declaration](operation, False)
        operands = [array[:, :64].view(numpy.int32 if element == "i32" else numpy.float32) for array in wide]
        operands = operands[: len(operation.operands)]
        with numpy.errstate(all="ignore"):
            strided, packed = kernel(*operands), kernel(*[operand.copy() for operand in operands])
        assert strided.tobytes() == packed.tobytes(), mnemonic
        assert not any(numpy.may_share_memory(strided, operand) for operand in operands), mnemonic


def test_a_region_keeps_no_more_than_its_limit() -> None:
    data = numpy.zeros(16, numpy.uint8)
    region = Region(int(data.ctypes.data), 16, data, ("data",), True)
    tile = numpy.zeros(KEPT_BYTES // 8 - 1, numpy.uint8)
    for key in range(20):
        region.keep(key, tile)
        assert sum(kept.nbytes for kept in region.kept.values()) <= KEPT_BYTES
        assert region.kept[key] is tile
    region.changed()
    assert not region.kept
    region.keep("huge", numpy.zeros(KEPT_BYTES + 1, numpy.uint8))
    assert not region.kept


@pytest.mark.parametrize("strides", ["256,1", "2,1", "1,128"])
@pytest.mark.parametrize("map", ["", ", dim_map=[1, 0]"])
def test_products_have_the_same_bits_however_the_factors_lie(strides: str, map: str) -> None:
    tensor = f"tensor_view<128x192xf32, strides=[{strides}]>"
    tile = "tile<64x64xf32>"
    view = f"partition_view<tile=(64x64), {tensor}{map}>"
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>) {{
      %i, %j, %z_id = get_tile_block_id : tile<i32>
      %empty = constant <f32: 0.5> : {tile}
      %ta = make_tensor_view %a, shape = [128, 192], strides = [{strides}] : {tensor}
      %va = make_partition_view %ta : {view}
      %tb = make_tensor_view %b, shape = [128, 192], strides = [{strides}] : {tensor}
      %vb = make_partition_view %tb : {view}
      %tc = make_tensor_view %c, shape = [128, 192], strides = [192, 1] : tensor_view<128x192xf32, strides=[192,1]>
      %vc = make_partition_view %tc : partition_view<tile=(64x64), tensor_view<128x192xf32, strides=[192,1]>>
      %x, %t1 = load_view_tko weak %va[%i, %j] : {view}, tile<i32> -> {tile}, token
      %y, %t2 = load_view_tko weak %vb[%j, %i] : {view}, tile<i32> -> {tile}, token
      %r = mmaf %x, %y, %empty : {tile}, {tile}, {tile}
      %s = store_view_tko weak %r, %vc[%i, %j] : {tile}, partition_view<tile=(64x64), tensor_view<128x192xf32, strides=[192,1]>>, tile<i32> -> token
      return }} }}"""
    kernel = tileir.compile(tileir.parse(text))
    rng = numpy.random.default_rng(7)
    a, b = (rng.standard_normal(256 * 192).astype(numpy.float32) for _ in range(2))
    plain, watched = numpy.zeros((128, 192), numpy.float32), numpy.zeros((128, 192), numpy.float32)
    kernel.launch((3, 3), a, b, plain)
    kernel.launch((3, 3), a, b, watched, observer=Everything())
    assert plain.any()
    assert plain.tobytes() == watched.tobytes()
