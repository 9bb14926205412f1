"""Kernels to code: what a launch needs, the cache, and what is said where there is none."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from tests.execute.gpu.triton.fake_triton import write_fake_triton

import tileir
from tileir.execute.gpu.errors import TritonCrash, TritonError
from tileir.execute.gpu.triton import compiler
from tileir.execute.gpu.triton import kernel as triton_kernel
from tileir.execute.gpu.triton.code import CodeOptions, Limits, Schedule, Slot, Specialization, TensorMap
from tileir.execute.gpu.triton.kernel import compile_kernel
from tileir.execute.gpu.triton.stored_code import code_of, packed, unpacked_slot
from tileir.execute.gpu.triton.toolchain import find_triton, triton_target
from tileir.execute.gpu.triton.worker import pool
from tileir.ir.core import Operation

MATMUL = Path(__file__).parents[4] / "examples" / "matmul.mlir"

COPY = """
cuda_tile.module @m {
  entry @copy(%from: tile<ptr<f32>>, %to: tile<ptr<f32>>) {
    %a = make_tensor_view %from, shape = [1024], strides = [1] : tensor_view<1024xf32, strides=[1]>
    %b = make_tensor_view %to, shape = [1024], strides = [1] : tensor_view<1024xf32, strides=[1]>
    %pa = make_partition_view %a : partition_view<tile=(128), tensor_view<1024xf32, strides=[1]>>
    %pb = make_partition_view %b : partition_view<tile=(128), tensor_view<1024xf32, strides=[1]>>
    %x, %y, %z = get_tile_block_id : tile<i32>
    %tile, %t = load_view_tko weak %pa[%x] : partition_view<tile=(128), tensor_view<1024xf32, strides=[1]>>, tile<i32> -> tile<128xf32>, token
    %u = store_view_tko weak %tile, %pb[%x] : tile<128xf32>, partition_view<tile=(128), tensor_view<1024xf32, strides=[1]>>, tile<i32> -> token
    return
  }
}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The targets that Triton is asked for."""
    found: list[str] = []

    def compile_ttir(request, *limits):
        found.append(request.target)
        return pool.compile_ttir(request, *limits)

    monkeypatch.setattr(compiler, "compile_ttir", compile_ttir)
    return found


def kernel(text: str = COPY) -> Operation:
    return tileir.compile(tileir.parse(text), backend="interpreter").entry


def test_code_has_what_a_launch_needs(triton: None) -> None:
    found = compile_kernel(kernel(), "sm_90")
    assert (found.cubin.kernel, found.cubin.target, found.threads) == ("copy", "sm_90", 128)
    kinds = [each.kind for each in found.slots]
    assert kinds[:2] == ["argument", "argument"]
    assert len(kinds) == len(found.cubin.parameter_sizes) and set(kinds) <= {"argument", "descriptor", "nothing"}
    assert found.specialization.divisors == (16, 16)


def test_code_is_made_once_and_found_without_what_makes_it(
    triton: None, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compile_kernel(kernel(), "sm_90")
    assert asked == ["sm_90"]
    monkeypatch.delattr(compiler, "make")
    again = compile_kernel(kernel(), "sm_90")
    assert again.cubin.data == first.cubin.data
    assert again._replace(cubin=first.cubin) == first
    assert asked == ["sm_90"]


def test_kernels_that_give_the_same_ttir_share_code(triton: None, asked: list[str]) -> None:
    compile_kernel(kernel(), "sm_90")
    # A note for cuda_tile alone.
    compile_kernel(kernel(COPY.replace("{\n    %a", "{\n    %unused = constant <i32: 1> : tile<i32>\n    %a")), "sm_90")
    assert asked == ["sm_90"]
    compile_kernel(kernel(), "sm_80")
    compile_kernel(kernel(), "sm_90", CodeOptions(schedule=Schedule(num_warps=8)))
    compile_kernel(kernel(), "sm_90", CodeOptions(specialization=Specialization((4, 4))))
    assert asked == ["sm_90", "sm_80", "sm_90", "sm_90"]


def test_code_of_another_assembler_is_other_code(
    triton: None, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_kernel(kernel(), "sm_90")
    own = os.path.join(find_triton().folder, "triton", "backends", "nvidia", "bin", "ptxas")
    monkeypatch.setenv("TRITON_PTXAS_PATH", own)
    compile_kernel(kernel(), "sm_90")
    assert asked == ["sm_90", "sm_90"]


def test_code_of_the_cache_is_used_where_there_is_no_triton(
    triton: None, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compile_kernel(kernel(), "sm_90")
    for module in (triton_kernel, compiler):
        monkeypatch.setattr(module, "installed_triton", lambda: None)
    assert compile_kernel(kernel(), "sm_90").cubin.data == first.cubin.data
    with pytest.raises(tileir.MissingDependencyError, match="the cache has no code of this kernel for sm_100 either"):
        compile_kernel(kernel(), "sm_100")


def test_what_triton_refuses_is_told_at_the_kernel(fake_triton: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = fake_triton / "triton" / "backends" / "nvidia" / "compiler.py"
    text = backend.read_text()
    backend.write_text(text.replace("text = str(module).strip()", "text = 'refuse no such thing'"))
    with pytest.raises(TritonError) as caught:
        compile_kernel(kernel(), "sm_90")
    assert caught.value.diagnostics[0].message == "kernel @copy: Triton refuses the program: no such thing"
    backend.write_text(text.replace("text = str(module).strip()", "text = 'signal 6'"))
    pool.close_workers()
    with pytest.raises(TritonCrash) as crashed:
        compile_kernel(kernel(), "sm_90")
    assert "entry @copy" in (Path(crashed.value.directory) / "program.mlir").read_text()


def test_an_error_in_a_line_of_ttir_is_told_at_its_operation(
    fake_triton: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = fake_triton / "triton" / "backends" / "nvidia" / "compiler.py"
    load = "next(n for n, line in enumerate(str(module).splitlines(), 1) if 'tt.load' in line)"
    backend.write_text(
        backend.read_text().replace(
            "text = str(module).strip()",
            f"number = {load}; os.write(2, b'/tmp/x/program.ttir:%d:9: error: no memory' % number); raise RuntimeError",
        )
    )
    with pytest.raises(TritonError) as caught:
        compile_kernel(kernel(), "sm_90")
    first = caught.value.diagnostics[0]
    assert first.message == "'cuda_tile.load_view_tko' op: Triton refuses the program: no memory"
    assert first.position[1] == COPY.splitlines().index(next(x for x in COPY.splitlines() if "load_view" in x)) + 1


def test_a_version_that_does_not_know_a_gpu_says_which_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_TRITON", str(write_fake_triton(tmp_path, "3.6.0")))
    with pytest.raises(
        tileir.errors.CompilationError, match=r"Triton 3\.6\.0 makes no code for sm_110: 3\.7 and newer do"
    ):
        compile_kernel(kernel(), "sm_110")


@pytest.mark.parametrize("name", ["__nv_expf", "__nvvm_reflect", "global_smem", "WARP_SZ", "_", "1x"])
def test_names_that_something_else_has_are_those_of_no_kernel(triton: None, name: str) -> None:
    entry = kernel(COPY.replace("@copy", f'@"{name}"'))
    assert compile_kernel(entry, "sm_90").cubin.kernel == f"kernel_{name}"


def test_targets_that_there_are_not_are_refused() -> None:
    with pytest.raises(tileir.OptionError, match=r"'sm_10' is no GPU .* or of AMD's gfx90a, gfx942, gfx950"):
        compile_kernel(kernel(), "sm_10")
    with pytest.raises(tileir.OptionError, match="'gfx1' is no GPU of AMD"):
        compile_kernel(kernel(), "gfx1")
    with pytest.raises(tileir.errors.CompilationError, match="kernels for gfx942 cannot be launched: nobody has run"):
        compile_kernel(kernel(), "gfx942")


@pytest.mark.parametrize(
    ("stage", "words"), [("ttir", "tt.func"), ("ttgir", "ttg.num-warps"), ("llvm", "define"), ("ptx", ".entry copy")]
)
def test_stages_can_be_looked_at(triton: None, stage: str, words: str) -> None:
    assert words in compiler.stage_text(kernel(), triton_target("sm_90"), CodeOptions(), stage, Limits())


def test_what_triton_wants_of_descriptors_is_what_the_launcher_gets() -> None:
    map = TensorMap(("argument", 0), (("constant", 64),), (("constant", 1),), 2, (), 0, 0, True)
    slots = (Slot("argument", 0), Slot("descriptor", map), Slot("table", b"\0\1"), Slot("scratch", (16, 8)))
    assert tuple([unpacked_slot(*each) for each in packed(slots)]) == slots
    from tests.execute.gpu.cubin_files import cubin

    wanted = {"block_size": [64], "elem_type": 10, "swizzle": 3, "elem_size": 2, "fp4_padded": False}
    metadata = {
        "name": "k",
        "num_warps": 12,
        "shared": 1024,
        "tensordesc_meta": [wanted],
        "global_scratch_size": 128,
        "global_scratch_align": 64,
    }
    known = {
        "slots": packed(slots),
        "schedule": list(Schedule()),
        "specialization": packed(Specialization((16,), frozenset([1]))),
        "notes": ["one"],
    }
    found = code_of(cubin(), {"metadata": metadata, "parameters": 6, "version": "3.9.0"}, known)
    # The driver's number of bf16.
    assert found.slots[1].content == map._replace(box=(64,), element_type=9, swizzle=3)
    assert found.slots[4:] == (Slot("scratch", (128, 64)), Slot("nothing"))
    assert (found.threads, found.shared, found.notes) == (384, 1024, ("one",))
    assert found.specialization == Specialization((16,), frozenset([1]))


def test_lines_of_the_source_are_told_to_profilers(triton: None) -> None:
    entry = tileir.compile(tileir.load(MATMUL), backend="interpreter").entry
    text = compiler.stage_text(entry, triton_target("sm_90"), CodeOptions(lineinfo=True), "ptx", Limits())
    product = next(n for n, line in enumerate(MATMUL.read_text().splitlines(), 1) if " mmaf " in line)
    assert re.search(rf"\.loc\s+\d+ {product} ", text)
    assert f"matmul.mlir:{product}:" in text
    assert "program.ttir" not in text


def test_kernels_give_their_cubins_and_resources(triton: None) -> None:
    made = tileir.compile(tileir.parse(COPY), backend="triton")
    assert made.cubin("sm_90").data == compile_kernel(made.entry, "sm_90").cubin.data
    other = tileir.compile(tileir.parse(COPY), backend="interpreter")
    assert other.cubin("sm_90", backend="triton").data == made.cubin("sm_90").data
    assert made.resources("sm_90").threads == made.resources("sm_80").threads == 128
    assert "tt.func" in made.dump("ttir", target="sm_90")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"backend": "cpu"}, "'cpu' makes no cubins: choose the backend tileiras or triton"),
        ({"opt_level": 1}, "opt_level and host are the assembler's"),
        ({"target": "gfx942"}, "there are no cubins for gfx942: nobody has run"),
    ],
)
def test_cubins_that_there_are_not_are_refused(options: dict[str, Any], words: str) -> None:
    made = tileir.compile(tileir.parse(COPY), backend="triton")
    with pytest.raises(tileir.LaunchError, match=words):
        made.cubin(**{"target": "sm_90", **options})


def test_a_kernel_that_spills_is_warned_of(fake_triton: Path) -> None:
    from tests.execute.gpu.cubin_files import cubin

    data = cubin(["copy"], registers=255, stack=64, instructions=(0x387, 0x983, 0x918), sizes=(8, 8))
    (fake_triton / "data").write_bytes(data)
    backend = fake_triton / "triton" / "backends" / "nvidia" / "compiler.py"
    stage = f'lambda text, metadata: metadata.update(name="copy", shared=8) or open({str(fake_triton / "data")!r}, "rb").read()'
    backend.write_text(backend.read_text().replace("lambda text, metadata: text.encode()", stage))
    with pytest.warns(
        tileir.errors.AssemblerWarning, match="kernel @copy runs out of registers on sm_90: it keeps 64 bytes"
    ):
        found = tileir.compile(tileir.parse(COPY), backend="triton").resources("sm_90")
    assert found.spills and found.shared == 8
