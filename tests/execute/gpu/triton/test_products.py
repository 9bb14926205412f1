"""Matrix products by Triton: every type and size is lowered and compiled, and tensor cores are used."""

from __future__ import annotations

import re
from itertools import product as combinations

import pytest
from tests.execute.gpu.triton.lowered_programs import entry, lowered, ptx, tensor
from tests.execute.gpu.triton.product_programs import product
from tests.hardware.agreement.products import FLOATS, SHAPES

import tileir
from tileir.execute.gpu.triton.code import CodeOptions, Schedule, Specialization
from tileir.execute.gpu.triton.lowering.lower import lower
from tileir.execute.gpu.triton.program import Program
from tileir.execute.gpu.triton.worker.pool import Request, compile_ttir
from tileir.execute.launching.entries import select_entry

SIGNS = ("signed signed", "signed unsigned", "unsigned signed", "unsigned unsigned")
SCALED = (
    (("f8E4M3FN", "f32", "f8E8M0FNU"), 32), (("f8E5M2", "f32", "f8E8M0FNU"), 32),
    (("f4E2M1FN", "f32", "f8E8M0FNU"), 16), (("f4E2M1FN", "f32", "f8E8M0FNU"), 32),
    (("f4E2M1FN", "f32", "f8E4M3FN"), 16), (("f4E2M1FN", "f32", "fnv8E5M3FNU"), 32),
)  # fmt: skip
Case = tuple[str, tuple[str, ...], tuple[int, int, int, int], str, int]
"""The operation, its types, batch with M, N and K, attributes, and how many elements have a scale."""
INSTRUCTIONS = re.compile(r"(wgmma\.mma_async|mma\.sync|tcgen05\.mma|fma\.rn)\.[\w.:]*")


def instructions(text: str, target: str = "sm_90") -> set[str]:
    """Which products its PTX is made of."""
    return {found[0] for found in INSTRUCTIONS.finditer(ptx(text, target))}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("elements", "instruction"),
    [
        (("f16", "f32"), "f32.f16.f16"),
        (("f16", "f16"), "f16.f16.f16"),
        (("bf16", "f32"), "f32.bf16.bf16"),
        (("tf32", "f32"), "f32.tf32.tf32"),
        (("f8E4M3FN", "f32"), "f32.e4m3.e4m3"),
        (("f8E5M2", "f16"), "f16.e5m2.e5m2"),
    ],
)
@pytest.mark.parametrize("batch", [0, 1])
def test_products_of_64_rows_are_made_by_groups_of_warps(
    elements: tuple[str, str], instruction: str, batch: int
) -> None:
    found = instructions(product("mmaf", elements, (batch, 64, 64, 64)))
    assert any(each.startswith("wgmma.mma_async") and each.endswith(instruction) for each in found), found


def test_integers_are_multiplied_by_groups_of_warps() -> None:
    found = instructions(product("mmai", ("i8", "i32"), (0, 64, 64, 64), "signed signed"))
    assert found == {"wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8"}


@pytest.mark.parametrize("signs", ["unsigned signed", "signed unsigned", "unsigned unsigned"])
def test_accumulators_are_not_part_of_corrected_products(signs: str) -> None:
    """Triton's integer products saturate: with the accumulator, they would before they are corrected."""
    text = product("mmai", ("i8", "i32"), (0, 64, 64, 64), signs)
    made = compile_ttir(Request(lowered(text).text, "sm_80", {"num_warps": 4}, "ttgir")).data.decode()
    (zero,) = re.findall(r"(%\w+) = arith.constant dense<0> : tensor<64x64xi32, #mma>", made)
    products = re.findall(r"tt.dot %\S+, %\S+, (%\w+)", made)
    assert len(products) >= 2 and set(products) == {zero}, made


SUM = """cuda_tile.module @m {{
  entry @k(%a: tile<ptr<{factor}>>, %c: tile<ptr<{sum}>>) {{
    %n = constant <i32: 0> : tile<i32>
    %ta = make_tensor_view %a, shape = [64, 64], strides = [64, 1] : tensor_view<64x64x{factor}, strides=[64,1]>
    %tc = make_tensor_view %c, shape = [64, 64], strides = [64, 1] : tensor_view<64x64x{sum}, strides=[64,1]>
    %pa = make_partition_view %ta : partition_view<tile=(64x64), tensor_view<64x64x{factor}, strides=[64,1]>>
    %pc = make_partition_view %tc : partition_view<tile=(64x64), tensor_view<64x64x{sum}, strides=[64,1]>>
    %x, %t0 = load_view_tko weak %pa[%n, %n] : partition_view<tile=(64x64), tensor_view<64x64x{factor}, strides=[64,1]>>, tile<i32> -> tile<64x64x{factor}>, token
    %d, %t1 = load_view_tko weak %pc[%n, %n] : partition_view<tile=(64x64), tensor_view<64x64x{sum}, strides=[64,1]>>, tile<i32> -> tile<64x64x{sum}>, token
    %z = constant <{sum}: {zero}> : tile<64x64x{sum}>
    %p = {product} : tile<64x64x{factor}>, tile<64x64x{factor}>, tile<64x64x{sum}>
    %s = {add} %p, %d : tile<64x64x{sum}>
    %t2 = store_view_tko weak %s, %pc[%n, %n] token = %t1 : tile<64x64x{sum}>, partition_view<tile=(64x64), tensor_view<64x64x{sum}, strides=[64,1]>>, tile<i32> -> token
    return
  }}
}}"""


@pytest.mark.parametrize(
    ("factor", "sum", "zero", "operation", "add"),
    [
        ("f16", "f32", "0.0", "mmaf %x, %x, %z", "addf"),
        ("f32", "f32", "0.0", "mmaf %x, %x, %z", "addf"),
        ("i8", "i32", "0", "mmai %x, %x, %z signed signed", "addi"),
    ],
)
def test_what_is_added_to_a_product_stays_apart(factor: str, sum: str, zero: str, operation: str, add: str) -> None:
    """Triton takes `a * b + c` for a product with the accumulator c, which rounds otherwise and saturates."""
    text = SUM.format(factor=factor, sum=sum, zero=zero, product=operation, add=add)
    made = compile_ttir(Request(lowered(text).text, "sm_90", {"num_warps": 4}, "ttir")).data.decode()
    (product,) = re.findall(r"(%\w+) = tt.dot", made)
    (moved,) = re.findall(rf"(%\w+) = tt.elementwise_inline_asm .* {product} :", made) or [product]
    assert re.search(rf"arith.{add} {moved}, ", made), made


def test_a_sum_of_products_is_no_matrix_product() -> None:
    """Its products are rounded, those of a matrix product are not."""
    text = """cuda_tile.module @m {
      entry @k(%a: tile<ptr<f32>>, %c: tile<ptr<f32>>) {
        %n = constant <i32: 0> : tile<i32>
        %t = make_tensor_view %a, shape = [32, 32], strides = [32, 1] : tensor_view<32x32xf32, strides=[32,1]>
        %p = make_partition_view %t : partition_view<tile=(32x32), tensor_view<32x32xf32, strides=[32,1]>>
        %x, %t0 = load_view_tko weak %p[%n, %n] : partition_view<tile=(32x32), tensor_view<32x32xf32, strides=[32,1]>>, tile<i32> -> tile<32x32xf32>, token
        %l0 = reshape %x : tile<32x32xf32> -> tile<32x32x1xf32>
        %l = broadcast %l0 : tile<32x32x1xf32> -> tile<32x32x32xf32>
        %r0 = reshape %x : tile<32x32xf32> -> tile<1x32x32xf32>
        %r = broadcast %r0 : tile<1x32x32xf32> -> tile<32x32x32xf32>
        %m = mulf %l, %r : tile<32x32x32xf32>
        %s = reduce %m dim=1 identities=[0.0 : f32] : tile<32x32x32xf32> -> tile<32x32xf32>
        (%e: tile<f32>, %b: tile<f32>) {
          %y = addf %e, %b : tile<f32>
          yield %y : tile<f32>
        }
        %t2 = store_view_tko weak %s, %p[%n, %n] token = %t0 : tile<32x32xf32>, partition_view<tile=(32x32), tensor_view<32x32xf32, strides=[32,1]>>, tile<i32> -> token
        return
      }
    }"""
    made = compile_ttir(Request(lowered(text).text, "sm_90", {"num_warps": 4}, "ttir")).data.decode()
    assert "tt.dot" not in made and "tt.reduce" in made


def test_products_of_f32_are_exact_ones() -> None:
    assert instructions(product("mmaf", ("f32", "f32"), (0, 32, 32, 32))) == {"fma.rn.f32"}


def test_tensor_memory_is_used_where_there_is_one() -> None:
    found = instructions(product("mmaf", ("f16", "f32"), (0, 128, 64, 64)), "sm_100")
    assert found == {"tcgen05.mma.cta_group::1.kind::f16"}


def test_sums_of_f8_are_promoted_unless_fast_accumulation_is_asked_for() -> None:
    """A sum that is made of zero is added to the accumulator; Triton must not make one product of both."""
    text = product("mmaf", ("f8E4M3FN", "f32"), (0, 64, 64, 128))
    assert "arith.addf" in lowered(text).text and "add.rn.f32" in ptx(text)
    assert "maxNumImpreciseAcc = 1073741824 : i32" in lowered(text).text
    deep = lowered(product("mmaf", ("f8E5M2", "f32"), (0, 64, 64, 256))).text
    assert "maxNumImpreciseAcc = 128 : i32" in deep and "arith.addf" in deep
    fast = lowered(product("mmaf", ("f8E4M3FN", "f32"), (0, 64, 64, 256), "fast_acc")).text
    assert "maxNumImpreciseAcc = 1073741824 : i32" in fast and "arith.addf" not in fast
    assert "arith.addf" not in lowered(text, "sm_100").text
    assert "arith.addf" not in lowered(product("mmaf", ("f8E4M3FN", "f16"), (0, 64, 64, 64))).text


def test_gpus_without_products_of_f8_multiply_f16() -> None:
    text = product("mmaf", ("f8E4M3FN", "f32"), (0, 64, 64, 64))
    assert instructions(text, "sm_80") == {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"}


def test_what_is_less_deep_than_a_tensor_core_is_filled_up() -> None:
    text = lowered(product("mmaf", ("f16", "f32"), (0, 16, 16, 4))).text
    assert "tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>" in text
    text = lowered(product("mmai", ("i8", "i32"), (0, 16, 16, 16), "signed signed")).text
    assert "tensor<16x32xi8> * tensor<32x16xi8> -> tensor<16x16xi32>" in text


FEW: list[Case] = [
    ("mmaf", ("f64", "f64"), (0, 4, 4, 4), "", 0),
    ("mmaf", ("f16", "f32"), (0, 1, 1, 1), "", 0),
    ("mmaf", ("f8E4M3FN", "f32"), (2, 4, 8, 16), "", 0),
    ("mmaf", ("f32", "f32"), (2, 16, 16, 16), "", 0),
    ("mmai", ("i8", "i32"), (0, 16, 1, 16), "unsigned unsigned", 0),
    ("mmai", ("i8", "i32"), (2, 4, 8, 16), "signed unsigned", 0),
    ("mmaf_scaled", ("f8E4M3FN", "f32", "f8E8M0FNU"), (0, 64, 64, 64), "", 32),
    ("mmaf_scaled", ("f4E2M1FN", "f32", "f8E4M3FN"), (2, 16, 16, 32), "", 16),
    ("mmaf_scaled", ("f4E2M1FN", "f32", "fnv8E5M3FNU"), (0, 4, 1, 32), "", 32),
]
ALL: list[Case] = [
    *[("mmaf", elements, shape, "", 0) for elements, shape in combinations(FLOATS, SHAPES)],
    *[("mmai", ("i8", "i32"), shape, signs, 0) for signs, shape in combinations(SIGNS, SHAPES)],
    *[
        ("mmaf_scaled", elements, (batch, m, n, max(k, block)), "", block)
        for (elements, block), (batch, m, n, k) in combinations(SCALED, SHAPES)
    ],
]


@pytest.mark.parametrize(("number", "case"), list(enumerate(FEW)))
def test_some_of_all(number: int, case: Case) -> None:
    operation, elements, shape, attributes, block = case
    target = ("sm_80", "sm_90", "sm_100")[number % 3]
    assert instructions(product(operation, elements, shape, attributes, block), target)


@pytest.mark.long
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("case", ALL)
def test_every_type_and_size(case: Case, target: str) -> None:
    operation, elements, shape, attributes, block = case
    assert instructions(product(operation, elements, shape, attributes, block), target)


@pytest.mark.parametrize(("version", "moves"), [((3, 6), 2), ((3, 9), 0)])
def test_older_versions_do_not_see_what_factors_of_f64_are_made_of(version: tuple[int, int], moves: int) -> None:
    """They count in what was loaded, and crash where that is 16 bits or less."""
    view = "partition_view<tile=(16x16), tensor_view<16x16xE, strides=[16,1]>>"
    narrow, wide = view.replace("E", "f16"), view.replace("E", "f64")
    text = entry(
        " %z = constant <i32: 0> : tile<i32>\n"
        + tensor("%a", "%p", "tensor_view<16x16xf16, strides=[16,1]>")
        + tensor("%b", "%q", "tensor_view<16x16xf64, strides=[16,1]>")
        + f" %n = make_partition_view %a : {narrow}\n %w = make_partition_view %b : {wide}\n"
        + f" %x, %t0 = load_view_tko weak %n[%z, %z] : {narrow}, tile<i32> -> tile<16x16xf16>, token\n"
        + f" %c, %t1 = load_view_tko weak %w[%z, %z] : {wide}, tile<i32> -> tile<16x16xf64>, token\n"
        + " %f = ftof %x : tile<16x16xf16> -> tile<16x16xf64>\n"
        + " %d = mmaf %f, %f, %c : tile<16x16xf64>, tile<16x16xf64>, tile<16x16xf64>\n"
        + " %e = mmaf %c, %c, %d : tile<16x16xf64>, tile<16x16xf64>, tile<16x16xf64>\n"
        + f" %t2 = store_view_tko weak %e, %w[%z, %z] : tile<16x16xf64>, {wide}, tile<i32> -> token",
        "%p: tile<ptr<f16>>, %q: tile<ptr<f64>>",
    )
    program = Program(select_entry(tileir.parse(text), None))
    made = lower(program, "sm_90", Schedule(), Specialization((16, 16)), CodeOptions(), version)
    assert made.text.count("mov.b64 $0, $1;") == moves and made.text.count("tt.dot") == 2
