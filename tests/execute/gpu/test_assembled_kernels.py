"""Kernels compiled by NVIDIA's assembler, where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

import tileir
from tileir.execute.gpu.tileiras.tool import why_missing

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
    with pytest.raises(tileir.CompilationError) as refused:
        tileir.compile(module, backend="interpreter").cubin("sm_90")
    found = refused.value.diagnostics[0]
    assert found.position == ("scaled.mlir", 3, 10)
    assert found.message == (
        "'cuda_tile.constant' op: Incompatibility with architecture 'sm_90': unsupported type 'f8E8M0FNU'"
    )
    assert "compiled for sm_90 by NVIDIA's tileiras" in str(refused.value)
