"""Multimem operations in compiled code: the bits, the failures and the messages of the interpreter."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.execute.test_multimem import DTYPES, LOAD, LOADS, READ, REDUCE, REDUCTIONS, STORE, MulticastArray, program

import tileir
from tileir.execute.cpu.code import KernelCode

ROWS = 10
MULTI = "#cuda_tile.ptr_attr<multicast>"


@cache
def compiled(text: str, backend: str = "cpu") -> tileir.Kernel:
    return tileir.compile(tileir.parse(text, verify=True), backend=backend, exact=True)


def arrays(element: str, count: int) -> list[Any]:
    """Arrays of random bits: NaNs, infinities and subnormal numbers too."""
    random = numpy.random.default_rng(count)
    dtype = numpy.dtype(DTYPES[element])
    shape = (count, ROWS, 8)
    return list(random.integers(0, 256, (*shape, dtype.itemsize), numpy.uint8).view(dtype).reshape(shape))


def content(array: Any, element: str, is_sum: bool) -> bytes:
    """The bytes of an array; which NaN a NaN is counts unless it comes from a sum."""
    found = array.copy()
    if is_sum and element.startswith(("f", "b")):
        with numpy.errstate(invalid="ignore"):
            found[numpy.isnan(found)] = numpy.nan
    return bytes(found.tobytes())


def outcome(
    text: str, backend: str, grid: int, team: list[Any], one: Any, *, is_sum: bool = False, **options: Any
) -> tuple[str, list[bytes]]:
    """The message of a launch and the content of its arrays afterwards; the arrays are put back."""
    element = text[text.index("ptr<") + 4 :].partition(",")[0]
    arrays = [*team, one]
    before = [array.copy() for array in arrays]
    message = ""
    try:
        compiled(text, backend).launch(grid, (MulticastArray(team), one, ROWS), **options)
    except tileir.ExecutionError as error:
        message = str(error)
    after = [content(array, element, is_sum) for array in arrays]
    for array, old in zip(arrays, before, strict=True):
        array[...] = old
    return message, after


def agree(text: str, team: list[Any], one: Any, grid: int = 3, *, is_sum: bool = False) -> str:
    """The message of the interpreter; compiled code does the same to all arrays, and fails with the same message."""
    expected = outcome(text, "interpreter", grid, team, one, is_sum=is_sum)
    assert outcome(text, "cpu", grid, team, one, is_sum=is_sum, threads=1) == expected
    return expected[0]


# --- results ---


@pytest.mark.parametrize(("element", "kind"), LOADS)
def test_loads(element: str, kind: str) -> None:
    for devices in (1, 2, 3, 4):
        *team, result = arrays(element, devices + 1)
        assert not agree(program(element, LOAD.replace("KIND", kind)), team, result, is_sum=kind == "add")


@pytest.mark.parametrize(("element", "kind"), REDUCTIONS)
def test_reductions(element: str, kind: str) -> None:
    for devices in (1, 2, 3, 4):
        *team, values = arrays(element, devices + 1)
        assert not agree(program(element, REDUCE.replace("KIND", kind)), team, values, is_sum=kind == "add")


@pytest.mark.parametrize("element", DTYPES)
def test_stores(element: str) -> None:
    for devices in (1, 2, 3, 4):
        *team, values = arrays(element, devices + 1)
        assert not agree(program(element, STORE), team, values)


VIEWS = [
    # The extents of the tensor, its strides, and its tiles; a stride `?` is 0
    ("4", "1", "tile=(4)"),
    ("?x7", "8,1", "tile=(8x8)"),
    ("?x7", "8,1", "tile=(2x8), dim_map=[1, 0]"),
    ("8x?", "1,8", "tile=(4x4)"),
    ("?x2x4", "8,4,1", "tile=(2x2x4)"),
    ("?x8", "?,1", "tile=(4x8)"),
    ("?x8", "8,1", "tile=(1x2)"),
    ("?x8", "8,1", "tile=(1x1)"),
]
ACCESSES = {
    "bf16": "%x, %t = multimem_load_reduce_view_tko relaxed sys %all[INDEX], add : VIEW, tile<i32> -> TILE, token",
    "f32": "%t = multimem_reduce_view_tko relaxed sys %all[INDEX], add, %x : TILE, VIEW, tile<i32> -> token",
    "i64": "%t = multimem_store_view_tko release sys %x, %all[INDEX] : TILE, VIEW, tile<i32> -> token",
}
PLAIN = "%x, %s = load_view_tko weak %view[INDEX] : PLAIN, tile<i32> -> TILE, token"
BACK = "%u = store_view_tko weak %x, %view[INDEX] : TILE, PLAIN, tile<i32> -> token"


def on_view(element: str, extents: str, strides: str, tiles: str) -> str:
    """A kernel with one access through such a view; its tile is read or written through a view alike."""
    access = ACCESSES[element]
    sizes = ", ".join(extents.replace("?", "%rows").split("x"))
    body = "\n".join([access, BACK] if access.startswith("%x") else [PLAIN, access])
    shape = tiles[tiles.index("(") + 1 : tiles.index(")")]
    groups = ", tile<i32>" if "?" in extents + strides else ""
    text = f"""cuda_tile.module @m {{
      entry @k(%many: tile<ptr<E, MULTI>>, %one: tile<ptr<E>>, %rows: tile<i32>) {{
        %b, %y, %z = get_tile_block_id : tile<i32>
        %0 = make_tensor_view %many, shape = [{sizes}], strides = [STRIDES] : tile<ptr<E, MULTI>>{groups} -> TENSOR, MULTI>
        %1 = make_tensor_view %one, shape = [{sizes}], strides = [STRIDES] : tile<ptr<E>>{groups} -> TENSOR>
        %all = make_partition_view %0 : VIEW
        %view = make_partition_view %1 : PLAIN
        {body}
        return
      }}
    }}"""
    view, _, order = tiles.partition(", ")
    for name, spelling in (
        ("VIEW", f"partition_view<{view}, TENSOR, MULTI>{', ' * bool(order)}{order}>"),
        ("PLAIN", f"partition_view<{view}, TENSOR>{', ' * bool(order)}{order}>"),
        ("TENSOR", f"tensor_view<{extents}xE, strides=[{strides}]"),
        ("STRIDES", strides.replace("?", "%z")),
        ("INDEX", ", ".join(["%b", *["%z"] * extents.count("x")])),
        ("TILE", f"tile<{shape}xE>"),
        ("E,", f"{element},"),
        ("E>", f"{element}>"),
        ("MULTI", MULTI),
    ):
        text = text.replace(name, spelling)
    return text


@pytest.mark.parametrize("element", ACCESSES)
@pytest.mark.parametrize(("extents", "strides", "tiles"), VIEWS)
def test_views(extents: str, strides: str, tiles: str, element: str) -> None:
    """Ragged edges, tiles outside, transposed and repeated elements, few elements, many dimensions."""
    if (element, tiles) == ("bf16", "tile=(1x1)"):
        tiles = "tile=(2x1)"
    *team, one = arrays(element, 4)
    assert not agree(on_view(element, extents, strides, tiles), team, one, 4, is_sum=True)


# --- more of a program around them ---


def test_loops_and_computed_tiles() -> None:
    body = """%two = constant <i32: 2> : tile<i32>
    %one_i = constant <i32: 1> : tile<i32>
    %zero = constant <f32: 0.0> : tile<4x8xf32>
    %sum = for %i in (%c to %two, step %one_i) : tile<i32> iter_values(%old = %zero) -> (tile<4x8xf32>) {
      %x, %t = multimem_load_reduce_view_tko weak %all[%i, %c], add : ALL, tile<i32> -> TILE, token
      %y1 = addf %old, %x rounding<nearest_even> : tile<4x8xf32>
      %y2 = mulf %y1, %y1 rounding<nearest_even> : tile<4x8xf32>
      %t1 = multimem_store_view_tko weak %y2, %all[%i, %c] : TILE, ALL, tile<i32> -> token
      %t2 = multimem_reduce_view_tko relaxed sys %all[%b, %c], add, %y1 token = %t1 : TILE, ALL, tile<i32> -> token
      continue %y2 : tile<4x8xf32>
    }
    %u = store_view_tko weak %sum, %view[%b, %c] : TILE, VIEW, tile<i32> -> token"""
    team = [numpy.linspace(-1, 1, 80, dtype=numpy.float32).reshape(ROWS, 8) * scale for scale in (0.5, 0.25, 1)]
    assert not agree(program("f32", body), team, numpy.zeros((ROWS, 8), numpy.float32))


def test_a_matmul_goes_to_all_devices() -> None:
    body = """%x, %s = load_view_tko weak %view[%b, %c] : VIEW, tile<i32> -> TILE, token
    %w, %s1 = load_view_tko weak %view[%c, %c] : VIEW, tile<i32> -> TILE, token
    %tw = permute %w [1, 0] : tile<4x8xf32> -> tile<8x4xf32>
    %zero = constant <f32: 0.0> : tile<4x4xf32>
    %p = mmaf %x, %tw, %zero : tile<4x8xf32>, tile<8x4xf32>, tile<4x4xf32>
    %q = cat %p, %p dim = 1 : tile<4x4xf32>, tile<4x4xf32> -> tile<4x8xf32>
    %t = multimem_store_view_tko weak %q, %all[%b, %c] : TILE, ALL, tile<i32> -> token"""
    team = [numpy.zeros((ROWS, 8), numpy.float32) for _ in range(3)]
    one = numpy.linspace(-1, 1, 80, dtype=numpy.float32).reshape(ROWS, 8)
    assert not agree(program("f32", body), team, one)


@pytest.mark.parametrize("body", [LOAD.replace("KIND", "add"), REDUCE.replace("KIND", "add"), STORE])
def test_the_array_of_a_device_may_be_another_argument_too(body: str) -> None:
    team = arrays("i32", 3)
    assert not agree(program("i32", body), team, team[1])


def test_what_was_loaded_stays_when_the_memory_changes() -> None:
    body = f"""{READ}
    %old, %t = multimem_load_reduce_view_tko weak %all[%b, %c], max : ALL, tile<i32> -> TILE, token
    %t1 = multimem_store_view_tko weak %x, %all[%b, %c] token = %t : TILE, ALL, tile<i32> -> token
    %u = store_view_tko weak %old, %view[%b, %c] token = %s : TILE, VIEW, tile<i32> -> token"""
    *team, one = arrays("i64", 3)
    assert not agree(program("i64", body), team, one)


@pytest.mark.parametrize("element", ["f32", "f16", "i32"])
def test_threads_reduce_the_same_elements(element: str) -> None:
    body = REDUCE.replace("KIND", "add").replace("%all[%b", "%all[%c").replace("%view[%b", "%view[%c")
    team = [numpy.zeros((4, 8), DTYPES[element]) for _ in range(2)]
    one = numpy.ones((4, 8), DTYPES[element])
    compiled(program(element, body)).launch(1000, (MulticastArray(team), one, 4), threads=4)
    assert all((array == 1000).all() for array in team)


# --- failures ---


@pytest.mark.parametrize("devices", [1, 3])
@pytest.mark.parametrize("body", [LOAD.replace("KIND", "add"), REDUCE.replace("KIND", "add"), STORE])
def test_accesses_outside_fail_with_the_words_of_the_interpreter(body: str, devices: int) -> None:
    team = arrays("i32", devices)
    more = numpy.zeros((ROWS + 2, 8), numpy.int32)
    text = program("i32", body).replace("shape = [%rows, 8]", "shape = [%more, 8]", 1)
    text = text.replace("%0 = ", "%more = constant <i32: 12> : tile<i32>\n    %0 = ", 1)
    message = agree(text, team, more[:ROWS])
    assert "which is in no array of the launch" in message and "(element [2, 0] of the tile)" in message


def test_an_address_that_is_not_multicast_fails_with_the_words_of_the_interpreter() -> None:
    text = program("i32", STORE).replace(
        "%0 = make_tensor_view %many", f"%p = ptr_to_ptr %one : tile<ptr<i32>> -> tile<ptr<i32, {MULTI}>>\n"
        "    %0 = make_tensor_view %p")  # fmt: skip
    *team, one = arrays("i32", 3)
    assert "which is not an address of a MulticastArray of the launch" in agree(text, team, one)


def test_addresses_are_moved_on_all_devices() -> None:
    text = program("i32", STORE).replace(
        "%0 = make_tensor_view %many", f"""%by = constant <i32: 16> : tile<i32>
    %p = offset %many, %by : tile<ptr<i32, {MULTI}>>, tile<i32> -> tile<ptr<i32, {MULTI}>>
    %less = constant <i32: 8> : tile<i32>
    %0 = make_tensor_view %p""").replace("shape = [%rows, 8]", "shape = [%less, 8]", 1)  # fmt: skip
    *team, one = arrays("i32", 3)
    assert not agree(text, team, one, 2)
    compiled(text).launch(2, (MulticastArray(team), one, ROWS))
    assert all(numpy.array_equal(array[2:], one[:8]) for array in team)


@pytest.mark.parametrize("body", [LOAD.replace("KIND", "add"), STORE.replace("%all[%b", "%all[%c")])
def test_the_sanitizer_finds_what_it_finds_in_the_interpreter(body: str) -> None:
    text = program("i32", body)
    *team, _ = (array[:8] for array in arrays("i32", 3))
    reports = []
    for backend in ("interpreter", "cpu"):
        with pytest.raises(tileir.SanitizerError) as caught:
            compiled(text, backend).launch(
                3, (MulticastArray(team), numpy.zeros((ROWS, 8), numpy.int32), ROWS), sanitize=True
            )
        reports.append([(each.kind, each.title) for each in caught.value.report.findings])
    assert reports[0] == reports[1]


def test_an_ordinary_array_is_no_multicast_array() -> None:
    kernel = compiled(program("i32", STORE))
    for launch in (kernel.launch, kernel.bind):
        with pytest.raises(tileir.LaunchError, match=r"is a multicast pointer, but .*ndarray was given"):
            launch(3, (*arrays("i32", 2), ROWS))


# --- the code ---


@pytest.mark.parametrize(("body", "line"), [
    (LOAD.replace("KIND", "xor"), "nest 4x8: b0 <- xor(b0, %pview[%blockId_x, %cst_0_i32])"),
    (REDUCE.replace("KIND", "xor"), "nest 4x8: multimem_reduce_view_tko.relaxed.sys.xor(%pview[%blockId_x, %cst_0_i32], b0)"),
    (STORE, "nest 4x8: %pview[%blockId_x, %cst_0_i32] <- b0"),
])  # fmt: skip
def test_there_is_code_for_them(body: str, line: str) -> None:
    kernel = compiled(program("i32", body))
    loops = [each.strip() for each in kernel.dump("loops").splitlines()]
    assert "for each device of %pview:" in loops and line in loops
    assert "define" in kernel.dump("llvm") and kernel.dump("asm")
    with pytest.raises(tileir.LaunchError, match="the interpreter sanitizes kernels that access several devices"):
        kernel.dump("loops", sanitize=True)


def test_a_kernel_from_the_disk_cache_is_not_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path))
    *team, one = arrays("i32", 3)
    text = program("i32", STORE)
    compiled(text).launch(3, (MulticastArray(team), one, ROWS))
    compiled.cache_clear()
    monkeypatch.setattr(KernelCode, "lower", None)
    one += 1
    compiled(text).launch(3, (MulticastArray(team), one, ROWS))
    assert all(numpy.array_equal(array, one) for array in team)
