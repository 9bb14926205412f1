"""Of a product whose result lies over an edge no more is computed than is stored: nobody can tell."""

from __future__ import annotations

import re

import numpy
import pytest
from tests.execute.cpu.native import cpu_kernel
from tests.execute.cpu.test_matrix_units import DTYPES, matmul, unit
from tests.execute.cpu.test_store_targets import program, store_targets

import tileir

pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite")

__all__ = ["unit"]

WORK = {
    "as it is": ("", "%sum", "f32"),
    "doubled": ("%twice = addf %sum, %sum : SUM", "%twice", "f32"),
    "rounded": ("%half = ftof %sum : SUM -> tile<64x64xf16>", "%half", "f16"),
    "added": (
        "%old, %t0 = load_view_tko weak %vc[%i, %j] : VIEW, tile<i32> -> SUM, token\n%new = addf %sum, %old : SUM",
        "%new",
        "f32",
    ),
    "selected": (
        "%no = constant <f32: 0.0> : SUM\n%above = cmpf greater_than ordered %sum, %no : SUM -> tile<64x64xi1>\n"
        "%relu = select %above, %sum, %no : tile<64x64xi1>, SUM",
        "%relu",
        "f32",
    ),
}
OTHER_WORK = {
    "turned": ("%turned = permute %sum [1, 0] : SUM -> SUM", "%turned", "f32"),
    "summed": (
        "%column = reduce %sum dim=0 identities=[0.0 : f32] : SUM -> tile<64xf32> (%x: tile<f32>, %y: tile<f32>) {\n"
        "  %s = addf %x, %y : tile<f32>\n  yield %s : tile<f32>\n}\n"
        "%row = reshape %column : tile<64xf32> -> tile<1x64xf32>\n"
        "%all = broadcast %row : tile<1x64xf32> -> SUM",
        "%all",
        "f32",
    ),
    "both": (
        "%turned = permute %sum [1, 0] : SUM -> SUM\n%new = addf %sum, %turned : SUM",
        "%new",
        "f32",
    ),
}
EXTENTS = [(1, 1, 1), (3, 65, 33), (65, 66, 40), (130, 7, 64), (6, 128, 0), (100, 90, 50)]


def results(text: str, extents: tuple[int, int, int], element: str, grid: tuple[int, ...] | None = None) -> list[bytes]:
    """What both engines make of matrices with numbers that spoil what they are multiplied with."""
    m, n, k = extents
    random = numpy.random.default_rng(extents)
    a, b = (random.standard_normal(shape).astype("f4") for shape in ((m, max(k, 1)), (max(k, 1), n)))
    a[-1, -1], b[0, -1], b[-1, 0] = numpy.inf, -numpy.inf, numpy.nan
    given = random.standard_normal((m, n)).astype(element)
    found = []
    for backend in ("cpu", "interpreter"):
        c = given.copy()
        kernel = tileir.compile(tileir.parse(text), backend=backend, exact=True)
        kernel.launch(grid or (-(-m // 64), -(-n // 64)), (a, b, c, m, n, k, a.shape[1], n, n, -(-k // 32)))
        found.append(c.tobytes())
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("extents", EXTENTS, ids=str)
def test_rows_and_columns_behind_an_edge_are_left_out(work: str, extents: tuple[int, int, int]) -> None:
    after, stored, element = WORK[work]
    text = program(after, stored, element=element)
    (goal,) = store_targets(text)
    assert goal.is_copy == (work == "as it is")
    code = cpu_kernel(tileir.compile(tileir.parse(text), backend="cpu")).dump("llvm")
    assert not re.search(r"call void @\S*matmul\..*, i64 64, i64 64\)", code), "the extents of C are computed"
    first, second = results(text, extents, "f2" if element == "f16" else "f4")
    assert first == second


@pytest.mark.sampled(2)
@pytest.mark.parametrize("work", OTHER_WORK)
@pytest.mark.parametrize("extents", EXTENTS, ids=str)
def test_elements_that_others_are_made_of_are_computed(work: str, extents: tuple[int, int, int]) -> None:
    """What lies behind an edge of A and B comes before one of C."""
    after, stored, element = OTHER_WORK[work]
    text = program(after, stored, element=element)
    assert not store_targets(text)
    first, second = results(text, extents, "f4")
    assert first == second


VIEW = "partition_view<tile=(64x64), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>"


def persistent(after: str, stored: str, carried: bool) -> str:
    """Two tile blocks that go through the tiles of C by turns; with `carried` their sums go on from tile to tile."""
    shapes = {"a": ("m", "k", "64x32"), "b": ("k", "n", "32x64"), "c": ("m", "n", "64x64")}
    views = {x: VIEW.replace("64x64", shapes[x][2]) for x in "abc"}
    made = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [%{rows}, %{columns}], strides = [%pitch.{x}, 1]"
        f" : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>\n%v{x} = make_partition_view %t{x} : {views[x]}\n"
        for x, (rows, columns, _) in shapes.items()
    )
    head, begin = "for %t in (%block to %count, step %two) : tile<i32>", "%none"
    end = "continue"
    if carried:
        head, begin = f"%all = {head} iter_values(%before = %none) -> (SUM)", "%before"
        end = "continue %sum : SUM"
    return f"""cuda_tile.module @m {{
      entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>,
          %k: tile<i32>, %pitch.a: tile<i32>, %pitch.b: tile<i32>, %pitch.c: tile<i32>, %last: tile<i32>) {{
        %block, %y, %z = get_tile_block_id : tile<i32>
        {made}
        %zero = constant <i32: 0> : tile<i32>
        %one = constant <i32: 1> : tile<i32>
        %two = constant <i32: 2> : tile<i32>
        %none = constant <f32: 0.0> : SUM
        %rows, %columns = get_index_space_shape %vc : VIEW -> tile<i32>
        %count = muli %rows, %columns : tile<i32>
        {head} {{
          %i = divi %t, %columns signed : tile<i32>
          %j = remi %t, %columns signed : tile<i32>
          %sum = for %step in (%zero to %last, step %one) : tile<i32> iter_values(%acc = {begin}) -> (SUM) {{
            %l, %t1 = load_view_tko weak %va[%i, %step] : {views["a"]}, tile<i32> -> tile<64x32xf32>, token
            %r, %t2 = load_view_tko weak %vb[%step, %j] : {views["b"]}, tile<i32> -> tile<32x64xf32>, token
            %next = mmaf %l, %r, %acc : tile<64x32xf32>, tile<32x64xf32>, SUM
            continue %next : SUM
          }}
          {after}
          %t3 = store_view_tko weak {stored}, %vc[%i, %j] : SUM, VIEW, tile<i32> -> token
          {end}
        }}
        return
      }}
    }}""".replace("SUM", "tile<64x64xf32>").replace("VIEW", VIEW)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize("work", ["as it is", "doubled", "added"])
def test_tile_blocks_that_go_through_several_tiles(work: str, carried: bool) -> None:
    after, stored, _ = WORK[work]
    text = persistent(after, stored, carried)
    goals = store_targets(text)
    assert [goal.is_copy for goal in goals] == ([] if carried else [work == "as it is"])
    for extents in EXTENTS:
        first, second = results(text, extents, "f4", (2,))
        assert first == second


def alone(after: str, stored: str, start: str = "%none") -> str:
    """C = A * B, or C + A * B, of the first 32 columns of A."""
    return (
        f"""cuda_tile.module @m {{
      entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>,
          %k: tile<i32>, %pitch.a: tile<i32>, %pitch.b: tile<i32>, %pitch.c: tile<i32>, %last: tile<i32>) {{
        %i, %j, %z = get_tile_block_id : tile<i32>
        %ta = make_tensor_view %a, shape = [%m, %k], strides = [%pitch.a, 1] : tile<i32> -> TENSOR
        %tb = make_tensor_view %b, shape = [%k, %n], strides = [%pitch.b, 1] : tile<i32> -> TENSOR
        %tc = make_tensor_view %c, shape = [%m, %n], strides = [%pitch.c, 1] : tile<i32> -> TENSOR
        %va = make_partition_view %ta : LEFT
        %vb = make_partition_view %tb : RIGHT
        %vc = make_partition_view %tc : VIEW
        %zero = constant <i32: 0> : tile<i32>
        %none = constant <f32: 0.0> : SUM
        %l, %t1 = load_view_tko weak %va[%i, %zero] : LEFT, tile<i32> -> tile<64x32xf32>, token
        %r, %t2 = load_view_tko weak %vb[%zero, %j] : RIGHT, tile<i32> -> tile<32x64xf32>, token
        %given, %t9 = load_view_tko weak %vc[%i, %j] : VIEW, tile<i32> -> SUM, token
        %sum = mmaf %l, %r, {start} : tile<64x32xf32>, tile<32x64xf32>, SUM
        {after}
        %t3 = store_view_tko weak {stored}, %vc[%i, %j] : SUM, VIEW, tile<i32> -> token
        return
      }}
    }}""".replace("SUM", "tile<64x64xf32>")
        .replace("VIEW", VIEW)
        .replace("LEFT", VIEW.replace("64x64", "64x32"))
        .replace("RIGHT", VIEW.replace("64x64", "32x64"))
        .replace("TENSOR", "tensor_view<?x?xf32, strides=[?,1]>")
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("start", ["%none", "%given"])
@pytest.mark.parametrize("work", ["as it is", "doubled", "added", "turned"])
def test_products_without_a_loop(work: str, start: str) -> None:
    after, stored, _ = (WORK | OTHER_WORK)[work]
    text = alone(after, stored, start)
    wanted = [] if work == "turned" else [work == "as it is"]
    assert [goal.is_copy for goal in store_targets(text)] == wanted
    for extents in [*EXTENTS, (64, 64, 32), (128, 192, 20)]:
        first, second = results(text, extents, "f4")
        assert first == second


@pytest.mark.parametrize("padding", ["nan", "neg_inf", "neg_zero"])
def test_what_a_view_has_behind_an_edge_is_multiplied(padding: str) -> None:
    text = program().replace("padding_value = zero", f"padding_value = {padding}")
    for extents in EXTENTS:
        first, second = results(text, extents, "f4")
        assert first == second


@pytest.mark.sampled(3)
@pytest.mark.parametrize("element", list(DTYPES))
@pytest.mark.parametrize("padding", ["zero", "nan"])
@pytest.mark.parametrize("extents", [(40, 72, 96), (1, 1, 64), (33, 65, 100), (95, 31, 64)], ids=str)
def test_matrix_tiles_over_an_edge(unit: str, element: str, padding: str, extents: tuple[int, int, int]) -> None:
    """The sanitizer looks at every turn of the loop by itself."""
    m, n, k = extents
    text = matmul(element, (32, 64, 32)).replace("padding_value = zero", f"padding_value = {padding}")
    kernel = tileir.compile(tileir.parse(text), backend="cpu", cpu=unit)
    assert "plan: amx" in kernel.dump("loops")
    random = numpy.random.default_rng(extents)
    a, b = (random.normal(0, 1, shape).astype(DTYPES[element]) for shape in ((m, k), (k, n)))
    if element in ("bf16", "f16"):
        a[-1, -1], b[0, -1] = numpy.inf, numpy.nan
    plain, sanitized = (numpy.zeros((m, n), numpy.float32) for _ in range(2))
    kernel.launch((-(-m // 32), -(-n // 64)), (a, b, plain, m, n, k), threads=1)
    kernel.launch((-(-m // 32), -(-n // 64)), (a, b, sanitized, m, n, k), threads=1, sanitize=True)
    assert numpy.array_equal(plain, sanitized, equal_nan=True)
