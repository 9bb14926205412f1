"""The numerics of the reference interpreter: one factory per family of operations.

A factory is called once per operation of a program, with the element type and the attributes, and returns the kernel:
a function from value arrays (`tileir.execute.dtypes`) to a value array.  Attributes are their keywords; `op` is the
declaration of the operation where a factory is that of several.

Rules for callers:
- run inside `numpy.errstate(all="ignore")`, once around a whole launch: kernels do not silence NumPy's warnings;
- operands of 0-D tiles may be NumPy scalars, and the result for them may be one;
- operands are never written to; a result may share memory with an operand only where nothing changes (a conversion
  that is the identity, a bitcast).

Kernels are straight-line programs over a few NumPy operations that are defined to the bit, and call no function of the
C library: results are the same on every machine, and the CPU engine compiles the kernels by running them on symbols.
Branches are shortcuts around what changes nothing, on `numpy.count_nonzero` alone; the list of operations is in
tests/execute/test_arithmetic_traceable.py.

Every result is correctly rounded where the operation defines its rounding; `approx` and `full` are rounded to nearest
even, which refines them.  docs/numerics.md holds every rule and decision.
"""

from __future__ import annotations

from tileir.execute.arithmetic.conversion import (
    bitcast,
    extend_integer,
    float_to_float,
    float_to_integer,
    integer_to_float,
    pack,
    truncate_integer,
    unpack,
)
from tileir.execute.arithmetic.elementary import (
    float_binary,
    float_compare,
    float_fma,
    float_minmax,
    float_remainder,
    matrix_float,
    matrix_integer,
    matrix_scaled,
)
from tileir.execute.arithmetic.functions import (
    float_atan2,
    float_integer_power,
    float_power,
    float_unary,
)
from tileir.execute.arithmetic.integer import (
    integer_binary,
    integer_compare,
    integer_division,
    integer_signed_binary,
    integer_unary,
)

__all__ = [
    "bitcast", "extend_integer", "float_atan2", "float_binary", "float_compare", "float_fma", "float_integer_power",
    "float_minmax", "float_power", "float_remainder", "float_to_float", "float_to_integer", "float_unary",
    "integer_binary", "integer_compare", "integer_division", "integer_signed_binary", "integer_to_float",
    "integer_unary", "matrix_float", "matrix_integer", "matrix_scaled", "pack", "truncate_integer", "unpack",
]  # fmt: skip
