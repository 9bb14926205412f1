"""Tiles that share the buffer of a tile of another type: `pack` and `unpack` of whole bytes copy nothing."""

from __future__ import annotations

import numpy
import pytest

import tileir

# 32 elements of i8 in %y, of a tile of each type; the elements are computed, so that they lie in a buffer.
SOURCES = {
    "f16": "%y = pack %x : tile<16xf16> -> tile<32xi8>",
    "f32": """%w = ftof %x : tile<16xf16> -> tile<16xf32>
      %p = pack %w : tile<16xf32> -> tile<64xi8>
      %zero = constant <i32: 0> : tile<i32>
      %y = extract %p[%zero] : tile<64xi8> -> tile<32xi8>""",
    "i32": """%p = pack %x : tile<16xf16> -> tile<32xi8>
      %w = unpack %p : tile<32xi8> -> tile<8xi32>
      %v = addi %w, %w : tile<8xi32>
      %y = pack %v : tile<8xi32> -> tile<32xi8>""",
}
BODY = "(%u: tile<i8>, %v2: tile<i8>) { %m = maxi %u, %v2 signed : tile<i8>\n yield %m : tile<i8> }"
# What reads %y; %r has 32 elements of i8.
READERS = {
    "elementwise": "%r = addi %y, %y : tile<32xi8>",
    "scan": f"%r = scan %y dim=0 reverse=false identities=[-128 : i8] : tile<32xi8> -> tile<32xi8> {BODY}",
    "scan of columns": f"""%c = reshape %y : tile<32xi8> -> tile<4x8xi8>
      %s = scan %c dim=0 reverse=true identities=[-128 : i8] : tile<4x8xi8> -> tile<4x8xi8> {BODY}
      %r = reshape %s : tile<4x8xi8> -> tile<32xi8>""",
    "reduce rows": f"""%c = reshape %y : tile<32xi8> -> tile<4x8xi8>
      %s = reduce %c dim=1 identities=[-128 : i8] : tile<4x8xi8> -> tile<4xi8> {BODY}
      %t = reshape %s : tile<4xi8> -> tile<4x1xi8>
      %b = broadcast %t : tile<4x1xi8> -> tile<4x8xi8>
      %r = reshape %b : tile<4x8xi8> -> tile<32xi8>""",
    "reduce columns": f"""%c = reshape %y : tile<32xi8> -> tile<4x8xi8>
      %s = reduce %c dim=0 identities=[-128 : i8] : tile<4x8xi8> -> tile<8xi8> {BODY}
      %t = reshape %s : tile<8xi8> -> tile<1x8xi8>
      %b = broadcast %t : tile<1x8xi8> -> tile<4x8xi8>
      %r = reshape %b : tile<4x8xi8> -> tile<32xi8>""",
    "permute": """%c = reshape %y : tile<32xi8> -> tile<4x8xi8>
      %t = permute %c [1, 0] : tile<4x8xi8> -> tile<8x4xi8>
      %r = reshape %t : tile<8x4xi8> -> tile<32xi8>""",
    "cat": """%one = constant <i32: 1> : tile<i32>
      %h = extract %y[%one] : tile<32xi8> -> tile<16xi8>
      %r = cat %h, %h dim = 0 : tile<16xi8>, tile<16xi8> -> tile<32xi8>""",
    "mmai": """%c = reshape %y : tile<32xi8> -> tile<4x8xi8>
      %d = reshape %y : tile<32xi8> -> tile<8x4xi8>
      %z = constant <i32: 0> : tile<4x4xi32>
      %q = mmai %c, %d, %z signed signed : tile<4x8xi8>, tile<8x4xi8>, tile<4x4xi32>
      %q2 = reshape %q : tile<4x4xi32> -> tile<16xi32>
      %k = pack %q2 : tile<16xi32> -> tile<64xi8>
      %zero2 = constant <i32: 0> : tile<i32>
      %r = extract %k[%zero2] : tile<64xi8> -> tile<32xi8>""",
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("sanitize", [False, True])
def test_a_reader_sees_elements_of_the_tile_and_not_of_its_buffer(source: str, reader: str, sanitize: bool) -> None:
    module = tileir.parse(f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<f16>>, %o: tile<ptr<i8>>) {{
      %i = iota : tile<16xi32>
      %ra = reshape %a : tile<ptr<f16>> -> tile<1xptr<f16>>
      %ba = broadcast %ra : tile<1xptr<f16>> -> tile<16xptr<f16>>
      %pa = offset %ba, %i : tile<16xptr<f16>>, tile<16xi32> -> tile<16xptr<f16>>
      %loaded, %token = load_ptr_tko weak %pa : tile<16xptr<f16>> -> tile<16xf16>, token
      %x = negf %loaded : tile<16xf16>
      {SOURCES[source]}
      {READERS[reader]}
      %j = iota : tile<32xi32>
      %ro = reshape %o : tile<ptr<i8>> -> tile<1xptr<i8>>
      %bo = broadcast %ro : tile<1xptr<i8>> -> tile<32xptr<i8>>
      %po = offset %bo, %j : tile<32xptr<i8>>, tile<32xi32> -> tile<32xptr<i8>>
      %stored = store_ptr_tko weak %po, %r : tile<32xptr<i8>>, tile<32xi8> -> token
      return }} }}""")
    results = []
    for backend in ("interpreter", "cpu"):
        array = numpy.random.default_rng(1).standard_normal(16).astype("f2")
        out = numpy.zeros(32, "i1")
        tileir.compile(module, backend=backend, exact=True).launch(1, array, out, sanitize=sanitize)
        results.append(out)
    numpy.testing.assert_array_equal(results[1], results[0])
