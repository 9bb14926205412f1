"""Loops that only add products find all their tiles at once.  No program may notice: the bits are those of the steps."""

from __future__ import annotations

import threading
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tileir
from tileir.execute.interpreter import control_flow, product_loops


def program(
    element: str = "f32", more: str = "", index: str = "%i, %k", bounds: str = "%zero to %n", step: int = 1
) -> str:
    """A product of matrices of any extents in 4 x 4 tiles; `%n` and `%first` come with the launch."""
    tensor = f"tensor_view<?x?x{element}, strides=[?,1]>"
    view = f"partition_view<tile=(4x4), padding_value = zero, {tensor}>"
    tile = f"tile<4x4x{element}>"
    made = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [%{r}, %{c}], strides = [%{c}, 1] : tile<i32> -> {tensor}\n"
        f"%v{x} = make_partition_view %t{x} : {view}\n"
        for x, r, c in (("a", "rows", "depth"), ("b", "depth", "columns"), ("c", "rows", "columns"))
    )
    pointers = ", ".join(f"%{x}: tile<ptr<{element}>>" for x in "abc")
    numbers = ", ".join(f"%{x}: tile<i32>" for x in ("rows", "columns", "depth", "first", "n"))
    return f"""cuda_tile.module @m {{ entry @k({pointers}, {numbers}) {{
      %i, %j, %z = get_tile_block_id : tile<i32>
      {made}
      %zero = constant <i32: 0> : tile<i32>
      %step = constant <i32: {step}> : tile<i32>
      %start = constant <{element}: -0.0> : {tile}
      %sum = for %k in ({bounds}, step %step) : tile<i32> iter_values(%acc = %start) -> ({tile}) {{
        %x, %tx = load_view_tko weak %va[{index}] : {view}, tile<i32> -> {tile}, token
        %y, %ty = load_view_tko weak %vb[%k, %j] : {view}, tile<i32> -> {tile}, token
        {more}
        %r = mmaf %x, %y, %acc : {tile}, {tile}, {tile}
        continue %r : {tile}
      }}
      %s = store_view_tko weak %sum, %vc[%i, %j] : {tile}, {view}, tile<i32> -> token
      return }} }}"""


def launched(
    text: str, rows: int, columns: int, depth: int, first: int, last: int, dtype: Any
) -> tuple[bytes, list[bool]]:
    """The bytes of the result, and of each run of the loop whether it found its tiles at once."""
    rng = numpy.random.default_rng(rows + 7 * depth)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((rows, depth), (depth, columns)))
    c = numpy.zeros((rows, columns), dtype)
    found: list[bool] = []
    tiles = product_loops._tiles

    def listen(*arguments: Any) -> Any:
        answer = tiles(*arguments)
        found.append(answer is not None)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(product_loops, "_tiles", listen)
        kernel = tileir.compile(tileir.parse(text))
        kernel.launch((-(-rows // 4), -(-columns // 4)), a, b, c, rows, columns, depth, first, last)
    return c.tobytes(), found


def by_steps(text: str, *given: Any) -> bytes:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(control_flow, "product_loop", lambda *arguments: None)
        return launched(text, *given)[0]


extents = st.integers(1, 17)


@settings(deadline=None, max_examples=24)
@given(
    st.tuples(extents, extents, st.one_of(extents, st.just(96))),
    st.tuples(st.integers(-2, 3), st.integers(0, 24)),
    st.sampled_from(["f32", "f64"]),
    st.integers(1, 2),
    st.sampled_from([1, 4 * 4 * 8 * 3, product_loops._PRODUCT_BYTES]),
)
def test_the_bits_are_those_of_the_steps(
    shape: tuple[int, int, int], span: tuple[int, int], element: str, step: int, room: int
) -> None:
    """However many products there is room for at once."""
    text = program(element, bounds="%first to %n", step=step)
    given = (*shape, *span, numpy.dtype(f"f{int(element[1:]) // 8}"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(product_loops, "_PRODUCT_BYTES", room)
        assert launched(text, *given)[0] == by_steps(text, *given)


def test_products_are_added_one_after_the_other() -> None:
    """2^24 takes no one by itself: added up in any other order, the ones would count."""
    a, b = numpy.zeros((4, 40), "f4"), numpy.ones((40, 4), "f4")
    a[:, ::4] = 1
    a[:, 0] = 2**24
    c = numpy.zeros((4, 4), "f4")
    tileir.compile(tileir.parse(program())).launch(1, a, b, c, 4, 4, 40, 0, 10)
    assert (c == 2**24).all()


def test_threads_that_launch_one_kernel_at_once_have_results_of_their_own() -> None:
    kernel = tileir.compile(tileir.parse(program()))
    factors = [numpy.full((4, 64), number, "f4") for number in (1, 2)]
    results = [numpy.zeros((4, 4), "f4") for _ in factors]

    def launch(number: int) -> None:
        for _ in range(50):
            kernel.launch(1, factors[number], numpy.ones((64, 4), "f4"), results[number], 4, 4, 64, 0, 16)

    threads = [threading.Thread(target=launch, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.tolist() for result in results] == [[[64.0] * 4] * 4, [[128.0] * 4] * 4]


def test_whole_tiles_are_found_at_once_and_others_go_the_steps() -> None:
    _, found = launched(program(), 8, 12, 16, 0, 4, numpy.float32)
    assert found == [True] * 6
    # The last row of tiles and the last tile of the depth are not whole.
    assert launched(program(), 10, 12, 16, 0, 4, numpy.float32)[1].count(False) == 3
    assert set(launched(program(), 8, 12, 15, 0, 4, numpy.float32)[1]) == {False}


@pytest.mark.parametrize(
    "text",
    [
        program(index="%k, %i"),
        program(more="%again = addf %x, %x : tile<4x4xf32>"),
        program().replace("mmaf %x, %y, %acc", "mmaf %y, %x, %acc"),
    ],
)
def test_any_other_loop_goes_its_steps(text: str) -> None:
    given = (16, 16, 16, 0, 4, numpy.float32)
    result, found = launched(text, *given)
    assert found == []
    assert result == by_steps(text, *given)


def test_what_a_tile_block_writes_is_read_by_the_next() -> None:
    """The result goes into the right factor, of which tiles are kept."""
    results = []
    for patched in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if patched:
                patch.setattr(control_flow, "product_loop", lambda *arguments: None)
            a, b = (numpy.random.default_rng(number).standard_normal((8, 8)).astype("f4") for number in (1, 2))
            tileir.compile(tileir.parse(program())).launch((2, 2), a, b, b, 8, 8, 8, 0, 2)
            results.append(b.tobytes())
    assert results[0] == results[1]


def test_exact_and_observed_loops_go_their_steps() -> None:
    module = tileir.parse(program())
    a = numpy.ones((4, 8), "f4")
    arguments = (a, a.reshape(8, 4), numpy.zeros((4, 4), "f4"), 4, 4, 8, 0, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(product_loops, "_tiles", None)
        tileir.compile(module, exact=True).launch(1, *arguments)
        tileir.compile(module).launch(1, *arguments, sanitize=True)
    assert (arguments[2] == 8).all()
