"""What a kernel leaves unwritten is told, with the tile block it belongs to; what it writes twice at once, too."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tileir
from tileir.execute.observing.observer import Observers
from tileir.execute.sanitizer.coverage import boxes

EMPTY = -1


def spread(name: str, value: str, shape: str, element: str = "i32") -> str:
    """A scalar as a tile of rank 1 or 2."""
    ones = "x".join(["1"] * (shape.count("x") + 1))
    return f"""  %{name}_1 = reshape {value} : tile<{element}> -> tile<{ones}x{element}>
  %{name} = broadcast %{name}_1 : tile<{ones}x{element}> -> tile<{shape}x{element}>
"""


def module(body: str, parameters: str = "%p: tile<ptr<i32>>, %n: tile<i32>, %m: tile<i32>") -> tileir.Operation:
    text = f"cuda_tile.module @m {{ entry @k({parameters}) {{\n  %x, %y, %z = get_tile_block_id : tile<i32>\n{body}  return\n}} }}"
    return tileir.parse(text, "k.mlir")


def covered(program: tileir.Operation, grid: Any, *values: Any, **options: Any) -> tileir.sanitizer.Coverage:
    coverage = tileir.sanitizer.Coverage()
    tileir.compile(program).launch(grid, values, observer=coverage, **options)
    return coverage


# --- kernels that give each tile block its part by a rule; each writes all of an n x m array ---

VIEW = "partition_view<tile=(4x8), tensor_view<?x?xi32, strides=[?,1]>>"
TENSOR = f"""  %s = make_tensor_view %p, shape = [%n, %m], strides = [%m, 1] : tile<i32> -> tensor_view<?x?xi32, strides=[?,1]>
  %w = make_partition_view %s : {VIEW}
  %c = constant <i32: 5> : tile<4x8xi32>
"""
STORE = f"  %t = store_view_tko weak %c, %w[INDEX] : tile<4x8xi32>, {VIEW}, tile<i32> -> token\n"
EIGHT = "  %eight = constant <i32: 8> : tile<i32>\n"

POINTERS_2D = (
    EIGHT
    + """  %four = constant <i32: 4> : tile<i32>
  %row_0 = muli %x, %four : tile<i32>
  %column_0 = muli %y, %eight : tile<i32>
"""
    + spread("row_b", "%row_0", "4x8")
    + spread("column_b", "%column_0", "4x8")
    + spread("width", "%m", "4x8")
    + spread("height", "%n", "4x8")
    + spread("base", "%p", "4x8", "ptr<i32>")
    + """  %i4 = iota : tile<4xi32>
  %i41 = reshape %i4 : tile<4xi32> -> tile<4x1xi32>
  %i48 = broadcast %i41 : tile<4x1xi32> -> tile<4x8xi32>
  %j8 = iota : tile<8xi32>
  %j18 = reshape %j8 : tile<8xi32> -> tile<1x8xi32>
  %j48 = broadcast %j18 : tile<1x8xi32> -> tile<4x8xi32>
  %row = addi %row_b, %i48 : tile<4x8xi32>
  %column = addi %column_b, %j48 : tile<4x8xi32>
  %skipped = muli %row, %width : tile<4x8xi32>
  %place = addi %skipped, %column : tile<4x8xi32>
  %q = offset %base, %place : tile<4x8xptr<i32>>, tile<4x8xi32> -> tile<4x8xptr<i32>>
  %in_row = cmpi less_than %row, %height, signed : tile<4x8xi32> -> tile<4x8xi1>
  %in_column = cmpi less_than %column, %width, signed : tile<4x8xi32> -> tile<4x8xi1>
  %mask = andi %in_row, %in_column : tile<4x8xi1>
  %t = store_ptr_tko weak %q, %place, %mask : tile<4x8xptr<i32>>, tile<4x8xi32>, tile<4x8xi1> -> token
"""
)

# A row for each tile block, through pointers that know nothing of rows.
ROWS = (
    "  %start = muli %x, %m : tile<i32>\n"
    + spread("start_b", "%start", "64")
    + spread("width", "%m", "64")
    + spread("base", "%p", "64", "ptr<i32>")
    + """  %lane = iota : tile<64xi32>
  %place = addi %start_b, %lane : tile<64xi32>
  %q = offset %base, %place : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
  %mask = cmpi less_than %lane, %width, signed : tile<64xi32> -> tile<64xi1>
  %t = store_ptr_tko weak %q, %place, %mask : tile<64xptr<i32>>, tile<64xi32>, tile<64xi1> -> token
"""
)

COUNTED = f"""  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %rows, %columns = get_index_space_shape %w : {VIEW} -> tile<i32>
"""
ACROSS = "  %last = make_token : token\n  %end = for %k in (%zero to %columns, step %one) : tile<i32> iter_values(%u = %last) -> (token) {\n"
STORE_IN_ORDER = STORE.replace("[INDEX]", "[INDEX] token=%u")
LOOP = TENSOR + COUNTED + ACROSS + STORE_IN_ORDER.replace("INDEX", "%x, %k") + "    continue %t : token\n  }\n"

NUMBERED = (
    TENSOR
    + COUNTED
    + "  %i = divi %x, %columns signed : tile<i32>\n  %j = remi %x, %columns signed : tile<i32>\n"
    + STORE.replace("INDEX", "%i, %j")
)
NUMBERED_DOWN = (
    TENSOR
    + COUNTED
    + "  %i = remi %x, %rows signed : tile<i32>\n  %j = divi %x, %rows signed : tile<i32>\n"
    + STORE.replace("INDEX", "%i, %j")
)
SCALAR = """  %start = muli %x, %m : tile<i32>
  %place = addi %start, %y : tile<i32>
  %q = offset %p, %place : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %q, %x : tile<ptr<i32>>, tile<i32> -> token
"""

Grid = tuple[int, int, int]


def tiles(n: int, m: int) -> tuple[int, int]:
    return -(-n // 4), -(-m // 8)


KERNELS: dict[str, tuple[str, Callable[[int, int], Grid]]] = {
    "view": (TENSOR + STORE.replace("INDEX", "%x, %y"), lambda n, m: (*tiles(n, m), 1)),
    "view, columns along x": (TENSOR + STORE.replace("INDEX", "%y, %x"), lambda n, m: (*tiles(n, m)[::-1], 1)),
    "view, rows along z": (TENSOR + STORE.replace("INDEX", "%z, %x"), lambda n, m: (tiles(n, m)[1], 1, tiles(n, m)[0])),
    "pointers": (POINTERS_2D, lambda n, m: (*tiles(n, m), 1)),
    "rows through pointers": (ROWS, lambda n, m: (n, 1, 1)),
    "a loop in each block": (LOOP, lambda n, m: (tiles(n, m)[0], 1, 1)),
    "tiles by number": (NUMBERED, lambda n, m: (tiles(n, m)[0] * tiles(n, m)[1], 1, 1)),
    "tiles by number, downwards": (NUMBERED_DOWN, lambda n, m: (tiles(n, m)[0] * tiles(n, m)[1], 1, 1)),
    "scalars": (SCALAR, lambda n, m: (n, m, 1)),
}


def is_ambiguous(name: str, n: int, m: int, grid: list[int]) -> bool:
    """Whether what ran leaves open which tile block comes next."""
    if name == "pointers":
        # The rows of a tile overlap where the array is narrower, and are as far apart as an argument says.
        return m < 8 or grid[0] == 1
    if name == "rows through pointers":
        # Rows are as far apart as an argument says, which two rows show.
        return grid[0] == 1
    # With one row of tiles, nothing tells where the next one is.
    return name.startswith("tiles by number") and grid[0] <= tiles(n, m)[1 if name == "tiles by number" else 0]


@pytest.mark.parametrize("name", KERNELS)
def test_the_grid_that_is_named_writes_what_was_left_out(name: str) -> None:
    body, needed = KERNELS[name]
    program = module(body)
    generator = random.Random(name)
    short = told = 0
    for _ in range(12):
        n, m = generator.randint(1, 13), generator.randint(1, 33)
        full = needed(n, m)
        array = numpy.full((n, m), EMPTY, "i4")
        clean = covered(program, full, array, n, m)
        assert not clean.report, clean.report.render()
        assert not (array == EMPTY).any(), "the kernel is wrong"
        assert [(each.size, each.written) for each in clean.arrays] == [(n * m, n * m)]
        axis = generator.choice([number for number in range(3) if full[number] > 1] or [0])
        if full[axis] == 1:
            continue
        short += 1
        less: Any = list(full)
        less[axis] = generator.randint(1, full[axis] - 1)
        array[...] = EMPTY
        report = covered(program, tuple(less), array, n, m, schedule=generator.choice(["forward", "random:3"])).report
        assert report.kinds == ["unwritten"], (n, m, less)
        finding = report.findings[0]
        missing = int((array == EMPTY).sum())
        assert finding.title.startswith(f"{missing} of the {n * m} elements of argument 0 (array int32[{n}, {m}]) ")
        grid = re.match(r"launch a grid of \((\d+), (\d+), (\d+)\): ", finding.help)
        if grid is None and is_ambiguous(name, n, m, less):
            assert "tile block" not in finding.details[0]
            continue
        assert grid is not None, (n, m, less, finding.render())
        array[...] = EMPTY
        again = covered(program, tuple([int(number) for number in grid.groups()]), array, n, m)
        assert not again.report, (n, m, less, finding.render(), again.report.render())
        told += 1
    assert short >= 6 and told >= 4


def test_the_report_names_the_elements_the_block_and_the_grid() -> None:
    body = KERNELS["view"][0]
    array = numpy.zeros((9, 20), "i4")
    assert covered(module(body), (2, 3), array, 9, 20).report.render().split("\n\n") == [
        "coverage: 1 finding in @k, grid (2, 3, 1)",
        "unwritten: 20 of the 180 elements of argument 0 (array int32[9, 20]) are never written\n"
        "  --> k.mlir:6:8\n"
        "    6 | %t = store_view_tko weak %c, %w[%x, %y] : tile<4x8xi32>, partition_view<tile=(4x8), "
        "tensor_view<?x?xi32, strides=[?,1]>>, tile<i32> -> token\n"
        "      |      ^\n"
        "  [8, 0..19]: tile blocks (2, 0, 0) to (2, 2, 0) would write it, and the grid is (2, 3, 1)\n"
        "  = help: launch a grid of (3, 3, 1): round up, as in -(-n // tile)",
    ]
    finding = covered(module(body), (2, 2), array, 9, 20).report.findings[0]
    assert finding.details == [
        "[0..7, 16..19]: tile blocks (0, 2, 0) to (1, 2, 0) would write it, and the grid is (2, 2, 1)",
        "[8, 0..19]: tile blocks (2, 0, 0) to (2, 2, 0) would write it, and the grid is (2, 2, 1)",
    ]
    assert finding.help == "launch a grid of (3, 3, 1): round up, as in -(-n // tile)"
    assert finding.block is None and finding.element is None


def test_a_number_of_elements_that_is_too_small_is_told_apart_from_the_grid() -> None:
    array = numpy.zeros((8, 16), "i4")
    masked = covered(module(POINTERS_2D), (2, 2), array, 7, 16).report.findings[0]
    assert masked.details == ["[7, 0..15]: tile blocks (1, 0, 0) to (1, 1, 0) have it in the tile and leave it out"]
    assert masked.help == "check the number of elements that is passed in, the indices, and the mask"
    viewed = covered(module(KERNELS["view"][0]), (2, 2), array, 7, 16).report.findings[0]
    assert viewed.details == [
        "[7, 0..15]: tile blocks (1, 0, 0) to (1, 1, 0) have it in the tile, but the tensor view of shape [7, 16] ends "
        "before it"
    ]


def test_one_tile_block_is_enough_where_the_program_tells_the_rule() -> None:
    finding = covered(module(KERNELS["view"][0]), 1, numpy.zeros((8, 24), "i4"), 8, 24).report.findings[0]
    assert finding.details == [
        "[0..3, 8..23]: tile blocks (0, 1, 0) to (0, 2, 0) would write it, and the grid is (1, 1, 1)",
        "[4..7, 0..23]: tile blocks (1, 0, 0) to (1, 2, 0) would write it, and the grid is (1, 1, 1)",
    ]
    assert finding.help.startswith("launch a grid of (2, 3, 1): ")


def test_what_follows_no_rule_is_told_without_a_block() -> None:
    body = (
        """  %five = constant <i32: 5> : tile<i32>
  %a = muli %x, %x : tile<i32>
  %b = remi %a, %five signed : tile<i32>
  %q = offset %p, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %v, %t = atomic_rmw_tko relaxed device %q, add, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
"""
    )  # fmt: skip
    store = body.replace(
        "%v, %t = atomic_rmw_tko relaxed device %q, add, %x", "%t = store_ptr_tko relaxed device %q, %x"
    )
    store = store.replace("tile<i32> -> tile<i32>, token", "tile<i32> -> token")
    finding = covered(module(store), 4, numpy.zeros(7, "i4"), 0, 0).report.findings[0]
    assert finding.details == ["[2..3]", "[5..6]"]
    # What atomics update need not be updated everywhere.
    updated = covered(module(body), 4, numpy.zeros(7, "i4"), 0, 0)
    assert not updated.report and updated.arrays == []


def test_an_array_that_the_kernel_could_have_written_and_did_not() -> None:
    body = f"""  %never = cmpi less_than %x, %y, signed : tile<i32> -> tile<i1>
  if %never {{
{SCALAR}  }}
"""
    finding = covered(module(body), 3, numpy.zeros(4, "i4"), 0, 0).report.findings[0]
    assert finding.title == "no element of argument 0 (array int32[4]) is ever written"
    assert finding.operation.declaration.mnemonic == "store_ptr_tko" and finding.details == ["[0..3]"]


def test_only_arrays_that_are_written_count_and_only_those_asked_for() -> None:
    body = """  %q = offset %a, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %v, %t = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
  %r = offset %b, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %u = store_ptr_tko weak %r, %v : tile<ptr<i32>>, tile<i32> -> token
  %s = offset %c, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %w = store_ptr_tko weak %s, %v : tile<ptr<i32>>, tile<i32> -> token
"""
    program = module(body, "%a: tile<ptr<i32>>, %b: tile<ptr<i32>>, %c: tile<ptr<i32>>")
    a, b, c = (numpy.zeros(count, "i4") for count in (9, 4, 5))
    everything = covered(program, 4, a, b, c)
    assert sorted([each.name for each in everything.arrays]) == [
        "argument 1 (array int32[4])",
        "argument 2 (array int32[5])",
    ]
    assert [finding.title for finding in everything.report.findings] == [
        "1 of the 5 elements of argument 2 (array int32[5]) is never written"
    ]
    one = tileir.sanitizer.Coverage(arrays=[b])
    tileir.compile(program).launch(3, (a, b, c), observer=one)
    assert [finding.title for finding in one.report.findings] == [
        "1 of the 4 elements of argument 1 (array int32[4]) is never written"
    ]


def test_strided_arrays_are_counted_by_their_elements() -> None:
    body = """  %q = offset %p, %y : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %two = constant <i32: 2> : tile<i32>
  %d = muli %x, %two : tile<i32>
  %r = offset %q, %d : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %r, %x : tile<ptr<i32>>, tile<i32> -> token
"""
    whole = numpy.zeros(10, "i4")
    assert not covered(module(body), 5, tileir.kernels.pointer_to(whole[::2]), 0, 0).report
    finding = covered(module(body), 3, tileir.kernels.pointer_to(whole[::2]), 0, 0).report.findings[0]
    assert finding.title.startswith("2 of the 5 elements") and finding.help.startswith("launch a grid of (5, 1, 1)")


def test_smaller_elements_than_the_array_has_count_only_together() -> None:
    body = """  %h = ptr_to_ptr %p : tile<ptr<i32>> -> tile<ptr<i16>>
  %v = trunci %x : tile<i32> -> tile<i16>
  %q = offset %h, %x : tile<ptr<i16>>, tile<i32> -> tile<ptr<i16>>
  %t = store_ptr_tko weak %q, %v : tile<ptr<i16>>, tile<i16> -> token
"""
    finding = covered(module(body), 5, numpy.zeros(3, "i4"), 0, 0).report.findings[0]
    assert finding.title.startswith("1 of the 3 elements") and finding.details[0].startswith("[2]")
    assert not covered(module(body), 6, numpy.zeros(3, "i4"), 0, 0).report


def test_passes_over_the_same_tile_are_counted_and_not_told() -> None:
    program = module(
        TENSOR + COUNTED + ACROSS + STORE_IN_ORDER.replace("INDEX", "%x, %y") + "    continue %t : token\n  }\n"
    )
    coverage = covered(program, (2, 3), numpy.zeros((8, 24), "i4"), 8, 24)
    assert not coverage.report
    (found,) = coverage.arrays
    assert (found.size, found.written, found.again, found.shared, found.updated) == (192, 192, 192, 0, 0)
    assert repr(found) == "ArrayCoverage(argument 0 (array int32[8, 24]): 192 of 192 elements written)"
    shared = covered(module(SCALAR), (3, 1, 2), numpy.zeros(3, "i4"), 0, 1)
    assert [(each.again, each.shared) for each in shared.arrays] == [(0, 3)]


SCATTER = (
    "  %i = constant <i32: [5, 2, 0, 2, 2, 1, 3, 4]> : tile<8xi32>\n"
    + spread("base", "%p", "8", "ptr<i32>")
    + """  %q = offset %base, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %v = iota : tile<8xi32>
  %t = store_ptr_tko weak %q, VALUE : tile<8xptr<i32>>, tile<8xi32> -> token
"""
)


def test_elements_of_one_store_that_meet() -> None:
    report = covered(module(SCATTER.replace("VALUE", "%v")), 3, numpy.zeros(6, "i4"), 0, 0).report
    assert report.findings[0].render() == (
        "written-twice: one store_ptr_tko writes an element twice\n"
        "  --> k.mlir:8:8, tile block (0, 0, 0), element [3]\n"
        "    8 | %t = store_ptr_tko weak %q, %v : tile<8xptr<i32>>, tile<8xi32> -> token\n"
        "      |      ^\n"
        "  element [1] of the tile goes there too: argument 0 (array int32[6]) at [2]\n"
        "  they store 1 and 3: it is undefined which one stays\n"
        "  2 of the 8 elements it writes go to the address of an earlier one\n"
        "  seen 3 times\n"
        "  = help: give each its own address, or combine them with an atomic (atomic_rmw_tko; in cuTile ct.atomic_add)"
    )
    same = covered(module(SCATTER.replace("VALUE", "%i")), 1, numpy.zeros(6, "i4"), 0, 0).report
    assert same.kinds == ["written-twice"] and same.findings[0].details[1] == "both store 2"


def test_masked_elements_meet_nothing() -> None:
    masked = SCATTER.replace(
        "%q, VALUE : tile<8xptr<i32>>, tile<8xi32>", "%q, %v, %m8 : tile<8xptr<i32>>, tile<8xi32>, tile<8xi1>"
    )
    mask = "  %m8 = constant <i1: [true, false, true, true, false, true, true, true]> : tile<8xi1>\n"
    assert not covered(module(mask + masked), 1, numpy.zeros(6, "i4"), 0, 0).report
    met = mask.replace("true, false, true, true, false", "true, true, true, true, false")
    finding = covered(module(met + masked), 1, numpy.zeros(6, "i4"), 0, 0).report.findings[0]
    assert finding.element == (3,) and finding.details[1].startswith("they store 1 and 3")


# --- boxes ---


def test_boxes_have_the_chosen_elements_and_no_others() -> None:
    generator = numpy.random.default_rng(5)
    for number in range(200):
        shape = tuple(generator.integers(1, 5, generator.integers(0, 4)))
        chosen = generator.random(shape) < generator.choice([0.1, 0.5, 0.95])
        covered: Any = numpy.zeros(shape, int)
        for box in boxes(chosen, 1000):
            covered[tuple([slice(low, high + 1) for low, high in box])] += 1
        assert (covered == chosen).all(), number
        for most in (1, 3):
            assert list(boxes(chosen, most))[:most] == list(boxes(chosen, 1000))[:most]


# --- sanitize="all" ---


def test_all_looks_for_everything_and_raises_one_report() -> None:
    kernel = tileir.compile(module(SCATTER.replace("VALUE", "%v")))
    kernel.launch(1, (numpy.zeros(6, "i4"), 0, 0), sanitize=True)
    with pytest.raises(tileir.SanitizerError) as raised:
        kernel.launch(2, (numpy.zeros(8, "i4"), 0, 0), sanitize="all")
    assert raised.value.report.kinds == ["written-twice", "race", "unwritten"]
    assert str(raised.value).startswith("sanitizer: 3 findings in @k, grid (2, 1, 1)")
    assert len(raised.value.diagnostics) == 3


def test_all_is_the_interpreters_and_says_so() -> None:
    for backend in ("auto", "interpreter"):
        tileir.compile(module(SCALAR), backend=backend).launch(3, (numpy.zeros(3, "i4"), 0, 1), sanitize="all")
    with pytest.raises(tileir.LaunchError, match="sanitize='all' is the interpreter's: compile with backend='auto'"):
        tileir.compile(module(SCALAR), backend="cpu").launch(3, (numpy.zeros(3, "i4"), 0, 1), sanitize="all")
    wrong: Any = "some"
    with pytest.raises(tileir.LaunchError, match="sanitize is 'some': pass True, or 'all'"):
        tileir.compile(module(SCALAR)).launch(3, (numpy.zeros(3, "i4"), 0, 1), sanitize=wrong)


def test_nothing_is_said_of_a_launch_that_failed() -> None:
    body = f"""  %one = constant <i32: 1> : tile<i32>
  %ok = cmpi less_than %x, %one, signed : tile<i32> -> tile<i1>
  assert %ok, "one block only" : tile<i1>
{SCALAR}"""
    sanitizer = tileir.sanitizer.Sanitizer()
    watching = Observers([sanitizer, tileir.sanitizer.Coverage(report=sanitizer.report)])
    tileir.compile(module(body)).launch(3, (numpy.zeros(3, "i4"), 0, 1), observer=watching)
    assert sanitizer.report.kinds == ["assert"]


def test_a_rule_is_found_without_going_through_a_program_twice() -> None:
    body = "".join([f"  %a{i + 1} = addi %a{i}, %a{i} : tile<i32>\n" for i in range(90)]).replace("%a0", "%x")
    body += SCALAR.replace("muli %x, %m", "andi %a90, %m")
    finding = covered(module(body), 1, numpy.zeros(3, "i4"), 0, 1).report.findings[0]
    assert finding.details == ["[1..2]: tile blocks (0, 1, 0) to (0, 2, 0) would write it, and the grid is (1, 1, 1)"]


def test_the_same_observer_looks_at_one_launch_after_another() -> None:
    coverage = tileir.sanitizer.Coverage()
    kernel = tileir.compile(module(SCALAR))
    for grid, kinds in ((3, []), (2, ["unwritten"]), (3, ["unwritten"])):
        kernel.launch(grid, (numpy.zeros(3, "i4"), 0, 1), observer=coverage)
        assert coverage.report.kinds == kinds and len(coverage.arrays) == 1
    # Another kernel, whose store never runs.
    body = f"  %never = cmpi less_than %x, %y, signed : tile<i32> -> tile<i1>\n  if %never {{\n{SCALAR}  }}\n"
    tileir.compile(module(body)).launch(1, (numpy.zeros(5, "i4"), 0, 1), observer=coverage)
    assert coverage.report.findings[-1].title == "no element of argument 0 (array int32[5]) is ever written"
    assert coverage.report.findings[-1].operation.parent_operation is not None
    assert coverage.report.findings[-1].operation.parent_operation.declaration.mnemonic == "if"
