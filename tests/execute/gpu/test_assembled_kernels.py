"""Kernels compiled by NVIDIA's assembler, where it is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tileir
from tileir.execute.gpu.tileiras.assembly import assemble
from tileir.execute.gpu.tileiras.tool import AssemblyOptions, why_missing

pytestmark = pytest.mark.skipif(bool(why_missing()), reason="needs NVIDIA's assembler: pip install 'tileir[tileiras]'")

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_kernel_becomes_a_cubin_with_the_parameters_of_its_entry(target: str) -> None:
    kernel = tileir.compile(EXAMPLES / "vector_add.mlir", backend="interpreter")
    cubin = kernel.cubin(target)
    assert (cubin.kernel, cubin.target) == ("vector_add", target)
    resources = kernel.resources(target)
    assert [parameter.size for parameter in resources.parameters] == [8, 8, 8, 4]
    assert resources.registers > 0 and resources.threads > 0 and resources.code > 0
    assert not resources.spills


def test_refusal_is_a_diagnostic_at_the_operation() -> None:
    module = tileir.parse(
        """cuda_tile.module @kernels {
  entry @scaled(%p: tile<ptr<f8E8M0FNU>>) {
    %c = constant <f8E8M0FNU: 1.0> : tile<f8E8M0FNU>
    %t = store_ptr_tko weak %p, %c : tile<ptr<f8E8M0FNU>>, tile<f8E8M0FNU> -> token
    return
  }
}""",
        "scaled.mlir",
    )
    with pytest.raises(tileir.errors.CompilationError) as refused:
        tileir.compile(module, backend="interpreter").cubin("sm_90")
    found = refused.value.diagnostics[0]
    assert found.position == ("scaled.mlir", 3, 10)
    assert found.message == (
        "'cuda_tile.constant' op: Incompatibility with architecture 'sm_90': unsupported type 'f8E8M0FNU'"
    )
    assert "compiled for sm_90 by NVIDIA's tileiras" in str(refused.value)


def test_refusal_without_a_reason_is_brought_to_an_operation() -> None:
    view = "partition_view<tile=(8), padding_value = pos_inf, tensor_view<4xf8E4M3FN, strides=[1]>>"
    module = tileir.parse(
        f"""cuda_tile.module @kernels {{
  entry @padded(%from: tile<ptr<f8E4M3FN>>, %to: tile<ptr<f32>>) {{
    %tensor = make_tensor_view %from, shape = [4], strides = [1] : tensor_view<4xf8E4M3FN, strides=[1]>
    %view = make_partition_view %tensor : {view}
    %first = constant <i32: 0> : tile<i32>
    %x, %loaded = load_view_tko weak %view[%first] : {view}, tile<i32> -> tile<8xf8E4M3FN>, token
    %y = ftof %x : tile<8xf8E4M3FN> -> tile<8xf32>
    %z = reduce %y dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32> (%a: tile<f32>, %b: tile<f32>) {{
      %c = addf %a, %b : tile<f32>
      yield %c : tile<f32>
    }}
    %stored = store_ptr_tko weak %to, %z : tile<ptr<f32>>, tile<f32> -> token
    return
  }}
}}""",
        "padded.mlir",
    )
    with pytest.raises(tileir.errors.AssemblerError) as refused:
        tileir.compile(module, backend="interpreter").cubin("sm_90")
    assert refused.value.diagnostics[0].position == ("padded.mlir", 6, 19)
    assert "it fails from this operation of the kernel on" in str(refused.value)


@pytest.mark.parametrize("name", ["1st", "a.b", "a name", "ü", "_"])
def test_kernel_with_a_name_that_the_assembler_does_not_take(name: str) -> None:
    module = tileir.parse(f'cuda_tile.module @m {{ entry @"{name}"(%p: tile<ptr<f32>>) {{ return }} }}')
    with pytest.warns(tileir.errors.AssemblerWarning, match="NVIDIA's assembler takes no such name"):
        cubin = tileir.compile(module, backend="interpreter").cubin("sm_90")
    assert cubin.kernel.startswith("kernel_") and cubin.kernels == [cubin.kernel]


def test_remarks_are_about_operations() -> None:
    module = tileir.load(EXAMPLES / "matmul.mlir")
    found = assemble(tileir.compile(module, backend="interpreter").entry, "sm_90", AssemblyOptions(remarks=True))
    product = [each for each in found.diagnostics if "MMA operation" in each.message]
    assert [(each.severity, each.position[1]) for each in product] == [("remark", 29)]
    assert "use Tensor Cores" in product[0].message


def test_line_information_is_that_of_the_source() -> None:
    kernel = tileir.compile(EXAMPLES / "vector_add.mlir", backend="interpreter")
    assert b"vector_add.mlir" in kernel.cubin("sm_90", lineinfo=True).data
    assert b"vector_add.mlir" not in kernel.cubin("sm_90").data


def test_host_is_the_one_asked_for() -> None:
    kernel = tileir.compile(EXAMPLES / "vector_add.mlir", backend="interpreter")
    assert [kernel.cubin("sm_90", host=host).host for host in ("x86_64", "aarch64")] == ["x86_64", "aarch64"]


def test_kernels_that_share_memory_are_in_one_cubin() -> None:
    module = tileir.parse(
        """cuda_tile.module @m {
  global @counter <i32: 0> : tile<1xi32>
  entry @first() {
    %p = get_global @counter : tile<ptr<i32>>
    %one = constant <i32: 1> : tile<i32>
    %t = store_ptr_tko weak %p, %one : tile<ptr<i32>>, tile<i32> -> token
    return
  }
  entry @second(%to: tile<ptr<i32>>) {
    %p = get_global @counter : tile<ptr<i32>>
    %x, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
    %u = store_ptr_tko weak %to, %x : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}"""
    )
    first, second = (
        tileir.compile(module, entry=name, backend="interpreter").cubin("sm_90") for name in ("first", "second")
    )
    assert first.data == second.data
    assert (first.kernel, second.kernel) == ("first", "second")


@pytest.mark.skipif(sys.platform != "linux", reason="the limit for another process is Linux's")
def test_too_little_memory_is_named_however_the_assembler_fails() -> None:
    """It crashes, cannot be loaded, or fails without a reason."""
    entry = tileir.compile(EXAMPLES / "vector_add.mlir", backend="interpreter").entry
    for limit in (40, 60, 100):
        with pytest.raises(tileir.errors.AssemblerError, match="GiB of memory, which may be too little") as caught:
            assemble(entry, "sm_90", AssemblyOptions(memory_limit=limit << 20))
        if isinstance(caught.value, tileir.errors.AssemblerCrash):
            # The command to try it with fails too; where exactly too little memory shows is not the same each time.
            assert subprocess.run(caught.value.command, shell=True, capture_output=True).returncode
