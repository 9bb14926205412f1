"""Operations that make, rearrange and pick apart tiles, as TTIR."""

from __future__ import annotations

import re

import numpy
import pytest
from tests.execute.evaluation import arrange
from tests.execute.gpu.triton.evaluating import agrees
from tests.execute.gpu.triton.lowered_programs import lowered

import tileir
from tileir.execute.gpu.errors import TritonError

A = numpy.arange(32, dtype="f4").reshape(4, 8)
CUBE = numpy.arange(64, dtype="i4").reshape(4, 2, 8)
BITS = A % 3 == 0


def ttir(body: str, **values: object) -> str:
    return lowered(arrange(body, values).text).text


# --- dimensions of one element ---


def test_dimensions_of_one_element_are_gone() -> None:
    body = "%c = reshape %x : tile<64xf32> -> tile<64x1xf32>\n%d = addf %c, %c : tile<64x1xf32>\n" + (
        "%r = reshape %d : tile<64x1xf32> -> tile<1x64xf32>"
    )
    made = agrees(body, x=numpy.arange(64, dtype="f4"), r="tile<1x64xf32>").text
    assert "tt.reshape" not in made and "x1x" not in made and "tensor<1x" not in made


def test_a_tile_of_one_element_is_a_scalar() -> None:
    body = "%c = reshape %x : tile<f32> -> tile<1x1xf32>\n%d = mulf %c, %c : tile<1x1xf32>\n" + (
        "%r = broadcast %d : tile<1x1xf32> -> tile<4x8xf32>"
    )
    made = agrees(body, x=numpy.float32(3), r="tile<4x8xf32>").text
    assert re.search(r"arith.mulf %\d+, %\d+ : f32", made)
    assert re.search(r"tt.splat %\d+ : f32 -> tensor<4x8xf32>", made)


def test_a_column_is_spread_by_expand_dims() -> None:
    body = "%c = reshape %x : tile<4xf32> -> tile<4x1xf32>\n%r = broadcast %c : tile<4x1xf32> -> tile<4x8xf32>"
    made = agrees(body, x=A[:, 0], r="tile<4x8xf32>").text
    spread = (
        r"(%\d+) = tt.expand_dims %\d+ {axis = 1 : i32} : tensor<4xf32> -> tensor<4x1xf32>\n *%\d+ = tt.broadcast \1 "
    )
    assert re.search(spread, made)


@pytest.mark.parametrize(
    ("before", "after"), [("1x4x8", "2x4x8"), ("4x1x8", "4x16x8"), ("1x1x8", "4x2x8"), ("4x1x1", "4x2x8")]
)
def test_broadcast_of_every_dimension(before: str, after: str) -> None:
    x = numpy.arange(numpy.prod([int(n) for n in before.split("x")]), dtype="i2").reshape(
        [*map(int, before.split("x"))]
    )
    agrees(f"%r = broadcast %x : tile<{before}xi16> -> tile<{after}xi16>", x=x, r=f"tile<{after}xi16>")


@pytest.mark.parametrize("order", ["2, 0, 1", "1, 2, 0", "0, 2, 1", "2, 1, 0"])
def test_permute_puts_dimensions_where_they_belong(order: str) -> None:
    shape = "x".join([str(CUBE.shape[int(axis)]) for axis in order.split(", ")])
    body = f"%r = permute %x [{order}] : tile<4x2x8xi32> -> tile<{shape}xi32>"
    agrees(body, x=CUBE, r=f"tile<{shape}xi32>")


def test_permute_among_dimensions_of_one_element() -> None:
    body = (
        "%s = reshape %x : tile<4x8xf32> -> tile<1x4x1x8xf32>\n"
        "%p = permute %s [3, 2, 0, 1] : tile<1x4x1x8xf32> -> tile<8x1x1x4xf32>\n"
        "%r = reshape %p : tile<8x1x1x4xf32> -> tile<32xf32>"
    )
    made = agrees(body, x=A, r="tile<32xf32>").text
    assert "order = array<i32: 1, 0>" in made


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize("element", ["f32", "i1"])
def test_transposes_that_a_loop_carries(element: str) -> None:
    body = (
        "%one = constant <i32: 1> : tile<i32>\n%three = constant <i32: 3> : tile<i32>\n"
        f"%r = for %i in (%zero_index to %three, step %one) : tile<i32> iter_values(%a = %x) -> (tile<8x8x{element}>) {{\n"
        f" %p = permute %a [1, 0] : tile<8x8x{element}> -> tile<8x8x{element}>\n continue %p : tile<8x8x{element}>\n}}"
    )
    x = numpy.arange(64).reshape(8, 8)
    given = (x % 3 == 0).astype("u1") if element == "i1" else x.astype("f4")
    made = agrees(body, x=(given, element), r=f"tile<8x8x{element}>", compiles=True).text
    assert "tt.gather" in made


# --- constants ---


@pytest.mark.parametrize("type", ["2xi1", "256xi8", "512xi16", "512xi32", "512xi64", "1xi32"])
def test_iota_in_every_width(type: str) -> None:
    agrees(f"%r = iota : tile<{type}>", r=f"tile<{type}>")


@pytest.mark.parametrize(
    ("numbers", "shape", "element"),
    [
        ("[7, 5, 3, 1, -1, -3, -5, -7]", "8", "i8"),
        ("[[1.5, 1.5], [-0.0, -0.0]]", "2x2", "f32"),
        ("[[1, 5, 2, 7], [9, 3, 3, 0], [1, 1, 4, 4], [8, 2, 0, 6]]", "4x4", "i64"),
        ("[[true, false], [false, true]]", "2x2", "i1"),
    ],
)
def test_constants_of_several_numbers_come_from_a_table(numbers: str, shape: str, element: str) -> None:
    body = f"%r = constant <{element}: {numbers}> : tile<{shape}x{element}>"
    assert "%hidden0" in agrees(body, r=f"tile<{shape}x{element}>").text


def test_a_table_holds_elements_as_they_lie_in_memory() -> None:
    body = "%r = constant <i16: [[1, -2], [3, 400]]> : tile<2x2xi16>"
    (slot,) = [slot for slot in lowered(arrange(body, {"r": "tile<2x2xi16>"}).text).slots if slot.kind == "table"]
    assert slot.content == numpy.array([1, -2, 3, 400], "<i2").tobytes()


@pytest.mark.usefixtures("triton")
def test_a_table_is_loaded_by_vectors() -> None:
    numbers = ", ".join([str(n * n % 251) for n in range(1024)])
    agrees(f"%r = constant <i32: [{numbers}]> : tile<1024xi32>", r="tile<1024xi32>", compiles=True)


# --- cat, extract, insert ---


@pytest.mark.parametrize("shape", ["4x8", "1x8", "4x1", "1x1"])
@pytest.mark.parametrize("dim", [0, 1])
def test_cat_along_each_dimension(shape: str, dim: int) -> None:
    rows, columns = map(int, shape.split("x"))
    x = A[:rows, :columns]
    result = f"{rows * (2 if dim == 0 else 1)}x{columns * (2 if dim == 1 else 1)}"
    body = f"%r = cat %x, %y dim = {dim} : tile<{shape}xf32>, tile<{shape}xf32> -> tile<{result}xf32>"
    agrees(body, x=x, y=-x - 1, r=f"tile<{result}xf32>")


@pytest.mark.parametrize("part", ["2x2x4", "1x2x1", "4x1x8", "1x1x1", "2x1x2"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_extract_at_known_and_computed_places(part: str, dynamic: bool) -> None:
    extents = [int(extent) for extent in part.split("x")]
    counts = [whole // step for whole, step in zip(CUBE.shape, extents, strict=True)]
    head = "%x_id, %y_id, %z_id = get_tile_block_id : tile<i32>\n" if dynamic else ""
    names = []
    for axis, count in enumerate(counts):
        head += f"%last{axis} = constant <i32: {count - 1}> : tile<i32>\n"
        if dynamic:
            head += f"%i{axis} = addi %last{axis}, %x_id : tile<i32>\n"
        names.append(f"%i{axis}" if dynamic else f"%last{axis}")
    body = f"{head}%r = extract %x[{', '.join(names)}] : tile<4x2x8xi32> -> tile<{part}xi32>"
    agrees(body, x=CUBE, r=f"tile<{part}xi32>")


@pytest.mark.parametrize("element", ["i1", "i8", "f16", "bf16", "f8E5M2", "f64"])
def test_extract_moves_bits_of_every_type(element: str) -> None:
    body = (
        "%x_id, %y_id, %z_id = get_tile_block_id : tile<i32>\n%one = constant <i32: 1> : tile<i32>\n"
        "%i = addi %x_id, %one : tile<i32>\n"
        f"%a = extract %x[%i, %one] : tile<4x8x{element}> -> tile<2x4x{element}>\n"
        f"%r = extract %a[%one, %i] : tile<2x4x{element}> -> tile<1x2x{element}>"
    )
    from tests.execute.evaluation import element_type

    from tileir.execute.dtypes import memory_dtype

    dtype = memory_dtype(element_type(element))
    x = (BITS if element == "i1" else numpy.arange(32, dtype="u1")).reshape(4, 8)
    x = x.astype("u1") if element == "i1" else x.repeat(dtype.itemsize).view(dtype).reshape(4, 8)
    agrees(body, x=(x, element), r=f"tile<1x2x{element}>")


@pytest.mark.parametrize("part", ["2x4", "1x8", "4x1", "4x8", "1x1"])
def test_insert_replaces_a_part(part: str) -> None:
    rows, columns = map(int, part.split("x"))
    body = (
        "%x_id, %y_id, %z_id = get_tile_block_id : tile<i32>\n"
        f"%last = constant <i32: {8 // columns - 1}> : tile<i32>\n"
        f"%r = insert %y, %x[%x_id, %last] : tile<{part}xf32>, tile<4x8xf32>"
    )
    agrees(body, x=A, y=-A[:rows, :columns] - 1, r="tile<4x8xf32>")


def test_tiles_of_too_many_elements_are_refused_in_words() -> None:
    body = (
        "%i, %j, %k = get_tile_block_id : tile<i32>\n%one = reshape %i : tile<i32> -> tile<1x1xi32>\n"
        "%c = broadcast %one : tile<1x1xi32> -> tile<2048x1024xi32>\n"
        "%r = extract %c[%zero_index, %zero_index] : tile<2048x1024xi32> -> tile<8x8xi32>"
    )
    with pytest.raises(TritonError, match="its tile has 2097152 elements, and Triton has at most 1048576; backend"):
        ttir(body, r="tile<8x8xi32>")
    assert issubclass(TritonError, tileir.TileIRError)


# --- what Triton makes of it ---


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_shapes_compile(target: str) -> None:
    from tileir.execute.gpu.triton.worker.pool import Request, compile_ttir

    body = (
        "%b = broadcast %x : tile<16x1xf16> -> tile<16x16xf16>\n"
        "%c = cat %b, %b dim = 1 : tile<16x16xf16>, tile<16x16xf16> -> tile<16x32xf16>\n"
        "%one = constant <i32: 1> : tile<i32>\n%i, %j, %k = get_tile_block_id : tile<i32>\n"
        "%e = extract %c[%zero_index, %one] : tile<16x32xf16> -> tile<16x8xf16>\n"
        "%f = extract %c[%i, %j] : tile<16x32xf16> -> tile<16x8xf16>\n"
        "%g = insert %e, %c[%zero_index, %j] : tile<16x8xf16>, tile<16x32xf16>\n"
        "%h = cat %e, %f dim = 0 : tile<16x8xf16>, tile<16x8xf16> -> tile<32x8xf16>\n"
        "%p = permute %h [1, 0] : tile<32x8xf16> -> tile<8x32xf16>\n"
        "%q = reshape %p : tile<8x32xf16> -> tile<16x16xf16>\n"
        "%r = cat %q, %b dim = 1 : tile<16x16xf16>, tile<16x16xf16> -> tile<16x32xf16>\n"
        "%s = addf %r, %g : tile<16x32xf16>"
    )
    made = lowered(arrange(body, {"x": numpy.zeros((16, 1), "f2"), "s": "tile<16x32xf16>"}).text, target)
    assert compile_ttir(Request(made.text, target, made.options)).data


@pytest.mark.parametrize("number", [0, 16, -16, 48])
def test_remainders_by_multiples_of_16_are_chosen_in_front_of_the_division(number: int) -> None:
    """Behind it, a choice would keep Triton from seeing that the remainders count up."""
    body = "%m = assume div_by<16>, %n : tile<i32>\n%s = reshape %m : tile<i32> -> tile<1xi32>\n" + (
        "%d = broadcast %s : tile<1xi32> -> tile<32xi32>\n%r = remi %x, %d signed : tile<32xi32>"
    )
    made = agrees(body, x=numpy.arange(-16, 16, dtype="i4"), n=numpy.int32(number), r="tile<32xi32>").text
    assert not re.search("arith.select", made[made.index("arith.remsi") :])
