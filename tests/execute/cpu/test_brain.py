"""f32 rounded to bf16 by AVX512_BF16, the machine's own or emulated (`emulated_amx`): the bits of rounding by hand."""

from __future__ import annotations

import ml_dtypes
import numpy
import pytest
from tests.execute.cpu.emulated_amx import PAIRS, emulate

import tileir
from tileir.execute.cpu.native.target import host

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
    kernel.launch(-(-len(values) // width), values, found, len(values), num_threads=1)
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
    assert ("vcvtneps2bf16" in kernel.dump("asm")) == has_it
