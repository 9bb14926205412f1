"""Matrix tiles of AMX, and pairs of bf16 in vectors, on a machine that has none: the instructions as functions.

Those on tiles work on memory that is there once, for one thread.

The products of bf16 are those of Intel's description: chains of fused multiply-adds for the even and the odd elements
of k, from zero, that are added to each other and then to C; subnormal numbers count as zero and are never a result.
Rounding to bf16 is nearest even, of zeros where a number is subnormal.
"""

from __future__ import annotations

import pytest

from tileir.execute.cpu.runtime import llvm_compile
from tileir.execute.cpu.runtime import target as targets
from tileir.execute.cpu.runtime.target import Target, host

_DOT = "@llvm.x86.avx512bf16.dpbf16ps.512"

_ROUND = "@llvm.x86.avx512bf16.cvtneps2bf16.512"
_ROUND_TWO = "@llvm.x86.avx512bf16.cvtne2ps2bf16.512"

_LOAD = """
@emulated.tiles = internal global [8 x [1024 x i8]] zeroinitializer, align 64
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.fabs.f32(float)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define internal void @emulated.tilezero(i8 %tile) noinline {
  %t = zext i8 %tile to i64
  %p = getelementptr [1024 x i8], ptr @emulated.tiles, i64 %t
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 1024, i1 false)
  ret void
}
define internal void @emulated.ldtilecfg(ptr %p) noinline { ret void }
define internal void @emulated.tilerelease() noinline {
  store [8 x [1024 x i8]] zeroinitializer, ptr @emulated.tiles
  ret void
}
define internal float @emulated.flushed(float %x) noinline {
  %size = call float @llvm.fabs.f32(float %x)
  %tiny = fcmp olt float %size, 0x3810000000000000
  %r = select i1 %tiny, float 0.0, float %x
  ret float %r
}
define internal float @emulated.wide(i16 %x) noinline {
  %w = zext i16 %x to i32
  %s = shl i32 %w, 16
  %f = bitcast i32 %s to float
  %r = call float @emulated.flushed(float %f)
  ret float %r
}
define internal float @emulated.add(float %x, float %y) noinline {
  %s = fadd float %x, %y
  %r = call float @emulated.flushed(float %s)
  ret float %r
}
define internal float @emulated.step(ptr %a, ptr %b, float %sum) noinline {
  %x = load i16, ptr %a, align 2
  %y = load i16, ptr %b, align 2
  %xf = call float @emulated.wide(i16 %x)
  %yf = call float @emulated.wide(i16 %y)
  %s = call float @llvm.fma.f32(float %xf, float %yf, float %sum)
  %r = call float @emulated.flushed(float %s)
  ret float %r
}
"""

_MOVE = """
define internal void @emulated.NAME(i8 %tile, ptr %p, i64 %stride) noinline {
entry:
  %t = zext i8 %tile to i64
  br label %loop
loop:
  %row = phi i64 [ 0, %entry ], [ %next, %loop ]
  %there = mul i64 %row, %stride
  %memory = getelementptr i8, ptr %p, i64 %there
  %here = mul i64 %row, 64
  %own = getelementptr [1024 x i8], ptr @emulated.tiles, i64 %t, i64 %here
  call void @llvm.memcpy.p0.p0.i64(ptr %TO, ptr %FROM, i64 64, i1 false)
  %next = add i64 %row, 1
  %more = icmp ult i64 %next, 16
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""

_PRODUCT = """
define internal void @emulated.tdpbf16ps(i8 %c8, i8 %a8, i8 %b8) noinline {
entry:
  %ct = zext i8 %c8 to i64
  %at = zext i8 %a8 to i64
  %bt = zext i8 %b8 to i64
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %inext, %done ]
  %row = lshr i64 %i, 4
  %col = and i64 %i, 15
  %rowbytes = mul i64 %row, 64
  %colbytes = mul i64 %col, 4
  %place = add i64 %rowbytes, %colbytes
  %c = getelementptr [1024 x i8], ptr @emulated.tiles, i64 %ct, i64 %place
  br label %inner
inner:
  %k = phi i64 [ 0, %loop ], [ %knext, %inner ]
  %even = phi float [ 0.0, %loop ], [ %evennext, %inner ]
  %odd = phi float [ 0.0, %loop ], [ %oddnext, %inner ]
  %kbytes = mul i64 %k, 4
  %krow = mul i64 %k, 64
  %aplace = add i64 %rowbytes, %kbytes
  %bplace = add i64 %krow, %colbytes
  %a = getelementptr [1024 x i8], ptr @emulated.tiles, i64 %at, i64 %aplace
  %b = getelementptr [1024 x i8], ptr @emulated.tiles, i64 %bt, i64 %bplace
  %a1 = getelementptr i8, ptr %a, i64 2
  %b1 = getelementptr i8, ptr %b, i64 2
  %evennext = call float @emulated.step(ptr %a, ptr %b, float %even)
  %oddnext = call float @emulated.step(ptr %a1, ptr %b1, float %odd)
  %knext = add i64 %k, 1
  %kmore = icmp ult i64 %knext, 16
  br i1 %kmore, label %inner, label %done
done:
  %both = call float @emulated.add(float %evennext, float %oddnext)
  %before = load float, ptr %c, align 4
  %start = call float @emulated.flushed(float %before)
  %after = call float @emulated.add(float %start, float %both)
  store float %after, ptr %c, align 4
  %inext = add i64 %i, 1
  %imore = icmp ult i64 %inext, 256
  br i1 %imore, label %loop, label %end
end:
  ret void
}
"""


_DOTS = """
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.fabs.v16f32(<16 x float>)
define internal <16 x float> @emulated.normal(<16 x float> %x) {
  %size = call <16 x float> @llvm.fabs.v16f32(<16 x float> %x)
  %tiny = fcmp olt <16 x float> %size, splat (float 0x3810000000000000)
  %r = select <16 x i1> %tiny, <16 x float> zeroinitializer, <16 x float> %x
  ret <16 x float> %r
}
define internal <16 x float> @emulated.dot(<16 x float> %sum, <16 x i32> %a, <16 x i32> %b) {
  %af = bitcast <16 x i32> %a to <16 x float>
  %bf = bitcast <16 x i32> %b to <16 x float>
  %x = call <16 x float> @emulated.normal(<16 x float> %af)
  %y = call <16 x float> @emulated.normal(<16 x float> %bf)
  %s = call <16 x float> @llvm.fma.v16f32(<16 x float> %x, <16 x float> %y, <16 x float> %sum)
  %r = call <16 x float> @emulated.normal(<16 x float> %s)
  ret <16 x float> %r
}
define internal <16 x float> @emulated.dpbf16ps(<16 x float> %sum, <32 x bfloat> %a, <32 x bfloat> %b) {
  %ai = bitcast <32 x bfloat> %a to <16 x i32>
  %bi = bitcast <32 x bfloat> %b to <16 x i32>
  %ah = and <16 x i32> %ai, splat (i32 -65536)
  %bh = and <16 x i32> %bi, splat (i32 -65536)
  %al = shl <16 x i32> %ai, splat (i32 16)
  %bl = shl <16 x i32> %bi, splat (i32 16)
  %first = call <16 x float> @emulated.dot(<16 x float> %sum, <16 x i32> %ah, <16 x i32> %bh)
  %second = call <16 x float> @emulated.dot(<16 x float> %first, <16 x i32> %al, <16 x i32> %bl)
  ret <16 x float> %second
}
"""


_ROUNDS = """
define internal <16 x bfloat> @emulated.cvtneps2bf16(<16 x float> %x) {
  %bits = bitcast <16 x float> %x to <16 x i32>
  %exponent = and <16 x i32> %bits, splat (i32 2139095040)
  %sign = and <16 x i32> %bits, splat (i32 -2147483648)
  %tiny = icmp eq <16 x i32> %exponent, zeroinitializer
  %last = lshr <16 x i32> %bits, splat (i32 16)
  %odd = and <16 x i32> %last, splat (i32 1)
  %half = add <16 x i32> %odd, splat (i32 32767)
  %near = add <16 x i32> %bits, %half
  %normal = select <16 x i1> %tiny, <16 x i32> %sign, <16 x i32> %near
  %nan = fcmp uno <16 x float> %x, %x
  %quiet = or <16 x i32> %bits, splat (i32 4194304)
  %chosen = select <16 x i1> %nan, <16 x i32> %quiet, <16 x i32> %normal
  %high = lshr <16 x i32> %chosen, splat (i32 16)
  %short = trunc <16 x i32> %high to <16 x i16>
  %r = bitcast <16 x i16> %short to <16 x bfloat>
  ret <16 x bfloat> %r
}
define internal <32 x bfloat> @emulated.cvtne2ps2bf16(<16 x float> %upper, <16 x float> %lower) {
  %u = call <16 x bfloat> @emulated.cvtneps2bf16(<16 x float> %upper)
  %l = call <16 x bfloat> @emulated.cvtneps2bf16(<16 x float> %lower)
  %r = shufflevector <16 x bfloat> %l, <16 x bfloat> %u, <32 x i32> <PLACES>
  ret <32 x bfloat> %r
}
""".replace("PLACES", ", ".join([f"i32 {place}" for place in range(32)]))


def emulated(text: str) -> str:
    """A module without instructions of AMX and AVX512_BF16."""
    if _ROUND in text or _ROUND_TWO in text:
        lines = [
            line
            for line in text.splitlines()
            if not line.startswith("declare") or (_ROUND not in line and _ROUND_TWO not in line)
        ]
        code = "\n".join(lines).replace(_ROUND, "@emulated.cvtneps2bf16")
        return emulated(code.replace(_ROUND_TWO, "@emulated.cvtne2ps2bf16") + _ROUNDS)
    if _DOT in text:
        lines = [line for line in text.splitlines() if not line.startswith("declare") or _DOT not in line]
        own = _DOTS.splitlines()
        lines = [line for line in lines if not line.startswith("declare") or line not in own]
        return "\n".join(lines).replace(_DOT, "@emulated.dpbf16ps") + _DOTS
    if "@llvm.x86.tile" not in text:
        return text
    declared = {line for line in _LOAD.splitlines() if line.startswith("declare")}
    unit = tuple([f"declare void @llvm.x86.{name}" for name in ("tile", "tdp", "ldtile")])
    lines = [line for line in text.splitlines() if line not in declared and not line.startswith(unit)]
    moves = [
        _MOVE.replace("NAME", "tileloadd64").replace("TO", "own").replace("FROM", "memory"),
        _MOVE.replace("NAME", "tilestored64").replace("TO", "memory").replace("FROM", "own"),
    ]
    code = "\n".join(lines)
    for name in ("tileloadd64", "tilestored64", "tilezero", "tdpbf16ps", "ldtilecfg", "tilerelease"):
        code = code.replace(f"@llvm.x86.{name}(", f"@emulated.{name}(")
    return code + _LOAD + "".join(moves) + _PRODUCT


TILES = ("amx-tile", "amx-bf16")
PAIRS = ("avx512bf16",)


def emulating_target(features: tuple[str, ...] = TILES) -> Target:
    """This machine with features that are only code, and without others of their kind."""
    here = host("native")
    enabled = here.enabled - {"amx-tile", "amx-bf16", "amx-int8", "amx-fp16", "avx512bf16"} | frozenset(features)
    target = Target(here.name, here.triple, enabled, here.features, True)
    # As AMD's machines do.
    target.has_bf16_dots = features == PAIRS
    return target


def emulate(monkeypatch: pytest.MonkeyPatch, features: tuple[str, ...] = TILES) -> str:
    """The name of a machine with emulated features, which kernels can be compiled for until the test is over."""
    monkeypatch.setenv("TILEIR_CACHE", "0")
    monkeypatch.setitem(targets._hosts, "emulated", emulating_target(features))
    real = llvm_compile.assemble
    monkeypatch.setattr(llvm_compile, "assemble", lambda text, target, level=3: real(emulated(text), target, level))
    return "emulated"
