"""The NumPy kernel of each elementwise operation, chosen once from its attributes and element types."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

from tileir.execute.interpreter.compiler import Compiler, Registers, Step
from tileir.execute.interpreter.shapes import tile_of
from tileir.ir.core import Operation

Kernel = Callable[..., Any]

# What a ufunc is on two NumPy scalars: an operator is ten times as fast and gives the same bits.
_SCALAR_OPERATORS: dict[object, Kernel] = {
    numpy.add: operator.add,
    numpy.subtract: operator.sub,
    numpy.multiply: operator.mul,
    numpy.true_divide: operator.truediv,
    numpy.bitwise_and: operator.and_,
    numpy.bitwise_or: operator.or_,
    numpy.bitwise_xor: operator.xor,
    numpy.less: operator.lt,
    numpy.less_equal: operator.le,
    numpy.greater: operator.gt,
    numpy.greater_equal: operator.ge,
    numpy.equal: operator.eq,
    numpy.not_equal: operator.ne,
}


def kernel_of(operation: Operation, exact: bool) -> Kernel:
    """The kernel of an operation, for arrays of any shape."""
    from tileir.execute.interpreter.kernels import KERNELS

    return KERNELS[operation.declaration](operation, exact)


def scalar_kernel(kernel: Kernel) -> Kernel:
    """The kernel for tiles without dimensions, which are NumPy scalars (in the body of a reduction also arrays)."""
    quick = _SCALAR_OPERATORS.get(kernel) if isinstance(kernel, numpy.ufunc) else None
    if quick is not None:
        return quick
    return kernel


def compile_elementwise(compiler: Compiler, operation: Operation) -> Step:
    kernel = kernel_of(operation, compiler.options.exact)
    if not tile_of(operation.results[0]).shape:
        kernel = scalar_kernel(kernel)
    return kernel_step(
        kernel, [compiler.slot(value) for value in operation.operands], compiler.slot(operation.results[0])
    )


def kernel_step(kernel: Kernel, operands: list[int], result: int) -> Step:
    """A step that calls a kernel on registers."""
    if len(operands) == 2:
        left, right = operands

        def binary(registers: Registers) -> None:
            registers[result] = kernel(registers[left], registers[right])

        return binary
    if len(operands) == 1:
        (source,) = operands

        def unary(registers: Registers) -> None:
            registers[result] = kernel(registers[source])

        return unary

    if len(operands) == 3:
        first, second, third = operands

        def ternary(registers: Registers) -> None:
            registers[result] = kernel(registers[first], registers[second], registers[third])

        return ternary

    def several(registers: Registers) -> None:
        registers[result] = kernel(*[registers[slot] for slot in operands])

    return several
