"""The numerics of the reference interpreter: one factory per family of operations.

A factory is called once per operation of a program, with the element type and the attributes, and returns the kernel:
a function from value arrays (`tileir.execute.dtypes`) to a value array.  Attributes are their keywords; `op` is the
declaration of the operation where a factory is that of several.

    float_binary(op, element, rounding, flush_to_zero)        addf subf mulf divf
    float_fma(element, rounding, flush_to_zero)               fma
    float_remainder(element)                                  remf
    float_minmax(op, element, propagate_nan, flush_to_zero)   maxf minf maximumf minimumf
    float_compare(predicate, ordering, element)               cmpf
    float_unary(op, element, rounding, flush_to_zero)         absf negf ceil floor sqrt recipf, and the functions
                                                              rsqrt exp exp2 log log2 log10 log1p sin cos tan
                                                              sinh cosh tanh sigmoid
    float_power(element)                                      pow
    float_integer_power(element)                              fpowi
    float_atan2(element)                                      atan2
    integer_binary(op, element)                               addi subi muli mulhii andi ori xori shli
    integer_signed_binary(op, element, signedness)            remi maxi mini shri
    integer_division(element, signedness, rounding)           divi
    integer_unary(op, element)                                negi absi noti popcnt clz ctz brev
    integer_compare(predicate, element, signedness)           cmpi
    float_to_float(source, target, rounding)                  ftof
    float_to_integer(source, target, signedness, rounding)    ftoi
    integer_to_float(source, target, signedness, rounding)    itof
    extend_integer(source, target, signedness)                exti
    truncate_integer(source, target)                          trunci
    bitcast(source, target)                                   bitcast int_to_ptr ptr_to_int ptr_to_ptr
    pack(source), unpack(target)                              pack unpack
    matrix_float(lhs, accumulator, exact)                     mmaf        (lhs, rhs, acc) -> acc
    matrix_integer(signedness_lhs, signedness_rhs)            mmai        (lhs, rhs, acc) -> acc
    matrix_scaled(lhs, scale, exact)                          mmaf_scaled (lhs, rhs, acc, lhs_scale, rhs_scale) -> acc

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
    float_fma,
    float_remainder,
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
from tileir.execute.arithmetic.matrix import matrix_float, matrix_integer, matrix_scaled
from tileir.execute.arithmetic.order import float_compare, float_minmax

__all__ = [
    "bitcast", "extend_integer", "float_atan2", "float_binary", "float_compare", "float_fma", "float_integer_power",
    "float_minmax", "float_power", "float_remainder", "float_to_float", "float_to_integer", "float_unary",
    "integer_binary", "integer_compare", "integer_division", "integer_signed_binary", "integer_to_float",
    "integer_unary", "matrix_float", "matrix_integer", "matrix_scaled", "pack", "truncate_integer", "unpack",
]  # fmt: skip
