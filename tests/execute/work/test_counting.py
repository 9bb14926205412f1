"""Counted work: against counts by hand, and against what the interpreter is seen to access."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import tileir
from tileir.execute.launching.entries import select_entry
from tileir.execute.observing.observer import Access, Observer
from tileir.execute.work.counting import count_work
from tileir.execute.work.operations import Work
from tileir.execute.work.walker import strata

EXAMPLES = Path(__file__).parents[3] / "examples"


class Bytes:
    """Stands for an array."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


def work_of(module: tileir.Operation, grid: tuple[int, ...], *arguments: object) -> Work:
    x, y, z = (*grid, 1, 1)[:3]
    return count_work(select_entry(module, None), (x, y, z), arguments)


def example(name: str, grid: tuple[int, ...], *arguments: object) -> Work:
    return work_of(tileir.load(EXAMPLES / f"{name}.mlir"), grid, *arguments)


def least(work: Work) -> list[tuple[int, int]]:
    return [(array.least_read, array.least_written) for array in work.arrays]


# --- by hand ---


def test_vector_add() -> None:
    n = 1000
    work = example("vector_add", (8,), Bytes(4 * n), Bytes(4 * n), Bytes(4 * n), n)
    assert (work.bytes_read, work.bytes_written) == (2 * 4 * n, 4 * n)
    assert work.footprint == 3 * 4 * n
    # Tiles are added whole: 8 blocks of 128 elements.
    assert work.by_kind("floating") == {"addf f32": 8 * 128}
    assert work.flops == work.total_flops == 1024
    # For each block a scalar product, a tile of sums and one of comparisons.
    assert work.by_kind("integer") == {"muli i32": 8, "addi i32": 8 * 128, "cmpi i32": 8 * 128}
    assert not work.notes and not work.unknown and work.walked == 8


def test_matmul_with_edges() -> None:
    m, n, k = 100, 90, 70
    work = example("matmul", (2, 2), Bytes(2 * m * k), Bytes(2 * k * n), Bytes(4 * m * n), m, n, k)
    # A is read once for each of two columns of blocks, B once for each of two rows.
    assert work.bytes_read == 2 * (2 * m * k) + 2 * (2 * k * n)
    assert work.bytes_written == 4 * m * n
    assert least(work) == [(2 * m * k, 0), (2 * k * n, 0), (0, 4 * m * n)]
    # Products are of whole tiles: 4 blocks, 3 steps along k.
    assert work.matrix_flops == {"f16": 4 * 3 * 2 * 64 * 32 * 64}
    assert work.accesses["load_view_tko"].count == 4 * 3 * 2
    assert work.accesses["store_view_tko"].count == 4


def test_matmul_that_divides_evenly_computes_two_operations_for_each_product() -> None:
    m, n, k = 256, 128, 320
    work = example("matmul", (4, 2), Bytes(2 * m * k), Bytes(2 * k * n), Bytes(4 * m * n), m, n, k)
    assert work.total_flops == 2 * m * n * k
    assert work.intensity == 2 * m * n * k / (2 * m * k + 2 * k * n + 4 * m * n)


def test_softmax() -> None:
    rows, columns = 100, 1000
    size = 4 * rows * columns
    work = example("softmax", (rows,), Bytes(size), Bytes(size), rows, columns)
    assert (work.bytes_read, work.bytes_written, work.footprint) == (size, size, 2 * size)
    assert work.by_kind("floating") == {
        "maxf f32": rows * 1023,
        "subf f32": rows * 1024,
        "exp f32": rows * 1024,
        "addf f32": rows * 1023,
        "divf f32": rows * 1024,
    }


def test_layer_norm_reads_weight_and_bias_once_in_its_footprint() -> None:
    rows, columns = 100, 1000
    size, row = 4 * rows * columns, 4 * columns
    arrays = [Bytes(bytes) for bytes in (size, row, row, size)]
    work = example("layer_norm", (rows,), *arrays, rows, columns, 1e-5)
    assert (work.bytes_read, work.bytes_written) == (3 * size, size)
    assert least(work) == [(size, 0), (row, 0), (row, 0), (0, size)]
    assert work.by_kind("floating") == {
        "addf f32": rows * (1023 + 1023 + 1),
        "divf f32": rows * 2,
        "subf f32": rows * 1024,
        "mulf f32": rows * 2 * 1024,
        "rsqrt f32": rows,
        "fma f32": rows * 2 * 1024,
    }
    assert work.by_kind("converting") == {"itof i32 -> f32": rows}


def test_attention() -> None:
    length, depth = 250, 64
    blocks = 4
    arrays = [Bytes(bytes) for bytes in (2 * length * depth,) * 3 + (4 * length * depth,)]
    work = example("attention", (blocks,), *arrays, length, 0.125)
    # The queries once, keys and values once for each block of queries.
    assert work.bytes_read == 2 * length * depth * (1 + 2 * blocks)
    assert work.bytes_written == 4 * length * depth
    assert work.footprint == 3 * 2 * length * depth + 4 * length * depth
    steps = blocks * 4
    assert work.matrix_flops == {"f16": steps * 2 * (2 * 64 * 64 * 64)}
    tile = 64 * 64
    assert work.by_kind("floating") == {
        "divf f32": blocks * tile,
        "mulf f32": steps * 2 * tile,
        "maxf f32": steps * (64 * 63 + 64),
        "subf f32": steps * (tile + 64),
        "exp f32": steps * (tile + 64),
        "addf f32": steps * 64 * 63,
        "fma f32": steps * 2 * 64,
    }


def test_histogram_reads_and_writes_atomically() -> None:
    n, buckets = 1000, 256
    work = example("histogram", (8,), Bytes(4 * n), Bytes(4 * buckets), n)
    assert work.accesses["load_ptr_tko"].read == 4 * n
    assert (work.accesses["atomic_rmw_tko"].read, work.accesses["atomic_rmw_tko"].written) == (4 * n, 4 * n)
    assert least(work) == [(4 * n, 0), (4 * buckets, 4 * buckets)]
    assert work.total_flops == 0


# --- as watched ---


class Watched(Observer):
    """The bytes that a launch is seen to read and write."""

    def __init__(self) -> None:
        self.read = self.written = 0

    def access(self, access: Access) -> None:
        bytes = access.size * access.touched.size
        self.read += bytes if access.kind != "write" else 0
        self.written += bytes if access.kind != "read" else 0


def watched(module: tileir.Operation, grid: tuple[int, ...], *arguments: object) -> tuple[int, int]:
    seen = Watched()
    tileir.compile(module, backend="interpreter").launch(grid, arguments, observer=seen)
    return seen.read, seen.written


TRIANGLE = """
cuda_tile.module @m {
  entry @k(%a: tile<ptr<f32>>, %n: tile<i32>) {
    %x, %y, %z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %eight = constant <i32: 8> : tile<i32>
    %t = make_tensor_view %a, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %v = make_partition_view %t : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>
    for %i in (%zero to %x, step %one) : tile<i32> {
      %even = andi %i, %one : tile<i32>
      %is = cmpi equal %even, %zero, signed : tile<i32> -> tile<i1>
      if %is {
        %l, %lt = load_view_tko weak %v[%i] : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
        %s = store_view_tko weak %l, %v[%x] : tile<8xf32>, partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
      }
    }
    %last = loop iter_values(%i = %x) : tile<i32> -> tile<i32> {
      %done = cmpi less_than %i, %eight, signed : tile<i32> -> tile<i1>
      if %done {
        break %i : tile<i32>
      }
      %l, %lt = load_view_tko weak %v[%i] : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
      %half = shri %i, %one unsigned : tile<i32>
      continue %half : tile<i32>
    }
    return
  }
}
"""


@pytest.mark.parametrize("blocks", [1, 7, 40])
def test_loops_and_branches_are_followed(blocks: int) -> None:
    module = tileir.parse(TRIANGLE)
    data = numpy.zeros(8 * blocks - 3, numpy.float32)
    work = work_of(module, (blocks,), data, data.size)
    assert (work.bytes_read, work.bytes_written) == watched(module, (blocks,), data, data.size)
    assert not work.unknown


def pointers(extent: int, rows: int) -> str:
    """Copies the elements of a matrix of `rows` x `extent` tiles whose row and column lie inside."""
    shape = f"{rows}x{extent}"
    return f"""
cuda_tile.module @m {{
  entry @k(%a: tile<ptr<i16>>, %m: tile<i32>, %n: tile<i32>) {{
    %x, %y, %z = get_tile_block_id : tile<i32>
    %size = constant <i32: {extent}> : tile<i32>
    %first = muli %x, %size : tile<i32>
    %first_1 = reshape %first : tile<i32> -> tile<1x1xi32>
    %firsts = broadcast %first_1 : tile<1x1xi32> -> tile<{shape}xi32>
    %c = iota : tile<{extent}xi32>
    %c_1 = reshape %c : tile<{extent}xi32> -> tile<1x{extent}xi32>
    %c_2 = broadcast %c_1 : tile<1x{extent}xi32> -> tile<{shape}xi32>
    %column = addi %c_2, %firsts : tile<{shape}xi32>
    %r = iota : tile<{rows}xi32>
    %r_1 = reshape %r : tile<{rows}xi32> -> tile<{rows}x1xi32>
    %row = broadcast %r_1 : tile<{rows}x1xi32> -> tile<{shape}xi32>
    %n_1 = reshape %n : tile<i32> -> tile<1x1xi32>
    %n_2 = broadcast %n_1 : tile<1x1xi32> -> tile<{shape}xi32>
    %m_1 = reshape %m : tile<i32> -> tile<1x1xi32>
    %m_2 = broadcast %m_1 : tile<1x1xi32> -> tile<{shape}xi32>
    %is_column = cmpi greater_than %n_2, %column, signed : tile<{shape}xi32> -> tile<{shape}xi1>
    %is_row = cmpi less_than_or_equal %row, %m_2, signed : tile<{shape}xi32> -> tile<{shape}xi1>
    %mask = andi %is_column, %is_row : tile<{shape}xi1>
    %before = muli %row, %n_2 : tile<{shape}xi32>
    %at = addi %before, %column : tile<{shape}xi32>
    %a_1 = reshape %a : tile<ptr<i16>> -> tile<1x1xptr<i16>>
    %a_2 = broadcast %a_1 : tile<1x1xptr<i16>> -> tile<{shape}xptr<i16>>
    %p = offset %a_2, %at : tile<{shape}xptr<i16>>, tile<{shape}xi32> -> tile<{shape}xptr<i16>>
    %v, %t = load_ptr_tko weak %p, %mask : tile<{shape}xptr<i16>>, tile<{shape}xi1> -> tile<{shape}xi16>, token
    %s = store_ptr_tko weak %p, %v, %mask token=%t : tile<{shape}xptr<i16>>, tile<{shape}xi16>, tile<{shape}xi1> -> token
    return
  }}
}}
"""


@pytest.mark.parametrize(("rows", "last_row", "columns"), [(4, 2, 37), (8, 7, 64), (2, 0, 5)])
def test_masks_of_two_dimensions_count_what_lies_inside(rows: int, last_row: int, columns: int) -> None:
    module = tileir.parse(pointers(16, rows))
    data = numpy.zeros(rows * columns, numpy.int16)
    grid = (-(-columns // 16) + 1,)
    work = work_of(module, grid, data, last_row, columns)
    assert (work.bytes_read, work.bytes_written) == watched(module, grid, data, last_row, columns)
    assert work.bytes_read == 2 * (last_row + 1) * columns
    assert not work.notes


# --- what is not known ---

GATHERED = """
cuda_tile.module @m {
  entry @k(%bounds: tile<ptr<i32>>, %a: tile<ptr<f32>>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %end, %t = load_ptr_tko weak %bounds : tile<ptr<i32>> -> tile<i32>, token
    for %i in (%zero to %end, step %one) : tile<i32> {
      %v, %vt = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token
    }
    return
  }
}
"""


def test_bound_from_memory_is_unknown_and_the_counts_a_lower_bound() -> None:
    work = work_of(tileir.parse(GATHERED, "gathered.mlir"), (3,), Bytes(4), Bytes(4))
    assert work.bytes_read == 3 * 4
    (reason,) = work.unknown
    assert reason.startswith("for at ") and "gathered.mlir:7:5" in reason
    assert "a bound is not known without running it, so no iteration counts" in reason
    assert "at least" in repr(work)


def test_mask_from_memory_counts_whole_tiles_and_says_so() -> None:
    text = (
        (EXAMPLES / "histogram.mlir")
        .read_text()
        .replace("cmpi less_than %index, %limit", "cmpi not_equal %index, %limit")
    )
    work = work_of(tileir.parse(text), (2,), Bytes(1024), Bytes(64), 200)
    assert work.accesses["load_ptr_tko"].read == 2 * 128 * 4
    assert [note.partition(" at ")[0] for note in work.notes] == ["load_ptr_tko", "atomic_rmw_tko"]


def test_scalar_that_is_not_given_is_not_known() -> None:
    work = example("matmul", (2, 2), Bytes(1), Bytes(1), Bytes(1), None, None, None)
    assert work.unknown and work.total_flops == 0


# --- many tile blocks ---


@pytest.mark.parametrize(("count", "most"), [(1, 8), (8, 8), (9, 8), (1000, 8), (1000, 2), (10**9, 64)])
def test_some_numbers_stand_for_all(count: int, most: int) -> None:
    chosen = list(strata(count, most))
    assert sum(weight for _, weight in chosen) == count
    assert chosen[0] == (0, 1) and chosen[-1] == (count - 1, 1)
    assert len(chosen) <= max(most, 3) or len(chosen) == count
    assert [number for number, _ in chosen] == sorted({number for number, _ in chosen})


def test_large_launch_is_counted_from_some_of_its_tile_blocks() -> None:
    n = 128 * 2**20 - 5
    work = example("vector_add", (2**20,), Bytes(4 * n), Bytes(4 * n), Bytes(4 * n), n)
    # The block over the edge is among those that are looked at.
    assert work.bytes_moved == 3 * 4 * n
    assert work.walked < 2**20
    assert f"{work.walked} of 1048576 tile blocks were counted" in work.notes[0]


def test_work_that_grows_with_the_number_of_the_block_is_counted_from_some() -> None:
    blocks = 4000
    module = tileir.parse(TRIANGLE.replace("%done = cmpi less_than %i, %eight", "%done = cmpi equal %i, %i"))
    work = work_of(module, (blocks,), Bytes(32 * blocks), 8 * blocks)
    exact = sum(-(-block // 2) for block in range(blocks)) * 32
    assert work.bytes_read == pytest.approx(exact, rel=0.05)
    assert work.notes


# --- the result ---


def test_result_is_plain_values_and_says_what_it_is() -> None:
    work = example("vector_add", (8,), Bytes(4000), Bytes(4000), Bytes(4000), 1000)
    found = work.to_dict()
    assert found["bytes_read"] == 8000 and found["footprint"] == 12000
    assert found["arrays"][2] == {
        "name": "argument 2",
        "size": 4000,
        "bytes_read": 0,
        "bytes_written": 4000,
        "least_read": 0,
        "least_written": 4000,
    }
    assert repr(work) == "<Work of vector_add, grid (8, 1, 1): 12 kB footprint, 12 kB moved, 1.024 kFLOP>"


def test_array_that_is_given_twice_counts_once() -> None:
    array = Bytes(4000)
    work = example("vector_add", (8,), array, array, Bytes(4000), 1000)
    assert least(work) == [(4000, 0), (0, 4000)]
    assert work.bytes_read == 8000


def test_counting_needs_no_numpy() -> None:
    program = f"""
import sys
sys.modules["numpy"] = None
import tileir
from tileir.execute.work.counting import count_work
module = tileir.load({str(EXAMPLES / "matmul.mlir")!r})
entry = next(each for each in module.walk() if each.name == "cuda_tile.entry")
print(count_work(entry, (1, 1, 1), [None, None, None, 64, 64, 64]).total_flops)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"{2 * 64**3}\n", done.stderr


def test_long_kernel_is_counted_from_three_tile_blocks() -> None:
    steps = "\n".join([f"if %t {{ %v{n} = addi %c, %c : tile<i32> }}" for n in range(15_000)])
    text = f"""cuda_tile.module @m {{ entry @k() {{
    %x, %y, %z = get_tile_block_id : tile<i32>
    %c = constant <i32: 1> : tile<i32>
    %t = cmpi less_than_or_equal %c, %c, signed : tile<i32> -> tile<i1>
    {steps}
    return }} }}"""
    work = work_of(tileir.parse(text), (100, 100, 100))
    assert work.walked == 3
    assert work.by_kind("integer")["addi i32"] == 15_000 * 10**6
