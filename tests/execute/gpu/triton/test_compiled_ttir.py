"""TTIR that Triton compiles: the stages of the version that is installed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.execute.gpu.triton.written_ttir import ADD, OPTIONS, with_body

from tileir.execute.gpu.cubin import Cubin
from tileir.execute.gpu.errors import TritonError
from tileir.execute.gpu.triton.worker.pool import Request, compile_ttir

pytestmark = pytest.mark.usefixtures("triton")

# f32 functions of libdevice, and two that may be fused.
ERF = '%y = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__nv_erff"} : (tensor<128xf32>) -> tensor<128xf32>'
FUSED = "%m = arith.mulf %x, %x : tensor<128xf32>\n    %y = arith.addf %m, %x : tensor<128xf32>"


def ptx(text: str, target: str = "sm_90", last: str = "ptx", **options: object) -> str:
    return compile_ttir(Request(text, target, {**OPTIONS, **options}, last=last)).data.decode()


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_a_cubin_comes_with_what_its_launch_needs(target: str) -> None:
    found = compile_ttir(Request(ADD, target, OPTIONS))
    cubin = Cubin(found.data)
    assert (cubin.kernel, cubin.target) == ("add", target)
    assert found.metadata["num_warps"] == 4 and found.metadata["shared"] == 0 and found.metadata["name"] == "add"
    assert found.parameters == len(cubin.parameter_sizes)
    assert found.parameters > 2
    assert "Used" in found.output and "registers" in found.output


def test_texts_of_stages_do_not_name_the_folder_they_were_made_in() -> None:
    for stage in ("ttir", "ttgir"):
        assert 'loc("program.ttir":' in compile_ttir(Request(ADD, "sm_90", OPTIONS, last=stage)).data.decode()


def test_a_program_that_is_wrong_is_told_with_its_line() -> None:
    with pytest.raises(TritonError) as caught:
        ptx(ADD.replace("tt.return", "tt.retrn"))
    assert caught.value.message == "Triton refuses the program: program.ttir:17:5: custom op 'tt.retrn' is unknown"


def test_a_program_that_does_not_lower_is_told() -> None:
    with pytest.raises(TritonError, match=r"Triton refuses the program: .*tanh"):
        ptx(with_body("%y = math.tanh %x : tensor<128xf32>"))


def test_products_and_sums_are_fused_only_where_they_may_be() -> None:
    assert "fma" not in ptx(with_body(FUSED), enable_fp_fusion=False)
    assert "fma" in ptx(with_body(FUSED), enable_fp_fusion=True)


def test_denormals_are_flushed_only_where_they_may_be() -> None:
    assert "fma.rn.ftz" not in ptx(with_body(ERF))
    assert "fma.rn.ftz" in ptx(with_body(ERF), enable_reflect_ftz=True)


def test_lines_are_in_the_code_only_if_asked_for() -> None:
    assert ".loc" not in ptx(ADD)
    assert ".loc" in ptx(ADD, lineinfo=True)


def test_code_for_gpus_of_amd() -> None:
    found = compile_ttir(Request(ADD, "gfx942", OPTIONS, last="hsaco"))
    assert found.data.startswith(b"\x7fELF")
    assert "gfx942" in ptx(ADD, "gfx942", last="amdgcn") and found.metadata["name"] == "add"
    assert found.parameters >= 2


def test_functions_of_libdevice_are_the_same_in_parts() -> None:
    # One that is linked with all of the library, by Triton's own way, in a process of its own.
    from tileir.execute.gpu.triton.toolchain import find_triton
    from tileir.execute.gpu.triton.worker import stages

    several = (
        ERF.replace("%y =", "%e =") + "\n    " + ERF.replace("erff", "expf").replace("elementwise %x", "elementwise %e")
    )
    program = f"""
import sys
sys.path.insert(0, {find_triton().folder!r})
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("stages", {stages.__file__!r})
module = module_from_spec(spec)
spec.loader.exec_module(module)
print(module.Stages().compile({with_body(several)!r}, "sm_90", {OPTIONS!r}, "ptx")[0].decode())
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TRITON_")}
    found = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert "ex2" in found.stdout
    for _ in range(2):
        assert ptx(with_body(several)).strip() == found.stdout.strip()
