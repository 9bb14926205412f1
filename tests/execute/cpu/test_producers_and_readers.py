"""Every kind of tile read by every kind of operation: how a tile is kept must not matter to who reads it.

A tile is an expression, a buffer, a buffer that it shares with a tile of another type, a register or a constant; an
operation takes the elements where they are used or from a buffer.
"""

from __future__ import annotations

import numpy
import pytest

import tileir

TILE = "tile<4x8xi8>"
FLAT = "tile<32xi8>"
HALVES = "tile<16xf16>"

# Each defines %y, a tile of 4x8 bytes, from %x, as many loaded ones, or from %h, 16 loaded numbers of f16.
PRODUCERS = {
    "load": f"%z = constant <i8: 0> : {TILE}\n %y = ori %x, %z : {TILE}",
    "elementwise": f"%y = addi %x, %x : {TILE}",
    "constant": f"%y = constant <i8: 77> : {TILE}",
    "iota": f"%f = iota : {FLAT}\n %y = reshape %f : {FLAT} -> {TILE}",
    "broadcast row": f"""%zero = constant <i32: 0> : tile<i32>
        %row = extract %x[%zero, %zero] : {TILE} -> tile<1x8xi8>
        %y = broadcast %row : tile<1x8xi8> -> {TILE}""",
    "broadcast column": f"""%zero = constant <i32: 0> : tile<i32>
        %column = extract %x[%zero, %zero] : {TILE} -> tile<4x1xi8>
        %y = broadcast %column : tile<4x1xi8> -> {TILE}""",
    "permute": f"""%f = reshape %x : {TILE} -> tile<8x4xi8>
        %y = permute %f [1, 0] : tile<8x4xi8> -> {TILE}""",
    "reshape of a sum": f"""%f = reshape %x : {TILE} -> {FLAT}
        %g = addi %f, %f : {FLAT}
        %y = reshape %g : {FLAT} -> {TILE}""",
    "pack of f16": f"""%n = negf %h : {HALVES}
        %p = pack %n : {HALVES} -> {FLAT}
        %y = reshape %p : {FLAT} -> {TILE}""",
    "pack of loaded f16": f"%p = pack %h : {HALVES} -> {FLAT}\n %y = reshape %p : {FLAT} -> {TILE}",
    "pack of i32": f"""%f = reshape %x : {TILE} -> {FLAT}
        %u = unpack %f : {FLAT} -> tile<8xi32>
        %w = addi %u, %u : tile<8xi32>
        %p = pack %w : tile<8xi32> -> {FLAT}
        %y = reshape %p : {FLAT} -> {TILE}""",
    "unpack to i4 and back": f"""%f = reshape %x : {TILE} -> {FLAT}
        %u = unpack %f : {FLAT} -> tile<64xi4>
        %p = pack %u : tile<64xi4> -> {FLAT}
        %y = reshape %p : {FLAT} -> {TILE}""",
    "cat": f"""%zero = constant <i32: 0> : tile<i32>
        %one = constant <i32: 1> : tile<i32>
        %top = extract %x[%zero, %zero] : {TILE} -> tile<2x8xi8>
        %low = extract %x[%one, %zero] : {TILE} -> tile<2x8xi8>
        %y = cat %low, %top dim = 0 : tile<2x8xi8>, tile<2x8xi8> -> {TILE}""",
    "scan": f"%y = scan %x dim=1 reverse=false identities=[0 : i8] : {TILE} -> {TILE} BODY",
    "reduction": f"""%s = reduce %x dim=1 identities=[0 : i8] : {TILE} -> tile<4xi8> BODY
        %t = reshape %s : tile<4xi8> -> tile<4x1xi8>
        %y = broadcast %t : tile<4x1xi8> -> {TILE}""",
    "loop": f"""%from = constant <i32: 0> : tile<i32>
        %to = constant <i32: 3> : tile<i32>
        %step = constant <i32: 1> : tile<i32>
        %y = for %i in (%from to %to, step %step) : tile<i32> iter_values(%c = %x) -> ({TILE}) {{
          %d = addi %c, %x : {TILE}
          continue %d : {TILE}
        }}""",
    "if": f"""%yes = constant <i1: true> : tile<i1>
        %y = if %yes -> ({TILE}) {{
          %d = addi %x, %x : {TILE}
          yield %d : {TILE}
        }} else {{
          yield %x : {TILE}
        }}""",
    "select": f"""%z = constant <i8: 0> : {TILE}
        %m = cmpi less_than %x, %z, signed : {TILE} -> tile<4x8xi1>
        %y = select %m, %x, %z : tile<4x8xi1>, {TILE}""",
}
# Each defines %r, a tile of 4x8 bytes, from %y.
READERS = {
    "elementwise": f"%r = muli %y, %y : {TILE}",
    "scan rows": f"%r = scan %y dim=1 reverse=false identities=[0 : i8] : {TILE} -> {TILE} BODY",
    "scan columns": f"%r = scan %y dim=0 reverse=true identities=[0 : i8] : {TILE} -> {TILE} BODY",
    "reduce rows": f"""%rs = reduce %y dim=1 identities=[0 : i8] : {TILE} -> tile<4xi8> BODY
        %rt = reshape %rs : tile<4xi8> -> tile<4x1xi8>
        %r = broadcast %rt : tile<4x1xi8> -> {TILE}""",
    "reduce columns": f"""%rs = reduce %y dim=0 identities=[0 : i8] : {TILE} -> tile<8xi8> BODY
        %rt = reshape %rs : tile<8xi8> -> tile<1x8xi8>
        %r = broadcast %rt : tile<1x8xi8> -> {TILE}""",
    "reduce beside": f"""%rs, %ru = reduce %y, %x dim=0 identities=[0 : i8, 0 : i8] : {TILE}, {TILE}
            -> tile<8xi8>, tile<8xi8>
        (%ra: tile<i8>, %rb: tile<i8>, %rc: tile<i8>, %rd: tile<i8>) {{
          %re = addi %ra, %rb : tile<i8>
          %rf = xori %rc, %rd : tile<i8>
          yield %re, %rf : tile<i8>, tile<i8>
        }}
        %rg = addi %rs, %ru : tile<8xi8>
        %rt = reshape %rg : tile<8xi8> -> tile<1x8xi8>
        %r = broadcast %rt : tile<1x8xi8> -> {TILE}""",
    "permute": f"""%rp = permute %y [1, 0] : {TILE} -> tile<8x4xi8>
        %r = reshape %rp : tile<8x4xi8> -> {TILE}""",
    "cat": f"""%rz = constant <i32: 0> : tile<i32>
        %rh = extract %y[%rz, %rz] : {TILE} -> tile<4x4xi8>
        %r = cat %rh, %rh dim = 1 : tile<4x4xi8>, tile<4x4xi8> -> {TILE}""",
    "pack": f"""%rf = reshape %y : {TILE} -> {FLAT}
        %ru = unpack %rf : {FLAT} -> tile<16xf16>
        %rn = negf %ru : tile<16xf16>
        %rp = pack %rn : tile<16xf16> -> {FLAT}
        %r = reshape %rp : {FLAT} -> {TILE}""",
    "matmul, A": f"""%rb = constant <i8: 3> : tile<8x8xi8>
        %rc = constant <i32: 1> : tile<4x8xi32>
        %rm = mmai %y, %rb, %rc signed signed : {TILE}, tile<8x8xi8>, tile<4x8xi32>
        %r = trunci %rm : tile<4x8xi32> -> {TILE}""",
    "matmul, B": f"""%ra = constant <i8: 3> : tile<4x4xi8>
        %rc = constant <i32: 1> : tile<4x8xi32>
        %rm = mmai %ra, %y, %rc signed signed : tile<4x4xi8>, {TILE}, tile<4x8xi32>
        %r = trunci %rm : tile<4x8xi32> -> {TILE}""",
    "loop": f"""%rfrom = constant <i32: 0> : tile<i32>
        %rto = constant <i32: 3> : tile<i32>
        %rstep = constant <i32: 1> : tile<i32>
        %r = for %ri in (%rfrom to %rto, step %rstep) : tile<i32> iter_values(%rc = %y) -> ({TILE}) {{
          %rd = addi %rc, %y : {TILE}
          continue %rd : {TILE}
        }}""",
    "if": f"""%rno = constant <i1: false> : tile<i1>
        %r = if %rno -> ({TILE}) {{
          yield %x : {TILE}
        }} else {{
          yield %y : {TILE}
        }}""",
    "offsets": f"""%re = exti %y signed : {TILE} -> tile<4x8xi32>
        %rk = constant <i32: 15> : tile<4x8xi32>
        %rl = andi %re, %rk : tile<4x8xi32>
        %rb = reshape %a : tile<ptr<i8>> -> tile<1x1xptr<i8>>
        %rp = broadcast %rb : tile<1x1xptr<i8>> -> tile<4x8xptr<i8>>
        %ro = offset %rp, %rl : tile<4x8xptr<i8>>, tile<4x8xi32> -> tile<4x8xptr<i8>>
        %r, %rt = load_ptr_tko weak %ro : tile<4x8xptr<i8>> -> {TILE}, token""",
}
BODY = "(%u0: tile<i8>, %v0: tile<i8>) { %m0 = addi %u0, %v0 : tile<i8>\n yield %m0 : tile<i8> }"


def program(producer: str, reader: str) -> str:
    return f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<i8>>, %b: tile<ptr<f16>>, %o: tile<ptr<i8>>) {{
        %ji = iota : tile<32xi32>
        %jt = reshape %ji : tile<32xi32> -> tile<4x8xi32>
        %ar = reshape %a : tile<ptr<i8>> -> tile<1x1xptr<i8>>
        %ab = broadcast %ar : tile<1x1xptr<i8>> -> tile<4x8xptr<i8>>
        %ap = offset %ab, %jt : tile<4x8xptr<i8>>, tile<4x8xi32> -> tile<4x8xptr<i8>>
        %x, %xt = load_ptr_tko weak %ap : tile<4x8xptr<i8>> -> {TILE}, token
        %ji2 = iota : tile<16xi32>
        %br = reshape %b : tile<ptr<f16>> -> tile<1xptr<f16>>
        %bb = broadcast %br : tile<1xptr<f16>> -> tile<16xptr<f16>>
        %bp = offset %bb, %ji2 : tile<16xptr<f16>>, tile<16xi32> -> tile<16xptr<f16>>
        %h, %ht = load_ptr_tko weak %bp : tile<16xptr<f16>> -> {HALVES}, token
        {producer.replace("BODY", BODY)}
        {reader.replace("BODY", BODY)}
        %or = reshape %o : tile<ptr<i8>> -> tile<1x1xptr<i8>>
        %ob = broadcast %or : tile<1x1xptr<i8>> -> tile<4x8xptr<i8>>
        %op = offset %ob, %jt : tile<4x8xptr<i8>>, tile<4x8xi32> -> tile<4x8xptr<i8>>
        %ot = store_ptr_tko weak %op, %r : tile<4x8xptr<i8>>, {TILE} -> token
        return }} }}"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("producer", PRODUCERS)
def test_a_tile_is_the_same_for_every_reader(producer: str, reader: str) -> None:
    check(producer, reader)


@pytest.mark.parametrize("reader", ["scan rows", "scan columns", "reduce columns"])
def test_a_packed_tile_is_read_in_its_own_type(reader: str) -> None:
    # It shares the buffer of a tile of f16.
    check("pack of f16", reader)


def check(producer: str, reader: str) -> None:
    module = tileir.parse(program(PRODUCERS[producer], READERS[reader]))
    results = []
    for backend, sanitize in (("interpreter", False), ("cpu", False), ("cpu", True)):
        rng = numpy.random.default_rng(1)
        bytes_, halves = rng.integers(-128, 128, 32).astype("i1"), rng.standard_normal(16).astype("f2")
        out = numpy.zeros(32, "i1")
        tileir.compile(module, backend=backend, exact=True).launch(1, (bytes_, halves, out), sanitize=sanitize)
        results.append(out)
    assert results[0].any()
    for out in results[1:]:
        numpy.testing.assert_array_equal(out, results[0])
