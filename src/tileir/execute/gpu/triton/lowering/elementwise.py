"""How each elementwise operation is lowered: one line for each.

A line names the rule, `rule(build, operation, *names, *operands)`, and the names of TTIR, PTX or the library of
functions that it takes.  The same rules serve tiles, scalars, and the regions of reductions and scans.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tileir.dialect import ops
from tileir.execute.gpu.triton.lowering import conversions, floats, functions, integers
from tileir.execute.gpu.triton.lowering.context import Handler, Lowering
from tileir.execute.gpu.triton.lowering.ttir_values import TtirValue
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration


def by(rule: Callable[..., TtirValue], *names: str) -> Handler:
    """A handler that gives the result of a rule."""

    def lower(build: Lowering, operation: Operation) -> None:
        build.result(operation, rule(build, operation, *names, *build.operands(operation)))

    return lower


ELEMENTWISE: Final[dict[OperationDeclaration, Handler]] = {
    # Integers, with operations of TTIR, where there are two the signed one first.
    ops.ADDI: by(integers.binary, "arith.addi"),
    ops.SUBI: by(integers.binary, "arith.subi"),
    ops.MULI: by(integers.binary, "arith.muli"),
    ops.ANDI: by(integers.binary, "arith.andi"),
    ops.ORI: by(integers.binary, "arith.ori"),
    ops.XORI: by(integers.binary, "arith.xori"),
    ops.MAXI: by(integers.extremum, "arith.maxsi", "arith.maxui"),
    ops.MINI: by(integers.extremum, "arith.minsi", "arith.minui"),
    ops.SHLI: by(integers.shift, "arith.shli", "arith.shli"),
    ops.SHRI: by(integers.shift, "arith.shrsi", "arith.shrui"),
    ops.NEGI: by(integers.negation),
    ops.ABSI: by(integers.magnitude),
    ops.MULHII: by(integers.high_product),
    ops.DIVI: by(integers.division),
    ops.REMI: by(integers.remainder),
    ops.CMPI: by(integers.comparison),
    # Floats, with mnemonics of PTX.
    ops.ADDF: by(floats.arithmetic, "add"),
    ops.SUBF: by(floats.arithmetic, "sub"),
    ops.MULF: by(floats.arithmetic, "mul"),
    ops.DIVF: by(floats.arithmetic, "div"),
    ops.FMA: by(floats.arithmetic, "fma"),
    ops.SQRT: by(floats.arithmetic, "sqrt"),
    ops.MAXF: by(floats.extremum, "max"),
    ops.MINF: by(floats.extremum, "min"),
    ops.ABSF: by(floats.magnitude),
    ops.NEGF: by(floats.negation),
    ops.CEIL: by(floats.integral, "math.ceil"),
    ops.FLOOR: by(floats.integral, "math.floor"),
    ops.REMF: by(floats.remainder),
    ops.CMPF: by(floats.comparison),
    ops.SELECT: by(floats.select),
    # Functions: the library's name, PTX for approximations in f32, PTX for f32 where it is accurate enough.
    ops.EXP: by(functions.exponential),
    ops.LOG: by(functions.logarithm),
    ops.EXP2: by(functions.function, "exp2", "ex2.approx{ftz}.f32", "ex2.approx{ftz}.f32"),
    ops.RSQRT: by(functions.function, "rsqrt", "rsqrt.approx{ftz}.f32", "rsqrt.approx{ftz}.f32"),
    ops.LOG2: by(functions.function, "log2", "lg2.approx{ftz}.f32", ""),
    ops.SIN: by(functions.function, "sin", "sin.approx{ftz}.f32", ""),
    ops.COS: by(functions.function, "cos", "cos.approx{ftz}.f32", ""),
    ops.TANH: by(functions.function, "tanh", "tanh.approx.f32", ""),
    ops.TAN: by(functions.function, "tan", "", ""),
    ops.SINH: by(functions.function, "sinh", "", ""),
    ops.COSH: by(functions.function, "cosh", "", ""),
    ops.POW: by(functions.function, "pow", "", ""),
    ops.ATAN2: by(functions.function, "atan2", "", ""),
    ops.FPOWI: by(functions.integer_power),
    # Conversions.
    ops.EXTI: by(conversions.extension),
    ops.TRUNCI: by(conversions.truncation),
    ops.FTOF: by(conversions.float_to_float),
    ops.ITOF: by(conversions.integer_to_float),
    ops.FTOI: by(conversions.float_to_integer),
    ops.BITCAST: by(conversions.bitcast),
    ops.PTR_TO_PTR: by(conversions.bitcast),
    ops.INT_TO_PTR: by(conversions.reinterpretation, "tt.int_to_ptr"),
    ops.PTR_TO_INT: by(conversions.reinterpretation, "tt.ptr_to_int"),
}
