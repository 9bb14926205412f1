"""Products whose tiles do not fit a GPU: the programs in parts give the same bits as the whole ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.execute.gpu.triton.attention_programs import attention
from tests.execute.gpu.triton.product_programs import matmul

import tileir
from tileir.execute.gpu.triton import tile_halves
from tileir.execute.gpu.triton.code import CodeOptions, Limits
from tileir.execute.gpu.triton.compiler import make, stage_text
from tileir.execute.gpu.triton.program import Program
from tileir.execute.gpu.triton.tile_halves import split
from tileir.execute.gpu.triton.toolchain import triton_target
from tileir.execute.launching.entries import select_entry
from tileir.types import bf16, f16, f32, i32, i64, ptr, tile

H200 = triton_target("sm_90")
SIZE = 512


def prepared(module: Any, target: str = "sm_90") -> tuple[Program, str, list[str]]:
    """A program in parts, its text before, and what was done."""
    program = Program(select_entry(module, None))
    before = program.module.text()
    notes = split(program.entry, triton_target(target))
    tileir.verify(program.module)
    return program, before, notes


def agree(before: str, program: Program, grid: int | tuple[int, int, int], *arrays: Any) -> None:
    """The last array has the same bits, whichever program writes it; both have written all of it."""
    results = []
    for text in (before, program.module.text()):
        given = [each.copy() for each in arrays]
        given[-1].view(numpy.uint8)[...] = 0xA5
        tileir.compile(tileir.parse(text), backend="cpu", exact=True).launch(grid, given)
        results.append(given[-1])
    assert results[0].tobytes() == results[1].tobytes()
    assert not (results[0].view(numpy.uint8) == 0xA5).all(axis=-1).any()


def matrices(*dtypes: Any) -> list[Any]:
    rng = numpy.random.default_rng(17)
    return [rng.standard_normal((SIZE, SIZE)).astype(dtype) for dtype in dtypes]


@pytest.mark.parametrize(
    ("tile", "persistent"),
    [
        ((256, 256, 128), False),
        ((128, 256, 128), True),
        pytest.param((256, 256, 64), True, marks=pytest.mark.long),
        pytest.param((256, 256, 128), True, marks=pytest.mark.long),
        pytest.param((128, 256, 128), False, marks=pytest.mark.long),
    ],
)
def test_a_product_in_parts_has_the_same_bits(tile: tuple[int, int, int], persistent: bool) -> None:
    m, n, _ = tile
    program, before, notes = prepared(matmul(*tile, SIZE, persistent=persistent))
    assert notes
    agree(before, program, 3 if persistent else (SIZE // m) * (SIZE // n), *matrices("f2", "f2", "f2"))


def test_what_is_done_is_said() -> None:
    _, _, notes = prepared(matmul(256, 256, 128, SIZE))
    assert notes == [
        "accumulators of 256x256 do not fit the registers: 128 rows are computed at a time",
        "three stages of 98304 bytes do not fit shared memory: a matmul takes 64 of K",
    ]


@pytest.mark.parametrize("tile", [(64, 64, 32), (128, 256, 64), (128, 128, 128), (256, 128, 64)])
def test_what_fits_is_left_alone(tile: tuple[int, int, int]) -> None:
    program, before, notes = prepared(matmul(*tile, SIZE))
    assert not notes and program.module.text() == before


def test_another_gpu_has_less_shared_memory() -> None:
    _, _, notes = prepared(matmul(128, 256, 64, SIZE), "sm_86")
    assert notes == ["three stages of 49152 bytes do not fit shared memory: a matmul takes 32 of K"]


def product_with(epilogue: Any, size: int = SIZE, m: int = 256, n: int = 256, k: int = 64, second: bool = False) -> Any:
    """C = f(A * B, D), with whatever makes the result; `second` has a second product with B of D in the same loop."""
    build = tileir.Builder("kernels")
    with build.entry("kernel", ptr(f16), ptr(f16), ptr(f16), ptr(f32)) as (a, b, d, c):

        def view(base: Any, shape: tuple[int, int]) -> Any:
            return build.make_partition_view(
                build.make_tensor_view(base, [size, size], [size, 1]), shape, padding="zero"
            )

        block, _, _ = build.get_tile_block_id()
        row, column = build.divi(block, size // n, "signed"), build.remi(block, size // n, "signed")
        empty = build.constant(0.0, tile((m, n), f32))
        with build.for_(0, size // k, 1, init=[empty, empty] if second else [empty]) as loop:
            x, _ = build.load_view_tko(view(a, (m, k)), [row, loop.index])
            y, _ = build.load_view_tko(view(b, (k, n)), [loop.index, column])
            sums = [build.mmaf(x, y, loop.values[0])]
            if second:
                z, _ = build.load_view_tko(view(d, (m, k)), [row, loop.index])
                sums.append(build.mmaf(z, y, loop.values[1]))
            build.continue_(*sums)
        other, _ = build.load_view_tko(view(d, (m, n)), [row, column])
        result = epilogue(build, loop.results, other)
        build.store_view_tko(result, view(c, (m, n)), [row, column])
    return build.finish()


def plus_rows(build: Any, sums: Any, other: Any) -> Any:
    """Numbers of rows and a reduction along columns: all that goes by rows."""
    m, n = 256, 256
    numbers = build.itof(build.iota(tile((m,), i32)), f32, "signed")
    spread = build.broadcast(build.reshape(numbers, (m, 1)), (m, n))
    most = build.reduce(sums[0], 1, -numpy.inf, body=build.maxf)
    most = build.broadcast(build.reshape(most, (m, 1)), (m, n))
    return build.addf(build.subf(build.addf(sums[0], build.ftof(other, f32)), most), spread)


def test_an_epilogue_goes_along() -> None:
    program, before, notes = prepared(product_with(plus_rows))
    assert notes == ["accumulators of 256x256 do not fit the registers: 128 rows are computed at a time"]
    agree(before, program, 4, *matrices("f2", "f2", "f2", "f4"))


def test_a_reduction_along_rows_leaves_the_columns() -> None:
    def epilogue(build: Any, sums: Any, other: Any) -> Any:
        most = build.reduce(sums[0], 0, -numpy.inf, body=build.maxf)
        return build.subf(sums[0], build.broadcast(build.reshape(most, (1, 256)), (256, 256)))

    program, before, notes = prepared(product_with(epilogue))
    assert notes == ["accumulators of 256x256 do not fit the registers: 128 columns are computed at a time"]
    agree(before, program, 4, *matrices("f2", "f2", "f2", "f4"))


def test_what_depends_on_all_of_it_stays_whole() -> None:
    def epilogue(build: Any, sums: Any, other: Any) -> Any:
        most = build.reduce(build.reduce(sums[0], 0, -numpy.inf, body=build.maxf), 0, -numpy.inf, body=build.maxf)
        return build.subf(sums[0], build.broadcast(build.reshape(most, (1, 1)), (256, 256)))

    program, before, notes = prepared(product_with(epilogue))
    assert not notes
    agree(before, program, 4, *matrices("f2", "f2", "f2", "f4"))


def test_what_is_stored_through_pointers_stays_whole() -> None:
    def epilogue(build: Any, sums: Any, other: Any) -> Any:
        base = build.int_to_ptr(build.constant(0, tile(i64)), ptr(f32))
        pointers = build.broadcast(build.reshape(base, (1, 1)), (256, 256))
        build.store_ptr_tko(pointers, sums[0])
        return sums[0]

    program, before, notes = prepared(product_with(epilogue))
    assert notes == [] and program.module.text() == before


def test_several_sums_of_one_loop_are_split_together() -> None:
    def epilogue(build: Any, sums: Any, other: Any) -> Any:
        return build.mulf(*sums)

    program, before, notes = prepared(product_with(epilogue, m=128, n=256, second=True))
    assert notes == ["accumulators of 128x256 do not fit the registers: 128 columns are computed at a time"]
    agree(before, program, 8, *matrices("f2", "f2", "f2", "f4"))


@pytest.mark.parametrize("causal", [pytest.param(False, marks=pytest.mark.long), True])
def test_attention_is_split_by_rows(causal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With statistics of rows that loops carry, and numbers of rows in the mask; as if registers were few."""
    monkeypatch.setattr(tile_halves, "MOST_REGISTERS", 4096)
    monkeypatch.setattr(tile_halves, "_FEWEST_ROWS", 16)
    program, before, notes = prepared(attention(64, 64, 32, 64, causal))
    assert notes == ["accumulators of 32x64 do not fit the registers: 16 rows are computed at a time"]
    shape = (2, 64, 64)
    rng = numpy.random.default_rng(3)
    given = [rng.standard_normal(shape).astype("f2") for _ in range(4)]
    agree(before, program, (2, 2, 1), *given)


def test_tiles_at_the_edge_of_a_matrix_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last tiles along rows and K are outside in part, and one half of them altogether."""
    monkeypatch.setattr(tile_halves, "MOST_REGISTERS", 2048)
    monkeypatch.setattr(tile_halves, "_FEWEST_ROWS", 32)
    monkeypatch.setattr(tile_halves, "_FEWEST_K_BYTES", 16)
    program = Program(select_entry(tileir.load(Path(__file__).parents[4] / "examples" / "matmul.mlir"), None))
    before = program.module.text()
    notes = split(program.entry, H200._replace(shared=8192))
    tileir.verify(program.module)
    assert len(notes) >= 3, notes
    rng = numpy.random.default_rng(5)
    arrays = [rng.standard_normal(shape).astype("f2") for shape in ((80, 70), (70, 90))]
    results = []
    for text in (before, program.module.text()):
        c = numpy.zeros((80, 90), "f4")
        tileir.compile(tileir.parse(text), backend="cpu", exact=True).launch((2, 2, 1), (*arrays, c, 80, 90, 70))
        results.append(c)
    assert results[0].tobytes() == results[1].tobytes() and results[0].all()


def test_sums_in_f16_are_rounded_as_often_as_before() -> None:
    """Halving K would round once more."""
    build = tileir.Builder("kernels")
    with build.entry("kernel", ptr(f16), ptr(f16), ptr(f16)) as (a, b, c):
        views = [
            build.make_partition_view(build.make_tensor_view(base, [SIZE, SIZE], [SIZE, 1]), shape, padding="zero")
            for base, shape in ((a, (128, 256)), (b, (256, 128)), (c, (128, 128)))
        ]
        block, _, _ = build.get_tile_block_id()
        with build.for_(0, SIZE // 256, 1, init=[build.constant(0.0, tile((128, 128), f16))]) as loop:
            x, _ = build.load_view_tko(views[0], [block, loop.index])
            y, _ = build.load_view_tko(views[1], [loop.index, block])
            build.continue_(build.mmaf(x, y, loop.value))
        build.store_view_tko(loop.result, views[2], [block, block])
    assert not prepared(build.finish())[2]


def test_what_runs_on_after_a_store_waits_for_both_halves() -> None:
    build = tileir.Builder("kernels")
    with build.entry("kernel", ptr(f16), ptr(f16), ptr(f32)) as (a, b, c):
        views = [
            build.make_partition_view(build.make_tensor_view(base, [SIZE, SIZE], [SIZE, 1]), shape)
            for base, shape in ((a, (256, 64)), (b, (64, 256)), (c, (256, 256)))
        ]
        zero = build.constant(0, tile((), i32))
        with build.for_(0, SIZE // 64, 1, init=[build.constant(0.0, tile((256, 256), f32))]) as loop:
            x, _ = build.load_view_tko(views[0], [zero, loop.index])
            y, _ = build.load_view_tko(views[1], [loop.index, zero])
            build.continue_(build.mmaf(x, y, loop.value))
        token = build.store_view_tko(loop.result, views[2], [zero, zero])
        again, _ = build.load_view_tko(views[2], [zero, zero], token=token)
        build.store_view_tko(build.addf(again, again), views[2], [build.constant(1, tile((), i32)), zero], token=token)
    program, before, notes = prepared(build.finish())
    assert notes and "join_tokens" in program.module.text()
    arrays = [*matrices("f2", "f2"), numpy.zeros((SIZE, SIZE), "f4")]
    results = []
    for text in (before, program.module.text()):
        given = [each.copy() for each in arrays]
        tileir.compile(tileir.parse(text), backend="interpreter").launch((1, 1, 1), given, sanitize=True)
        results.append(given[-1])
    assert numpy.allclose(results[0], results[1], rtol=1e-4, atol=1e-4) and results[0][256:, :256].any()


@pytest.mark.parametrize("inplace", [True, False])
def test_what_is_overwritten_is_all_loaded_before(inplace: bool) -> None:
    """X = X * W: the columns that the first half stores are those that the second half loads."""
    build = tileir.Builder("kernels")
    with build.entry("kernel", ptr(f16), ptr(f16)) as (w, x):
        weights, factors, results = [
            build.make_partition_view(build.make_tensor_view(base, [SIZE, SIZE], [SIZE, 1]), shape)
            for base, shape in ((w, (64, 512)), (x, (128, 64)), (x, (128, 512)))
        ]
        zero = build.constant(0, tile((), i32))
        sums = build.constant(0.0, tile((128, 512), f32))
        with build.for_(0, SIZE // 64, 1, init=[sums, build.make_token()]) as loop:
            factor, read = build.load_view_tko(factors, [zero, loop.index])
            weight, _ = build.load_view_tko(weights, [loop.index, zero])
            token = build.join_tokens(loop.values[1], read)
            build.continue_(build.mmaf(factor, weight, loop.values[0]), token)
        row = zero if inplace else build.constant(1, tile((), i32))
        token = loop.results[1] if inplace else None
        build.store_view_tko(build.ftof(loop.results[0], f16), results, [row, zero], token=token)
    _, _, notes = prepared(build.finish())
    assert any("columns" in note for note in notes) == (not inplace)


def test_a_dump_shows_the_parts() -> None:
    entry = select_entry(matmul(256, 256, 128), None)
    text = stage_text(entry, H200, CodeOptions(), "tile", Limits())
    assert "mmaf" in text and "tile<128x256xf32>" in text and "256x256" not in text


@pytest.mark.parametrize("persistent", [pytest.param(False, marks=pytest.mark.long), True])
def test_the_parts_do_not_spill(persistent: bool) -> None:
    made = make(select_entry(matmul(256, 256, 128, persistent=persistent), None), H200)
    assert made.resources is not None and not made.resources.spills and made.resources.shared <= H200.shared
    assert made.code is not None and len(made.code.notes) == 2


@pytest.mark.long
@pytest.mark.parametrize("target", ["sm_80", "sm_100"])
@pytest.mark.parametrize("element", [f16, bf16])
def test_the_parts_are_compiled_for_other_gpus(target: str, element: Any) -> None:
    made = make(select_entry(matmul(256, 256, 128, element=element, result=element), None), triton_target(target))
    assert made.resources is not None and not made.resources.spills
