"""The result of a chain is written by the chain itself where it is stored as it is; the bits are the interpreter's,
whatever else becomes of it and wherever it goes."""

from __future__ import annotations

import numpy
import pytest

import tileir

pytest.importorskip("llvmlite", reason="the CPU engine needs llvmlite")

from tileir.execute.cpu.kernel import CpuKernel, Options

TILE = (64, 64, 32)
SUM = "tile<64x64xf32>"


def program(after: str = "", stored: str = "%sum", start: str = "0.0", element: str = "f32") -> str:
    """C = A * B, where `after` makes what is `stored` out of %sum."""
    tensors = {x: f"tensor_view<?x?x{element if x == 'c' else 'f32'}, strides=[?,1]>" for x in "abc"}
    shapes = {"a": ("m", "k", "64x32"), "b": ("k", "n", "32x64"), "c": ("m", "n", "64x64")}
    views = {x: f"partition_view<tile=({shapes[x][2]}), padding_value = zero, {tensors[x]}>" for x in "abc"}
    made = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [%{rows}, %{columns}], strides = [%pitch.{x}, 1]"
        f" : tile<i32> -> {tensors[x]}\n%v{x} = make_partition_view %t{x} : {views[x]}\n"
        for x, (rows, columns, _) in shapes.items()
    )
    return f"""cuda_tile.module @m {{
      entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<{element}>>, %m: tile<i32>, %n: tile<i32>,
          %k: tile<i32>, %pitch.a: tile<i32>, %pitch.b: tile<i32>, %pitch.c: tile<i32>, %last: tile<i32>) {{
        %i, %j, %z = get_tile_block_id : tile<i32>
        {made}
        %zero = constant <i32: 0> : tile<i32>
        %one = constant <i32: 1> : tile<i32>
        %start = constant <f32: {start}> : {SUM}
        %sum = for %step in (%zero to %last, step %one) : tile<i32> iter_values(%acc = %start) -> ({SUM}) {{
          %x, %t1 = load_view_tko weak %va[%i, %step] : {views["a"]}, tile<i32> -> tile<64x32xf32>, token
          %y, %t2 = load_view_tko weak %vb[%step, %j] : {views["b"]}, tile<i32> -> tile<32x64xf32>, token
          %r = mmaf %x, %y, %acc : tile<64x32xf32>, tile<32x64xf32>, {SUM}
          continue %r : {SUM}
        }}
        {after.replace("VIEW", views["c"])}
        %t3 = store_view_tko weak {stored}, %vc[%i, %j] : tile<64x64x{element}>, {views["c"]}, tile<i32> -> token
        return
      }}
    }}"""


def goals(text: str, overlapping: bool = False) -> list[bool]:
    """Of each chain whose result has a destination: whether it may be written there."""
    entry = next(operation for operation in tileir.parse(text).walk() if operation.name == "cuda_tile.entry")
    found = CpuKernel(entry, {}).lower(Options(overlapping=overlapping)).program.destinations
    return [goal.is_copy for goal in found.values()]


def agrees(text: str, extents: tuple[int, int, int], pitch: int = 0, element: str = "f4") -> None:
    """Run on both engines; rows of C are `pitch` apart, or side by side."""
    m, n, k = extents
    random = numpy.random.default_rng(extents)
    a, b = (random.standard_normal(shape).astype("f4") for shape in ((m, max(k, 1)), (max(k, 1), n)))
    found = random.standard_normal(m * max(n, pitch)).astype(element)
    wanted = found.copy()
    grid = (-(-m // TILE[0]), -(-n // TILE[1]))
    scalars = (m, n, k, a.shape[1], n, pitch or n, -(-k // TILE[2]))
    module = tileir.parse(text)
    tileir.compile(module, backend="cpu", exact=True).launch(grid, a, b, found, *scalars, num_threads=1)
    tileir.compile(module, backend="interpreter", exact=True).launch(grid, a, b, wanted, *scalars)
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("start", ["0.0", "-0.0", "1.5"])
@pytest.mark.parametrize(
    "extents", [(64, 64, 32), (128, 64, 0), (128, 192, 96), (100, 90, 50), (64, 128, 1500)], ids=str
)
def test_a_result_that_is_stored_as_it_is(extents: tuple[int, int, int], start: str) -> None:
    text = program(start=start)
    assert goals(text) == [True]
    agrees(text, extents)
    agrees(text, extents, extents[1] + 5)


@pytest.mark.parametrize("pitch", [1, 17, 63])
def test_rows_that_overlap_are_written_in_order(pitch: int) -> None:
    agrees(program(), (64, 64, 64), pitch)


@pytest.mark.parametrize(
    ("after", "stored", "element"),
    [
        (f"%twice = addf %sum, %sum : {SUM}", "%twice", "f32"),
        (f"%half = ftof %sum : {SUM} -> tile<64x64xf16>", "%half", "f16"),
    ],
    ids=["sum", "rounded"],
)
def test_a_result_that_is_stored_after_some_work(after: str, stored: str, element: str) -> None:
    text = program(after, stored, element=element)
    assert goals(text) == [False]
    for extents in ((128, 64, 64), (70, 130, 40)):
        agrees(text, extents, element="f4" if element == "f32" else "f2")


def test_a_result_that_is_stored_twice() -> None:
    after = f"%s = store_view_tko weak %sum, %vc[%j, %i] : {SUM}, VIEW, tile<i32> -> token"
    text = program(after)
    assert goals(text) == [False]
    agrees(text, (64, 64, 64))


def test_arguments_that_may_share_memory() -> None:
    assert True not in goals(program(), overlapping=True)
    module = tileir.parse(program())
    given, b = numpy.random.default_rng(0).standard_normal((2, 64, 64)).astype("f4")
    results = []
    for backend in ("cpu", "interpreter"):
        a = given.copy()
        tileir.compile(module, backend=backend, exact=True).launch((1, 1), a, b, a, 64, 64, 64, 64, 64, 64, 2)
        results.append(a.tobytes())
    assert results[0] == results[1]
