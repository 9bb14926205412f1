"""What there is to choose from: families of programs, and the statements of each."""

from __future__ import annotations

from typing import NamedTuple

from tileir.analyze.smith import (
    arithmetic,
    atomics,
    control_flow,
    conversions,
    functions,
    memory,
    reductions,
    shapes,
    views,
)
from tileir.analyze.smith.writer import Statement


class Family(NamedTuple):
    name: str
    summary: str
    statements: tuple[Statement, ...]


_ALONE = (
    Family("arithmetic", "integers, floats, comparisons and select, element by element", arithmetic.STATEMENTS),
    Family(
        "conversions",
        "between widths, between integers and floats, of bits, of packed bytes, with the small float types",
        (*conversions.STATEMENTS, *conversions.STATEMENTS, *arithmetic.STATEMENTS),
    ),
    Family(
        "shapes", "reshape, permute, broadcast, cat, extract, insert", (*shapes.STATEMENTS * 3, *arithmetic.STATEMENTS)
    ),
    Family(
        "reductions",
        "reduce and scan of integers, extremes, positions and exact sums",
        (*reductions.STATEMENTS * 10, *arithmetic.STATEMENTS, *shapes.STATEMENTS),
    ),
    Family(
        "functions",
        "exp, log, sin and the like, seen through comparisons that every approximation answers alike",
        (*functions.STATEMENTS * 3, *arithmetic.STATEMENTS),
    ),
    Family(
        "control_flow",
        "if, for, loop, with break, continue and return, nested, carrying values and tokens",
        (
            *control_flow.STATEMENTS * 6,
            *control_flow.TERMINATORS,
            *arithmetic.STATEMENTS,
            *memory.STATEMENTS,
        ),
    ),
    Family(
        "memory",
        "loads and stores through pointers, tokens, alloca, globals, casts of pointers, fences",
        (*memory.STATEMENTS * 3, *memory.FENCES, *arithmetic.STATEMENTS, *control_flow.STATEMENTS * 2),
    ),
    Family(
        "views",
        "tensor views and tiles of them: partitions, strides, gathers, padding, sizes known only at the launch",
        (*views.STATEMENTS * 5, *arithmetic.STATEMENTS, *control_flow.STATEMENTS, *shapes.STATEMENTS),
    ),
    Family(
        "atomics",
        "read-modify-write and compare-and-swap of one's own, and of what all tile blocks share in any order",
        (*atomics.STATEMENTS * 8, *arithmetic.STATEMENTS, *memory.STATEMENTS, *control_flow.STATEMENTS),
    ),
    Family(
        "products",
        "mmaf, mmai and mmaf_scaled of numbers whose sums are exact",
        (*reductions.PRODUCTS * 8, *arithmetic.STATEMENTS, *shapes.STATEMENTS),
    ),
)
EVERYTHING = "everything"
_TOGETHER = Family(
    EVERYTHING,
    "all of the others in one program, with assertions and assumptions",
    (
        *arithmetic.STATEMENTS,
        *conversions.STATEMENTS,
        *shapes.STATEMENTS,
        *reductions.STATEMENTS * 3,
        *functions.STATEMENTS,
        *reductions.PRODUCTS,
        *control_flow.STATEMENTS * 2,
        *control_flow.TERMINATORS,
        *memory.STATEMENTS,
        *memory.FENCES,
        *views.STATEMENTS,
        *atomics.STATEMENTS,
        *control_flow.PROMISES,
    ),
)
FAMILIES: dict[str, Family] = {family.name: family for family in (*_ALONE, _TOGETHER)}
ON_REQUEST: tuple[Statement, ...] = control_flow.PRINTING
"""What no family has: programs print only where that is asked for by name."""
