"""The examples, and the kernels in cuTile's language: programs as users have them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
from tests.hardware.agreement.interpreting import NotRunError, interpret
from tests.hardware.agreement.program import Address, Argument, Number, Pointer, Program, dtype_of, generator
from tests.hardware.agreement.randomized import number, open_operations
from tests.kernels.export import all_cases, export, tools_available

import tileir
from tileir.dialect.types import PointerType, TileType
from tileir.execute.launching.entries import entries_of

EXAMPLES = Path(__file__).parents[3] / "examples"


def examples() -> Iterator[Program]:
    sys.path.insert(0, str(EXAMPLES))
    try:
        found: Any = importlib.import_module("run_all").examples()
    finally:
        sys.path.remove(str(EXAMPLES))
    for example in found:
        module: Any = tileir.load(EXAMPLES / f"{example.name}.mlir")
        (entry,) = entries_of(module).values()
        values = [*example.inputs, example.output, *example.scalars]
        memories: list[bytes] = []
        arguments: list[Argument] = []
        for parameter, value in zip(entry.regions[0].block.arguments, values, strict=True):
            assert isinstance(parameter.type, TileType)
            element = parameter.type.element
            if isinstance(element, PointerType):
                arguments.append(Pointer(len(memories), 0, str(element.pointee), value.size))
                memories.append(numpy.ascontiguousarray(value).tobytes())
            else:
                arguments.append(number(str(element), value))
        grid = (example.grid,) if isinstance(example.grid, int) else tuple(example.grid)
        x, y, z = (*grid, 1, 1)[:3]
        yield Program(
            f"examples: {example.name}",
            _named(module),
            (x, y, z),
            memories,
            arguments,
            {"open": open_operations(module)},
        )


def _named(module: Any) -> str:
    """The text of a module whose kernel is called @k; locations are left out."""
    (entry,) = entries_of(module).values()
    entry.set_attribute("sym_name", "k")
    return str(module)


# --- cuTile ---


def cutile() -> Iterator[Program]:
    """Every kernel of `tests/kernels`, on the largest grid of a few that leaves nothing open."""
    if not tools_available():
        return
    for case in all_cases():
        module: Any = tileir.from_bytecode(export(case, case.versions[-1]))
        first, *others = entries_of(module).values()
        for other in others:
            other.erase()
        text = _named(module)
        best: Program | None = None
        for grid in ((2, 2, 1), (2, 1, 1), (1, 1, 1)):
            made = _cutile_program(case, text, module, first, grid)
            try:
                outcome = interpret(made)
            except NotRunError:
                best = best or made
                continue
            best = made
            if not outcome.unspecified:
                break
        if best is not None:
            yield best


# Whole tiles: what a view without padding reads beyond its tensor is not specified.
EXTENTS = {0: (), 1: (512,), 2: (128, 128), 3: (16, 64, 64), 4: (8, 8, 8, 8), 5: (4, 4, 4, 8, 8)}


class _Given:
    """Arguments as they come together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.memories: list[bytes] = []
        self.arguments: list[Argument] = []
        self.addresses: list[Address] = []

    def shape_of(self, constraint: Any) -> tuple[list[int], list[int]]:
        """Extents and strides that a constraint allows."""
        extents = list(EXTENTS[constraint.ndim])
        for place, constant in enumerate(constraint.shape_constant or ()):
            if constant is not None:
                extents[place] = constant
        strides = [1] * constraint.ndim
        known = list(constraint.stride_constant or [None] * constraint.ndim)
        # The dimension that is said to be contiguous lies innermost.
        order = sorted(range(constraint.ndim), key=lambda place: (known[place] == 1, place))
        step = 1
        for place in reversed(order):
            strides[place] = step if known[place] is None else known[place]
            step = strides[place] * extents[place]
        return extents, strides

    def memory(self, element: str, count: int) -> int:
        rng = generator(self.name, len(self.memories))
        if element[0] == "i":
            # A lock is open before the launch.
            most = 1 if self.name == "critical_section" else 2 if element == "i1" else 16
            array = rng.integers(0, most, count).astype(dtype_of(element))
        else:
            array = rng.standard_normal(count).astype(numpy.float32).astype(dtype_of(element))
        self.memories.append(array.tobytes())
        return len(self.memories) - 1

    def array(self, constraint: Any, types: list[Any]) -> None:
        extents, strides = self.shape_of(constraint)
        count = 1 + sum([(extent - 1) * stride for extent, stride in zip(extents, strides, strict=True)])
        element = str(types.pop(0).element.pointee)
        place = self.memory(element, count)
        self.arguments.append(Pointer(place, 0, element, count))
        for value in (*extents, *strides):
            self.arguments.append(Number(str(types.pop(0).element), value))

    def table(self, constraint: Any, types: list[Any]) -> None:
        """A table of rows: address, extents, strides."""
        element = ELEMENTS[constraint.element.dtype.name]
        extents, strides = self.shape_of(constraint.element)
        count = 1 + sum([(extent - 1) * stride for extent, stride in zip(extents, strides, strict=True)])
        place = len(self.memories)
        self.memories.append(b"")
        rows = numpy.zeros((3, 1 + 2 * len(extents)), "i8")
        for row in range(len(rows)):
            target = self.memory(element, count)
            self.addresses.append(Address(place, row * rows.shape[1] * 8, target, 0))
            rows[row, 1:] = [*extents, *strides]
        self.memories[place] = rows.tobytes()
        types.pop(0)
        self.arguments.append(Pointer(place, 0, "i64", rows.size))
        self.arguments.append(Number(str(types.pop(0).element), len(rows)))

    def take(self, constraint: Any, types: list[Any]) -> None:
        kind = type(constraint).__name__
        if kind == "ArrayConstraint":
            self.array(constraint, types)
        elif kind == "ListConstraint":
            self.table(constraint, types)
        elif kind == "TupleConstraint":
            for item in constraint.items:
                self.take(item, types)
        elif kind == "ScalarConstraint":
            element = str(types.pop(0).element)
            self.arguments.append(number(element, 3 if element[0] == "i" else 1.5))


ELEMENTS = {"float16": "f16", "float32": "f32", "int64": "i64", "float64": "f64", "int32": "i32", "bfloat16": "bf16"}


def _cutile_program(case: Any, text: str, module: Any, entry: Any, grid: tuple[int, int, int]) -> Program:
    given = _Given(case.name)
    types = [argument.type for argument in entry.regions[0].block.arguments]
    for constraint in case.signature:
        given.take(constraint, types)
    assert not types, case.name
    details = {"open": open_operations(module)}
    return Program(f"cutile: {case.name}", text, grid, given.memories, given.arguments, details, given.addresses)
