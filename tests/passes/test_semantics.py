"""Optimizing changes no result: random programs compute the same bits before and after, pass by pass and level by level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy
import pytest
from tests.execute.test_random_programs import arguments_for
from tests.generators.programs import declared_operations, random_module
from tests.passes.forms import formed, forms
from tests.passes.split_loops import split_loops

import tileir
from tileir import smith
from tileir.analysis import SMITH_FAMILIES
from tileir.dialect.enums import MEMORY_ORDERING
from tileir.dialect.ops import ADDI, BROADCAST, IOTA, OFFSET, PTR_TO_PTR, RESHAPE, STORE_PTR_TKO
from tileir.dialect.types import TOKEN, PointerType, TileType, pointer_type, tile_type
from tileir.execute.launching.entries import entries_of
from tileir.execute.observing.observer import TileBlock
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import PURE
from tileir.ir.types import I32, TF32, FloatType, IntegerType
from tileir.ir.values import BlockArgument, Value
from tileir.passes.emit import Emit
from tileir.rewrite.matching import tile_of

# Steps of a program; its other forms may take more.
_LIMIT = 3000
# What `arguments_for` gives a pointer.
_ARRAY_BYTES = 1024
# Addresses differ from run to run, so nothing may follow from them.
_OPERATIONS = [d.mnemonic for d in declared_operations() if d.mnemonic not in ("ptr_to_int", "print_tko")]
# What no older version has anything for would leave no program to compare.
_REFUSED = [
    "gdc_wait_tko",
    "memory_fence_alias_tko",
    "make_gather_scatter_view",
    "atan2",
    "pack",
    "unpack",
    "alloca",
    "mmaf_scaled",
]
_WRITTEN_FOR_OLDER = [name for name in _OPERATIONS if name not in _REFUSED]


class _Enough(Exception):
    """The program ran long enough: random loops need not end."""


class _Limit(tileir.observers.Observer):
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.steps = 0

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        self.steps += 1
        if self.steps > self.limit:
            raise _Enough


def memory_after(module: Operation, name: str, limit: int = 10 * _LIMIT) -> bytes | None:
    """What a program leaves in its arrays; None when it does not come to a good end."""
    arguments = arguments_for(entries_of(module)[name])
    if arguments is None:
        return None
    try:
        tileir.compile(module, entry=name).launch((2, 2), arguments, observer=_Limit(limit))
    except (_Enough, tileir.TileIRError):
        return None
    return b"".join([value.tobytes() for value in arguments if isinstance(value, numpy.ndarray)])


def forms_of(module: Operation) -> Iterator[tuple[str, Operation]]:
    """The program in all its forms, those that are no different left out."""
    text = str(module)
    for name, form in forms().items():
        # Fusing rounds once instead of twice, which is what it is for.
        if "fuse-fma" not in name:
            found = formed(module, name, form)
            if found is not None and str(found) != text:
                yield name, found


def expose(module: Operation) -> Operation:
    """Store what the entries compute, as much as the array of their first pointer holds; otherwise little is seen."""
    for entry in entries_of(module).values():
        block = entry.regions[0].block
        pointers = _pointers(entry)
        last = block.last
        if not pointers or last is None:
            continue
        used = 0
        emit = Emit(last)
        for operation in reversed(block.operations[:-1]):
            for result in operation.results:
                element = _element(result, (IntegerType, FloatType))
                if element is not None and element.width >= 8 and element is not TF32:
                    size = tile_of(result).count * element.width // 8
                    start = -(-used // (element.width // 8))
                    if start * element.width // 8 + size <= _ARRAY_BYTES:
                        _store(emit, pointers[0], result, start)
                        used = start * element.width // 8 + size
    tileir.verify(module)
    return module


def _pointers(entry: Operation) -> list[BlockArgument]:
    arguments = entry.regions[0].block.arguments
    return [argument for argument in arguments if _element(argument, PointerType) is not None]


def _element(value: Value, kind: Any) -> Any:
    return value.type.element if isinstance(value.type, TileType) and isinstance(value.type.element, kind) else None


def _store(emit: Emit, pointer: Value, value: Value, start: int) -> None:
    """Store a tile from element `start` on, in row-major order."""
    type = tile_of(value)
    target = pointer_type(type.element)
    line = (type.count,)
    places = emit.create(PTR_TO_PTR, [pointer], [tile_type((), target)]).results[0]
    places = emit.create(RESHAPE, [places], [tile_type((1,), target)]).results[0]
    places = emit.create(BROADCAST, [places], [tile_type(line, target)]).results[0]
    numbers: Value = emit.create(IOTA, [], [tile_type(line, I32)]).results[0]
    numbers = emit.apply(ADDI, numbers, emit.bits(tile_type(line, I32), start))
    places = emit.create(OFFSET, [places, numbers], [tile_type(line, target)]).results[0]
    flat = emit.create(RESHAPE, [value], [tile_type(line, type.element)]).results[0]
    weak: dict[str, Attribute] = {"memory_ordering_semantics": MEMORY_ORDERING["weak"]}
    emit.create(STORE_PTR_TKO, [places, flat], [TOKEN], weak, segments=(1, 1, 0, 0))


def _numbers(operations: list[str]) -> list[str]:
    """Operations that compute numbers from numbers, and nothing else: programs of them always come to a good end."""
    excluded = ("unrealized_conversion_cast", "int_to_ptr", "ptr_to_ptr", "offset", "get_global", "divi", "remi")
    pure = [REGISTRY.by_name[f"cuda_tile.{name}"] for name in operations if name not in excluded]
    return [d.mnemonic for d in pure if d.traits & PURE and not d.regions and "view" not in d.mnemonic]


# What a program holds, whether the drafts' own forms are among it, and about how much.  Some hold nothing that legalizing
# or an older version refuses, or there would be few programs to compare.
FAMILIES: dict[str, tuple[list[str], bool, int]] = {
    "all": (_OPERATIONS, True, 30),
    "older": (_WRITTEN_FOR_OLDER, False, 8),
    "numbers": (_numbers(_OPERATIONS), True, 25),
    "public numbers": (_numbers(_WRITTEN_FOR_OLDER), False, 25),
}


def random_program(rng: Random, family: str) -> Operation:
    if family == "loops":
        return split_loops(rng)
    operations, draft_forms, size = FAMILIES[family]
    while True:
        module = random_module(
            rng, size=size, operations=operations, draft_forms=draft_forms, discardable=False, locations=False
        )
        if any(_pointers(entry) for entry in entries_of(module).values()):
            return expose(module)


def _check(family: str, seed: int) -> Counter[str]:
    """How often each form was compared."""
    module = random_program(Random(seed), family)
    compared: Counter[str] = Counter()
    expected = {name: memory_after(module, name, _LIMIT) for name in entries_of(module)}
    if all(memory is None for memory in expected.values()):
        return compared
    for form, optimized in forms_of(module):
        for name, memory in expected.items():
            if memory is not None:
                assert memory_after(optimized, name) == memory, f"{form} changes what @{name} computes (seed {seed})"
                compared[form] += 1
    return compared


# What changes no operation that is run, or none at all.
_NEVER_DIFFERENT = ("inline", "strip-debuginfo", "synthesize-debug-info-scopes", "-O0")


def test_no_pass_and_no_level_changes_a_result() -> None:
    compared: Counter[str] = Counter()
    for family in ("loops", *FAMILIES):
        for seed in range(2):
            compared += _check(family, seed)
    assert set(compared) == {
        name for name in forms() if "fuse-fma" not in name and not name.startswith(_NEVER_DIFFERENT)
    }


def _check_well_defined(family: str, seed: int) -> int:
    """How many forms of a program of `tileir.smith` were compared; all of them come to a good end."""
    program = smith(seed, family=family, size=50)
    compared = 0
    for form, changed in forms_of(program.module):
        arguments = program.arguments
        tileir.compile(changed, backend="interpreter", exact=True).launch(program.grid, arguments)
        assert program.check(arguments) is None, f"{form} changes what a program computes ({family}, seed {seed})"
        compared += 1
    return compared


@pytest.mark.parametrize("family", SMITH_FAMILIES)
def test_no_pass_and_no_level_changes_a_result_of_a_well_defined_program(family: str) -> None:
    assert _check_well_defined(family, 1) > 5


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 1200, 50))
@pytest.mark.parametrize("family", SMITH_FAMILIES)
def test_no_pass_and_no_level_changes_a_result_of_many_well_defined_programs(family: str, start: int) -> None:
    assert sum([_check_well_defined(family, seed) for seed in range(start, start + 50)]) > 250


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 1400, 50))
@pytest.mark.parametrize("family", ["loops", *FAMILIES])
def test_no_pass_and_no_level_changes_a_result_of_many_programs(family: str, start: int) -> None:
    assert sum([_check(family, seed).total() for seed in range(start, start + 50)]) > 100
