"""What can be seen of a kernel on its way to code."""

from __future__ import annotations

import re
from pathlib import Path

import numpy
import pytest
from tests.execute.cpu.native import cpu_kernel

import tileir
from tileir.execute.cpu.engine import CpuEngine
from tileir.execute.cpu.kernel import CpuKernel

EXAMPLES = Path(__file__).parents[3] / "examples"
DOCUMENT = Path(__file__).parents[3] / "docs" / "internals" / "cpu.md"
WORKING = ["attention", "histogram", "layer_norm", "matmul", "racy", "softmax", "vector_add"]


def native(source: str | Path, *, fast: bool = False, cpu: str | None = "x86-64-v3", exact: bool = False) -> CpuKernel:
    module = tileir.load(source) if isinstance(source, Path) else tileir.parse(source)
    return cpu_kernel(tileir.compile(module, backend="cpu", fast=fast, cpu=cpu, exact=exact))


def body_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.lstrip().startswith(("nest", "reduce", "scan", "matmul"))]


def kernel(parameters: str, body: str) -> str:
    return f"cuda_tile.module @m {{ entry @k({parameters}) {{\n{body}\nreturn }} }}"


def test_loops_of_softmax_are_what_the_document_shows() -> None:
    block = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    ((command, shown),) = block
    assert command == "tileir run examples/softmax.mlir --dump loops --cpu x86-64-v3"
    assert native(EXAMPLES / "softmax.mlir").dump("loops") == shown


def test_a_tile_wanted_twice_is_kept_while_it_is_reduced() -> None:
    lines = native(EXAMPLES / "softmax.mlir").dump("loops").splitlines()
    start = lines.index("reduce 1x1024 along 1, prefetching: %reduce_0 <- %1")
    assert lines[start + 1 : start + 4] == [
        "  %1 = exp(subf(%pview[%blockId_x, %cst_0_i32], %reshape))",
        "  b0 <- %1",
        "  combine %reduce_lhs, %reduce_rhs:",
    ]
    assert "  b0: float32[1024], 4,096 bytes at 64" in lines


def test_loops_name_values_as_the_optimized_program_does() -> None:
    for name in WORKING:
        found = native(EXAMPLES / f"{name}.mlir")
        named = set(re.findall(r"%[\w#]+", found.dump("tiles")))
        groups = {name.partition("#")[0] for name in named} | {f"{name}#{n}" for name in named for n in range(8)}
        assert set(re.findall(r"%[\w#]+", found.dump("loops"))) <= named | groups


def test_matmuls_show_their_plan_and_their_operands() -> None:
    lines = native(EXAMPLES / "matmul.mlir").dump("loops").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("matmul"))
    assert lines[start : start + 4] == [
        "matmul 64x64x32: b0 <- %pview[%blockId_x, %loopIdx] x %pview_4[%loopIdx, %blockId_y]",
        "  k-loop: for %loopIdx in (%cst_0_i32 to %0#1), 16 iterations per k-block",
        "  plan: fma, register tile 6x16 in vectors of 8, float32 x float32 to float32",
        "  A: copied, 64 cached in b1 by %blockId_x (b2); B: packed, 64 cached in b3 by %blockId_y (b4)",
    ]
    assert any(line.endswith("kept from tile block to tile block") for line in lines)


def test_loops_are_indented_and_closed() -> None:
    lines = native(EXAMPLES / "attention.mlir").dump("loops").splitlines()
    start = next(number for number, line in enumerate(lines) if " = for " in line or line.startswith("for "))
    end = lines.index("}")
    assert start < end
    assert all(line.startswith("  ") for line in lines[start + 1 : end])


def test_both_branches_are_shown() -> None:
    text = kernel(
        "%c: tile<i1>, %p: tile<ptr<f32>>",
        """%t = make_tensor_view %p, shape = [8], strides = [1] : tensor_view<8xf32, strides=[1]>
        %v = make_partition_view %t : partition_view<tile=(8), tensor_view<8xf32, strides=[1]>>
        %zero = constant <i32: 0> : tile<i32>
        %x, %k = load_view_tko weak %v[%zero] : partition_view<tile=(8), tensor_view<8xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
        %r = if %c -> (tile<8xf32>) {
          %y = exp %x : tile<8xf32>
          yield %y : tile<8xf32>
        } else {
          %y = sin %x : tile<8xf32>
          yield %y : tile<8xf32>
        }
        %s = store_view_tko weak %r, %v[%zero] : tile<8xf32>, partition_view<tile=(8), tensor_view<8xf32, strides=[1]>>, tile<i32> -> token""",
    )
    lines = native(text).dump("loops").splitlines()
    middle = lines.index("} else {")
    assert "  nest 8: b0 <- exp(%pview[%cst_0_i32])" in lines[:middle]
    assert "  nest 8: b0 <- sin(%pview[%cst_0_i32])" in lines[middle:]
    assert body_of("\n".join(lines))[-1] == "nest 8: %pview[%cst_0_i32] <- b0"


def test_masks_atomics_and_comparisons_are_spelled() -> None:
    lines = body_of(native(EXAMPLES / "histogram.mlir").dump("loops"))
    assert lines[-1] == (
        "nest 128: atomic_rmw_tko.relaxed.device.add(memory[b0], 1)"
        " where cmpi.less_than.signed(addi(%reshape, iota), %reshape_0)"
    )


def test_index_maps_say_which_dimension_counts() -> None:
    text = native(EXAMPLES / "attention.mlir").dump("loops")
    assert "divf(b0, broadcast[0, _](b2))" in text


def test_a_shared_expression_is_written_once() -> None:
    steps = "\n".join([f"%v{i + 1} = mulf %v{i}, %v{i} : tile<8xf32>" for i in range(40)])
    view = "partition_view<tile=(8), tensor_view<8xf32, strides=[1]>>"
    text = kernel(
        "%p: tile<ptr<f32>>",
        f"""%t = make_tensor_view %p, shape = [8], strides = [1] : tensor_view<8xf32, strides=[1]>
        %w = make_partition_view %t : {view}
        %zero = constant <i32: 0> : tile<i32>
        %v0, %k = load_view_tko weak %w[%zero] : {view}, tile<i32> -> tile<8xf32>, token
        {steps}
        %s = store_view_tko weak %v40, %w[%zero] : tile<8xf32>, {view}, tile<i32> -> token""",
    )
    shown = native(text).dump("loops")
    assert shown.count("mulf(") == 40
    assert len(shown) < 4_000


def test_sanitized_loops_show_what_looks_at_accesses() -> None:
    found = native(EXAMPLES / "vector_add.mlir")
    lines = found.dump("loops", sanitize=True).splitlines()
    assert sum(line.startswith("inspect load_ptr_tko 128, allowed elements to b") for line in lines) == 2
    assert sum(line.startswith("inspect store_ptr_tko 128, allowed elements to b") for line in lines) == 1
    assert "inspect" not in found.dump("loops")


@pytest.mark.parametrize("name", WORKING)
@pytest.mark.parametrize("stage", CpuEngine.stages[:3])
def test_every_stage_shows_every_example(name: str, stage: str) -> None:
    text = native(EXAMPLES / f"{name}.mlir").dump(stage)
    assert name in text if stage != "llvm" else "define i64 @worker(" in text
    assert "%?" not in text


def test_llvm_is_shown_before_and_after_its_passes() -> None:
    found = native(EXAMPLES / "vector_add.mlir")
    before, after = found.dump("llvm"), found.dump("llvm-opt")
    assert "@worker" in before and "@worker" in after
    assert "target triple" in after and "target triple" not in before


@pytest.mark.parametrize(
    ("cpu", "instruction"),
    [("neoverse-v1", r"fadd\s+v\d+\.4s"), ("x86-64-v3", r"vaddps.*%ymm"), ("x86-64-v4", r"vaddps.*%zmm")],
)
def test_assembly_is_that_of_the_machine_named(cpu: str, instruction: str) -> None:
    assert re.search(instruction, native(EXAMPLES / "vector_add.mlir", cpu=cpu).dump("asm"))


def test_the_mode_is_said_and_chooses_the_plan() -> None:
    view = "partition_view<tile=(64x64), tensor_view<64x64xbf16, strides=[64,1]>>"
    wide = "partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>"
    made = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [64, 64], strides = [64, 1]"
        f" : tensor_view<64x64x{'f32' if x == 'c' else 'bf16'}, strides=[64,1]>\n"
        f"%v{x} = make_partition_view %t{x} : {wide if x == 'c' else view}\n"
        for x in "abc"
    )
    text = kernel(
        "%a: tile<ptr<bf16>>, %b: tile<ptr<bf16>>, %c: tile<ptr<f32>>",
        f"""{made}
        %zero = constant <i32: 0> : tile<i32>
        %none = constant <f32: 0.0> : tile<64x64xf32>
        %x, %k1 = load_view_tko weak %va[%zero, %zero] : {view}, tile<i32> -> tile<64x64xbf16>, token
        %y, %k2 = load_view_tko weak %vb[%zero, %zero] : {view}, tile<i32> -> tile<64x64xbf16>, token
        %r = mmaf %x, %y, %none : tile<64x64xbf16>, tile<64x64xbf16>, tile<64x64xf32>
        %s = store_view_tko weak %r, %vc[%zero, %zero] : tile<64x64xf32>, {wide}, tile<i32> -> token""",
    )
    exact = native(text, cpu="sapphirerapids", exact=True)
    assert "bytes, exact\n" in exact.dump("loops") and "plan: fma," in exact.dump("loops")
    for mode, kernel_of_mode in (
        ("default", native(text, cpu="sapphirerapids")),
        ("fast", native(text, cpu="sapphirerapids", fast=True)),
    ):
        for sanitize in (False, True):
            loops = kernel_of_mode.dump("loops", sanitize=sanitize)
            assert f"bytes, {mode}\n" in loops and "plan: amx," in loops
        assert "plan: amx," in kernel_of_mode.dump("loops", overlapping=True)
    assert "plan: fma," in exact.dump("loops", sanitize=True)


def test_an_unknown_stage_is_named_with_those_there_are() -> None:
    with pytest.raises(
        tileir.LaunchError, match="no stage 'wasm' to dump: choose one of tiles, loops, llvm, llvm-opt, asm"
    ):
        tileir.compile(tileir.load(EXAMPLES / "vector_add.mlir"), backend="cpu").dump("wasm")


def test_a_matrix_of_a_view_with_more_dimensions_is_read_where_it_lies() -> None:
    text = """
cuda_tile.module @m {
  entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>) {
    %i, %j, %l = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %at = make_tensor_view %a, shape = [4, 20, 16], strides = [320, 16, 1] : tensor_view<4x20x16xf32, strides=[320,16,1]>
    %av = make_partition_view %at : partition_view<tile=(1x8x16), tensor_view<4x20x16xf32, strides=[320,16,1]>>
    %bt = make_tensor_view %b, shape = [16, 32], strides = [32, 1] : tensor_view<16x32xf32, strides=[32,1]>
    %bv = make_partition_view %bt : partition_view<tile=(16x32), tensor_view<16x32xf32, strides=[32,1]>>
    %ct = make_tensor_view %c, shape = [4, 20, 32], strides = [640, 32, 1] : tensor_view<4x20x32xf32, strides=[640,32,1]>
    %cv = make_partition_view %ct : partition_view<tile=(1x8x32), tensor_view<4x20x32xf32, strides=[640,32,1]>>
    %x3, %t = load_view_tko weak %av[%j, %i, %zero] : partition_view<tile=(1x8x16), tensor_view<4x20x16xf32, strides=[320,16,1]>>, tile<i32> -> tile<1x8x16xf32>, token
    %x = reshape %x3 : tile<1x8x16xf32> -> tile<8x16xf32>
    %y, %u = load_view_tko weak %bv[%zero, %zero] : partition_view<tile=(16x32), tensor_view<16x32xf32, strides=[32,1]>>, tile<i32> -> tile<16x32xf32>, token
    %none = constant <f32: 0.0> : tile<8x32xf32>
    %z = mmaf %x, %y, %none : tile<8x16xf32>, tile<16x32xf32>, tile<8x32xf32>
    %z3 = reshape %z : tile<8x32xf32> -> tile<1x8x32xf32>
    %s = store_view_tko weak %z3, %cv[%j, %i, %zero] : tile<1x8x32xf32>, partition_view<tile=(1x8x32), tensor_view<4x20x32xf32, strides=[640,32,1]>>, tile<i32> -> token
    return
  }
}"""
    kernel = tileir.compile(tileir.parse(text), backend="cpu")
    assert "A: in place, or over an edge copied" in kernel.dump("loops")
    generator = numpy.random.default_rng(0)
    a, b = generator.standard_normal((4, 20, 16), numpy.float32), generator.standard_normal((16, 32), numpy.float32)
    found, wanted = numpy.zeros((4, 20, 32), numpy.float32), numpy.zeros((4, 20, 32), numpy.float32)
    # The last tiles of each matrix reach over its edge.
    kernel.launch((3, 4), (a, b, found))
    tileir.compile(tileir.parse(text), backend="interpreter", exact=True).launch((3, 4), (a, b, wanted))
    assert numpy.array_equal(found, wanted)
