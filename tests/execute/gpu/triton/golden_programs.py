"""Kernels whose TTIR is kept: the main patterns, as they are lowered for an H100 and the newest Triton.

    python -m tests.execute.gpu.triton.golden_programs     writes tests/execute/gpu/triton/golden/*.ttir anew

A change of the lowering shows there what becomes of these kernels: look at the difference, then commit it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import tileir
from tileir.execute.gpu.triton.code import CodeOptions
from tileir.execute.gpu.triton.compiler import Prepared, usual_specialization
from tileir.execute.gpu.triton.program import Program
from tileir.execute.gpu.triton.toolchain import triton_target
from tileir.execute.launching.entries import select_entry
from tileir.ir.core import Operation

ROOT = Path(__file__).parents[4]
FOLDER = Path(__file__).parent / "golden"
KERNELS = (
    "vector_add", "softmax", "layer_norm", "histogram", "attention", "matmul", "matmul_pointers", "matmul_large",
    "matmul_persistent",
)  # fmt: skip


def entry_of(name: str) -> Operation:
    """The kernel of an example, or what is made of that of the product."""
    if name == "matmul_persistent":
        return select_entry(tileir.parse(persistent()), None)
    text = (ROOT / "examples" / f"{name.partition('_')[0] if 'matmul' in name else name}.mlir").read_text("utf-8")
    return select_entry(tileir.parse(large(text) if name == "matmul_large" else text), None)


def large(text: str) -> str:
    """The product in tiles of 128x256x64."""
    for before, after in (("64x32", "128x64"), ("32x64", "64x256"), ("64x64", "128x256")):
        text = text.replace(f"({before})", f"({after})").replace(f"<{before}x", f"<{after}x")
    return text


def persistent() -> str:
    """The product of two matrices of 4096 rows by tile blocks that compute one tile after the other."""
    left, right = "tensor_view<4096x4096xf16, strides=[4096,1]>", "partition_view<tile=(64x128), {}>"
    a, b, c = [part.format(left) for part in ("partition_view<tile=(128x64), {}>", right, right.replace("64x", "128x"))]
    return f"""cuda_tile.module @kernels {{
  entry @matmul(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f16>>) {{
    %at = make_tensor_view %a, shape = [4096, 4096], strides = [4096, 1] : {left}
    %bt = make_tensor_view %b, shape = [4096, 4096], strides = [4096, 1] : {left}
    %ct = make_tensor_view %c, shape = [4096, 4096], strides = [4096, 1] : {left}
    %av = make_partition_view %at : {a}
    %bv = make_partition_view %bt : {b}
    %cv = make_partition_view %ct : {c}
    %block, %y, %z = get_tile_block_id : tile<i32>
    %blocks, %ny, %nz = get_num_tile_blocks : tile<i32>
    %tiles = constant <i32: 1024> : tile<i32>
    %across = constant <i32: 32> : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %steps = constant <i32: 64> : tile<i32>
    %empty = constant <f32: 0.0> : tile<128x128xf32>
    for %tile in (%block to %tiles, step %blocks) : tile<i32> {{
      %row = divi %tile, %across signed : tile<i32>
      %column = remi %tile, %across signed : tile<i32>
      %sum = for %step in (%zero to %steps, step %one) : tile<i32> iter_values(%so_far = %empty) -> (tile<128x128xf32>) {{
        %x, %t0 = load_view_tko weak %av[%row, %step] : {a}, tile<i32> -> tile<128x64xf16>, token
        %y0, %t1 = load_view_tko weak %bv[%step, %column] : {b}, tile<i32> -> tile<64x128xf16>, token
        %next = mmaf %x, %y0, %so_far : tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32>
        continue %next : tile<128x128xf32>
      }}
      %narrow = ftof %sum : tile<128x128xf32> -> tile<128x128xf16>
      %t2 = store_view_tko weak %narrow, %cv[%row, %column] : tile<128x128xf16>, {c}, tile<i32> -> token
    }}
    return
  }}
}}"""


def options_of(name: str, entry: Operation) -> CodeOptions:
    """As a launch with aligned arrays has them; `matmul_pointers` as one that the accelerator cannot serve."""
    usual = usual_specialization(Program(entry), triton_target("sm_90"))
    return CodeOptions(specialization=usual._replace(described=frozenset()) if name == "matmul_pointers" else usual)


def ttir(name: str) -> str:
    entry = entry_of(name)
    return Prepared(entry, triton_target("sm_90"), options_of(name, entry), None).lowered.text


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    for name in KERNELS:
        (FOLDER / f"{name}.ttir").write_text(ttir(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
