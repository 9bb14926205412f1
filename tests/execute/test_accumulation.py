"""Products that accumulate around a loop write to two tiles in turn.  No program may notice."""

from __future__ import annotations

import threading
from typing import Any

import numpy
import pytest
from tests.execute.tile_programs import TILE, add, arrays, load, module, product, run, store

import tileir
from tileir.execute.interpreter import accumulation

FACTORS = load("x", "va", "%k, %zero") + load("f", "vb", "%k, %zero")
STEPS = "(%zero to %four, step %one) : tile<i32>"
FOUR = "%four = constant <i32: 4> : tile<i32>\n"


def accumulate(result: str, initial: str, more: str = "", counter: str = "%k") -> str:
    """A loop that adds the products of all four pairs of tiles."""
    factors = FACTORS.replace("%k", counter)
    return (
        f"%{result} = for {counter} in {STEPS} iter_values(%acc = %{initial}) -> ({TILE}) {{\n"
        f"{factors}{more}{product('r', 'x', 'f', 'acc')} continue %r : {TILE} }}\n"
    )


def sum_of_products() -> Any:
    a, b, _ = arrays()
    return sum(a[k : k + 4] @ b[k : k + 4] for k in range(0, 16, 4))


def test_products_are_added_up_and_the_initial_value_stays() -> None:
    body = FOUR + load("start", "vc") + accumulate("out", "start") + store("out", "vc", "%one, %zero")
    body += store("start", "vc", "%two, %zero")
    _, _, c = run(body, grid=3)
    start = arrays()[2][:4]
    assert c[4:8].tolist() == (start + sum_of_products()).tolist()
    assert c[8:12].tolist() == start.tolist()


def test_a_constant_initial_value_is_the_same_in_the_next_tile_block() -> None:
    _, _, c = run(FOUR + accumulate("out", "empty") + store("out", "vc", "%i, %zero"), grid=3)
    for number in range(3):
        assert c[4 * number : 4 * number + 4].tolist() == sum_of_products().tolist()


def test_the_result_of_a_loop_survives_its_next_run() -> None:
    inner = accumulate("out", "empty", counter="%n")
    body = FOUR + f"%last, %kept = for %k in {STEPS} iter_values(%p = %empty, %q = %empty) -> ({TILE}, {TILE}) {{\n"
    body += inner + add("sum", "p", "q") + f"continue %out, %sum : {TILE}, {TILE} }}\n"
    body += store("last", "vc") + store("kept", "vc", "%one, %zero")
    _, _, c = run(body)
    assert c[:4].tolist() == sum_of_products().tolist()
    assert c[4:8].tolist() == (3 * sum_of_products()).tolist()


def test_a_loop_goes_on_from_its_own_last_result() -> None:
    inner = accumulate("out", "p", counter="%n")
    body = FOUR + f"%last, %all = for %k in {STEPS} iter_values(%p = %empty, %q = %empty) -> ({TILE}, {TILE}) {{\n"
    body += inner + add("twice", "p", "p") + add("sum", "twice", "q")
    body += f"continue %out, %sum : {TILE}, {TILE} }}\n" + store("last", "vc") + store("all", "vc", "%one, %zero")
    _, _, c = run(body)
    assert c[:4].tolist() == (4 * sum_of_products()).tolist()
    assert c[4:8].tolist() == (12 * sum_of_products()).tolist()


def test_accumulators_that_change_places_are_two_values() -> None:
    body = FOUR + f"%m, %n = for %k in {STEPS} iter_values(%p = %empty, %q = %empty) -> ({TILE}, {TILE}) {{\n"
    body += FACTORS + product("r", "x", "f", "p") + f"continue %q, %r : {TILE}, {TILE} }}\n"
    body += store("m", "vc") + store("n", "vc", "%one, %zero")
    _, _, c = run(body)
    a, b, _ = arrays()
    assert c[:4].tolist() == (a[0:4] @ b[0:4] + a[8:12] @ b[8:12]).tolist()
    assert c[4:8].tolist() == (a[4:8] @ b[4:8] + a[12:16] @ b[12:16]).tolist()


def test_an_accumulator_that_is_also_carried_elsewhere_keeps_its_value() -> None:
    body = FOUR + f"%m, %n = for %k in {STEPS} iter_values(%p = %empty, %q = %empty) -> ({TILE}, {TILE}) {{\n"
    body += FACTORS + product("r", "x", "f", "p") + f"continue %r, %p : {TILE}, {TILE} }}\n"
    body += store("m", "vc") + store("n", "vc", "%one, %zero")
    _, _, c = run(body)
    a, b, _ = arrays()
    assert c[:4].tolist() == sum_of_products().tolist()
    assert c[4:8].tolist() == (sum_of_products() - a[12:16] @ b[12:16]).tolist()


def test_a_round_may_begin_anew() -> None:
    skip = "%odd = cmpi equal %k, %two, signed : tile<i32> -> tile<i1>\n"
    skip += f"if %odd {{ continue %empty : {TILE} }}\n"
    _, _, c = run(FOUR + accumulate("out", "empty", skip) + store("out", "vc"))
    a, b, _ = arrays()
    assert c[:4].tolist() == (a[12:16] @ b[12:16]).tolist()


def test_launches_of_one_kernel_in_several_threads_do_not_meet() -> None:
    kernel = tileir.compile(module(FOUR + accumulate("out", "empty") + store("out", "vc")))
    sets = [arrays() for _ in range(4)]
    for number, (a, _, _) in enumerate(sets):
        a *= number + 1

    def launch(chosen: list[Any]) -> None:
        for _ in range(50):
            kernel.launch(1, *chosen)

    threads = [threading.Thread(target=launch, args=(chosen,)) for chosen in sets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, (_, _, c) in enumerate(sets):
        assert c[:4].tolist() == ((number + 1) * sum_of_products()).tolist()


def test_only_a_value_with_one_step_around_the_loop_is_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[int, ...]] = []
    aligned_tiles = accumulation.aligned_tiles

    def listen(count: int, shape: Any, dtype: Any) -> Any:
        made.append(tuple(shape))
        return aligned_tiles(count, shape, dtype)

    monkeypatch.setattr(accumulation, "aligned_tiles", listen)
    tileir.compile(module(FOUR + accumulate("out", "empty"))).launch(2, *arrays())
    assert made == [(4, 4), (4, 4)]
    made.clear()
    used_twice = accumulate("out", "empty", add("d", "acc", "acc"))
    tileir.compile(module(FOUR + used_twice)).launch(2, *arrays())
    tileir.compile(module(FOUR + accumulate("out", "empty")), exact=True).launch(2, *arrays())
    assert made == []


@pytest.mark.parametrize(("factor", "sum"), [("f16", "f32"), ("bf16", "f32"), ("f32", "f32"), ("f64", "f64")])
def test_tiles_written_in_place_have_the_bits_of_new_ones(factor: str, sum: str) -> None:
    import ml_dtypes

    from tileir.execute.arithmetic.matrix import matrix_float, matrix_float_into
    from tileir.ir.types import FLOAT_TYPES

    rng = numpy.random.default_rng(1)
    dtype = ml_dtypes.bfloat16 if factor == "bf16" else numpy.dtype(f"f{int(factor[1:]) // 8}")
    a, b = (rng.standard_normal((32, 32)).astype(dtype) for _ in range(2))
    c = rng.standard_normal((32, 32)).astype(f"f{int(sum[1:]) // 8}")
    into = numpy.empty_like(c)
    matrix_float_into(FLOAT_TYPES[factor], FLOAT_TYPES[sum])(a, b, c, into)
    assert into.tobytes() == matrix_float(FLOAT_TYPES[factor], FLOAT_TYPES[sum])(a, b, c).tobytes()
