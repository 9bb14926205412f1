"""How each operation on numbers is lowered, element by element: a part of the roster.

These are lowered the same way for tiles, for scalars, and in the regions of reductions and scans.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.execute.gpu.triton.lowering import arithmetic, comparisons, conversions, functions, integers
from tileir.execute.gpu.triton.lowering.context import Handlers

ELEMENTWISE: Final[Handlers] = {
    **dict.fromkeys((ops.ADDF, ops.SUBF, ops.MULF, ops.DIVF, ops.FMA, ops.SQRT), arithmetic.lower_arithmetic),
    **dict.fromkeys((ops.ABSF, ops.NEGF), arithmetic.lower_sign),
    **dict.fromkeys((ops.CEIL, ops.FLOOR), arithmetic.lower_integral),
    **dict.fromkeys((ops.MAXF, ops.MINF), comparisons.lower_extremum),
    **dict.fromkeys(functions.NAMES, functions.lower_function),
    **dict.fromkeys((ops.ADDI, ops.SUBI, ops.MULI, ops.ANDI, ops.ORI, ops.XORI), integers.lower_binary),
    **dict.fromkeys((ops.MAXI, ops.MINI), integers.lower_extremum),
    **dict.fromkeys((ops.NEGI, ops.ABSI), integers.lower_negation),
    **dict.fromkeys((ops.SHLI, ops.SHRI), integers.lower_shift),
    **dict.fromkeys((ops.INT_TO_PTR, ops.PTR_TO_INT, ops.PTR_TO_PTR), conversions.lower_pointer_cast),
    ops.BITCAST: conversions.lower_bitcast,
    ops.CMPF: comparisons.lower_cmpf,
    ops.CMPI: comparisons.lower_cmpi,
    ops.DIVI: integers.lower_division,
    ops.EXTI: conversions.lower_exti,
    ops.FPOWI: functions.lower_integer_power,
    ops.FTOF: conversions.lower_ftof,
    ops.FTOI: conversions.lower_ftoi,
    ops.ITOF: conversions.lower_itof,
    ops.MULHII: integers.lower_high_product,
    ops.REMF: arithmetic.lower_remainder,
    ops.REMI: integers.lower_remainder,
    ops.SELECT: comparisons.lower_select,
    ops.TRUNCI: conversions.lower_trunci,
}
