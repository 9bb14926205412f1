"""Random launches: found for every example, in bounds, as the program assumes, the same everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import tileir
from tileir.analyze.random_arguments import random_launch
from tileir.execute.errors import LaunchError
from tileir.execute.launching.entries import select_entry
from tileir.ir.core import Operation

EXAMPLES = Path(__file__).parents[2] / "examples"


def kernel(body: str, parameters: str) -> Operation:
    return select_entry(tileir.parse(f"cuda_tile.module @m {{ entry @k({parameters}) {{\n{body}\nreturn }} }}"), None)


@pytest.mark.parametrize("name", ["attention", "histogram", "layer_norm", "matmul", "softmax", "vector_add"])
def test_examples_run_cleanly_on_what_is_found(name: str) -> None:
    module = tileir.load(EXAMPLES / f"{name}.mlir")
    for seed in range(3):
        launch = random_launch(select_entry(module, None), seed)
        assert launch.grid[0] > 1
        tileir.compile(module, backend="interpreter").launch(launch.grid, launch.copies(), sanitize=True)


def test_what_is_found_is_known_exactly() -> None:
    """By heart: a change here changes the results of sweeps on every machine."""
    entry = select_entry(tileir.load(EXAMPLES / "matmul.mlir"), None)
    assert random_launch(entry).words.text() == (
        "--grid 3 --arg signed:f16:17184:0 --arg signed:f16:4896:1 --arg signed:f32:9129:2 --arg 179 --arg 51 --arg 96"
    )


def test_extents_keep_what_the_program_assumes_and_strides_follow() -> None:
    entry = kernel(
        """
        %m_16 = assume div_by<16>, %m : tile<i32>
        %n_16 = assume div_by<16>, %n : tile<i32>
        %s_16 = assume div_by<16>, %s : tile<i32>
        %small = assume bounded<2, 4>, %count : tile<i32>
        %tensor = make_tensor_view %p, shape = [%m_16, %n_16], strides = [%s_16, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
        %tiles = make_partition_view %tensor : partition_view<tile=(32x8), tensor_view<?x?xf32, strides=[?,1]>>
        %x, %y, %z = get_tile_block_id : tile<i32>
        %tile, %token = load_view_tko weak %tiles[%y, %x] : partition_view<tile=(32x8), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<32x8xf32>, token
        """,
        "%p: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>, %s: tile<i32>, %count: tile<i32>",
    )
    for seed in range(8):
        launch = random_launch(entry, seed)
        array, m, n, stride, count = launch.arguments
        assert m % 16 == n % 16 == stride % 16 == 0 and 0 < n <= stride and 2 <= count <= 4
        assert array.size == (m - 1) * stride + n
        assert launch.grid == (-(-n // 8), -(-m // 32))[: len(launch.grid)]


def test_indices_from_memory_are_followed() -> None:
    entry = kernel(
        """
        %i, %t = load_ptr_tko weak %index : tile<ptr<i32>> -> tile<i32>, token
        %to = offset %p, %i : tile<ptr<f64>>, tile<i32> -> tile<ptr<f64>>
        %x, %u = load_ptr_tko weak %to : tile<ptr<f64>> -> tile<f64>, token
        """,
        "%p: tile<ptr<f64>>, %index: tile<ptr<i32>>",
    )
    launch = random_launch(entry, 4)
    assert launch.arguments[0].size == launch.arguments[1][0] + 1 and launch.arguments[1].size == 1


def test_pointers_that_loops_carry_find_their_array() -> None:
    entry = kernel(
        """
        %zero = constant <i32: 0> : tile<i32>
        %one = constant <i32: 1> : tile<i32>
        %end = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%at = %p) -> (tile<ptr<f32>>) {
          %x, %t = load_ptr_tko weak %at : tile<ptr<f32>> -> tile<f32>, token
          %next = offset %at, %one : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
          continue %next : tile<ptr<f32>>
        }
        """,
        "%q: tile<ptr<i8>>, %p: tile<ptr<f32>>, %n: tile<i32>",
    )
    _, array, n = random_launch(entry).arguments
    assert array.size == n


@pytest.mark.parametrize(
    ("parameters", "body", "reason"),
    [
        ("", "loop { continue }", "it takes too long"),
        (
            "%p: tile<ptr<f32>>",
            """%back = constant <i32: -1> : tile<i32>
            %to = offset %p, %back : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
            %x, %t = load_ptr_tko weak %to : tile<ptr<f32>> -> tile<f32>, token""",
            "'load_ptr_tko' goes before argument 0",
        ),
    ],
)
def test_where_nothing_is_found_the_reason_is_told(parameters: str, body: str, reason: str) -> None:
    with pytest.raises(LaunchError) as caught:
        random_launch(kernel(body, parameters))
    assert caught.value.message.startswith(f"no random arguments were found for @k: {reason}. State a launch")


def test_extents_grow_to_the_tiles_that_are_asked_for() -> None:
    entry = kernel(
        """
        %five = constant <i32: 5> : tile<i32>
        %tensor = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
        %tiles = make_partition_view %tensor : partition_view<tile=(16), tensor_view<?xf32, strides=[1]>>
        %tile, %token = load_view_tko weak %tiles[%five] : partition_view<tile=(16), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token
        """,
        "%p: tile<ptr<f32>>, %n: tile<i32>",
    )  # fmt: skip
    array, n = random_launch(entry).arguments
    assert array.size == n == 96


def test_strides_follow_from_extents_alone() -> None:
    shape = ", ".join([f"%n{axis}" for axis in range(4)])
    strides = ", ".join([f"%s{axis}" for axis in range(4)])
    type = "tensor_view<?x?x?x?xi8, strides=[?,?,?,?]>"
    view = f"partition_view<tile=(2x2x2x2), {type}>"
    entry = kernel(
        f"""
        %zero = constant <i32: 0> : tile<i32>
        %tensor = make_tensor_view %p, shape = [{shape}], strides = [{strides}] : tile<i32> -> {type}
        %tiles = make_partition_view %tensor : {view}
        %tile, %token = load_view_tko weak %tiles[%zero, %zero, %zero, %zero] : {view}, tile<i32> -> tile<2x2x2x2xi8>, token
        """,
        ", ".join(["%p: tile<ptr<i8>>", *[f"%{kind}{axis}: tile<i32>" for axis in range(4) for kind in "ns"]]),
    )
    array, n0, s0, n1, s1, n2, s2, n3, s3 = random_launch(entry).arguments
    assert (s0, s1, s2, s3) == (n1 * n2 * n3, n2 * n3, n3, 1) and array.size == n0 * n1 * n2 * n3
