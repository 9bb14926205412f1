"""What adding an element-wise function takes: its declaration, a NumPy function, a rule for Triton.

`python -m tests.dialect.new_function` adds `tanh10` with these three, before the engines are imported as an edit of the
sources would be, and takes it through every part of the toolkit.  A process of its own leaves no trace in the others.
"""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

import tileir
from tileir.dialect.constraints import elementwise
from tileir.execute.arithmetic import exponential
from tileir.execute.arithmetic.double import widened
from tileir.execute.arithmetic.functions import FUNCTIONS
from tileir.ir.core import Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ELEMENTWISE, FUNCTION_COST, OPEN_BITS, PURE
from tileir.ir.versions import V13_4

# --- the declaration, in dialect/ops/floating_point_functions.py ---

TANH10 = elementwise(
    "tanh10",
    opcode=0x7E,
    since=V13_4,
    summary="Element-wise tenfold hyperbolic tangent",
    description="Returns ten times the hyperbolic tangent of each element.",
    returns="the tangents, between -10 and 10",
    traits=PURE | ELEMENTWISE | OPEN_BITS,
    cost=FUNCTION_COST,
    reference=lambda x: 10.0 * math.tanh(x),
)
TANH10.chapter = "Floating point"
REGISTRY.add(TANH10)

# --- the NumPy function, in execute/arithmetic/functions.py ---


def tanh10(x: Any) -> Any:
    return 10.0 * exponential.tanh_double(widened(x))


FUNCTIONS[TANH10] = (tanh10, tanh10)

# --- the rule for Triton, in execute/gpu/triton/lowering/elementwise.py ---

from tileir.execute.gpu.triton.lowering import floats  # noqa: E402
from tileir.execute.gpu.triton.lowering.context import Lowering  # noqa: E402
from tileir.execute.gpu.triton.lowering.elementwise import ELEMENTWISE as TRITON_RULES  # noqa: E402
from tileir.execute.gpu.triton.lowering.elementwise import by  # noqa: E402
from tileir.execute.gpu.triton.lowering.ttir_values import TtirValue  # noqa: E402


def lower_tanh10(build: Lowering, operation: Operation, value: TtirValue) -> TtirValue:
    return build.apply("arith.mulf", floats.call(build, operation, "tanh", [value]), 10.0)


TRITON_RULES[TANH10] = by(lower_tanh10)

PROGRAM = """\
cuda_tile.module @kernels {
  entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<ptr<f32>>) {
    %tview = make_tensor_view %arg0, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
    %pview = make_partition_view %tview : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>
    %tview_0 = make_tensor_view %arg1, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
    %pview_1 = make_partition_view %tview_0 : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>
    %cst_0_i32 = constant <i32: 0> : tile<i32>
    %tile, %result_token = load_view_tko weak %pview[%cst_0_i32] : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
    %0 = tanh10 %tile : tile<64xf32>
    %1 = store_view_tko weak %0, %pview_1[%cst_0_i32] : tile<64xf32>, partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token
    return
  }
}"""


def check_language() -> None:
    module = tileir.parse(PROGRAM, verify=True)
    assert module.text() == PROGRAM
    assert tileir.from_bytecode(tileir.to_bytecode(module, version="13.4")).text() == PROGRAM
    wrong = PROGRAM.replace("    return", "    %2 = tanh10 %cst_0_i32 : tile<i32>\n    return")
    message = r"'cuda_tile\.tanh10' op operand #0 must be tile of f16 or bf16 or f32 or f64 values"
    with pytest.raises(tileir.VerifyError, match=message):
        tileir.parse(wrong, verify=True)


def check_engines() -> None:
    x = numpy.linspace(-3, 3, 64, dtype="f4")
    results = []
    for backend in ("interpreter", "cpu"):
        result = numpy.zeros(64, "f4")
        tileir.compile(tileir.parse(PROGRAM), backend=backend).launch(1, (x, result))
        results.append(result)
    assert numpy.allclose(results[0], 10 * numpy.tanh(x), rtol=1e-6)
    assert numpy.array_equal(results[0], results[1])


def check_triton() -> None:
    from tests.execute.gpu.triton.lowered_programs import lowered

    text = lowered(PROGRAM).text
    assert "__nv_tanhf" in text and "arith.mulf" in text


def check_analyses() -> None:
    from generators.support import parts

    from tileir import smith

    module = tileir.parse(PROGRAM.replace("return", "%2 = tanh10 %tile : tile<64xf32>\n    return"))
    assert [finding.message for finding in tileir.lint(module)] == ["the result is never used"]
    x = numpy.zeros(64, "f4")
    costs = tileir.cost(tileir.parse(PROGRAM), 1, (x, x), target="h100", assemble=False)
    assert ("floating", "tanh10", "f32") in costs.work.computed
    programs = [smith(seed, family="functions", version="13.4") for seed in range(40)]
    found = next(program for program in programs if "tanh10" in program.operations)
    assert found.expected()
    assert [part.name for part in parts() if "tanh10" in (*part.gaps(), *part.mistakes())] == []


def check_documentation() -> None:
    from generators.reference import reference
    from generators.stubs import builder_stub

    assert "\n## tanh10\n" in reference()["floating_point.md"]
    assert "def tanh10(self, source" in builder_stub()


if __name__ == "__main__":
    for check in (check_language, check_engines, check_triton, check_analyses, check_documentation):
        check()
    print("tanh10 is known everywhere")
