"""Hints of the sanitizer that depend on the cause: applying one removes the finding, and elsewhere it is not given.

The other hints hold wherever their finding is made: `sanitizer_pairs` has each of those applied.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import tileir


@pytest.fixture(params=["interpreter", "cpu"])
def backend(request: pytest.FixtureRequest) -> str:
    if request.param == "cpu":
        pytest.importorskip("llvmlite", reason="the cpu engine needs it")
    return str(request.param)


def findings(backend: str, body: str, *values: Any, grid: Any = 1, parameters: str = "", before: str = "", **more: Any):
    """What is found in a launch of `body`."""
    chosen = parameters or "%p: tile<ptr<i32>>"
    text = f"""cuda_tile.module @m {{ {before}
  entry @k({chosen}) {{
    %x, %y, %z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
{body}
    return
  }}
}}"""
    sanitizer = tileir.sanitizer.Sanitizer()
    kernel = tileir.compile(tileir.parse(text, "k.mlir"), backend=backend)
    kernel.launch(grid, values, observer=sanitizer, **more)
    return [finding for finding in sanitizer.report.findings if finding.kind not in ("race", "unordered")]


def only(found: list[tileir.sanitizer.Finding], kind: str) -> str:
    """The hint of the one finding."""
    assert [finding.kind for finding in found] == [kind], found
    return found[0].help


def zeros(count: int, dtype: str = "i4") -> Any:
    return numpy.zeros(count, dtype)


# --- a smaller grid ---

VIEW = """    %s{0} = make_tensor_view %{0}, shape = [%n{0}], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
    %w{0} = make_partition_view %s{0} : partition_view<tile=(4), tensor_view<?xi32, strides=[1]>>
"""
TYPE = "partition_view<tile=(4), tensor_view<?xi32, strides=[1]>>"
TWO = VIEW.format("p") + VIEW.format("o")
PARAMETERS = "%p: tile<ptr<i32>>, %np: tile<i32>, %o: tile<ptr<i32>>, %no: tile<i32>"
GUARD = "guard the access with `if`, or correct the index: the behavior is undefined, even with padding"


def load(index: str, name: str = "v") -> str:
    return f"    %{name}, %t{name} = load_view_tko weak %wp[%{index}] : {TYPE}, tile<i32> -> tile<4xi32>, token\n"


def store(index: str, value: str = "v", name: str = "u") -> str:
    return f"    %{name} = store_view_tko weak %{value}, %wo[%{index}] : tile<4xi32>, {TYPE}, tile<i32> -> token\n"


def copied(backend: str, body: str, *, grid: Any, counts: tuple[int, int] = (14, 14)) -> list[tileir.sanitizer.Finding]:
    source, target = counts
    return findings(backend, TWO + body, zeros(source), source, zeros(target), target, grid=grid, parameters=PARAMETERS)


def test_a_grid_that_is_too_large(backend: str) -> None:
    found = copied(backend, load("x") + store("x"), grid=6)
    assert [finding.kind for finding in found] == ["index-space", "index-space"]
    assert {finding.help for finding in found} == {"launch a grid of (4, 1, 1), or guard the access with `if`"}
    assert not copied(backend, load("x") + store("x"), grid=4)


def test_a_grid_that_is_too_large_along_another_axis(backend: str) -> None:
    found = copied(backend, load("y") + store("y"), grid=(1, 6, 1))
    assert {finding.help for finding in found} == {"launch a grid of (1, 4, 1), or guard the access with `if`"}
    assert not copied(backend, load("y") + store("y"), grid=(1, 4, 1))


def test_a_grid_that_is_too_large_around_a_loop(backend: str) -> None:
    body = f"""    %one = constant <i32: 1> : tile<i32>
    %two = constant <i32: 2> : tile<i32>
    %first = constant <i32: 0> : tile<4xi32>
    %sum = for %k in (%zero to %two, step %one) : tile<i32> iter_values(%c = %first) -> (tile<4xi32>) {{
  {load("k", "l")}      %d = addi %c, %l : tile<4xi32>
      continue %d : tile<4xi32>
    }}
"""
    hint = only(copied(backend, body + store("x", "sum"), grid=5), "index-space")
    assert hint == "launch a grid of (4, 1, 1), or guard the access with `if`"
    assert not copied(backend, body + store("x", "sum"), grid=4)


def test_a_grid_that_is_too_large_for_a_kernel_that_only_reads(backend: str) -> None:
    hint = only(copied(backend, load("x"), grid=4, counts=(7, 7)), "index-space")
    assert hint == "launch a grid of (2, 1, 1), or guard the access with `if`"
    assert not copied(backend, load("x"), grid=2, counts=(7, 7))


@pytest.mark.parametrize(
    ("body", "grid", "counts"),
    [
        pytest.param(load("x") + store("y"), (4, 2, 1), (7, 7), id="all tile blocks along x write"),
        pytest.param(load("x") + store("x"), 4, (14, 7), id="the array that is read has more tiles"),
        pytest.param(load("x") + store("x"), 4, (7, 14), id="the array that is written has more tiles"),
        pytest.param(load("x") + store("zero"), 4, (7, 7), id="all tile blocks write the same tile"),
    ],
)
def test_no_smaller_grid_is_named_where_tile_blocks_do_something_else(
    body: str, grid: Any, counts: tuple[int, int], backend: str
) -> None:
    assert only(copied(backend, body, grid=grid, counts=counts), "index-space") == GUARD


def test_a_loop_that_runs_once_too_often(backend: str) -> None:
    body = f"""    %one = constant <i32: 1> : tile<i32>
    %end = constant <i32: END> : tile<i32>
    for %k in (%zero to %end, step %one) : tile<i32> {{
  {load("k", "l")}      continue
    }}
"""
    assert only(copied(backend, body.replace("END", "5"), grid=1), "index-space") == GUARD
    assert only(copied(backend, body.replace("END", "5"), grid=3), "index-space") == GUARD
    assert not copied(backend, body.replace("END", "4"), grid=3)


def test_an_index_that_is_off_by_one(backend: str) -> None:
    body = "    %one = constant <i32: 1> : tile<i32>\n    %i = addi %x, %one : tile<i32>\n"
    assert only(copied(backend, body + load("x") + store("i"), grid=4), "index-space") == GUARD
    guarded = f"""    %n = constant <i32: 4> : tile<i32>
    %ok = cmpi less_than %i, %n, signed : tile<i32> -> tile<i1>
    if %ok {{
  {store("i")}    }}
"""
    assert not copied(backend, body + load("x") + guarded, grid=4)


# --- inbounds ---


def test_inbounds_of_a_tile_that_is_partly_outside(backend: str) -> None:
    promised = load("x").replace("[%x]", "[%x] inbounds = [true]")
    hint = only(copied(backend, promised, grid=4), "inbounds")
    assert hint == "inbounds turns off padding and clipping: drop it, or guard the access with `if`"
    assert not copied(backend, load("x"), grid=4)


def test_dropping_inbounds_does_not_help_where_the_tile_is_wholly_outside(backend: str) -> None:
    body = "    %nine = constant <i32: 9> : tile<i32>\n"
    promised = load("nine").replace("[%nine]", "[%nine] inbounds = [true]")
    found = {finding.kind: finding.help for finding in copied(backend, body + promised, grid=1)}
    assert found["inbounds"] == (
        "guard the access with `if`: dropping inbounds does not help where the whole tile is outside"
    )
    assert [finding.kind for finding in copied(backend, body + load("nine"), grid=1)] == ["index-space"]


# --- pointers ---

TABLE = """    %a, %t = load_ptr_tko weak %p : tile<ptr<i64>> -> tile<i64>, token
    %q = int_to_ptr %a : tile<i64> -> tile<ptr<i32>>
    %v, %u = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token"""
MASK = "mask the elements outside, or correct the offsets"


def test_memory_that_is_reached_through_a_table_of_addresses(backend: str) -> None:
    hidden = zeros(4)
    table = numpy.array([hidden.ctypes.data], numpy.int64)
    hint = only(findings(backend, TABLE, table, parameters="%p: tile<ptr<i64>>"), "out-of-bounds")
    assert hint == "name arrays that are reached through addresses from memory in `memory=` of the launch"
    assert not findings(backend, TABLE, table, parameters="%p: tile<ptr<i64>>", memory=[hidden])


def test_pointers_of_a_branch_are_not_from_memory(backend: str) -> None:
    body = """    %far = constant <i32: 99> : tile<i32>
    %ok = cmpi equal %x, %zero, signed : tile<i32> -> tile<i1>
    %q = if %ok -> (tile<ptr<i32>>) {
      %b = offset %p, %far : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      yield %b : tile<ptr<i32>>
    } else {
      yield %p : tile<ptr<i32>>
    }
    %v, %u = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token"""
    found = findings(backend, body, zeros(8))
    assert found[0].title.endswith("outside of every array of the launch")
    assert only(found, "out-of-bounds") == MASK
    masked = body.replace("load_ptr_tko weak %q :", "load_ptr_tko weak %q, %no :").replace(
        "    %v, %u", "    %no = constant <i1: false> : tile<i1>\n    %v, %u"
    )
    assert not findings(
        backend, masked.replace("tile<ptr<i32>> -> tile<i32>", "tile<ptr<i32>>, tile<i1> -> tile<i32>"), zeros(8)
    )


READ = "    %v, %u = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token"


def test_an_array_at_an_odd_address(backend: str) -> None:
    odd = numpy.zeros(33, "u1")[1:].view("i4")
    assert only(findings(backend, READ, odd), "misaligned") == "pass an array whose address is a multiple of 4"
    assert not findings(backend, READ, zeros(8))


def test_offsets_before_a_cast(backend: str) -> None:
    body = """    %b = ptr_to_ptr %p : tile<ptr<i32>> -> tile<ptr<i8>>
    %n = constant <i32: OFFSET> : tile<i32>
    %c = offset %b, %n : tile<ptr<i8>>, tile<i32> -> tile<ptr<i8>>
    %q = ptr_to_ptr %c : tile<ptr<i8>> -> tile<ptr<i32>>
    %v, %u = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token"""
    hint = only(findings(backend, body.replace("OFFSET", "2"), zeros(8)), "misaligned")
    assert hint == "offsets count elements of the pointer's type: correct those before a cast (ptr_to_ptr, int_to_ptr)"
    assert not findings(backend, body.replace("OFFSET", "4"), zeros(8))


def test_what_may_not_be_written(backend: str) -> None:
    body = TABLE.rpartition("\n")[0] + "\n    %u = store_ptr_tko weak %q, %zero : tile<ptr<i32>>, tile<i32> -> token"
    closed = zeros(4)
    table = numpy.array([closed.ctypes.data], numpy.int64)
    closed.flags.writeable = False
    found = findings(backend, body, table, parameters="%p: tile<ptr<i64>>", memory=[closed])
    assert only(found, "read-only") == "pass a writable array"
    closed.flags.writeable = True
    assert not findings(backend, body, table, parameters="%p: tile<ptr<i64>>", memory=[closed])
    constant = "    %q = get_global @g : tile<ptr<i32>>\n" + body.splitlines()[-1]
    declared = "global constant @g alignment = 16 <i32: [1, 2]> : tile<2xi32>"
    found = findings(backend, constant, zeros(1), before=declared)
    assert only(found, "read-only") == "drop `constant` from the global"
    assert not findings(backend, constant, zeros(1), before=declared.replace(" constant", ""))


# --- numbers ---


@pytest.mark.parametrize("width", [32, 64])
def test_a_wider_type_is_named_only_where_there_is_one(width: int, backend: str) -> None:
    kind, most = f"tile<i{width}>", (1 << (width - 1)) - 1
    body = f"""    %most = constant <i{width}: {most}> : {kind}
    %one = constant <i{width}: 1> : {kind}
    %minus = constant <i{width}: -1> : {kind}
    %least = constant <i{width}: {-most - 1}> : {kind}
    %sum = addi %most, %one overflow<no_signed_wrap> : {kind}
    %quotient = divi %least, %minus signed : {kind}
    %start = subi %most, %one : {kind}
    for %i in (%start to %most, step %most) : {kind} {{
      continue
    }}"""
    found = findings(backend, body, zeros(1))
    assert [finding.kind for finding in found] == ["overflow"] * 3
    assert [("wide" in finding.help) for finding in found] == [width < 64] * 3, [finding.help for finding in found]


# --- sub-tiles ---


@pytest.mark.parametrize(
    ("index", "hint"),
    [
        (2, "indices count sub-tiles, not elements: element 2 is in sub-tile 1"),
        (3, "there are sub-tiles 0 to 1: guard with `if`, or correct the index"),
        (4, "there are sub-tiles 0 to 1: guard with `if`, or correct the index"),
        (-1, "there are sub-tiles 0 to 1: guard with `if`, or correct the index"),
    ],
)
def test_indices_of_sub_tiles(index: int, hint: str, backend: str) -> None:
    body = f"""    %a = iota : tile<4xi32>
    %i = constant <i32: {index}> : tile<i32>
    %b = extract %a[%i] : tile<4xi32> -> tile<2xi32>"""
    assert only(findings(backend, body, zeros(1)), "index") == hint
    assert not findings(backend, body.replace(f"<i32: {index}>", "<i32: 1>"), zeros(1))


# --- a larger grid ---


def test_a_larger_grid_is_named_only_if_it_writes_all_that_is_missing() -> None:
    def hint(body: str, grid: Any, count: int) -> str:
        kernel = tileir.compile(
            tileir.parse(f"cuda_tile.module @m {{\n  entry @k({PARAMETERS}) {{\n{body}\n    return\n  }}\n}}")
        )
        with pytest.raises(tileir.SanitizerError) as caught:
            kernel.launch(grid, (zeros(16), 16, zeros(count), count), sanitize="all")
        return next(finding.help for finding in caught.value.report.findings if finding.kind == "unwritten")

    ids = "    %x, %y, %z = get_tile_block_id : tile<i32>\n    %c = constant <i32: 1> : tile<4xi32>\n"
    right = ids + TWO + store("x", "c")
    assert hint(right, 2, 16) == "launch a grid of (4, 1, 1): round up, as in -(-n // tile)"
    # One tile too far: more tile blocks would write what is missing at the end, and never the first tile.
    shifted = "    %one = constant <i32: 1> : tile<i32>\n    %i = addi %x, %one : tile<i32>\n"
    assert hint(ids + shifted + TWO + store("i", "c"), 2, 16).startswith("check ")
    # Some tile blocks write beyond the end already.
    assert hint(ids + shifted + TWO + store("i", "c"), 4, 16).startswith("check ")
