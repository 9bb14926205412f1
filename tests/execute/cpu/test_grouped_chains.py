"""Products of small tile blocks that are neighbours are computed as one: every element is the same chain of fused
multiply-adds, whichever tile blocks a thread has, and wherever the matrices end."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tileir

pytest.importorskip("llvmlite", reason="the CPU engine needs llvmlite")

from tileir.execute.cpu.kernel import CpuKernel, Options
from tileir.execute.cpu.loops.order import together
from tileir.execute.cpu.loops.statements import Group
from tileir.execute.cpu.runtime.llvm_compile import AS_WRITTEN
from tileir.execute.cpu.runtime.target import host

Shape = tuple[int, int, int]


def program(
    tile: Shape,
    element: str = "f32",
    blocks: str = "%i, %j, %z",
    start: str = "0.0",
    index: str = "%i",
    after: str = "",
) -> str:
    """C = A * B, which the tile block of `index` and %j adds to a number; `after` stands behind the loop."""
    m, n, k = tile
    tensor = f"tensor_view<?x?x{element}, strides=[?,1]>"
    shapes = {"a": ("m", "k", f"{m}x{k}"), "b": ("k", "n", f"{k}x{n}"), "c": ("m", "n", f"{m}x{n}")}
    views = {x: f"partition_view<tile=({shape}), padding_value = zero, {tensor}>" for x, (*_, shape) in shapes.items()}
    tiles = {x: f"tile<{shape}x{element}>" for x, (*_, shape) in shapes.items()}
    made = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [%{rows}, %{columns}], strides = [%{columns}, 1]"
        f" : tile<i32> -> {tensor}\n%v{x} = make_partition_view %t{x} : {views[x]}\n"
        for x, (rows, columns, _) in shapes.items()
    )
    return f"""cuda_tile.module @m {{
      entry @k(%a: tile<ptr<{element}>>, %b: tile<ptr<{element}>>, %c: tile<ptr<{element}>>, %m: tile<i32>,
          %n: tile<i32>, %k: tile<i32>, %first: tile<i32>, %last: tile<i32>) {{
        {blocks} = get_tile_block_id : tile<i32>
        %other = addi %i, %z : tile<i32>
        {made}
        %one = constant <i32: 1> : tile<i32>
        %start = constant <{element}: {start}> : {tiles["c"]}
        %sum = for %step in (%first to %last, step %one) : tile<i32> iter_values(%acc = %start) -> ({tiles["c"]}) {{
          %x, %t1 = load_view_tko weak %va[{index}, %step] : {views["a"]}, tile<i32> -> {tiles["a"]}, token
          %y, %t2 = load_view_tko weak %vb[%step, %j] : {views["b"]}, tile<i32> -> {tiles["b"]}, token
          %r = mmaf %x, %y, %acc : {tiles["a"]}, {tiles["b"]}, {tiles["c"]}
          continue %r : {tiles["c"]}
        }}
        {after}
        %t3 = store_view_tko weak %sum, %vc[%i, %j] : {tiles["c"]}, {views["c"]}, tile<i32> -> token
        return
      }}
    }}"""


def group_of(text: str, sanitize: bool = False, cpu: str = "skylake-avx512") -> Group | None:
    entry = next(operation for operation in tileir.parse(text).walk() if operation.name == "cuda_tile.entry")
    return together(CpuKernel(entry, {}, target=host(cpu)).lower(Options(sanitize=sanitize)).program)


# Launches have so many tile blocks that an eighth of them, which a thread takes at a time, is a whole group.


def agrees(
    text: str, tile: Shape, extents: Shape, threads: int, turns: tuple[int, int] | None = None, swapped: bool = False,
    element: str = "f4", cut: int = 0,
) -> None:  # fmt: skip
    """Run on both engines; the grid is `cut` by some tile blocks in both dimensions."""
    m, n, k = extents
    random = numpy.random.default_rng(extents)
    a, b = random.standard_normal((m, k)).astype(element), random.standard_normal((k, n)).astype(element)
    grid = (max(-(-m // tile[0]) - cut, 1), max(-(-n // tile[1]) - cut, 1))
    module = tileir.parse(text)
    results = []
    for backend in ("cpu", "interpreter"):
        c = numpy.full((m, n), 7, element)
        numbers = (m, n, k, *(turns or (0, -(-k // tile[2]))))
        kernel = tileir.compile(module, backend=backend, exact=True)
        kernel.launch(grid[::-1] if swapped else grid, a, b, c, *numbers, num_threads=threads)
        results.append(c)
    assert results[0].tobytes() == results[1].tobytes()


def test_small_tile_blocks_are_taken_together() -> None:
    counts = {
        tile: group.counts if (group := group_of(program((*tile, 16)))) is not None else None
        for tile in [(32, 32), (256, 32), (32, 64), (32, 256), (64, 256), (64, 64), (64, 128), (128, 256)]
    }
    assert counts == {
        (32, 32): (2, 2), (256, 32): (1, 2), (32, 64): (2, 1), (32, 256): (4, 1), (64, 256): (2, 1),
        (64, 64): None, (64, 128): None, (128, 256): None,
    }  # fmt: skip


def test_what_a_neighbour_may_not_have_is_computed_alone() -> None:
    tile = (32, 32, 16)
    assert group_of(program(tile)) is not None
    assert group_of(program(tile), sanitize=True) is None
    assert group_of(program(tile, start="1.0")) is None
    assert group_of(program(tile, index="%other")) is None
    turned = program(tile).replace("padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>", "VIEW")
    turned = turned.replace("VIEW", "padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>, dim_map=[1, 0]>")
    assert group_of(turned) is None
    assert group_of(program(tile, after='print_tko "here" -> token')) is None
    view = "partition_view<tile=(32x16), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>"
    part = "tile<32x16xf32>"
    written = f"""%zeros = constant <f32: 0.0> : {part}
      %t4 = store_view_tko weak %zeros, %va[%i, %j] : {part}, {view}, tile<i32> -> token"""
    assert group_of(program(tile, after=written)) is None


@pytest.mark.sampled(2)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("blocks", ["%i, %j, %z", "%j, %i, %z"])
def test_whole_groups_and_parts_of_them(blocks: str, threads: int) -> None:
    tile = (8, 16, 4)
    text = program(tile, blocks=blocks)
    assert group_of(text) is not None
    for extents in [(256, 256, 24), (136, 130, 9), (8, 512, 16), (300, 16, 4)]:
        for cut in (0, 3):
            agrees(text, tile, extents, threads, None, blocks.startswith("%j"), cut=cut)


@pytest.mark.parametrize(("tile", "element", "threads"), [((2, 128, 8), "f32", 2), ((2, 64, 8), "f64", 1)])
def test_few_rows_have_panels_of_their_own(tile: Shape, element: str, threads: int) -> None:
    text = program(tile, element)
    group = group_of(text)
    assert group is not None and group.counts == (32, 1)
    m, n, _ = tile
    for extents in [(70 * m + 1, 3 * n, 20), (150 * m, 2 * n + n // 2, 20)]:
        agrees(text, tile, extents, threads, element="f4" if element == "f32" else "f8")


def test_groups_are_no_larger_than_what_a_thread_takes_at_a_time() -> None:
    counts = {
        tile: group.counts if (group := group_of(program((*tile, 16)))) is not None else None
        for tile in [(1, 4), (1, 16), (1, 64), (1, 256), (2, 16), (2, 32), (2, 64), (4, 8), (4, 16), (8, 8)]
    }
    assert counts == {
        (1, 4): None, (1, 16): None, (1, 64): (64, 1), (1, 256): None, (2, 16): None, (2, 32): (32, 2),
        (2, 64): (32, 1), (4, 8): None, (4, 16): (16, 4), (8, 8): (8, 8),
    }  # fmt: skip


def test_double_precision() -> None:
    tile = (64, 16, 4)
    text = program(tile, "f64")
    assert group_of(text) is not None
    agrees(text, tile, (256, 80, 10), 1, element="f8")


@pytest.mark.parametrize("turns", [(0, 0), (0, 1), (1, 5), (2, 90), (3, 2), (-1, 3)])
def test_a_loop_may_begin_and_end_anywhere(turns: tuple[int, int]) -> None:
    tile = (64, 32, 4)
    agrees(program(tile), tile, (256, 160, 23), 1, turns)


def test_terms_beyond_one_stretch_of_k() -> None:
    tile = (32, 32, 32)
    agrees(program(tile), tile, (256, 128, 1100), 1)


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([(64, 32), (64, 16), (32, 32), (32, 64)]),
    st.tuples(st.integers(1, 400), st.integers(1, 300), st.integers(1, 40)),
    st.integers(1, 4),
    st.integers(0, 2),
)
def test_any_extents(tile: tuple[int, int], extents: Shape, threads: int, cut: int) -> None:
    agrees(program((*tile, 8)), (*tile, 8), extents, threads, cut=cut)


def test_launches_see_what_has_changed_in_between() -> None:
    kernel = tileir.compile(tileir.parse(program((64, 32, 4))), backend="cpu")
    a, b, c = numpy.ones((256, 8), "f4"), numpy.ones((8, 128), "f4"), numpy.zeros((256, 128), "f4")
    for number in range(1, 4):
        a[:] = number
        kernel.launch((4, 4), a, b, c, 256, 128, 8, 0, 2, num_threads=1)
        assert (c == 8 * number).all()


def test_products_and_packing_stand_in_functions_of_their_own() -> None:
    kernel = tileir.compile(tileir.parse(program((32, 32, 16))), backend="cpu", cpu="skylake-avx512")
    functions = {part.split("(")[0].split("@")[1]: part for part in kernel.dump("llvm").split("\ndefine ")[1:]}
    written = [name for name in functions if name.startswith(AS_WRITTEN)]
    assert len([name for name in written if "product" in name]) == 2, "one for the group, one for a tile block alone"
    assert not any("@llvm.fma" in functions[name] for name in functions if "product" not in name)
    assert sum(name in functions["worker"] for name in written) == len(written)
