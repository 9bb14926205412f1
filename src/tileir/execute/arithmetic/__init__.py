"""The numerics of the reference interpreter: one factory per family of operations.

elementary.py, functions.py, integer.py, conversion.py   the factories, by the operations they are for
exponential.py, trigonometric.py                         functions of doubles that the others use
rounding.py, double.py                                   rounding once, to narrower formats and in directed modes

A factory is called once per operation of a program, with the element type and the attributes, and returns the kernel:
a function from value arrays (`tileir.execute.dtypes`) to a value array.  Attributes are their keywords; `op` is the
declaration of the operation where a factory is that of several.

Rules for callers:
- run inside `numpy.errstate(all="ignore")`, once around a whole launch: kernels do not silence NumPy's warnings;
- operands of 0-D tiles may be NumPy scalars, and the result for them may be one;
- operands are never written to; a result may share memory with an operand only where nothing changes (a conversion
  that is the identity, a bitcast).

Kernels are straight-line programs over a few NumPy operations that are defined to the bit (the list is in
tests/execute/test_arithmetic_traceable.py), and call no function of the C library: results are the same on every
machine, and the CPU backend compiles the kernels by running them on symbols.  Branches are shortcuts around what
changes nothing, on `numpy.count_nonzero` alone.  docs/reference/numerics.md has every rule of rounding.
"""
