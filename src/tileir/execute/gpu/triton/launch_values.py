"""Numbers that are known when a kernel is launched, as expressions of its arguments.

Descriptors of tensors are made by the launcher, and which variant of the code a launch takes depends on its arguments.
Both are computed from these.  They are plain data, so that they are stored beside the code:

    ("constant", 64)    ("argument", 3)    ("muli", left, right)    "addi", "subi", "divi" (towards zero), "ceildivi"
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
    """What it is for the arguments of a launch: integers as signed numbers, pointers as addresses."""
    kind = value[0]
    if kind == "constant":
        return int(value[1])
    if kind == "argument":
        return int(arguments[value[1]])
    left, right = evaluate(value[1], arguments), evaluate(value[2], arguments)
    if kind == "addi":
        return left + right
    if kind == "subi":
        return left - right
    if kind == "muli":
        return left * right
    if right == 0:
        return 0
    if kind == "ceildivi":
        return -(-left // right)
    assert kind == "divi", "there are no others"
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
