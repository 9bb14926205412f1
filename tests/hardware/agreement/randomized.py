"""Random programs: those of the tests' generators, without what leaves their results open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy
from tests.execute.cpu.kernels import Array, whole_kernel
from tests.execute.cpu.stress import Stress
from tests.execute.cpu.test_agreement import shows_nan_bits, stored_floats, stress_arguments
from tests.execute.cpu.test_kernels_agree import Memories, dtypes_of
from tests.execute.test_random_programs import arguments_for
from tests.generators.programs import random_module
from tests.hardware.agreement.program import Argument, Number, Pointer, Program, dtype_of
from tests.hardware.agreement.rules import FUNCTIONS
from tests.passes.split_loops import split_loops
from tests.passes.test_semantics import FAMILIES, expose

import tileir
from tileir import smith
from tileir.analysis import SMITH_FAMILIES
from tileir.dialect.types import PointerType, TileType
from tileir.execute.launching.entries import entries_of
from tileir.ir.core import Operation

OPEN = (*FUNCTIONS, "mmaf", "mmaf_scaled", "mmai", "reduce", "scan", "atomic_rmw_tko", "sigmoid", "log10", "log1p")


def open_operations(module: Operation) -> list[str]:
    """The operations whose results the dialect leaves open to some degree."""
    found = set()
    for operation in module.walk():
        name = operation.declaration.mnemonic
        if name in OPEN or "approx" in str(operation.attributes.get("rounding_mode", "")):
            found.add(name)
        if "full" in str(operation.attributes.get("rounding_mode", "")):
            found.add(name)
    return sorted(found)


def program_of(
    name: str, module: Operation, entry: Operation, values: list[Any], grid: tuple[int, int, int]
) -> Program:
    """A program with arrays and numbers as they are passed to a launch."""
    memories: list[bytes] = []
    arguments: list[Argument] = []
    for parameter, value in zip(entry.regions[0].block.arguments, values, strict=True):
        assert isinstance(parameter.type, TileType)
        element = parameter.type.element
        if isinstance(element, PointerType):
            kind = _plain(str(element.pointee))
            arguments.append(Pointer(len(memories), 0, kind, value.size))
            memories.append(value.tobytes())
        else:
            arguments.append(number(str(element), value))
    details: dict[str, Any] = {"open": open_operations(module)}
    if shows_nan_bits(entry):
        details["nan bits"] = True
    details["layout"] = [
        [argument, start, count, _name(dtype)] for argument, start, count, dtype in stored_floats(entry)
    ]
    return Program(name, str(module), grid, memories, arguments, details)


def number(element: str, value: Any) -> Number:
    size = dtype_of(element).itemsize
    if element.startswith("i"):
        return Number(element, int(value) % (1 << (8 * size)))
    array = numpy.array([value]).astype(dtype_of(element))
    return Number(element, int(array.view(f"u{size}")[0]))


def _plain(name: str) -> str:
    """Pointers in memory are addresses."""
    return "i64" if "ptr" in name else name


def _name(dtype: Any) -> str:
    from tileir.execute.dtypes import element_of_dtype

    element = element_of_dtype(dtype)
    assert element is not None
    return element.text


# --- kernels of loops, branches, products and reductions ---


class Reading(Stress):
    """A random kernel that reads its arrays and writes nothing but its results, so that no order is left open."""

    def store_view(self) -> None:
        self.elementwise()

    def store_pointers(self) -> None:
        self.moved()

    def atomic(self) -> None:
        self.elementwise()


class Exact(Reading):
    """One without the operations that are open."""

    def reduction(self) -> None:
        self.moved()

    def argument_of_the_most(self) -> None:
        self.moved()

    def load_view(self, type: Any) -> str:
        # The views of these kernels have no padding, and tiles beyond their tensors.
        return self.load_pointers(type)

    def product(self) -> None:
        self.elementwise()

    def accumulation(self, size: int) -> None:
        self.counted(size)

    def emit(self, text: str, type: Any) -> str:
        return super().emit(re.sub(r"^exp ", "negf ", text), type)


def stresses() -> Iterator[Program]:
    for seed in range(240):
        writer = (Exact if seed % 2 else Reading)(Random(seed), 12 + seed % 3 * 6)
        module: Any = tileir.parse(writer.run())
        entry = entries_of(module)["k"]
        # The arrays of a few seeds are enough, and are kept once.
        yield program_of(f"stress: {seed}", module, entry, stress_arguments(seed % 4, "apart"), (1, 1, 1))


# --- programs of tileir.smith ---


def smiths() -> Iterator[Program]:
    """Programs of which every bit is specified: no rule but those for what the assembler gets wrong explains anything."""
    for family in SMITH_FAMILIES:
        for seed in range(40):
            made = smith(seed, family=family)
            if made.target != "sm_90":
                continue
            entry = made.entry
            entry.set_attribute("sym_name", "k")
            found = program_of(f"smith: {family} {seed}", made.module, entry, made.arguments, made.grid)
            found.details["open"] = []
            yield found


# --- whole kernels ---

LARGEST = 150_000
"""Bytes of the arrays of one program."""


def kernels() -> Iterator[Program]:
    for seed in range(300):
        written = whole_kernel(seed)
        if written.is_racy:
            continue
        module: Any = tileir.parse(written.text)
        kernel = tileir.compile(module, backend="interpreter")
        dtypes = dtypes_of(kernel)
        made = Memories(written, dtypes, seed)
        places = {memory: place for place, memory in enumerate(made.whole)}
        memories = [made.whole[memory].tobytes() for memory in made.whole]
        if sum([len(memory) for memory in memories]) > LARGEST:
            continue
        arguments: list[Argument] = []
        for place, (given, parameter) in enumerate(
            zip(written.arguments, kernel.entry.regions[0].block.arguments, strict=True)
        ):
            if isinstance(given, Array):
                start = made.arguments[place].ctypes.data - made.whole[given.memory].ctypes.data
                arguments.append(Pointer(places[given.memory], start, given.element, given.count))
            else:
                assert isinstance(parameter.type, TileType)
                arguments.append(number(str(parameter.type.element), given))
        details = {"open": open_operations(module)}
        yield Program(f"kernels: {seed}", str(module), written.grid, memories, arguments, details)


# --- what the generators of the optimizer's tests write ---

_OPEN_TOO = ("bitcast", "pack", "unpack", *OPEN)


def numbers() -> Iterator[Program]:
    """Operations that compute numbers from numbers, with every result exactly defined."""
    for family in ("numbers", "public numbers"):
        operations, drafts, size = FAMILIES[family]
        exact = [name for name in operations if name not in _OPEN_TOO]
        for seed in range(120):
            module = random_module(
                Random(seed), size=size, operations=exact, draft_forms=drafts, discardable=False, locations=False
            )
            yield from _generated(f"numbers: {family} {seed}", module)


def everything() -> Iterator[Program]:
    """All operations, in any order."""
    for family in ("all", "older"):
        operations, drafts, size = FAMILIES[family]
        for seed in range(50):
            module = random_module(
                Random(seed), size=size, operations=operations, draft_forms=drafts, discardable=False, locations=False
            )
            yield from _generated(f"random: {family} {seed}", module)


def loops() -> Iterator[Program]:
    for seed in range(120):
        yield from _generated(f"loops: {seed}", split_loops(Random(seed)), False)


def _generated(name: str, module: Operation, exposed: bool = True) -> Iterator[Program]:
    for entry_name, entry in entries_of(module).items():
        values = arguments_for(entry)
        if values is None or not any(isinstance(value, numpy.ndarray) for value in values):
            continue
        alone: Any = tileir.parse(str(module))
        for other_name, other in entries_of(alone).items():
            if other_name != entry_name:
                other.erase()
        for operation in list(alone.walk()):
            mode = operation.attributes.get("rounding_mode")
            if mode is not None and ("approx" in str(mode) or "full" in str(mode)):
                operation.set_attribute("rounding_mode", None)
        try:
            if exposed:
                expose(alone)
            tileir.verify(alone)
        except tileir.TileIRError:
            continue
        (chosen,) = entries_of(alone).values()
        chosen.set_attribute("sym_name", "k")
        yield program_of(f"{name} {entry_name}", alone, chosen, values, (1, 1, 1))
