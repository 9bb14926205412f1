"""What Triton makes of operations on numbers: all of them compile, to the instructions that their attributes ask for."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.execute.gpu.triton.lowered_programs import entry, lowered, ptx
from tests.execute.gpu.triton.number_kernels import Number, all_numbers, body, kernel, parsed

import tileir
from tileir.execute.gpu.triton.worker.pool import Request, compile_ttir
from tileir.execute.gpu.triton.worker.stages import narrow_descriptors, wrapped

pytestmark = pytest.mark.usefixtures("triton")


def options(fast: bool) -> dict[str, Any]:
    return {"num_warps": 4, "num_stages": 3, "enable_fp_fusion": fast, "enable_reflect_ftz": fast}


def compile_all(numbers: list[Number], target: str, fast: bool = False) -> None:
    made = kernel([number.operation for number in numbers], target, fast)
    compile_ttir(Request(made, target, options(fast)))


def instructions(text: str, target: str = "sm_90", fast: bool = False) -> set[str]:
    """Those of the PTX of an operation."""
    made = kernel(parsed([text]), target, fast)
    answer = compile_ttir(Request(made, target, options(fast), last="ptx"))
    return set(re.findall(r"^\s*(?:@\S+ )?([a-z][a-z0-9]*\.[\w.]+)", answer.data.decode(), re.MULTILINE))


# --- everything compiles ---


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("start", "target"), [(0, "sm_80"), (7, "sm_90"), (14, "sm_100")])
def test_operations_compile(start: int, target: str) -> None:
    compile_all(all_numbers()[start::21], target)


@pytest.mark.long
@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_all_operations_compile(target: str, fast: bool) -> None:
    numbers = all_numbers()
    for start in range(0, len(numbers), 40):
        compile_all(numbers[start : start + 40], target, fast)


def test_what_no_amd_gpu_has_is_refused_in_words() -> None:
    (operation,) = parsed(["addf %a_f32, %b_f32 rounding<zero> : tile<16xf32>"])
    with pytest.raises(tileir.TileIRError, match=r"'cuda_tile.addf' .* gfx942: .* no instruction for rounding<zero>"):
        body(operation, "gfx942")


# --- the instructions ---


F32 = "tile<16xf32>"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"addf %a_f32, %b_f32 : {F32}", "add.rn.f32"),
        (f"addf %a_f32, %b_f32 rounding<zero> flush_to_zero : {F32}", "add.rz.ftz.f32"),
        (f"addf %a_f32, %b_f32 flush_to_zero : {F32}", "fma.rn.ftz.f32"),
        (f"subf %a_f32, %b_f32 flush_to_zero : {F32}", "fma.rn.ftz.f32"),
        (f"mulf %a_f32, %b_f32 flush_to_zero : {F32}", "mul.rn.ftz.f32"),
        (f"mulf %a_f32, %b_f32 rounding<positive_inf> : {F32}", "mul.rp.f32"),
        (f"divf %a_f32, %b_f32 : {F32}", "div.rn.f32"),
        (f"divf %a_f32, %b_f32 rounding<approx> : {F32}", "div.approx.f32"),
        (f"divf %a_f32, %b_f32 rounding<full> flush_to_zero : {F32}", "div.full.ftz.f32"),
        ("divf %a_f64, %b_f64 : tile<16xf64>", "div.rn.f64"),
        ("divf %a_f16, %b_f16 : tile<16xf16>", "div.rn.f32"),
        (f"sqrt %a_f32 : {F32}", "sqrt.rn.f32"),
        (f"sqrt %a_f32 rounding<approx> flush_to_zero : {F32}", "sqrt.approx.ftz.f32"),
        (f"fma %a_f32, %b_f32, %c_f32 rounding<negative_inf> : {F32}", "fma.rm.f32"),
        ("fma %a_bf16, %b_bf16, %c_bf16 : tile<16xbf16>", "fma.rn.bf16x2"),
        ("mulf %a_bf16, %b_bf16 : tile<16xbf16>", "mul.rn.bf16x2"),
        (f"exp2 %a_f32 : {F32}", "ex2.approx.f32"),
        (f"exp2 %a_f32 flush_to_zero : {F32}", "ex2.approx.ftz.f32"),
        (f"rsqrt %a_f32 : {F32}", "rsqrt.approx.f32"),
        (f"tanh %a_f32 rounding<approx> : {F32}", "tanh.approx.f32"),
        (f"maxf %a_f32, %b_f32 : {F32}", "max.f32"),
        (f"minf %a_f32, %b_f32 propagate_nan : {F32}", "min.NaN.f32"),
        (f"maxf %a_f32, %b_f32 flush_to_zero propagate_nan : {F32}", "max.ftz.NaN.f32"),
        (f"ftoi %a_f32 signed : {F32} -> tile<16xi32>", "cvt.rzi.s32.f32"),
        (f"ftoi %a_f32 unsigned : {F32} -> tile<16xi64>", "cvt.rzi.u64.f32"),
        ("ftof %a_f64 rounding<zero> : tile<16xf64> -> tile<16xf32>", "cvt.rz.f32.f64"),
        (f"ftof %a_f32 : {F32} -> tile<16xbf16>", "cvt.rn.bf16x2.f32"),
        (f"ftof %a_f32 : {F32} -> tile<16xf8E4M3FN>", "cvt.rn.satfinite.e4m3x2.f32"),
        ("ftof %a_f8E5M2 : tile<16xf8E5M2> -> tile<16xf16>", "cvt.rn.f16x2.e5m2x2"),
        (f"ftof %a_f32 : {F32} -> tile<16xtf32>", "cvt.rn.tf32.f32"),
        ("itof %a_i32 signed : tile<16xi32> -> tile<16xf16>", "cvt.rn.f16.s32"),
        ("mulhii %a_i32, %b_i32 : tile<16xi32>", "mul.hi.u32"),
    ],
)  # fmt: skip
def test_attributes_choose_the_instruction(text: str, wanted: str) -> None:
    found = instructions(text)
    assert wanted in found
    if "flush_to_zero" not in text:
        assert not [each for each in found if ".ftz" in each]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"divf %a_f32, %b_f32 : {F32}", "div.full.f32"),
        (f"exp %a_f32 : {F32}", "ex2.approx.ftz.f32"),
        (f"sin %a_f32 : {F32}", "sin.approx.ftz.f32"),
        (f"log %a_f32 : {F32}", "lg2.approx.ftz.f32"),
        (f"tanh %a_f32 : {F32}", "tanh.approx.f32"),
    ],
)
def test_fast_code_approximates(text: str, wanted: str) -> None:
    assert wanted in instructions(text, fast=True)


def test_functions_keep_subnormal_numbers() -> None:
    """Those of libdevice flush only where they have scaled before."""
    for name in ("sin", "cos", "tan", "log", "log2", "sinh"):
        found = instructions(f"{name} %a_f32 : {F32}")
        assert "mul.rn.f32" in found or "fma.rn.f32" in found
        assert not [each for each in found if ".ftz" in each and not each.startswith(("ex2", "rcp"))], name


@pytest.mark.parametrize("width", [8, 16])
@pytest.mark.parametrize("wraps", ["muli %a, %two", "muli %a, %sixteen", "negi %a", "absi %a", "subi %one, %a"])
def test_narrow_integers_wrap_before_their_sign_is_used(wraps: str, width: int) -> None:
    """To ptxas before CUDA 13, the negative of -32768 in 16 bits is 32768."""
    tile = f"tile<256xi{width}>"
    signed = f"divi %w, %two signed : {tile}", f"shri %w, %one signed : {tile}", f"maxi %w, %b signed : {tile}"
    results = [(f"i{width}", each) for each in signed] + [
        ("i32", f"exti %w signed : {tile} -> tile<256xi32>"),
        ("f32", f"itof %w signed : {tile} -> tile<256xf32>"),
        ("i1", f"cmpi less_than %w, %b, signed : {tile} -> tile<256xi1>"),
    ]
    numbers = {"one": 1, "two": -2, "sixteen": -16}
    lines = [f" %{name} = constant <i{width}: {number}> : {tile}" for name, number in numbers.items()]
    lines += [" %i = iota : tile<256xi32>"]
    for name, element in [("p", f"i{width}"), *[(f"q{number}", each[0]) for number, each in enumerate(results)]]:
        lines += [f" %{name}1 = reshape %{name} : tile<ptr<{element}>> -> tile<1xptr<{element}>>"]
        lines += [f" %{name}2 = broadcast %{name}1 : tile<1xptr<{element}>> -> tile<256xptr<{element}>>"]
        pointers = f"tile<256xptr<{element}>>"
        lines += [f" %{name}3 = offset %{name}2, %i : {pointers}, tile<256xi32> -> {pointers}"]
    lines += [f" %a, %ta = load_ptr_tko weak %p3 : tile<256xptr<i{width}>> -> {tile}, token"]
    lines += [f" %b, %tb = load_ptr_tko weak %p3 : tile<256xptr<i{width}>> -> {tile}, token", f" %w = {wraps} : {tile}"]
    for number, (element, text) in enumerate(results):
        lines += [f" %r{number} = {text}"]
        types = f"tile<256xptr<{element}>>, tile<256x{element}>"
        lines += [f" %t{number} = store_ptr_tko weak %q{number}3, %r{number} : {types} -> token"]
    parameters = [f"%p: tile<ptr<i{width}>>"] + [f"%q{n}: tile<ptr<{e}>>" for n, (e, _) in enumerate(results)]
    made = ptx(entry("\n".join(lines), ", ".join(parameters)))
    assert not re.findall(r"^\s*(?:neg|abs|sub)\.s16\b.*", made, re.MULTILINE)


def test_differences_of_16_bits_are_truncated() -> None:
    before = "\tneg.s16 \t%rs2, %rs1;\n\tsub.s16 \t%rs3, 1, %rs2;\n\tadd.s16 \t%rs4, %rs3, 1;\n\tabs.s32 \t%r1, %r2;\n"
    assert wrapped(before).splitlines() == [
        "\t{ .reg .b32 %wide0; cvt.s32.s16 %wide0, %rs1; neg.s32 %wide0, %wide0; cvt.u16.u32 %rs2, %wide0; }",
        "\t{ .reg .b32 %wide0, %wide1; mov.b32 %wide0, 1; cvt.s32.s16 %wide1, %rs2; "
        "sub.s32 %wide0, %wide0, %wide1; cvt.u16.u32 %rs3, %wide0; }",
        "\tadd.s16 \t%rs4, %rs3, 1;",
        "\tabs.s32 \t%r1, %r2;",
    ]


def test_matrix_descriptors_are_computed_in_32_bits() -> None:
    address = "\tbfe.u32 \t%r2, %r1, 4, 14;\n\tcvt.u64.u32 \t%rd1, %r2;\n"
    others = "\tadd.s64 \t%rd4, %rd3, 4611686293305294850;\n\tadd.s64 \t%rd5, %rd1, 16;\n"
    used = "\tor.b64 \t%rd2, %rd1, 4611686293305294848;\n\tadd.s64 \t%rd3, %rd1, -9223371899415822334;\n"
    assert narrow_descriptors(address + used + others).splitlines() == [
        *address.splitlines(),
        "\t{ .reg .b32 %low; cvt.u32.u64 %low, %rd1; add.s32 %low, %low, 0; mov.b64 %rd2, {%low, 1073741888}; }",
        "\t{ .reg .b32 %low; cvt.u32.u64 %low, %rd1; add.s32 %low, %low, 2; mov.b64 %rd3, {%low, 2147483680}; }",
        *others.splitlines(),
    ]


# --- programs ---


def test_products_and_sums_are_fused_only_in_fast_code() -> None:
    text = f"mulf %a_f32, %b_f32 : {F32}"
    product, total = parsed([text, f"addf %r0, %c_f32 : {F32}"])
    assert total.operands[0] is product.results[0]
    for fast in (False, True):
        made = kernel([product, total], "sm_90", fast)
        answer = compile_ttir(Request(made, "sm_90", options(fast), last="ptx"))
        assert ("fma.rn.f32" in answer.data.decode()) == fast


REGION = """
 %x = iota : tile<256xi32>
 %f = itof %x signed : tile<256xi32> -> tile<256xf32>
 %r = reduce %f dim=0 identities=[0.0 : f32] : tile<256xf32> -> tile<f32>
 (%a: tile<f32>, %b: tile<f32>) {
%body
   yield %y : tile<f32>
 }
 %t = store_ptr_tko weak %p, %r : tile<ptr<f32>>, tile<f32> -> token
"""


@pytest.mark.parametrize(
    "lines",
    [
        "%y = addf %a, %b rounding<zero> : tile<f32>",
        "%y = pow %a, %b : tile<f32>",
        "%y = remf %a, %b : tile<f32>",
        "%s = addf %a, %b : tile<f32>\n%n = ftof %s : tile<f32> -> tile<f8E4M3FN>\n%y = ftof %n : tile<f8E4M3FN> -> tile<f32>",
        "%i = ftoi %a signed : tile<f32> -> tile<i8>\n%j = ftoi %b signed : tile<f32> -> tile<i8>\n"
        "%k = divi %i, %j signed rounding<negative_inf> : tile<i8>\n%y = itof %k signed : tile<i8> -> tile<f32>",
        "%h = ftof %a : tile<f32> -> tile<bf16>\n%g = ftof %b : tile<f32> -> tile<bf16>\n"
        "%q = divf %h, %g : tile<bf16>\n%y = ftof %q : tile<bf16> -> tile<f32>",
    ],
)  # fmt: skip
def test_regions_of_reductions_have_every_operation(lines: str) -> None:
    target = "sm_80" if "f8" in lines else "sm_90"
    text = entry(REGION.replace("%body", lines), "%p: tile<ptr<f32>>")
    assert "tt.reduce" in lowered(text, target).text
    assert ".entry" in ptx(text, target)


# --- what facts leave out ---


def test_divisors_that_are_known_are_not_checked() -> None:
    constant = entry(
        " %x, %y, %z = get_tile_block_id : tile<i32>\n %c = constant <i32: 12> : tile<i32>\n"
        " %q = divi %x, %c signed rounding<negative_inf> : tile<i32>\n"
        " %f = itof %q signed : tile<i32> -> tile<f32>\n"
        " %t = store_ptr_tko weak %p, %f : tile<ptr<f32>>, tile<f32> -> token",
        "%p: tile<ptr<f32>>",
    )
    made = lowered(constant).text
    assert "arith.divui" in made and "arith.select" not in made and "arith.cmpi" not in made


def test_shifts_that_are_known_are_not_checked() -> None:
    constant = entry(
        " %x, %y, %z = get_tile_block_id : tile<i32>\n %c = constant <i32: 3> : tile<i32>\n"
        " %q = shli %x, %c : tile<i32>\n %f = itof %q signed : tile<i32> -> tile<f32>\n"
        " %t = store_ptr_tko weak %p, %f : tile<ptr<f32>>, tile<f32> -> token",
        "%p: tile<ptr<f32>>",
    )
    assert "arith.select" not in lowered(constant).text


# --- constants ---


@pytest.mark.parametrize(
    "lines",
    [
        "%a = constant <f32: 0x00400000> : tile<f32>\n%r = sin %a : tile<f32>",
        "%a = constant <f32: 1.0e-30> : tile<f32>\n%r = tan %a : tile<f32>",
        "%a = constant <f32: 1.0e-20> : tile<f32>\n%b = mulf %a, %a : tile<f32>\n%r = tan %b : tile<f32>",
        "%a = constant <f32: 0x807FFFFE> : tile<f32>\n%r = pow %a, %x : tile<f32>",
        "%a = constant <f32: 0x00000001> : tile<f32>\n%b = constant <f32: -3.0> : tile<f32>\n%r = atan2 %b, %a : tile<f32>",
        "%a = constant <f32: 0x00000001> : tile<f32>\n%i = constant <i32: 3> : tile<i32>\n%r = fpowi %a, %i : tile<f32>, tile<i32>",
    ],
)  # fmt: skip
def test_functions_of_constants_compile(lines: str) -> None:
    """LLVM crashes where it computes subnormal numbers while it inlines."""
    text = entry(
        " %x, %t0 = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token\n"
        f"{lines}\n %t1 = store_ptr_tko weak %p, %r : tile<ptr<f32>>, tile<f32> -> token",
        "%p: tile<ptr<f32>>",
    )
    if "%x" in lines:
        assert "mov.f32" in lowered(text).text
    else:
        assert "tt.extern_elementwise" not in lowered(text).text
    assert ".entry" in ptx(text)


def test_usual_constants_are_left_to_the_compiler() -> None:
    text = entry(
        " %x, %t0 = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token\n"
        " %c = constant <f32: 10000.0> : tile<f32>\n %r = pow %c, %x : tile<f32>\n"
        " %t1 = store_ptr_tko weak %p, %r : tile<ptr<f32>>, tile<f32> -> token",
        "%p: tile<ptr<f32>>",
    )
    assert "mov.f32" not in lowered(text).text
