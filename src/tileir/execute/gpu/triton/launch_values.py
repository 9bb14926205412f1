"""Numbers that are known when a kernel is launched, as expressions of its arguments.

Descriptors of tensors are made by the launcher, and which variant of the code a launch takes depends on its arguments.
Both are computed from these.  They are plain data, so that they are stored beside the code:

    ("constant", 64)    ("argument", 3)    ("muli", left, right, 32)    and "addi", "subi": with the number of bits
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

LaunchValue: TypeAlias = "tuple[Any, ...]"


def constant(number: int) -> LaunchValue:
    return ("constant", number)


def argument(number: int) -> LaunchValue:
    return ("argument", number)


def evaluate(value: LaunchValue, arguments: Sequence[int]) -> int:
    """What it is for the arguments of a launch: integers as signed numbers, pointers as addresses.

    An `OverflowError` where the kernel would compute something else, modulo two to the number of bits.
    """
    kind = value[0]
    if kind == "constant":
        return int(value[1])
    if kind == "argument":
        return int(arguments[value[1]])
    left, right = evaluate(value[1], arguments), evaluate(value[2], arguments)
    result = left + right if kind == "addi" else left - right if kind == "subi" else left * right
    if not -(1 << (value[3] - 1)) <= result < 1 << (value[3] - 1):
        raise OverflowError("a number that the kernel computes does not fit its type")
    return result


def arguments_of(value: LaunchValue) -> set[int]:
    """The arguments that it is computed from."""
    if value[0] == "constant":
        return set()
    return {value[1]} if value[0] == "argument" else arguments_of(value[1]) | arguments_of(value[2])
