"""f32 rounded to bf16 by AVX512_BF16, the machine's own or emulated (`emulated_amx`): the bits of rounding by hand."""

from __future__ import annotations

import re

import ml_dtypes
import numpy
import pytest
from tests.execute.cpu.emulated_amx import PAIRS, emulate

import tileir
from tileir.execute.cpu.runtime.target import host

HERE = host("native")
TILE = 1024


def program(width):
    tensors = {x: f"tensor_view<?x{kind}, strides=[1]>" for x, kind in (("a", "f32"), ("b", "bf16"))}
    views = {x: f"partition_view<tile=({width}), {tensor}>" for x, tensor in tensors.items()}
    made = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [%n], strides = [1] : tile<i32> -> {tensors[x]}\n"
        f"%v{x} = make_partition_view %t{x} : {views[x]}\n"
        for x in "ab"
    )
    return f"""cuda_tile.module @m {{ entry @kernel(%a: tile<ptr<f32>>, %b: tile<ptr<bf16>>, %n: tile<i32>) {{
        %x, %y, %z = get_tile_block_id : tile<i32>
        {made}
        %wide, %t1 = load_view_tko weak %va[%x] : {views["a"]}, tile<i32> -> tile<{width}xf32>, token
        %near = ftof %wide : tile<{width}xf32> -> tile<{width}xbf16>
        %t2 = store_view_tko weak %near, %vb[%x] : tile<{width}xbf16>, {views["b"]}, tile<i32> -> token
        return }} }}"""


def rounded(machine, values, width=TILE):
    kernel = tileir.compile(tileir.parse(program(width)), backend="cpu", cpu=machine)
    found = numpy.zeros(len(values), ml_dtypes.bfloat16)
    kernel.launch(-(-len(values) // width), (values, found, len(values)), threads=1)
    return found.view(numpy.uint16)


@pytest.mark.skipif(not HERE.has_avx512, reason="this machine has no AVX-512")
@pytest.mark.parametrize("width", [16, 32, TILE])
def test_every_upper_half_is_rounded_as_by_hand(monkeypatch, width):
    upper = numpy.arange(1 << 16, dtype=numpy.uint32) << 16
    lower = numpy.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], numpy.uint32)
    values = (upper[:, None] | lower).reshape(-1).view(numpy.float32)
    if width < TILE:
        values = values[:: TILE // width].copy()
    expected = rounded("x86-64-v4", values, width)
    finite = numpy.isfinite(values)
    assert (expected[finite] == values[finite].astype(ml_dtypes.bfloat16).view(numpy.uint16)).all()
    machine = "native" if HERE.has_avx512_bf16 else emulate(monkeypatch, PAIRS)
    assert (rounded(machine, values, width) == expected).all()


@pytest.mark.skipif(not HERE.has_avx512, reason="this machine has no AVX-512")
def test_one_subnormal_number_among_many(monkeypatch):
    machine = "native" if HERE.has_avx512_bf16 else emulate(monkeypatch, PAIRS)
    values = numpy.linspace(1.0, 2.0, 4 * TILE, dtype=numpy.float32)
    values[1234] = -3e-39
    assert (rounded(machine, values) == values.astype(ml_dtypes.bfloat16).view(numpy.uint16)).all()


@pytest.mark.parametrize(("machine", "has_it"), [("sapphirerapids", True), ("znver4", True), ("icelake-server", False)])
def test_the_instruction_is_used_where_it_is(machine, has_it):
    kernel = tileir.compile(tileir.parse(program(TILE)), backend="cpu", cpu=machine)
    assert bool(re.search("vcvtne2?ps2bf16", kernel.dump("asm"))) == has_it


def weights(columns):
    """Powers of two that are summed up and rounded, as attention does."""
    wide, narrow = f"tile<16x{columns}xf32>", f"tile<16x{columns}xbf16>"
    kinds = {"a": "f32", "b": "bf16"}
    tensors = {x: f"tensor_view<?x{columns}x{kind}, strides=[{columns},1]>" for x, kind in kinds.items()}
    views = {x: f"partition_view<tile=(16x{columns}), {tensor}>" for x, tensor in tensors.items()}
    line = "partition_view<tile=(16), tensor_view<?xf32, strides=[1]>>"
    made = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [%n, {columns}], strides = [{columns}, 1]"
        f" : tile<i32> -> {tensors[x]}\n"
        f"%v{x} = make_partition_view %t{x} : {views[x]}\n"
        for x in "ab"
    )
    return f"""cuda_tile.module @m {{
      entry @kernel(%a: tile<ptr<f32>>, %b: tile<ptr<bf16>>, %s: tile<ptr<f32>>, %n: tile<i32>) {{
        %x, %y, %z = get_tile_block_id : tile<i32>
        %zero = constant <i32: 0> : tile<i32>
        {made}
        %ts = make_tensor_view %s, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
        %vs = make_partition_view %ts : {line}
        %e, %t1 = load_view_tko weak %va[%x, %zero] : {views["a"]}, tile<i32> -> {wide}, token
        %p = exp2 %e : {wide}
        %sum = reduce %p dim=1 identities=[0.0 : f32] : {wide} -> tile<16xf32> (%l: tile<f32>, %r: tile<f32>) {{
          %both = addf %l, %r : tile<f32>
          yield %both : tile<f32>
        }}
        %near = ftof %p : {wide} -> {narrow}
        %t2 = store_view_tko weak %near, %vb[%x, %zero] : {narrow}, {views["b"]}, tile<i32> -> token
        %t3 = store_view_tko weak %sum, %vs[%x] : tile<16xf32>, {line}, tile<i32> -> token
        return }} }}"""


@pytest.mark.skipif(not HERE.has_avx512, reason="this machine has no AVX-512")
@pytest.mark.parametrize("columns", [16, 64, 256])
def test_powers_of_two_are_rounded_as_by_hand(monkeypatch, columns):
    """Rows whose results are all normal numbers, for which nothing is asked, and rows with some that are not."""
    random = numpy.random.default_rng(columns)
    values = random.uniform(-30.0, 3.0, (64, columns)).astype(numpy.float32)
    odd = [-126.0, -126.5, -127.0, -140.25, -149.0, -160.0, -1e30, 127.5, 128.0, 200.0]
    odd += [numpy.inf, -numpy.inf, numpy.nan]
    for row, value in enumerate(odd):
        values[2 * row, random.integers(columns)] = value
    found = []
    for machine in ("x86-64-v4", "native" if HERE.has_avx512_bf16 else emulate(monkeypatch, PAIRS)):
        kernel = tileir.compile(tileir.parse(weights(columns)), backend="cpu", cpu=machine)
        rounded, sums = numpy.zeros(values.shape, ml_dtypes.bfloat16), numpy.zeros(64, numpy.float32)
        kernel.launch(4, (values, rounded, sums, 64), threads=1)
        found.append((rounded.view(numpy.uint16), sums.tobytes()))
    (near, total), (other, other_total) = found
    assert (near == other).all()
    assert total == other_total
    with numpy.errstate(over="ignore"):
        exact = numpy.exp2(values.astype(numpy.float64)).astype(numpy.float32).astype(ml_dtypes.bfloat16)
    known = ~numpy.isnan(values)
    assert (abs(near.astype(numpy.int32) - exact.view(numpy.uint16).astype(numpy.int32))[known] <= 1).all()


def test_powers_of_two_are_not_looked_at_again():
    """What the question of exp2 has answered, the rounding does not ask."""
    text = tileir.compile(tileir.parse(weights(64)), backend="cpu", cpu="sapphirerapids").dump("llvm")
    told = re.findall(r"call <64 x i16> @bf16\.64\(.*, i1 (\S+)\)", text)
    assert told
    for name in told:
        assert re.search(rf"{name} = phi i1 \[ true, \S+ \], \[ false, \S+ \]", text)
    # Where nothing is known, it asks.
    loaded = tileir.compile(tileir.parse(program(TILE)), backend="cpu", cpu="sapphirerapids").dump("llvm")
    assert set(re.findall(r"@bf16\.\d+\(.*, i1 (\S+)\)", loaded)) == {"%normal", "false"}
