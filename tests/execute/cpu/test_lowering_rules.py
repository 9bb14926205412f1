"""The rules of the lowering, one by one: kernels that go wrong where a rule is missing, on both engines."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy
import pytest
from tests.execute.cpu.both_engines import both_engines
from tests.sampling import one_in

import tileir

T = "tile<8x8xf32>"
TENSOR = "tensor_view<32x8xf32, strides=[8,1]>"
VIEW = f"partition_view<tile=(8x8), {TENSOR}>"


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE", "0")


def load(name: str, view: str = "va", index: str = "%zero, %zero") -> str:
    return f"%{name}, %{name}_t = load_view_tko weak %{view}[{index}] : {VIEW}, tile<i32> -> {T}, token\n"


_numbers = count()


def store(value: str, view: str = "vb", index: str = "%zero, %zero") -> str:
    name = f"%stored{next(_numbers)}"
    return f"{name} = store_view_tko weak %{value}, %{view}[{index}] : {T}, {VIEW}, tile<i32> -> token\n"


def exp(name: str, value: str) -> str:
    return f"%{name} = exp %{value} : {T}\n"


def add(name: str, left: str, right: str) -> str:
    return f"%{name} = addf %{left}, %{right} : {T}\n"


def product(name: str, left: str, right: str, total: str) -> str:
    return f"%{name} = mmaf %{left}, %{right}, %{total} : {T}, {T}, {T}\n"


def text_of(body: str) -> str:
    """A kernel of arrays a, b, c of 32 x 8."""
    made = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [32, 8], strides = [8, 1] : {TENSOR}\n"
        f"%v{x} = make_partition_view %t{x} : {VIEW}\n"
        for x in "abc"
    )
    return f"""cuda_tile.module @m {{
      entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %n: tile<i32>) {{
      %block, %y_id, %z_id = get_tile_block_id : tile<i32>
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %two = constant <i32: 2> : tile<i32>
      %three = constant <i32: 3> : tile<i32>
      %empty = constant <f32: 0.0> : {T}
      %ones = constant <f32: 1.0> : {T}
      {made}{body}
      return }} }}"""


def loops_of(body: str) -> str:
    return tileir.compile(tileir.parse(text_of(body)), backend="cpu").dump("loops")


def run(body: str, *arrays: Any, grid: int = 1) -> list[Any]:
    """Run a body on both engines, with what the arrays hold afterwards."""
    found = list(arrays) if arrays else fresh()
    with both_engines() as compared:
        tileir.compile(tileir.parse(text_of(body)), exact=True).launch(grid, (*found, 3))
    assert compared.launches == 1
    return found


def fresh() -> list[Any]:
    rng = numpy.random.default_rng(5)
    return [rng.standard_normal((32, 8)).astype(numpy.float32) for _ in range(3)]


# --- regions: what is stored inside is stored for the inside only ---


@pytest.mark.parametrize("relation", ["less_than", "greater_than"])
def test_a_value_is_used_in_a_branch_that_may_not_run_and_behind_it(relation: str) -> None:
    run(
        load("x")
        + exp("e", "x")
        + f"%go = cmpi {relation} %n, %two, signed : tile<i32> -> tile<i1>\n"
        + f"if %go {{\n{store('e')}{add('f', 'e', 'x')}{store('f', 'vc')}}}\n"
        + add("r", "e", "ones")
        + store("r", "vb", "%one, %zero")
    )


@pytest.mark.parametrize("relation", ["less_than", "greater_than"])
def test_a_value_is_used_in_both_branches(relation: str) -> None:
    run(
        load("x")
        + exp("e", "x")
        + f"%go = cmpi {relation} %n, %two, signed : tile<i32> -> tile<i1>\n"
        + f"%r = if %go -> ({T}) {{\n{exp('p', 'e')}{store('e')} yield %p : {T} }} else {{\n"
        + f"{add('q', 'e', 'e')}{store('e', 'vc')} yield %q : {T} }}\n"
        + store("r", "vb", "%one, %zero")
    )


def test_what_waits_in_a_loop_does_not_wait_behind_it() -> None:
    run(
        f"for %i in (%zero to %n, step %one) : tile<i32> {{\n{load('x', 'va', '%i, %zero')}{exp('e', 'x')}"
        + f"{store('e', 'vb', '%i, %zero')}{load('y', 'vb', '%i, %zero')}{add('z', 'y', 'e')}{store('z', 'vc', '%i, %zero')}}}\n"
        + load("w", "vc")
        + store("w", "va", "%three, %zero")
    )


def test_a_loop_that_does_not_run_leaves_what_it_would_have_stored() -> None:
    run(
        load("x")
        + exp("e", "x")
        + f"%r = for %i in (%three to %n, step %one) : tile<i32> iter_values(%s = %x) -> ({T}) {{\n"
        + f"{add('u', 's', 'e')}{store('e', 'vc')} continue %u : {T} }}\n"
        + add("q", "r", "e")
        + store("q")
    )


# --- carried tiles and the buffers they share ---


def test_carried_tiles_swap_and_turn() -> None:
    run(
        load("x")
        + load("y", "va", "%one, %zero")
        + load("z", "va", "%two, %zero")
        + f"%r, %s, %u = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%p = %x, %q = %y, %w = %z) -> ({T}, {T}, {T}) {{\n"
        + f"%turned = permute %w [1, 0] : {T} -> {T}\n"
        + add("sum", "p", "q")
        + f"continue %q, %turned, %sum : {T}, {T}, {T} }}\n"
        + store("r")
        + store("s", "vb", "%one, %zero")
        + store("u", "vb", "%two, %zero")
    )


def test_two_ways_to_the_next_turn_carry_different_tiles() -> None:
    run(
        load("x")
        + f"%r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%p = %x) -> ({T}) {{\n"
        + exp("e", "p")
        + add("f", "e", "p")
        + f"%odd = cmpi equal %i, %one, signed : tile<i32> -> tile<i1>\nif %odd {{ continue %e : {T} }}\n"
        + add("g", "f", "e")
        + f"%h = mulf %g, %f : {T}\n continue %f : {T} }}\n"
        + store("r")
    )


def test_a_tile_goes_to_an_inner_loop_of_larger_tiles() -> None:
    """The inner loop carries at the same place what the outer one carries smaller."""
    big = "tile<64x64xf32>"
    outer = (
        f"%large = constant <f32: 3.0> : {big}\n%small = constant <f32: 2.0> : tile<4xf32>\n"
        + load("x")
        + "%r, %k = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%p = %small, %o = %x) "
        + f"-> (tile<4xf32>, {T}) {{\n%p2 = addf %p, %p : tile<4xf32>\n"
        + "%w = itof %i signed : tile<i32> -> tile<f32>\n%w1 = reshape %w : tile<f32> -> tile<1x1xf32>\n"
        + f"%w2 = broadcast %w1 : tile<1x1xf32> -> {big}\n%v = addf %w2, %large : {big}\n%v2 = exp %v : {big}\n"
        + f"%v3 = addf %v2, %v : {big}\n"
        + f"%in = for %j in (%zero to %two, step %one) : tile<i32> iter_values(%m = %large) -> ({big}) {{ continue %v3 : {big} }}\n"
        + f"%part = extract %in[%i, %i] : {big} -> {T}\n%part2 = extract %v3[%i, %i] : {big} -> {T}\n"
        + add("o1", "o", "part")
        + add("o2", "o1", "part2")
        + f"continue %p2, %o2 : tile<4xf32>, {T} }}\n"
    )
    run(outer + store("k"))


# --- products in place ---


def test_a_product_of_its_own_addend() -> None:
    run(
        load("x")
        + exp("e", "x")
        + load("y", "vb")
        + product("r", "e", "y", "e")
        + product("s", "y", "r", "r")
        + store("s", "vc")
    )


@pytest.mark.parametrize("operands", [("p", "y"), ("y", "p"), ("p", "p")])
def test_a_product_of_what_a_loop_carries(operands: tuple[str, str]) -> None:
    run(
        load("x")
        + load("y", "vb")
        + f"%r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%p = %x) -> ({T}) {{\n"
        + product("q", *operands, "empty")
        + f"continue %q : {T} }}\n"
        + store("r", "vc")
    )


def test_an_addend_that_is_wanted_again_under_another_name() -> None:
    run(
        load("x")
        + load("y", "vb")
        + f"%r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%p = %x) -> ({T}) {{\n"
        + f"%flat = reshape %p : {T} -> tile<64xf32>\n%back = reshape %flat : tile<64xf32> -> {T}\n"
        + product("q", "y", "y", "back")
        + add("s", "q", "p")
        + f"continue %s : {T} }}\n"
        + store("r", "vc")
    )


def test_an_addend_from_outside_the_loop_is_there_for_every_turn() -> None:
    run(
        load("x")
        + exp("e", "x")
        + load("y", "vb")
        + f"%r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %y) -> ({T}) {{\n"
        + f"%flat = reshape %e : {T} -> tile<64xf32>\n%back = reshape %flat : tile<64xf32> -> {T}\n"
        + product("q", "s", "y", "back")
        + f"continue %q : {T} }}\n"
        + store("r", "vc")
    )


# --- memory between a load and its use ---


def test_a_store_stands_between_a_load_and_its_use() -> None:
    for arrays in (fresh(), [fresh()[0]] * 3):
        run(
            load("x")
            + load("y", "vb")
            + store("y", "va")
            + add("z", "x", "y")
            + store("z", "vc")
            + load("w", "va")
            + add("v", "w", "x")
            + store("v", "vb", "%one, %zero"),
            *arrays,
        )


@pytest.mark.parametrize("shift", [1, 5, 8, 64])
def test_arrays_that_overlap(shift: int) -> None:
    base = numpy.random.default_rng(6).standard_normal(256 + 2 * shift).astype(numpy.float32)
    arrays = [base[number * shift : number * shift + 256] for number in range(3)]
    body = load("x", "va", "%block, %zero") + exp("e", "x") + store("e", "vb", "%block, %zero") + add("z", "e", "x")
    run(body + store("z", "vc", "%block, %zero"), *arrays, grid=4)


def test_a_tile_whose_elements_share_memory_is_read_before_it_is_written() -> None:
    tensor = "tensor_view<32x8xf32, strides=[1,1]>"
    view = f"partition_view<tile=(8x8), {tensor}>"
    run(
        f"%ts = make_tensor_view %a, shape = [32, 8], strides = [1, 1] : {tensor}\n%vs = make_partition_view %ts : {view}\n"
        f"%x, %k = load_view_tko weak %vs[%zero, %zero] : {view}, tile<i32> -> {T}, token\n{add('y', 'x', 'ones')}"
        f"%l = store_view_tko weak %y, %vs[%zero, %zero] : {T}, {view}, tile<i32> -> token\n"
    )


def test_the_same_view_at_another_index_is_another_tile() -> None:
    tensor = "tensor_view<32x8xf32, strides=[8,1]>"
    view = f"strided_view<tile=(8x8), traversal_strides=[1,1], {tensor}>"
    run(
        f"%vs = make_strided_view %ta : {view}\n"
        f"%x, %k = load_view_tko weak %vs[%zero, %zero] : {view}, tile<i32> -> {T}, token\n{add('y', 'x', 'ones')}"
        f"%l = store_view_tko weak %y, %vs[%one, %zero] : {T}, {view}, tile<i32> -> token\n"
    )


def test_all_lanes_of_a_scatter_go_to_one_place() -> None:
    view = f"gather_scatter_view<tile=(8x8), {TENSOR}, sparse_dim=1>"
    run(
        load("x")
        + f"%vs = make_gather_scatter_view %tb : {view}\n%places = constant <i32: 3> : tile<8xi32>\n"
        + f"%k = store_view_tko weak %x, %vs[%zero, %places] : {T}, {view}, tile<i32>, tile<8xi32> -> token\n"
    )


def test_reserved_memory_is_nobody_elses() -> None:
    pointers = "tile<8x8xptr<f32>>"
    run(
        "%m = alloca num_elem = 64, alignment = 64 : tile<ptr<f32>>\n"
        f"%m1 = reshape %m : tile<ptr<f32>> -> tile<1x1xptr<f32>>\n%m2 = broadcast %m1 : tile<1x1xptr<f32>> -> {pointers}\n"
        "%iota = iota : tile<64xi32>\n%places = reshape %iota : tile<64xi32> -> tile<8x8xi32>\n"
        f"%at = offset %m2, %places : {pointers}, tile<8x8xi32> -> {pointers}\n"
        + load("x")
        + f"%s1 = store_ptr_tko weak %at, %x : {pointers}, {T} -> token\n"
        + exp("e", "x")
        + product("p", "e", "x", "ones")
        + f"%q = permute %p [1, 0] : {T} -> {T}\n"
        + product("r", "q", "p", "q")
        + store("r")
        + f"%y, %yt = load_ptr_tko weak %at : {pointers} -> {T}, token\n"
        + add("z", "y", "r")
        + store("z", "vc")
    )


# --- views ---


@pytest.mark.parametrize("element", ["i64", "i32"])
def test_extents_and_indices_are_unsigned(element: str) -> None:
    tensor = "tensor_view<?x8xf32, strides=[8,1]>"
    view = f"partition_view<tile=(8x8), padding_value = neg_inf, {tensor}>"
    result = run(
        f"%huge = constant <{element}: -5> : tile<{element}>\n%few = constant <{element}: 11> : tile<{element}>\n"
        f"%tl = make_tensor_view %a, shape = [%few, 8], strides = [8, 1] : tile<{element}> -> {tensor}\n"
        + f"%th = make_tensor_view %a, shape = [%huge, 8], strides = [8, 1] : tile<{element}> -> {tensor}\n"
        + f"%vl = make_partition_view %tl : {view}\n%vh = make_partition_view %th : {view}\n"
        + f"%low = constant <{element}: 1> : tile<{element}>\n%none = constant <{element}: 0> : tile<{element}>\n"
        + f"%x, %xt = load_view_tko weak %vl[%low, %none] : {view}, tile<{element}> -> {T}, token\n{store('x')}"
        + f"%y, %yt = load_view_tko weak %vl[%huge, %none] : {view}, tile<{element}> -> {T}, token\n{store('y', 'vb', '%one, %zero')}"
        + f"%size:2 = get_index_space_shape %vh : {view} -> tile<i64>\n"
        + "%f = itof %size#0 unsigned : tile<i64> -> tile<f32>\n%f1 = reshape %f : tile<f32> -> tile<1x1xf32>\n"
        + f"%f2 = broadcast %f1 : tile<1x1xf32> -> {T}\n{store('f2', 'vc')}"
    )
    assert result[1][8:16].max() == -numpy.inf
    assert result[2][0, 0] == numpy.float32(-(-(2 ** int(element[1:]) - 5) // 8))


def test_scales_in_all_their_formats() -> None:
    for scale in ("f8E8M0FNU", "f8E4M3FN", "fnv8E5M3FNU"):
        narrow = "f8E4M3FN" if scale == "f8E8M0FNU" else "f4E2M1FN"
        block = 32 if scale == "f8E8M0FNU" else 16
        shape = f"tile<8x{block}x{narrow}>", f"tile<{block}x8x{narrow}>", f"tile<8x1x{scale}>", f"tile<1x8x{scale}>"
        run(
            f"%l = constant <{narrow}: 1.5> : {shape[0]}\n%r = constant <{narrow}: 2.0> : {shape[1]}\n"
            f"%p = constant <{scale}: 4.0> : {shape[2]}\n%q = constant <{scale}: 2.0> : {shape[3]}\n"
            f"%s = mmaf_scaled %l, %r, %ones, %p, %q : {shape[0]}, {shape[1]}, {T}, {shape[2]}, {shape[3]}\n"
            + store("s")
        )


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("element", "mode", "shape", "batch"),
    one_in(
        3,
        [
            (element, mode, shape, batch)
            for shape, batch in [((1, 1, 8), "2x"), ((4, 8, 16), ""), ((4, 8, 16), "2x"), ((16, 32, 64), "")]
            for element, modes in [
                ("f16", ("exact", "default", "fast")),
                ("f8E4M3FN", ("default", "fast", "exact")),
                ("f8E5M2", ("fast", "exact", "default")),
            ]
            for mode in modes
        ],
    ),
)
def test_products_that_add_to_f16_are_rounded_once_for_each_operation(
    element: str, mode: str, shape: tuple[int, int, int], batch: str
) -> None:
    """Two products in a row, and a loop of three: five roundings, not one, and not one for each term."""
    m, n, k = shape
    left, right, total = (
        f"tile<{batch}{m}x{k}x{element}>",
        f"tile<{batch}{k}x{n}x{element}>",
        f"tile<{batch}{m}x{n}xf16>",
    )
    count = (2 if batch else 1) * m * n
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %out: tile<ptr<f16>>) {{
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %three = constant <i32: 3> : tile<i32>
      %start = constant <f16: 2048.0> : {total}
      {_read("a", left)}
      {_read("b", right)}
      %first = mmaf %a_tile, %b_tile, %start : {left}, {right}, {total}
      %second = mmaf %a_tile, %b_tile, %first : {left}, {right}, {total}
      %last = for %i in (%zero to %three, step %one) : tile<i32> iter_values(%sum = %second) -> ({total}) {{
        %next = mmaf %a_tile, %b_tile, %sum : {left}, {right}, {total}
        continue %next : {total}
      }}
      %flat = reshape %last : {total} -> tile<{count}xf16>
      %p1 = reshape %out : tile<ptr<f16>> -> tile<1xptr<f16>>
      %ps = broadcast %p1 : tile<1xptr<f16>> -> tile<{count}xptr<f16>>
      %lane = iota : tile<{count}xi32>
      %places = offset %ps, %lane : tile<{count}xptr<f16>>, tile<{count}xi32> -> tile<{count}xptr<f16>>
      %t = store_ptr_tko weak %places, %flat : tile<{count}xptr<f16>>, tile<{count}xf16> -> token
      return }} }}"""
    module = tileir.parse(text)
    rng = numpy.random.default_rng(3)
    # Products of about a third of a unit of f16 at 2048, positive: what is lost at each step is lost for good.
    a, b = (rng.uniform(0.25, 1.5, (2 if batch else 1) * size).astype(numpy.float32) for size in (m * k, k * n))
    results = []
    native = {"backend": "cpu", "exact": mode == "exact", "fast": mode == "fast"}
    for options in (native, {"backend": "interpreter", "exact": True}):
        results.append(numpy.zeros(count, numpy.float16))
        tileir.compile(module, **options).launch(1, (a, b, results[-1]))  # type: ignore[call-overload]
    if mode == "exact":
        assert (results[0] == results[1]).all()
    # Five times at most half a unit of f16, where another order of the sum is rounded to the other side.
    assert numpy.allclose(results[0], results[1], rtol=5 * 2.0**-11, atol=0)
    near = numpy.zeros(count, numpy.float16)
    tileir.compile(module, backend="interpreter").launch(1, (a, b, near))
    assert numpy.allclose(near, results[0], rtol=3e-3, atol=0)


def _read(name: str, tile: str) -> str:
    """A tile of the numbers at an argument, converted."""
    *extents, _ = tile.removeprefix("tile<").removesuffix(">").split("x")
    count = numpy.prod([int(extent) for extent in extents])
    wide = "x".join(extents) + "xf32"
    return f"""%{name}_1 = reshape %{name} : tile<ptr<f32>> -> tile<1xptr<f32>>
      %{name}_n = broadcast %{name}_1 : tile<1xptr<f32>> -> tile<{count}xptr<f32>>
      %{name}_lane = iota : tile<{count}xi32>
      %{name}_p = offset %{name}_n, %{name}_lane : tile<{count}xptr<f32>>, tile<{count}xi32> -> tile<{count}xptr<f32>>
      %{name}_x, %{name}_t = load_ptr_tko weak %{name}_p : tile<{count}xptr<f32>> -> tile<{count}xf32>, token
      %{name}_y = reshape %{name}_x : tile<{count}xf32> -> tile<{wide}>
      %{name}_tile = ftof %{name}_y : tile<{wide}> -> {tile}"""


def test_a_release_store_reads_everything_before_it_stores_anything() -> None:
    module = tileir.parse("""cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>) {
      %a1 = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
      %b1 = reshape %b : tile<ptr<f32>> -> tile<1xptr<f32>>
      %lane = iota : tile<16xi32>
      %as = broadcast %a1 : tile<1xptr<f32>> -> tile<16xptr<f32>>
      %bs = broadcast %b1 : tile<1xptr<f32>> -> tile<16xptr<f32>>
      %ap = offset %as, %lane : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
      %bp = offset %bs, %lane : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
      %x, %t = load_ptr_tko weak %bp : tile<16xptr<f32>> -> tile<16xf32>, token
      %s = store_ptr_tko release device %ap, %x token=%t : tile<16xptr<f32>>, tile<16xf32> -> token
      return } }""")
    lines = tileir.compile(module, backend="cpu").dump("loops").splitlines()
    (stores,) = [line for line in lines if "release" in line or "memory[" in line.split("<-")[0]]
    assert "memory[" not in stores.split("<-")[1]


# --- what is kept on the way ---

SHORT = T.replace("f32", "f16")


def total(name: str, value: str) -> str:
    body = "(%p: tile<f32>, %q: tile<f32>) { %s = addf %p, %q : tile<f32>\n yield %s : tile<f32> }"
    return f"%{name} = reduce %{value} dim=1 identities=[0.0 : f32] : {T} -> tile<8xf32> {body}\n"


def rounded(name: str, value: str) -> str:
    return f"%{name} = ftof %{value} : {T} -> {SHORT}\n%{name}.back = ftof %{name} : {SHORT} -> {T}\n"


SPREAD = f"""%column = reshape %sum : tile<8xf32> -> tile<8x1xf32>
%wide = broadcast %column : tile<8x1xf32> -> {T}
"""


def test_a_value_that_is_only_rounded_later_is_kept_rounded() -> None:
    body = load("x") + exp("e", "x") + total("sum", "e") + SPREAD + rounded("r", "e")
    body += add("y", "r.back", "wide") + store("y")
    run(body)
    loops = loops_of(body)
    assert "b0 <- ftof(" in loops and loops.count("exp(") == 1


def test_a_value_that_is_wanted_rounded_and_as_it_is_is_kept_as_it_is() -> None:
    body = load("x") + exp("e", "x") + total("sum", "e") + SPREAD + rounded("r", "e")
    body += add("y", "r.back", "wide") + add("w", "y", "e") + store("w")
    run(body)
    assert "b0 <- ftof(" not in loops_of(body)


def twice(body: str) -> str:
    return f"for %i in (%zero to %two, step %one) : tile<i32> {{\n{body}continue\n}}\n"


@pytest.mark.parametrize("place", ["inside", "behind"])
def test_a_value_is_rounded_in_another_region(place: str) -> None:
    inner = rounded("r", "e") + store("r.back")
    body = load("x") + exp("e", "x")
    if place == "inside":
        body += total("sum", "e") + SPREAD + twice(inner) + store("wide", "vc")
    else:
        body += twice(total("sum", "e") + SPREAD + store("wide", "vc")) + inner
    run(body)


@pytest.mark.parametrize(("wide", "narrow"), [("f32", "f16"), ("f32", "bf16"), ("f64", "f32")])
@pytest.mark.parametrize("shape", ["", "1x"])
def test_a_scalar_that_is_only_rounded_later_stays_a_scalar(wide: str, narrow: str, shape: str) -> None:
    """It is computed with as a scalar: no buffer takes its place."""
    tiles = {kind: f"tile<{shape}{kind}>" for kind in (wide, narrow)}
    pointers = f"tile<{shape}ptr<{wide}>>"
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<{wide}>>, %b: tile<ptr<{wide}>>) {{
      %pa = reshape %a : tile<ptr<{wide}>> -> {pointers}
      %pb = reshape %b : tile<ptr<{wide}>> -> {pointers}
      %x, %t = load_ptr_tko weak %pa : {pointers} -> {tiles[wide]}, token
      %near = ftof %x : {tiles[wide]} -> {tiles[narrow]}
      %twice = addf %near, %near : {tiles[narrow]}
      %back = ftof %twice : {tiles[narrow]} -> {tiles[wide]}
      %stored = store_ptr_tko weak %pb, %back : {pointers}, {tiles[wide]} -> token
      return }} }}"""
    results = []
    for backend in ("interpreter", "cpu"):
        a = numpy.array([numpy.pi], {"f32": "f4", "f64": "f8"}[wide])
        b = numpy.zeros_like(a)
        kernel = tileir.compile(tileir.parse(text), backend=backend)
        kernel.launch(1, (a, b))
        results.append(b[0])
    assert results[0] == results[1] != 2 * a[0]
    assert "b0" not in kernel.dump("loops")
