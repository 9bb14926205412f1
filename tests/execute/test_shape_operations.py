"""Operations that make, rearrange and pick apart tiles, and the aggregates, against NumPy."""

from __future__ import annotations

import numpy
import pytest
from tests.execute.evaluation import evaluate, same
from tests.sampling import one_in

import tileir
from tileir.execute.dtypes import value_dtype
from tileir.ir.types import FLOAT_TYPES

A = numpy.arange(32, dtype="f4").reshape(4, 8)


def test_broadcast_stretches_dimensions_of_one() -> None:
    row = A[:1]
    assert same(
        evaluate("%r = broadcast %x : tile<1x8xf32> -> tile<4x8xf32>", x=row, r="tile<4x8xf32>"), row.repeat(4, 0)
    )
    column = A[:, :1]
    found = evaluate("%r = broadcast %x : tile<4x1xf32> -> tile<4x8xf32>", x=column, r="tile<4x8xf32>")
    assert same(found, column.repeat(8, 1))


def test_broadcast_of_a_permuted_tile() -> None:
    found = evaluate(
        "%t = extract %x[%zero_index, %zero_index] : tile<4x8xf32> -> tile<4x1xf32>\n"
        "%p = permute %t [1, 0] : tile<4x1xf32> -> tile<1x4xf32>\n"
        "%r = broadcast %p : tile<1x4xf32> -> tile<2x4xf32>",
        x=A, r="tile<2x4xf32>",
    )  # fmt: skip
    assert same(found, A[:, :1].T.repeat(2, 0))


def test_cat_joins_along_a_dimension() -> None:
    for dim, shape in ((0, "8x8"), (1, "4x16")):
        text = f"%r = cat %x, %y dim = {dim} : tile<4x8xf32>, tile<4x8xf32> -> tile<{shape}xf32>"
        assert same(evaluate(text, x=A, y=-A, r=f"tile<{shape}xf32>"), numpy.concatenate((A, -A), dim))


def test_iota_counts() -> None:
    assert same(evaluate("%r = iota : tile<8xi32>", r="tile<8xi32>"), numpy.arange(8, dtype="i4"))
    wide = evaluate("%r = iota : tile<256xi8>", r="tile<256xi8>")
    assert same(wide, numpy.arange(256).astype("i1"))


def test_permute_reshape_and_select() -> None:
    cube = A.reshape(2, 2, 8)
    assert same(
        evaluate("%r = permute %x [2, 0, 1] : tile<2x2x8xf32> -> tile<8x2x2xf32>", x=cube, r="tile<8x2x2xf32>"),
        cube.transpose(2, 0, 1),
    )
    assert same(
        evaluate("%r = reshape %x : tile<4x8xf32> -> tile<2x16xf32>", x=A, r="tile<2x16xf32>"), A.reshape(2, 16)
    )
    one = evaluate("%r = reshape %x : tile<1x1xf32> -> tile<f32>", x=A[:1, :1], r="tile<f32>")
    assert one.shape == () and one == 0
    mask = A % 3 == 0
    assert same(
        evaluate("%r = select %c, %x, %y : tile<4x8xi1>, tile<4x8xf32>", c=mask, x=A, y=-A, r="tile<4x8xf32>"),
        numpy.where(mask, A, -A),
    )
    assert (
        evaluate("%r = select %c, %x, %y : tile<i1>, tile<f32>", c=numpy.True_, x=A[1, 1], y=A[0, 0], r="tile<f32>")
        == 9
    )


def test_reshape_of_a_permuted_tile_is_row_major() -> None:
    text = "%p = permute %x [1, 0] : tile<4x8xf32> -> tile<8x4xf32>\n%r = reshape %p : tile<8x4xf32> -> tile<32xf32>"
    assert same(evaluate(text, x=A, r="tile<32xf32>"), A.T.reshape(32))


def test_extract_counts_sub_tiles() -> None:
    text = (
        "%one = constant <i32: 1> : tile<i32>\n%three = constant <i32: 3> : tile<i32>\n"
        "%r = extract %x[%one, %three] : tile<4x8xf32> -> tile<2x2xf32>"
    )
    assert same(evaluate(text, x=A, r="tile<2x2xf32>"), A[2:4, 6:8])


def test_insert_replaces_a_sub_tile_of_a_copy() -> None:
    text = (
        "%one = constant <i32: 1> : tile<i32>\n"
        "%r = insert %y, %x[%one, %zero_index] : tile<2x8xf32>, tile<4x8xf32>\n"
        "%s = addf %x, %x : tile<4x8xf32>"
    )
    changed, doubled = evaluate(text, x=A, y=-A[:2], r="tile<4x8xf32>", s="tile<4x8xf32>")
    assert same(changed, numpy.concatenate((A[:2], -A[:2])))
    assert same(doubled, A + A)


def test_extract_beyond_the_tile_is_an_error_with_its_place() -> None:
    text = "%big = constant <i32: 7> : tile<i32>\n%r = extract %x[%big, %zero_index] : tile<4x8xf32> -> tile<2x2xf32>"
    with pytest.raises(tileir.ExecutionError, match="has index 7 in dimension 0: there are 2 sub-tiles") as caught:
        evaluate(text, x=A, r="tile<2x2xf32>")
    assert caught.value.block == (0, 0, 0)
    assert caught.value.diagnostics[0].position[1] > 0


# --- aggregates ---


def _reduce(
    kind: str, dim: int, shape: str, result: str, body: str, element: str = "f32", identity: str = "0.0"
) -> str:
    return (
        f"%r = {kind} %x dim={dim} {'reverse=false ' if kind == 'scan' else ''}identities=[{identity} : {element}] : "
        f"tile<{shape}x{element}> -> {result} (%current: tile<{element}>, %previous: tile<{element}>) {{\n{body}\n}}"
    )


SUM = "%s = addf %current, %previous : tile<f32>\nyield %s : tile<f32>"


def in_documented_order(x: numpy.ndarray, axis: int) -> numpy.ndarray:
    """The sum of f32 elements in the order docs/guide/execution.md states."""
    items = list(numpy.moveaxis(x, axis, 0))
    if len(items) > 64:
        lanes = items[:64]
        for place in range(64, len(items)):
            lanes[place % 64] = items[place] + lanes[place % 64]
        items = lanes
    while len(items) > 1:
        half = len(items) // 2
        items = [items[half + place] + items[place] for place in range(half)]
    return numpy.asarray(items[0])


@pytest.mark.parametrize(
    ("shape", "dim"), [((8,), 0), ((256,), 0), ((4, 128), 1), ((128, 4), 0), ((2, 4, 8), 1), ((1,), 0)]
)
def test_reduce_keeps_the_documented_order(shape: tuple[int, ...], dim: int) -> None:
    x = numpy.random.default_rng(3).standard_normal(shape).astype("f4")
    rest = [str(extent) for axis, extent in enumerate(shape) if axis != dim]
    result = f"tile<{'x'.join([*rest, 'f32'])}>"
    found = evaluate(_reduce("reduce", dim, "x".join(map(str, shape)), result, SUM), x=x, r=result)
    assert same(found, in_documented_order(x, dim))


@pytest.mark.parametrize("extent", [64, 128, 512])
def test_identities_are_no_operands(extent: int) -> None:
    zeros = numpy.full((2, extent), -0.0, "f4")
    found = evaluate(_reduce("reduce", 1, f"2x{extent}", "tile<2xf32>", SUM), x=zeros, r="tile<2xf32>")
    assert numpy.signbit(found).all()


def test_reduce_of_a_permuted_tile_is_that_of_its_copy() -> None:
    x = numpy.random.default_rng(4).standard_normal((128, 4)).astype("f4")
    text = "%p = permute %y [1, 0] : tile<128x4xf32> -> tile<4x128xf32>\n" + _reduce(
        "reduce", 1, "4x128", "tile<4xf32>", SUM
    ).replace("%x", "%p")
    assert same(evaluate(text, y=x, r="tile<4xf32>"), in_documented_order(x, 0))


def test_reduce_with_two_operands_finds_the_first_maximum() -> None:
    x = numpy.array([3, 9, 2, 9, -1, 9, 0, 1], "f4")
    text = """%i = iota : tile<8xi32>
      %r, %n = reduce %x, %i dim=0 identities=[0xFF800000 : f32, 0 : i32] : tile<8xf32>, tile<8xi32> -> tile<f32>, tile<i32>
      (%a: tile<f32>, %b: tile<f32>, %j: tile<i32>, %k: tile<i32>) {
        %more = cmpf greater_than ordered %a, %b : tile<f32> -> tile<i1>
        %same = cmpf equal ordered %a, %b : tile<f32> -> tile<i1>
        %before = cmpi less_than %j, %k, signed : tile<i32> -> tile<i1>
        %tie = andi %same, %before : tile<i1>
        %take = ori %more, %tie : tile<i1>
        %v = select %take, %a, %b : tile<i1>, tile<f32>
        %w = select %take, %j, %k : tile<i1>, tile<i32>
        yield %v, %w : tile<f32>, tile<i32>
      }"""
    value, place = evaluate(text, x=x, r="tile<f32>", n="tile<i32>")
    assert (value, place) == (9, 1)


def test_a_body_with_control_flow_gives_what_a_body_without_gives() -> None:
    x = numpy.random.default_rng(5).integers(-99, 99, (4, 128)).astype("i4")
    plain = "%m = maxi %current, %previous signed : tile<i32>\nyield %m : tile<i32>"
    branching = (
        "%c = cmpi greater_than %current, %previous, signed : tile<i32> -> tile<i1>\n"
        "%m = if %c -> (tile<i32>) { yield %current : tile<i32> } else { yield %previous : tile<i32> }\n"
        "yield %m : tile<i32>"
    )
    for kind, result in (("reduce", "tile<4xi32>"), ("scan", "tile<4x128xi32>")):
        found = [
            evaluate(_reduce(kind, 1, "4x128", result, body, "i32", "0"), x=x, r=result) for body in (plain, branching)
        ]
        assert same(found[0], found[1])
    assert same(found[0], numpy.maximum.accumulate(x, 1))


def test_a_body_may_use_values_from_outside() -> None:
    x = numpy.ones(4, "i4")
    body = "%s = addi %current, %previous : tile<i32>\n%t = addi %s, %y : tile<i32>\nyield %t : tile<i32>"
    found = evaluate(_reduce("reduce", 0, "4", "tile<i32>", body, "i32", "0"), x=x, y=numpy.int32(10), r="tile<i32>")
    assert found == 4 + 3 * 10


def test_a_body_that_yields_a_constant() -> None:
    body = "%c = constant <i32: 5> : tile<i32>\nyield %c : tile<i32>"
    found = evaluate(
        _reduce("reduce", 0, "4x2", "tile<2xi32>", body, "i32", "0"), x=numpy.ones((4, 2), "i4"), r="tile<2xi32>"
    )
    assert found.tolist() == [5, 5]


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_goes_one_by_one(reverse: bool) -> None:
    x = numpy.random.default_rng(6).standard_normal((4, 8)).astype("f4")
    for dim in (0, 1):
        text = _reduce("scan", dim, "4x8", "tile<4x8xf32>", SUM).replace(
            "reverse=false", f"reverse={str(reverse).lower()}"
        )
        flipped = numpy.flip(x, dim) if reverse else x
        expected = numpy.add.accumulate(flipped, dim)
        assert same(evaluate(text, x=x, r="tile<4x8xf32>"), numpy.flip(expected, dim) if reverse else expected)


def test_first_argument_of_a_scan_body_is_what_was_accumulated() -> None:
    body = "%s = subi %current, %previous : tile<i32>\nyield %s : tile<i32>"
    x = numpy.array([1, 10, 100, 1000], "i4")
    found = evaluate(_reduce("scan", 0, "4", "tile<4xi32>", body, "i32", "0"), x=x, r="tile<4xi32>")
    # The first argument is called %current here: 1, 1 - 10, -9 - 100, -109 - 1000.
    assert found.tolist() == [1, -9, -109, -1109]


def test_first_argument_of_a_reduction_body_is_the_current_element() -> None:
    body = "%s = subi %current, %previous : tile<i32>\nyield %s : tile<i32>"
    x = numpy.array([1, 10], "i4")
    found = evaluate(_reduce("reduce", 0, "2", "tile<i32>", body, "i32", "0"), x=x, r="tile<i32>")
    assert found.tolist() == 9


def _special(dtype: str, shape: tuple[int, ...]) -> numpy.ndarray:
    """Random numbers with zeros of both signs and, in the last row, NaNs among them."""
    rng = numpy.random.default_rng(8)
    if numpy.dtype(dtype).kind == "i":
        return rng.integers(-100, 100, shape).astype(dtype)
    x = rng.standard_normal(shape)
    x[1] = numpy.where(rng.random(shape[1:]) < 0.5, 0.0, -0.0)
    x[-1].flat[::7] = numpy.nan
    x[2].flat[::5] *= 1e30 if dtype == "f4" else 1
    return x.astype(dtype)


@pytest.mark.parametrize("name", ["maxf", "minf"])
@pytest.mark.parametrize("element", ["f16", "f32", "f64", "bf16"])
def test_extremes_remember_what_came_before_a_signalling_nan(element: str, name: str) -> None:
    dtype = value_dtype(FLOAT_TYPES[element])
    bits = numpy.dtype(f"u{dtype.itemsize}")
    signalling = {"f16": 0x7C01, "f32": 0x7F800001, "f64": 0x7FF0000000000001, "bf16": 0x7F81}[element]
    body = f"%s = {name} %previous, %current : tile<{element}>\nyield %s : tile<{element}>"
    sign = 1 if name == "maxf" else -1
    for extent, places in ((4, (1,)), (128, (64,))):
        for place in places:
            # All rows at once: a NaN that one of them gave would send them all the careful way.
            x = numpy.full((2, extent), sign, dtype)
            x[:, place] = 5 * sign
            x.view(bits)[:, place + 1] = [signalling, signalling | 1 << bits.itemsize * 8 - 1]
            for axis, shape in ((1, f"2x{extent}"), (0, f"{extent}x2")):
                text = _reduce("reduce", axis, shape, f"tile<2x{element}>", body, element, "0.0")
                found = evaluate(text, x=x if axis else numpy.ascontiguousarray(x.T), r=f"tile<2x{element}>")
                assert found.astype(float).tolist() == [5.0 * sign] * 2, (extent, place, axis)


_BODIES = [
    ("addf", "f2"), ("addf", "f4"), ("addf", "f8"), ("mulf", "f4"), ("maxf", "f4"), ("minf", "f2"), ("maximumf", "f8"),
    ("maxf propagate_nan", "f4"), ("addf flush_to_zero", "f4"), ("addf rounding<zero>", "f4"),
    ("addi", "i1"), ("muli", "i4"), ("xori", "i8"), ("maxi signed", "i4"), ("mini unsigned", "i2"), ("subi", "i4"),
]  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("combination", "dtype"), one_in(2, _BODIES))
def test_short_cuts_give_the_bits_of_the_general_way(combination: str, dtype: str) -> None:
    name, _, rest = combination.partition(" ")
    element = {"f2": "f16", "f4": "f32", "f8": "f64", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64"}[dtype]
    body = f"%s = {name} %previous, %current {rest} : tile<{element}>\nyield %s : tile<{element}>"
    identity = "0" if element[0] == "i" else "0.0"

    class Watching(tileir.observers.Observer):
        """Somebody who watches the operations of a body keeps it from being replaced."""

        def before(self, *arguments: object) -> None:
            pass

    for shape, dim in (((4, 128), 1), ((128, 4), 0), ((4, 2, 8), 2), ((4, 256), 1)):
        x = _special(dtype, shape)
        extents = "x".join(map(str, shape))
        reduced = "x".join([str(extent) for axis, extent in enumerate(shape) if axis != dim])
        for kind, result in (("reduce", f"tile<{reduced}x{element}>"), ("scan", f"tile<{extents}x{element}>")):
            text = _reduce(kind, dim, extents, result, body, element, identity)
            with numpy.errstate(all="ignore"):
                quick = evaluate(text, x=x, r=result)
                general = evaluate(text, x=x, r=result, observer=Watching())
            # Which NaN comes out of NaNs is not defined for sums.
            if name not in ("maxf", "minf", "maximumf"):
                quick, general = (
                    numpy.where(a == a, a, a.dtype.type(0)) if a.dtype.kind == "f" else a for a in (quick, general)
                )
            assert same(quick, general), (kind, shape)
