"""The result of a k-loop is written by the k-loop itself where it is stored as it is; the bits are the interpreter's,
whatever else becomes of it and wherever it goes."""

from __future__ import annotations

import numpy
import pytest
from tests.execute.cpu.native import cpu_kernel

import tileir

pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite")

from tileir.execute.cpu.ir.statements import LoopNest, Matmul, StoreTarget
from tileir.execute.cpu.kernel import CpuKernel, Options

TILE = (64, 64, 32)


def program(
    after: str = "",
    stored: str = "%sum",
    start: str = "0.0",
    element: str = "f32",
    before: str = "",
    tile: tuple[int, int] = TILE[:2],
    turns: str = "%last",
    place: str = "%i, %j",
) -> str:
    """C = A * B, where `after` makes what is `stored` out of %sum; `before` stands in front of the loop."""
    m, n = tile
    tensors = {x: f"tensor_view<?x?x{element if x == 'c' else 'f32'}, strides=[?,1]>" for x in "abc"}
    shapes = {"a": ("m", "k", f"{m}x32"), "b": ("k", "n", f"32x{n}"), "c": ("m", "n", f"{m}x{n}")}
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
        %start = constant <f32: {start}> : SUM
        {before}
        %sum = for %step in (%zero to {turns}, step %one) : tile<i32> iter_values(%acc = %start) -> (SUM) {{
          %x, %t1 = load_view_tko weak %va[%i, %step] : {views["a"]}, tile<i32> -> tile<{m}x32xf32>, token
          %y, %t2 = load_view_tko weak %vb[%step, %j] : {views["b"]}, tile<i32> -> tile<32x{n}xf32>, token
          %r = mmaf %x, %y, %acc : tile<{m}x32xf32>, tile<32x{n}xf32>, SUM
          continue %r : SUM
        }}
        {after}
        %t3 = store_view_tko weak {stored}, %vc[{place}] : tile<{m}x{n}x{element}>, {views["c"]}, tile<i32> -> token
        return
      }}
    }}""".replace("SUM", f"tile<{m}x{n}xf32>").replace("VIEW", views["c"])


def store_targets(text: str, overlapping: bool = False) -> list[StoreTarget]:
    """Where the results of the matmuls are stored."""
    entry = next(operation for operation in tileir.parse(text).walk() if operation.name == "cuda_tile.entry")
    return list(CpuKernel(entry, {}).lower(Options(overlapping=overlapping)).program.store_targets.values())


def agrees(
    text: str,
    extents: tuple[int, int, int],
    pitch: int = 0,
    element: str = "f4",
    tile: tuple[int, int] = TILE[:2],
    threads: int = 1,
) -> None:
    """Run on both engines; rows of C are `pitch` apart, or side by side."""
    m, n, k = extents
    random = numpy.random.default_rng(extents)
    a, b = (random.standard_normal(shape).astype("f4") for shape in ((m, max(k, 1)), (max(k, 1), n)))
    found = random.standard_normal(m * max(n, pitch)).astype(element)
    wanted = found.copy()
    grid = (-(-m // tile[0]), -(-n // tile[1]))
    scalars = (m, n, k, a.shape[1], n, pitch or n, -(-k // TILE[2]))
    module = tileir.parse(text)
    tileir.compile(module, backend="cpu", exact=True).launch(grid, (a, b, found, *scalars), threads=threads)
    tileir.compile(module, backend="interpreter", exact=True).launch(grid, (a, b, wanted, *scalars))
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("start", ["0.0", "-0.0", "1.5"])
@pytest.mark.parametrize(
    "extents", [(64, 64, 32), (128, 64, 0), (128, 192, 96), (100, 90, 50), (64, 128, 1500)], ids=str
)
def test_a_result_that_is_stored_as_it_is(extents: tuple[int, int, int], start: str) -> None:
    text = program(start=start)
    assert [goal.is_copy for goal in store_targets(text)] == [True]
    agrees(text, extents)
    agrees(text, extents, extents[1] + 5)


def test_a_view_that_is_made_behind_the_loop_is_made_before_it() -> None:
    made = "%tw = make_tensor_view %c, shape = [%m, %n], strides = [%pitch.c, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>"
    made += "\n%vw = make_partition_view %tw : VIEW\n%p = addi %i, %one : tile<i32>\n%q = subi %p, %one : tile<i32>"
    text = program(made, place="%q, %j").replace("weak %sum, %vc[", "weak %sum, %vw[")
    assert len(store_targets(text)) == 1
    entry = next(operation for operation in tileir.parse(text).walk() if operation.name == "cuda_tile.entry")
    body = CpuKernel(entry, {}).lower(Options()).program.body
    (chain,) = [place for place, statement in enumerate(body) if isinstance(statement, Matmul)]
    assert isinstance(body[chain + 1], LoopNest)
    agrees(text, (128, 192, 96))
    agrees(text, (100, 90, 50))


@pytest.mark.parametrize("pitch", [1, 17, 63])
def test_rows_that_overlap_are_written_in_order(pitch: int) -> None:
    agrees(program(), (64, 64, 64), pitch)


@pytest.mark.parametrize(
    ("after", "stored", "element"),
    [
        ("%twice = addf %sum, %sum : SUM", "%twice", "f32"),
        ("%half = ftof %sum : SUM -> tile<64x64xf16>", "%half", "f16"),
    ],
    ids=["sum", "rounded"],
)
def test_a_result_that_is_stored_after_some_work(after: str, stored: str, element: str) -> None:
    text = program(after, stored, element=element)
    assert [goal.is_copy for goal in store_targets(text)] == [False]
    for extents in ((128, 64, 64), (70, 130, 40)):
        agrees(text, extents, element="f4" if element == "f32" else "f2")


def test_a_result_that_is_stored_twice() -> None:
    after = "%s = store_view_tko weak %sum, %vc[%j, %i] : SUM, VIEW, tile<i32> -> token"
    text = program(after)
    assert not store_targets(text)
    agrees(text, (64, 64, 64))


def test_arguments_that_may_share_memory() -> None:
    assert not store_targets(program(), overlapping=True)
    module = tileir.parse(program())
    given, b = numpy.random.default_rng(0).standard_normal((2, 64, 64)).astype("f4")
    results = []
    for backend in ("cpu", "interpreter"):
        a = given.copy()
        tileir.compile(module, backend=backend, exact=True).launch((1, 1), (a, b, a, 64, 64, 64, 64, 64, 64, 2))
        results.append(a.tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("head", "end"),
    [
        ("%is_first = cmpi equal %j, %zero, signed : tile<i32> -> tile<i1>\nif %is_first {", "yield }"),
        ("for %turn in (%j to %one, step %one) : tile<i32> {", "continue }"),
    ],
    ids=["branch", "loop"],
)
def test_a_result_that_not_all_tile_blocks_store(head: str, end: str) -> None:
    before, body = program(tile=(32, 32)).split("%sum = for", 1)
    text = f"{before}{head}\n%sum = for{body.replace('return', f'{end} return')}"
    assert [goal.is_copy for goal in store_targets(text)] == [True]
    agrees(text, (512, 512, 64), tile=(32, 32))


def test_a_result_is_no_scratch_memory() -> None:
    """Its stores claim nothing about what they do not overlap: parts before the last write scratch memory."""
    text = cpu_kernel(tileir.compile(tileir.parse(program()), backend="cpu")).dump("llvm")
    head, body = text[text.index("matmul.fma.float32.float32.float32.64x64x32") :].split("\n}", 1)[0].split("{", 1)
    assert "noalias %b" in head and "noalias %c.in" not in head and "noalias %c.out" not in head
    stores = [line for line in body.splitlines() if line.startswith("  store ")]
    assert stores and not any("!" in line for line in stores)


def test_what_is_read_behind_the_store_is_the_result() -> None:
    after = """%t4 = store_view_tko weak %sum, %vc[%i, %j] : SUM, VIEW, tile<i32> -> token
        %again, %t5 = load_view_tko weak %vc[%i, %j] token = %t4 : VIEW, tile<i32> -> SUM, token
        %twice = addf %again, %again : SUM"""
    agrees(program(after, "%twice"), (128, 64, 96))
