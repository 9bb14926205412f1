"""K-loops are taken many iterations at a time: the bits are those of the interpreter's exact mode, whatever lies over an edge, wherever the loop begins and ends."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tileir

pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite")

from tileir.execute.cpu.ir.statements import Matmul, statements
from tileir.execute.cpu.kernel import CpuKernel, Options

DTYPES = {"f32": numpy.float32, "f64": numpy.float64}


def program(
    tile: tuple[int, int, int],
    element: str = "f32",
    counter: str = "i32",
    body: str = "",
    turned: str = "",
    padding: str = "zero",
) -> str:
    """C += A * B over the tiles of k from %first to %last; rows are as far apart as the pitches say.

    The matrices that are `turned` lie in memory as their transposes.
    """
    m, n, k = tile
    tensor = f"tensor_view<?x?x{element}, strides=[?,1]>"
    shapes = {"a": ("m", "k", f"{m}x{k}"), "b": ("k", "n", f"{k}x{n}"), "c": ("m", "n", f"{m}x{n}")}
    views = {
        x: f"partition_view<tile=({shape}), padding_value = {padding}, {tensor}{', dim_map=[1, 0]' * (x in turned)}>"
        for x, (*_, shape) in shapes.items()
    }
    tiles = {x: f"tile<{shape}x{element}>" for x, (*_, shape) in shapes.items()}
    made = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [%{rows}, %{columns}], strides = [%pitch.{x}, 1] : tile<i32> -> {tensor}\n"
        f"%v{x} = make_partition_view %t{x} : {views[x]}\n"
        for x, (rows, columns) in [(x, names[1::-1] if x in turned else names[:2]) for x, names in shapes.items()]
    )
    return f"""cuda_tile.module @m {{
      entry @k(%a: tile<ptr<{element}>>, %b: tile<ptr<{element}>>, %c: tile<ptr<{element}>>, %m: tile<i32>,
          %n: tile<i32>, %k: tile<i32>, %pitch.a: tile<i32>, %pitch.b: tile<i32>, %pitch.c: tile<i32>,
          %first: tile<{counter}>, %last: tile<{counter}>) {{
        %i0, %j0, %z = get_tile_block_id : tile<i32>
        {"%i = exti %i0 signed : tile<i32> -> tile<i64>" if counter == "i64" else "%i = addi %i0, %z : tile<i32>"}
        {"%j = exti %j0 signed : tile<i32> -> tile<i64>" if counter == "i64" else "%j = addi %j0, %z : tile<i32>"}
        {made}
        %one = constant <{counter}: 1> : tile<{counter}>
        %start, %t0 = load_view_tko weak %vc[%i, %j] : {views["c"]}, tile<{counter}> -> {tiles["c"]}, token
        %sum = for %step in (%first to %last, step %one) : tile<{counter}> iter_values(%acc = %start) -> ({tiles["c"]}) {{
          %x, %t1 = load_view_tko weak %va[%i, %step] : {views["a"]}, tile<{counter}> -> {tiles["a"]}, token
          %y, %t2 = load_view_tko weak %vb[%step, %j] : {views["b"]}, tile<{counter}> -> {tiles["b"]}, token
          {body}
          %r = mmaf %x, %y, %acc : {tiles["a"]}, {tiles["b"]}, {tiles["c"]}
          continue %r : {tiles["c"]}
        }}
        %t3 = store_view_tko weak %sum, %vc[%i, %j] : {tiles["c"]}, {views["c"]}, tile<{counter}> -> token
        return
      }}
    }}"""


def k_loops(text: str) -> list[Matmul]:
    entry = next(operation for operation in tileir.parse(text).walk() if operation.name == "cuda_tile.entry")
    program = CpuKernel(entry, {}).lower(Options(False, False, False)).program
    return [each for each in statements(program.body) if isinstance(each, Matmul) and each.loop is not None]


def agrees(
    text: str, element: str, tile: tuple[int, int, int], extents: tuple[int, int, int], *more: Any, turned: str = ""
) -> None:
    """Run on both engines; `more` is what to add to the pitches, and the first and last tile of k."""
    wider, first, last = more
    m, n, k = extents
    random = numpy.random.default_rng((m, n, k))
    shapes = {"a": (m, k), "b": (k, n), "c": (m, n)}
    shapes |= {x: shapes[x][::-1] for x in turned}
    a, b, c = (
        random.standard_normal((rows, columns + wider)).astype(DTYPES[element]) for rows, columns in shapes.values()
    )
    found, wanted = c.copy(), c.copy()
    grid = (-(-m // tile[0]), -(-n // tile[1]))
    scalars = (m, n, k, a.shape[1], b.shape[1], c.shape[1], first, last)
    module = tileir.parse(text)
    tileir.compile(module, backend="cpu", exact=True).launch(grid, (a, b, found, *scalars))
    tileir.compile(module, backend="interpreter", exact=True).launch(grid, (a, b, wanted, *scalars))
    same = found == wanted
    assert (same | (numpy.isnan(found) & numpy.isnan(wanted))).all()
    assert found[same].tobytes() == wanted[same].tobytes()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(
    "tile",
    [pytest.param(tile, id=str(tile)) for tile in [(16, 64, 8), (32, 32, 16), (8, 128, 4), (4, 16, 2)]]
    + [pytest.param(tile, id=str(tile), marks=pytest.mark.long) for tile in [(64, 64, 32), (128, 64, 16)]],
)
def test_every_extent_has_the_bits_of_the_interpreter(tile: tuple[int, int, int], element: str) -> None:
    text = program(tile, element)
    assert k_loops(text)
    m, n, k = tile
    for extents in [tile, (2 * m, n, 5 * k), (m + 1, 2 * n, 3 * k + 1), (2 * m, n + 3, 2 * k - 1), (1, 1, 1)]:
        agrees(text, element, tile, extents, 0, 0, -(-extents[2] // k))
        agrees(text, element, tile, extents, 3, 0, -(-extents[2] // k))


@pytest.mark.parametrize("tile", [(16, 64, 8), (64, 128, 16), (32, 32, 32), (8, 16, 4)], ids=str)
def test_k_ends_within_a_tile(tile: tuple[int, int, int]) -> None:
    m, n, k = tile
    text = program(tile)
    for extents in [(2 * m, 2 * n, 3 * k + 4), (m + 1, n, k - 4 or 1), (2 * m, n + 3, 5 * k - 4), (3, 5, 4)]:
        needed = -(-extents[2] // k)
        agrees(text, "f32", tile, extents, 0, 0, needed)
        agrees(text, "f32", tile, extents, 3, min(1, needed - 1), needed)
        # Tiles that lie behind the end altogether, and a loop that does not go so far.
        agrees(text, "f32", tile, extents, 0, 0, needed + 1)
        agrees(text, "f32", tile, extents, 0, 0, needed - 1)


@pytest.mark.parametrize("k", [8, 12, 16, 20])
def test_zeros_behind_the_end_of_k_make_zero_of_its_negative(k: int) -> None:
    tile = (16, 64, 8)
    module = tileir.parse(program(tile))
    a, b = numpy.full((32, k), -1e-30, numpy.float32), numpy.full((k, 64), 1e-30, numpy.float32)
    results = []
    for backend in ("cpu", "interpreter"):
        c = numpy.zeros((32, 64), numpy.float32)
        kernel = tileir.compile(module, backend=backend, exact=True)
        kernel.launch((2, 1), (a, b, c, 32, 64, k, k, 64, 64, 0, -(-k // 8)))
        results.append(numpy.signbit(c))
    assert (results[1] == (k % 8 == 0)).all()
    assert (results[0] == results[1]).all()


@pytest.mark.parametrize("counter", ["i32", "i64"])
@pytest.mark.parametrize(
    ("first", "last"), [(0, 0), (0, 1), (1, 5), (2, 9), (3, 2), (7, 30), (5, -3)], ids=lambda number: str(number)
)
def test_a_loop_may_begin_and_end_anywhere(first: int, last: int, counter: str) -> None:
    tile = (8, 32, 4)
    agrees(program(tile, "f32", counter), "f32", tile, (16, 64, 26), 1, first, last)


@settings(max_examples=8, deadline=None)
@given(
    tile=st.tuples(*[st.sampled_from([1, 2, 8, 16, 32, 64])] * 3),
    extents=st.tuples(*[st.integers(1, 150)] * 3),
    wider=st.integers(0, 5),
    first=st.integers(0, 3),
    more=st.integers(0, 2),
)
def test_any_tiles_of_any_matrices(
    tile: tuple[int, int, int], extents: tuple[int, int, int], wider: int, first: int, more: int
) -> None:
    tile = (max(tile[0], extents[0] // 20), max(tile[1], extents[1] // 20), tile[2])
    tile = (1 << (tile[0] - 1).bit_length(), 1 << (tile[1] - 1).bit_length(), tile[2])
    agrees(program(tile), "f32", tile, extents, wider, first, -(-extents[2] // tile[2]) + more)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("turned", ["a", "b", "ab"])
def test_operands_may_lie_in_columns(turned: str) -> None:
    for tile in [(16, 32, 8), (8, 64, 32)]:
        text = program(tile, turned=turned)
        assert k_loops(text)
        agrees(text, "f32", tile, (32, 64, 96), 0, 0, 12, turned=turned)
        agrees(text, "f32", tile, (37, 70, 77), 3, 0, 10, turned=turned)


@pytest.mark.parametrize("padding", ["neg_zero", "nan", "pos_inf", "neg_inf"])
def test_what_lies_over_an_edge_is_the_padding(padding: str) -> None:
    tile = (16, 32, 8)
    with numpy.errstate(all="ignore"):
        agrees(program(tile, padding=padding), "f32", tile, (20, 40, 30), 0, 0, 4)
        agrees(program(tile, padding=padding), "f32", tile, (20, 40, 32), 0, 0, 4)


@pytest.mark.parametrize(("short", "column"), [("a", 50), ("b", 40), ("ab", 13)])
def test_the_first_mistake_is_reported(short: str, column: int) -> None:
    """Views that leave their arrays, in a loop that gets there at some turn: the same one as in the interpreter."""
    m = n = k = 64
    tile = (16, 32, 8)
    module = tileir.parse(program(tile))
    a, b, c = (numpy.ones((64, 64), numpy.float32) for _ in range(3))
    if "a" in short:
        a = a.reshape(-1)[: 64 * column]
    if "b" in short:
        b = b.reshape(-1)[: 64 * column]
    errors = []
    for backend in ("cpu", "interpreter"):
        kernel = tileir.compile(module, backend=backend, exact=True)
        with pytest.raises(tileir.ExecutionError) as raised:
            kernel.launch((4 if short == "a" else 1, 1), (a, b, c.copy(), m, n, k, k, n, n, 0, 8))
        errors.append(str(raised.value).splitlines()[0])
    assert errors[0] == errors[1]


def test_long_sums_go_through_several_panels() -> None:
    tile = (16, 128, 32)
    (loop,) = k_loops(program(tile))
    assert 1 < loop.iterations <= 64
    agrees(program(tile), "f32", tile, (32, 256, 3 * loop.iterations * 32 + 40), 0, 0, 3 * loop.iterations + 2)


def test_more_blocks_than_share_a_panel() -> None:
    # Few along the rows and many, with several columns: panels are found by their own indices, or packed again.
    for rows in (3, 20):
        agrees(program((4, 16, 8)), "f32", (4, 16, 8), (4 * rows, 80, 64), 0, 0, 8)


@pytest.mark.parametrize(
    "body",
    ["%q = addf %x, %x : tile<8x4xf32>", "%t9 = store_view_tko weak %acc, %vc[%i, %j] : VIEW, tile<i32> -> token"],
    ids=["nothing", "store"],
)
def test_other_work_in_the_loop_is_done(body: str) -> None:
    tile = (8, 16, 4)
    view = "partition_view<tile=(8x16), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>"
    text = program(tile, body=body.replace("VIEW", f"tile<8x16xf32>, {view}"))
    agrees(text, "f32", tile, (16, 32, 23), 0, 0, 6)
