"""Products of bf16, f16 and eight-bit floats on matrix tiles: on the machine's own, or emulated (`emulated_amx`)."""

from __future__ import annotations

import functools

import ml_dtypes
import numpy
import pytest
from tests.execute.exact_model import values

import tileir
from tileir.execute.arithmetic.elementary import matrix_float
from tileir.ir import floats
from tileir.ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32

pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite")

from tests.execute.cpu.emulated_amx import PAIRS, emulate, emulated, emulating_target
from tests.execute.cpu.macrokernels import BFLOAT16, aligned, multiplied, parts_of, positions, text_of

from tileir.execute.cpu.matmul.plan import SpecialValues, make_plan
from tileir.execute.cpu.runtime.llvm_compile import assemble, assembly
from tileir.execute.cpu.runtime.loader import load
from tileir.execute.cpu.runtime.target import host
from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.casting import split_bf16
from tileir.execute.cpu.vector.module import Module

HERE = host("native")
UNIT = HERE if HERE.has_amx else emulating_target()
DOTS = HERE if HERE.has_bf16_dots else emulating_target(PAIRS)
DTYPES = {
    "bf16": BFLOAT16,
    "f16": numpy.dtype(numpy.float16),
    "f8E4M3FN": numpy.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": numpy.dtype(ml_dtypes.float8_e5m2),
}


@pytest.fixture(autouse=True)
def quiet():
    with numpy.errstate(all="ignore"):
        yield


# --- one product ---


@functools.cache
def compiled(element, shape, extent):
    chosen = make_plan(UNIT, element, element, F32, shape, False)
    text = text_of(chosen, extent)
    return chosen, load(assemble(text if UNIT is HERE else emulated(text), UNIT))


def product(element, shape, a, b, c):
    """C + A * B by the unit; k may go on beyond the shape."""
    chosen, code = compiled(element, shape, a.shape[1])
    return multiplied(code, chosen, a, b, c)


def modeled(parts, a, b, c):
    """What the unit's description says, for numbers that are not tiny: two chains for every 32 of k, in order."""
    chain = matrix_float(F32, F32, exact=True)
    total = c.copy()
    for first in range(0, a.shape[1], 32):
        left, right = a[:, first : first + 32], b[first : first + 32]
        pairs = [(left, right)]
        if parts == 2:
            (high, low), (top, rest) = parts_of(left), parts_of(right)
            pairs = [(high, top), (high, rest), (low, rest), (low, top)]
        for one, other in pairs:
            one, other = one.astype(numpy.float32), other.astype(numpy.float32)
            sums = [
                chain(numpy.ascontiguousarray(one[:, half::2]), numpy.ascontiguousarray(other[half::2]), 0 * total)
                for half in (0, 1)
            ]
            total = total + (sums[0] + sums[1])
    return total


def normal(element, shape, generator):
    form = floats.FORMATS[element.name]
    numbers = [floats.from_double(form, float(x)) for x in generator.normal(0, 1, shape).reshape(-1)]
    return values(element, numbers).reshape(shape)


def operands(element, m, n, k):
    generator = numpy.random.default_rng((m, n, k))
    c = generator.normal(0, 1, (m, n)).astype(numpy.float32)
    return normal(element, (m, k), generator), normal(element, (k, n), generator), c


def assert_same(result, expected):
    same = (result.view(numpy.uint32) == expected.view(numpy.uint32)) | (numpy.isnan(result) & numpy.isnan(expected))
    assert same.all(), numpy.argwhere(~same)[:4]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("element", [BF16, F16, F8E4M3FN, F8E5M2], ids=str)
@pytest.mark.parametrize(
    ("shape", "extent"),
    [((16, 16, 32), 32), ((32, 32, 64), 64), ((64, 16, 32), 96), ((16, 64, 128), 128), ((32, 256, 64), 1088)],
    ids=str,
)
def test_product_is_the_one_of_the_units_description(element, shape, extent):
    a, b, c = operands(element, shape[0], shape[1], extent)
    parts = 2 if element is F16 else 1
    assert_same(product(element, shape, a, b, c), modeled(parts, a, b, c))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("place", [(0, 0), (17, 31), (5, 64), (31, 95)], ids=str)
def test_subnormal_factor_is_not_lost(side, place):
    a, b, c = operands(BF16, 32, 32, 96)
    row, k = place
    if side == "left":
        a[row, k], b[k] = 2.0**-130, 2.0**120
    else:
        b[k, row], a[:, k] = -(2.0**-133), 2.0**120
    result = product(BF16, (32, 32, 32), a, b, c)
    # The operation that it belongs to is a chain of fma, the others are not.
    expected = c
    for first in range(0, 96, 32):
        one, other = a[:, first : first + 32], b[first : first + 32]
        if first <= k < first + 32:
            expected = matrix_float(BF16, F32, exact=True)(one, other, expected)
        else:
            expected = modeled(1, one, other, expected)
    assert_same(result, expected)


@pytest.mark.parametrize("number", [numpy.inf, -numpy.inf, numpy.nan])
@pytest.mark.parametrize("element", [BF16, F16], ids=str)
def test_infinite_factors_are_the_chains(element, number):
    a, b, c = operands(element, 32, 32, 64)
    a[3, 40] = number
    b[5, 7] = -number
    result = product(element, (32, 32, 32), a, b, c)
    exact = matrix_float(element, F32, exact=True)(a, b, c)
    special = ~numpy.isfinite(exact)
    assert special.any() and not special.all()
    assert_same(numpy.where(special, result, 0), numpy.where(special, exact, 0))
    assert numpy.isfinite(result[~special]).all()


# --- pairs of bf16 in vectors ---


def dots(shape, a, b, c):
    """C + A * B two k at a time, in vectors."""
    chosen = make_plan(DOTS, BF16, BF16, F32, shape, False)
    assert chosen.kind == "dots"
    text = text_of(chosen, a.shape[1])
    code = load(assemble(text if DOTS is HERE else emulated(text), DOTS))
    return multiplied(code, chosen, a, b, c)


def swapped(array, axis):
    """The two elements of each pair change places: the instruction takes the odd one first."""
    shape = list(array.shape)
    shape[axis : axis + 1] = [shape[axis] // 2, 2]
    return numpy.flip(array.reshape(shape), axis + 1).reshape(array.shape)


@pytest.mark.parametrize(("shape", "extent"), [((1, 16, 32), 32), ((4, 32, 64), 64), ((16, 64, 32), 96)], ids=str)
def test_pairs_are_a_chain_of_all_k(shape, extent):
    a, b, c = operands(BF16, shape[0], shape[1], extent)
    result = dots(shape, a, b, c)
    expected = matrix_float(BF16, F32, exact=True)(swapped(a, 1), swapped(b, 0), c)
    assert_same(result, expected)


@pytest.mark.parametrize("side", ["left", "right"])
def test_subnormal_factor_of_a_pair_is_not_lost(side):
    a, b, c = operands(BF16, 16, 32, 96)
    if side == "left":
        a[9, 50], b[50] = 2.0**-130, 2.0**120
    else:
        b[50, 9], a[:, 50] = -(2.0**-133), 2.0**120
    exact = matrix_float(BF16, F32, exact=True)
    expected = exact(swapped(a[:, :32], 1), swapped(b[:32], 0), c)
    # Rows of a block without such a factor go on as they were, where it is on the left.
    plain, careful = (
        exact(swapped(a[:, 32:64], 1), swapped(b[32:64], 0), expected),
        exact(a[:, 32:64], b[32:64], expected),
    )
    expected = careful if side == "right" else numpy.concatenate([plain[:8], careful[8:]])
    expected = exact(swapped(a[:, 64:], 1), swapped(b[64:], 0), expected)
    assert_same(dots((16, 32, 32), a, b, c), expected)


# --- halves and guards ---


def vectors_of(step, patterns, results):
    """Run a step for vectors of 32 patterns of 16 bits, which gives as many vectors."""
    builder = Builder(Module())
    source, target = (builder.pointer(builder.word("%record", slot)) for slot in (0, 1))

    def one(place):
        pointer = builder.moved(source, builder.multiply(place, 64))
        for number, vector in enumerate(step(builder, pointer)):
            there = builder.moved(target, builder.add(builder.multiply(place, 64 * results), 64 * number))
            builder.do(f"store {vector}, ptr {there}, align 2")

    builder.count(0, str(len(patterns) // 32), 1, one)
    builder.do("ret i64 0")
    builder.module.add(["define i64 @worker(ptr %record, ptr %scratch) {", "entry:", *builder.lines, "}"])
    found = aligned(results * len(patterns), numpy.dtype(numpy.uint16))
    given = aligned(len(patterns), numpy.dtype(numpy.uint16))
    given[:] = patterns
    record = numpy.array([given.ctypes.data, found.ctypes.data], numpy.int64)
    code = load(assemble(builder.module.text(), HERE))
    code.call(record.ctypes.data, 0)
    return found.reshape(-1, results, 32)


def test_every_half_is_the_sum_of_two():
    def step(builder, pointer):
        number = builder.value(f"load <32 x half>, ptr {pointer}, align 2", numpy.dtype(numpy.float16), 32)
        return [part.typed for part in split_bf16(builder, number)]

    patterns = numpy.arange(1 << 16, dtype=numpy.uint16)
    found = vectors_of(step, patterns, 2)
    high, low = (found[:, part].reshape(-1).copy().view(BFLOAT16).astype(numpy.float32) for part in (0, 1))
    wanted = patterns.view(numpy.float16).astype(numpy.float32)
    numpy.testing.assert_array_equal(high + low, wanted)
    finite = numpy.isfinite(wanted)
    assert (low[~finite] == 0).all()
    for part in (high, low):
        sizes = abs(part[finite & (part != 0)])
        assert sizes.min() >= 2.0**-24, "normal in bf16"
    assert (numpy.signbit(high) == numpy.signbit(low))[finite & (low != 0)].all()


@pytest.mark.parametrize("name", ["subnormal", "infinite"])
def test_guard_finds_what_it_is_about_and_nothing_else(name):
    def step(builder, pointer):
        number = builder.value(f"load <32 x i16>, ptr {pointer}, align 2", BFLOAT16, 32)
        special = SpecialValues(builder, name)
        answer = special.is_found(special.scanned(special.nothing(), number))
        wide = builder.emit(f"sext i1 {answer} to i512")
        return [f"<32 x i16> {builder.emit(f'bitcast i512 {wide} to <32 x i16>')}"]

    patterns = numpy.arange(1 << 16, dtype=numpy.uint16)
    # Each pattern alone among ones, at every place of a vector.
    many = numpy.full((1 << 16, 32), 0x3F80, numpy.uint16)
    many[patterns, patterns % 32] = patterns
    found = vectors_of(step, many.reshape(-1), 1)[:, 0, 0] != 0
    numbers = patterns.view(BFLOAT16).astype(numpy.float32)
    tiny = (numbers != 0) & (abs(numbers) < 2.0**-126)
    numpy.testing.assert_array_equal(found, tiny if name == "subnormal" else ~numpy.isfinite(numbers))


# --- kernels ---


@pytest.fixture
def unit(monkeypatch):
    """The name of a machine with matrix tiles that runs here."""
    return "native" if UNIT is HERE else emulate(monkeypatch)


def matmul(element, tile, result="f32"):
    m, n, k = tile
    tensors = {x: f"tensor_view<?x?x{result if x == 'c' else element}, strides=[?,1]>" for x in "abc"}
    tiles = {"a": f"{m}x{k}", "b": f"{k}x{n}", "c": f"{m}x{n}"}
    views = {x: f"partition_view<tile=({tiles[x]}), padding_value = zero, {tensors[x]}>" for x in "abc"}
    shapes = {"a": ("m", "k"), "b": ("k", "n"), "c": ("m", "n")}
    made = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [%{rows}, %{columns}], strides = [%{columns}, 1]"
        f" : tile<i32> -> {tensors[x]}\n%v{x} = make_partition_view %t{x} : {views[x]}\n"
        for x, (rows, columns) in shapes.items()
    )
    left, right, part = f"tile<{m}x{k}x{element}>", f"tile<{k}x{n}x{element}>", f"tile<{m}x{n}x{result}>"
    return f"""
    cuda_tile.module @m {{ entry @kernel(%a: tile<ptr<{element}>>, %b: tile<ptr<{element}>>, %c: tile<ptr<{result}>>,
        %m: tile<i32>, %n: tile<i32>, %k: tile<i32>) {{
      %i, %j, %z = get_tile_block_id : tile<i32>
      {made}
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %rows, %count = get_index_space_shape %va : {views["a"]} -> tile<i32>
      %empty = constant <{result}: 0.0> : {part}
      %sum = for %step in (%zero to %count, step %one) : tile<i32> iter_values(%acc = %empty) -> ({part}) {{
        %x, %tx = load_view_tko weak %va[%i, %step] : {views["a"]}, tile<i32> -> {left}, token
        %y, %ty = load_view_tko weak %vb[%step, %j] : {views["b"]}, tile<i32> -> {right}, token
        %r = mmaf %x, %y, %acc : {left}, {right}, {part}
        continue %r : {part}
      }}
      %s = store_view_tko weak %sum, %vc[%i, %j] : {part}, {views["c"]}, tile<i32> -> token
      return }} }}"""


def bound(k, a, b):
    return k * 2.0**-24 / (1 - k * 2.0**-24) * (abs(a) @ abs(b)) + (k + 1) * 2.0**-126


@pytest.mark.sampled(2)
@pytest.mark.parametrize("element", list(DTYPES))
@pytest.mark.parametrize("extents", [(64, 64, 128), (40, 72, 100)], ids=str)
def test_matrices_of_any_extent_are_near_the_exact_product(unit, element, extents):
    m, n, k = extents
    kernel = tileir.compile(tileir.parse(matmul(element, (32, 32, 32))), backend="cpu", cpu=unit)
    assert "plan: amx" in kernel.dump("loops")
    generator = numpy.random.default_rng(extents)
    a, b = (generator.normal(0, 1, shape).astype(DTYPES[element]) for shape in ((m, k), (k, n)))
    c = numpy.zeros((m, n), numpy.float32)
    kernel.launch((-(-m // 32), -(-n // 32)), (a, b, c, m, n, k), threads=1)
    left, right = a.astype(numpy.float64), b.astype(numpy.float64)
    assert (abs(c - left @ right) <= bound(k, left, right)).all()


@pytest.mark.parametrize("element", ["bf16", "f8E4M3FN"])
def test_matrices_are_near_the_exact_product_by_pairs(monkeypatch, element):
    m, n, k = 40, 72, 100
    machine = "native" if DOTS is HERE else emulate(monkeypatch, PAIRS)
    kernel = tileir.compile(tileir.parse(matmul(element, (16, 32, 32))), backend="cpu", cpu=machine)
    assert "plan: dots" in kernel.dump("loops")
    generator = numpy.random.default_rng(4)
    a, b = (generator.normal(0, 1, shape).astype(DTYPES[element]) for shape in ((m, k), (k, n)))
    if element == "bf16":
        a[17, 40], b[40] = 2.0**-130, 2.0**125
    c = numpy.zeros((m, n), numpy.float32)
    kernel.launch((-(-m // 16), -(-n // 32)), (a, b, c, m, n, k), threads=1)
    left, right = a.astype(numpy.float64), b.astype(numpy.float64)
    assert (abs(c - left @ right) <= bound(k, left, right)).all()


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_the_versions_of_a_kernel_agree_where_the_unit_is_not_used(unit, element):
    m, n, k = 64, 64, 256
    kernel = tileir.compile(tileir.parse(matmul(element, (32, 32, 32))), backend="cpu", cpu=unit)
    generator = numpy.random.default_rng(5)
    a, b = (generator.normal(0, 1, shape).astype(DTYPES[element]) for shape in ((m, k), (k, n)))
    special = 2.0**-130 if element == "bf16" else numpy.inf
    a[40, 70], b[200, 3] = special, special
    plain, sanitized = (numpy.zeros((m, n), numpy.float32) for _ in range(2))
    kernel.launch((2, 2), (a, b, plain, m, n, k), threads=1)
    kernel.launch((2, 2), (a, b, sanitized, m, n, k), threads=1, sanitize=True)
    assert_same(plain, sanitized)
    left, right = a.astype(numpy.float64), b.astype(numpy.float64)
    finite = numpy.isfinite(left @ right)
    assert (abs(plain - left @ right) <= bound(k, left, right))[finite].all()
    assert_same(numpy.where(finite, 0, plain), numpy.where(finite, 0, left @ right).astype(numpy.float32))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("grid", [(9, 5), (9, 3), (23, 4), (2, 7), (16, 1)], ids=str)
def test_left_operand_is_remembered_for_rows_of_tile_blocks(unit, grid):
    """Each row in a place of its own, where there are columns enough and no more rows than places, or all in one."""
    m, n, k = 16 * grid[0], 16 * grid[1], 2080
    kernel = tileir.compile(tileir.parse(matmul("bf16", (16, 16, 32))), backend="cpu", cpu=unit)
    assert " cached in b" in kernel.dump("loops")
    generator = numpy.random.default_rng(grid)
    a, b = (generator.integers(-4, 5, shape).astype(BFLOAT16) for shape in ((m, k), (k, n)))
    c = numpy.full((m, n), numpy.nan, numpy.float32)
    for _ in range(2):
        a[3, 70] = 2.0**-130
        kernel.launch(grid, (a, b, c, m, n, k), threads=1)
        # Sums of integers are exact, and the one number that is not an integer is too small to count.
        a[3, 70] = 0
        numpy.testing.assert_array_equal(c, a.astype(numpy.float32) @ b.astype(numpy.float32))
        # Nothing is left of one launch in the next.
        a[:] = a[::-1].copy()


def test_left_operand_of_all_turns_of_a_loop_is_remembered(unit):
    """Integers with one subnormal factor, tiles over the edge of the matrix; and another matrix in the next launch."""
    rows, k, n, count = 40, 64, 32, 3
    tensors = {"a": f"tensor_view<{rows}x{k}xbf16, strides=[{k},1]>", "b": f"tensor_view<{k}x?xbf16, strides=[?,1]>"}
    tensors["c"] = f"tensor_view<{rows}x{n}xf32, strides=[{n},1]>"
    tiles = {"a": f"32x{k}", "b": f"{k}x{n}", "c": f"32x{n}"}
    views = {x: f"partition_view<tile=({tiles[x]}), padding_value = zero, {tensors[x]}>" for x in "abc"}
    width = n * count
    text = f"""
    cuda_tile.module @m {{ entry @kernel(%a: tile<ptr<bf16>>, %b: tile<ptr<bf16>>, %c: tile<ptr<f32>>) {{
      %i, %y, %z = get_tile_block_id : tile<i32>
      %width = constant <i32: {width}> : tile<i32>
      %ta = make_tensor_view %a, shape = [{rows}, {k}], strides = [{k}, 1] : {tensors["a"]}
      %tb = make_tensor_view %b, shape = [{k}, %width], strides = [%width, 1] : tile<i32> -> {tensors["b"]}
      %tc = make_tensor_view %c, shape = [{rows}, {n}], strides = [{n}, 1] : {tensors["c"]}
      %va = make_partition_view %ta : {views["a"]}
      %vb = make_partition_view %tb : {views["b"]}
      %vc = make_partition_view %tc : {views["c"]}
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %count = constant <i32: {count}> : tile<i32>
      %empty = constant <f32: 0.0> : tile<32x{n}xf32>
      %x, %tx = load_view_tko weak %va[%i, %zero] : {views["a"]}, tile<i32> -> tile<32x{k}xbf16>, token
      %sum = for %j in (%zero to %count, step %one) : tile<i32> iter_values(%acc = %empty) -> (tile<32x{n}xf32>) {{
        %w, %tw = load_view_tko weak %vb[%zero, %j] : {views["b"]}, tile<i32> -> tile<{k}x{n}xbf16>, token
        %r = mmaf %x, %w, %acc : tile<32x{k}xbf16>, tile<{k}x{n}xbf16>, tile<32x{n}xf32>
        continue %r : tile<32x{n}xf32>
      }}
      %s = store_view_tko weak %sum, %vc[%i, %zero] : tile<32x{n}xf32>, {views["c"]}, tile<i32> -> token
      return }} }}"""
    kernel = tileir.compile(tileir.parse(text), backend="cpu", cpu=unit)
    assert ", 1 cached in " in kernel.dump("loops")
    for seed, place in enumerate([(3, 9), (37, 63)]):
        generator = numpy.random.default_rng(seed)
        a, b = (generator.integers(-4, 5, shape).astype(BFLOAT16) for shape in ((rows, k), (k, width)))
        a[place], b[place[1]] = 2.0**-130, 2.0**120
        c = numpy.full((rows, n), numpy.nan, numpy.float32)
        kernel.launch(2, (a, b, c), threads=1)
        # The large numbers meet the subnormal one in its row, which a unit that takes it for zero would leave out.
        left, right = a.astype(numpy.float64), numpy.add.reduce(numpy.split(b.astype(numpy.float64), count, axis=1))
        assert (abs(c - left @ right) <= bound(count * k, left, right)).all()
        assert (abs(c[place[0]]) < 1e6).all() and (c[place[0]] != numpy.rint(c[place[0]])).all()


def test_accumulator_of_f16_is_rounded_after_each_operation(unit):
    kernel = tileir.compile(tileir.parse(matmul("f16", (16, 16, 32), "f16")), backend="cpu", cpu=unit)
    generator = numpy.random.default_rng(2)
    a, b = (generator.integers(-8, 9, shape).astype(numpy.float16) for shape in ((16, 64), (64, 16)))
    c = numpy.zeros((16, 16), numpy.float16)
    kernel.launch((1, 1), (a, b, c, 16, 16, 64), threads=1)
    first = (a[:, :32].astype(float) @ b[:32].astype(float)).astype(numpy.float16)
    numpy.testing.assert_array_equal(c, (a[:, 32:].astype(float) @ b[32:].astype(float) + first).astype(numpy.float16))


# --- plans ---


def test_narrow_floats_are_multiplied_by_the_unit_of_the_machine():
    target = host("sapphirerapids")

    def summary(element, exact=False, shape=(64, 64, 64), accumulator=F32):
        found = make_plan(target, element, element, accumulator, shape, exact)
        return found.kind, found.parts, found.guard

    assert summary(BF16) == ("amx", 1, "subnormal")
    assert summary(F16) == summary(F16, accumulator=F16) == ("amx", 2, "infinite")
    granite = make_plan(host("graniterapids"), F16, F16, F32, (64, 64, 64), False)
    assert (granite.kind, granite.parts, granite.guard) == ("amx", 1, "")
    code = assembly(text_of(granite, 128), host("graniterapids"))
    assert "tdpfp16ps" in code and "tdpbf16ps" not in code
    assert summary(F8E4M3FN) == summary(F8E5M2) == ("amx", 1, "")
    assert summary(F32) == ("fma", 1, "")
    assert summary(F16, exact=True) == summary(F16, shape=(8, 64, 64)) == ("fma", 1, "")


def test_machines_without_matrix_tiles_multiply_pairs_where_they_can():
    for name in ("znver4", "znver5"):
        target = host(name)
        found = make_plan(target, BF16, BF16, F32, (64, 64, 64), False)
        assert (found.kind, found.guard) == ("dots", "subnormal")
        assert make_plan(target, BF16, BF16, F32, (64, 64, 64), True).kind == "fma"
        assert make_plan(target, F16, F16, F32, (64, 64, 64), False).kind == "fma"
        assert make_plan(target, BF16, BF16, F32, (64, 8, 64), False).kind == "fma"
        code = assembly(text_of(found, 128), target)
        assert "vdpbf16ps" in code and "call" not in code
    assert make_plan(host("sapphirerapids"), BF16, BF16, F32, (1, 64, 64), False).kind == "fma"
    assert make_plan(host("cooperlake"), BF16, BF16, F32, (64, 64, 64), False).kind == "fma"


@pytest.mark.parametrize("element", [BF16, F16, F8E5M2], ids=str)
def test_code_for_the_unit_has_its_instructions_and_calls_nothing(element):
    target = host("sapphirerapids")
    code = assembly(text_of(make_plan(target, element, element, F32, (64, 64, 32), False), 128), target)
    assert "tdpbf16ps" in code and "call" not in code


@pytest.mark.parametrize("shape", [(16, 16, 32), (64, 64, 64)], ids=str)
def test_packed_parts_are_a_permutation(shape):
    m, n, k = shape
    chosen = make_plan(host("sapphirerapids"), F16, F16, F32, (m, n, k), False)
    for side, (rows, columns), part in ((0, (m, k), 32 * chosen.mr), (1, (k, n), 512)):
        high = set(positions(chosen, side, (rows, columns)).reshape(-1))
        assert high | {place + part for place in high} == set(range(2 * rows * columns))
