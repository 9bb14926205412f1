"""Views: whole and partial tiles, padding, dim_map, strides, gather and scatter, index spaces."""

from __future__ import annotations

import numpy
import pytest

import tileir

TENSOR = "tensor_view<?x?xf32, strides=[?,1]>"


def copy_kernel(
    view: str, target: str, tile: str, make: str = "make_partition_view", tensor: str = TENSOR
) -> tileir.Kernel:
    """Tile (x, y) of a view of `a`, with shape and row stride given, goes to tile (x, y) of a view of `b`."""
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>, %s: tile<i32>, %bm: tile<i32>, %bn: tile<i32>) {{
      %x, %y, %z = get_tile_block_id : tile<i32>
      %ta = make_tensor_view %a, shape = [%m, %n], strides = [%s, 1] : tile<i32> -> {tensor}
      %tb = make_tensor_view %b, shape = [%bm, %bn], strides = [%bn, 1] : tile<i32> -> {TENSOR}
      %va = {make} %ta : {view}
      %vb = make_partition_view %tb : {target}
      %v, %t = load_view_tko weak %va[%x, %y] : {view}, tile<i32> -> tile<{tile}xf32>, token
      %u = store_view_tko weak %v, %vb[%x, %y] : tile<{tile}xf32>, {target}, tile<i32> -> token
      return }} }}"""
    return tileir.compile(tileir.parse(text))


def partition(tile: str, padding: str = "", extra: str = "") -> str:
    return f"partition_view<tile=({tile}), {f'padding_value = {padding}, ' if padding else ''}{TENSOR}{extra}>"


A = numpy.arange(1, 36, dtype="f4").reshape(5, 7)


def test_whole_and_partial_tiles_copy_an_array() -> None:
    b = numpy.zeros((5, 7), "f4")
    copy_kernel(partition("4x2"), partition("4x2"), "4x2").launch((2, 4), (A, b, 5, 7, 7, 5, 7))
    assert b.tolist() == A.tolist()


@pytest.mark.parametrize(
    ("padding", "value"),
    [("", 0.0), ("zero", 0.0), ("neg_zero", -0.0), ("nan", numpy.nan), ("pos_inf", numpy.inf), ("neg_inf", -numpy.inf)],
)
def test_elements_outside_the_tensor_are_padding(padding: str, value: float) -> None:
    b = numpy.full((8, 8), 99, "f4")
    copy_kernel(partition("4x4", padding), partition("4x4"), "4x4").launch((2, 2), (A, b, 5, 7, 7, 8, 8))
    expected = numpy.full((8, 8), value, "f4")
    expected[:5, :7] = A
    assert b.tobytes() == expected.tobytes()


def test_a_tile_beyond_the_tensor_is_all_padding_and_stores_nothing() -> None:
    b = numpy.full((16, 8), 99, "f4")
    copy_kernel(partition("4x4", "nan"), partition("4x4"), "4x4").launch((4, 2), (A, b, 5, 7, 7, 16, 8))
    assert numpy.isnan(b[8:]).all()
    small = numpy.full((4, 4), 99, "f4")
    copy_kernel(partition("4x4"), partition("4x4"), "4x4").launch((4, 2), (A, small, 5, 7, 7, 4, 4))
    assert small.tolist() == A[:4, :4].tolist()


def test_rows_may_be_apart() -> None:
    wide = numpy.arange(64, dtype="f4").reshape(4, 16)
    b = numpy.zeros((4, 8), "f4")
    copy_kernel(partition("4x4"), partition("4x4"), "4x4").launch((1, 2), (wide, b, 4, 8, 16, 4, 8))
    assert b.tolist() == wide[:, :8].tolist()


def test_dim_map_says_which_dimension_a_tile_runs_along() -> None:
    b = numpy.zeros((8, 8), "f4")
    source = partition("4x2", "zero", ", dim_map=[1, 0]")
    copy_kernel(source, partition("4x2"), "4x2").launch((2, 3), (A, b, 5, 7, 7, 8, 8))
    expected = numpy.zeros((8, 8), "f4")
    expected[:7, :5] = A.T
    expected[:, 6:] = 0
    assert b.tolist() == expected.tolist()


def test_strided_view_tiles_overlap_or_leave_gaps() -> None:
    view = f"strided_view<tile=(2x2), traversal_strides=[1,3], padding_value = zero, {TENSOR}>"
    b = numpy.full((10, 6), 99, "f4")
    copy_kernel(view, partition("2x2"), "2x2", "make_strided_view").launch((5, 3), (A, b, 5, 7, 7, 10, 6))
    padded = numpy.zeros((6, 9), "f4")
    padded[:5, :7] = A
    for x in range(5):
        for y in range(3):
            assert b[2 * x : 2 * x + 2, 2 * y : 2 * y + 2].tolist() == padded[x : x + 2, 3 * y : 3 * y + 2].tolist()


def test_index_space_and_tensor_shapes() -> None:
    views = {
        "make_partition_view": (partition("4x2"), [2, 4]),
        "make_strided_view": (f"strided_view<tile=(4x2), traversal_strides=[3,1], {TENSOR}>", [2, 7]),
    }
    for make, (view, expected) in views.items():
        text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<f32>>, %o: tile<ptr<i16>>, %m: tile<i32>, %n: tile<i32>) {{
          %t = make_tensor_view %a, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> {TENSOR}
          %v = {make} %t : {view}
          %c:2 = get_index_space_shape %v : {view} -> tile<i16>
          %d:2 = get_tensor_shape %t : {TENSOR} -> tile<i16>
          %one = constant <i32: 1> : tile<i32>
          %o1 = offset %o, %one : tile<ptr<i16>>, tile<i32> -> tile<ptr<i16>>
          %o2 = offset %o1, %one : tile<ptr<i16>>, tile<i32> -> tile<ptr<i16>>
          %o3 = offset %o2, %one : tile<ptr<i16>>, tile<i32> -> tile<ptr<i16>>
          %t0 = store_ptr_tko weak %o, %c#0 : tile<ptr<i16>>, tile<i16> -> token
          %t1 = store_ptr_tko weak %o1, %c#1 : tile<ptr<i16>>, tile<i16> -> token
          %t2 = store_ptr_tko weak %o2, %d#0 : tile<ptr<i16>>, tile<i16> -> token
          %t3 = store_ptr_tko weak %o3, %d#1 : tile<ptr<i16>>, tile<i16> -> token
          return }} }}"""
        out = numpy.zeros(4, "i2")
        tileir.compile(tileir.parse(text)).launch(1, (A, out, 5, 7))
        assert out.tolist() == [*expected, 5, 7]


def gather_kernel(store: bool, sparse: int) -> tileir.Kernel:
    tile = "4x2" if sparse == 0 else "2x4"
    view = f"gather_scatter_view<tile=({tile}), padding_value = zero, {TENSOR}, sparse_dim={sparse}>"
    flat = f"partition_view<tile=({tile}), tensor_view<{tile}xf32, strides=[{tile[2]},1]>>"
    index = "%rows, %at" if sparse == 0 else "%at, %rows"
    types = "tile<4xi32>, tile<i32>" if sparse == 0 else "tile<i32>, tile<4xi32>"
    if store:
        access = f"""%v, %t = load_view_tko weak %vb[%zero, %zero] : {flat}, tile<i32> -> tile<{tile}xf32>, token
        %u = store_view_tko weak %v, %va[{index}] : tile<{tile}xf32>, {view}, {types} -> token"""
    else:
        access = f"""%v, %t = load_view_tko weak %va[{index}] : {view}, {types} -> tile<{tile}xf32>, token
        %u = store_view_tko weak %v, %vb[%zero, %zero] : tile<{tile}xf32>, {flat}, tile<i32> -> token"""
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>, %at: tile<i32>) {{
      %zero = constant <i32: 0> : tile<i32>
      %rows = constant <i32: [3, 0, 3, 9]> : tile<4xi32>
      %ta = make_tensor_view %a, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> {TENSOR}
      %tb = make_tensor_view %b, shape = [{tile.replace("x", ", ")}], strides = [{tile[2]}, 1] : tensor_view<{tile}xf32, strides=[{tile[2]},1]>
      %va = make_gather_scatter_view %ta : {view}
      %vb = make_partition_view %tb : {flat}
      {access}
      return }} }}"""
    return tileir.compile(tileir.parse(text))


def test_gather_takes_rows_by_position_and_columns_from_an_element() -> None:
    b = numpy.full((4, 2), 99, "f4")
    gather_kernel(False, 0).launch(1, (A, b, 5, 7, 6))
    assert b.tolist() == [[A[3, 6], 0], [A[0, 6], 0], [A[3, 6], 0], [0, 0]]
    c = numpy.full((2, 4), 99, "f4")
    gather_kernel(False, 1).launch(1, (A, c, 5, 7, 1))
    assert c.tolist() == [[A[1, 3], A[1, 0], A[1, 3], 0], [A[2, 3], A[2, 0], A[2, 3], 0]]


def test_scatter_writes_rows_that_exist() -> None:
    a = numpy.zeros((5, 7), "f4")
    gather_kernel(True, 0).launch(1, (a, numpy.arange(1, 9, dtype="f4").reshape(4, 2), 5, 7, 5))
    expected = numpy.zeros((5, 7), "f4")
    expected[3, 5:], expected[0, 5:] = [5, 6], [3, 4]
    assert a.tolist() == expected.tolist()


def test_a_shape_beyond_the_array_matters_only_where_it_is_touched() -> None:
    run = copy_kernel(partition("4x2"), partition("4x2"), "4x2")
    b = numpy.zeros((8, 8), "f4")
    run.launch((1, 3), (A[:4], b, 400, 7, 7, 8, 8))
    assert b[:4, :6].tolist() == A[:4, :6].tolist()
    with pytest.raises(
        tileir.ExecutionError, match=r"load_view_tko' op accesses 4 bytes .*\(element \[0, 0\] of the tile\)"
    ):
        run.launch((2, 3), (A[:4].copy(), b, 400, 7, 7, 8, 8))


def test_atomic_reduction_into_a_view_leaves_out_what_is_outside() -> None:
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>) {{
      %x, %y, %z = get_tile_block_id : tile<i32>
      %t = make_tensor_view %a, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> {TENSOR}
      %v = make_partition_view %t : {partition("4x4")}
      %one = constant <f32: 1.0> : tile<4x4xf32>
      %u = atomic_red_view_tko relaxed device %v[%x, %y], addf, %one : tile<4x4xf32>, {partition("4x4")}, tile<i32> -> token
      %w = atomic_red_view_tko relaxed device %v[%x, %y], addf, %one token = %u : tile<4x4xf32>, {partition("4x4")}, tile<i32> -> token
      return }} }}"""
    a = A.copy()
    tileir.compile(tileir.parse(text)).launch((2, 2), (a, 5, 7))
    assert a.tolist() == (A + 2).tolist()


def test_a_loaded_tile_keeps_its_values_when_memory_changes() -> None:
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>) {{
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %t = make_tensor_view %a, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> {TENSOR}
      %v = make_partition_view %t : {partition("2x2")}
      %p, %t0 = load_view_tko weak %v[%zero, %zero] : {partition("2x2")}, tile<i32> -> tile<2x2xf32>, token
      %q, %t1 = load_view_tko weak %v[%zero, %one] : {partition("2x2")}, tile<i32> -> tile<2x2xf32>, token
      %t2 = join_tokens %t0, %t1 : token
      %t3 = store_view_tko weak %q, %v[%zero, %zero] token = %t2 : tile<2x2xf32>, {partition("2x2")}, tile<i32> -> token
      %t4 = store_view_tko weak %p, %v[%zero, %one] token = %t3 : tile<2x2xf32>, {partition("2x2")}, tile<i32> -> token
      return }} }}"""
    a = numpy.arange(8, dtype="f4").reshape(2, 4)
    tileir.compile(tileir.parse(text)).launch(1, (a, 2, 4))
    assert a.tolist() == [[2, 3, 0, 1], [6, 7, 4, 5]]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("extents", [(4, 8), (3, 5), (1, 8)])
@pytest.mark.parametrize("strides", [(2, 3), (1, 2), (0, 1), (1, 0), (3, 2), (0, 0), (8, 1), (5, 1), (1, 4)])
def test_of_elements_that_share_memory_the_last_in_row_major_order_stays(
    strides: tuple[int, int], extents: tuple[int, int], known: bool
) -> None:
    rows, columns = strides
    # A type has no stride of zero.
    types = [str(stride) if known and stride else "?" for stride in strides]
    given = ", ".join([name if type == "?" else type for name, type in zip(("%s", "%r"), types, strict=True)])
    tensor = f"tensor_view<?x?xi32, strides=[{','.join(types)}]>"
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<i32>>, %m: tile<i32>, %n: tile<i32>, %s: tile<i32>, %r: tile<i32>) {{
      %zero = constant <i32: 0> : tile<i32>
      %line = iota : tile<32xi32>
      %tile = reshape %line : tile<32xi32> -> tile<4x8xi32>
      %t = make_tensor_view %a, shape = [%m, %n], strides = [{given}] : tile<i32> -> {tensor}
      %v = make_partition_view %t : partition_view<tile=(4x8), {tensor}>
      %u = store_view_tko weak %tile, %v[%zero, %zero] : tile<4x8xi32>, partition_view<tile=(4x8), {tensor}>, tile<i32> -> token
      return }} }}"""
    wanted = numpy.full(64, -1, "i4")
    for row in range(extents[0]):
        for column in range(extents[1]):
            wanted[row * rows + column * columns] = 8 * row + column
    for backend in ("interpreter", "cpu"):
        found = numpy.full(64, -1, "i4")
        tileir.compile(tileir.parse(text), backend=backend).launch(1, (found, *extents, rows, columns))
        assert found.tolist() == wanted.tolist(), backend
