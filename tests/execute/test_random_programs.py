"""Random programs run, and run the same again: twice, observed or not, after text and after bytecode."""

from __future__ import annotations

import hashlib
from random import Random
from typing import Any

import numpy
import pytest
from tests.generators.programs import declared_operations, random_module
from tests.sampling import one_in

import tileir
from tileir.dialect.types import PointerType, TileType
from tileir.execute.dtypes import memory_dtype, value_dtype
from tileir.execute.launching.entries import entries_of
from tileir.execute.observing.observer import TileBlock
from tileir.ir.core import Operation
from tileir.ir.types import IntegerType
from tileir.ir.versions import V13_1, V13_2, V13_3, V13_4, Version

_LIMIT = 1500
# Addresses differ from run to run: they may be computed and used, but nothing else may follow from them.
OPERATIONS = [declaration.mnemonic for declaration in declared_operations() if declaration.mnemonic != "ptr_to_int"]


class _Enough(Exception):
    """The program ran long enough: random loops need not end."""


class _Digest(tileir.observers.Observer):
    """All values a program computes, except addresses, which differ from run to run."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.steps = 0

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        self.steps += 1
        if self.steps > _LIMIT:
            raise _Enough
        self.hash.update(operation.name.encode())
        for value, result in zip(results, operation.results, strict=True):
            if not isinstance(result.type, TileType) or isinstance(result.type.element, PointerType):
                continue
            assert value.dtype == value_dtype(result.type.element), operation.name
            if not _in_aggregate(operation):
                assert value.shape == result.type.shape, operation.name
            self.hash.update(numpy.ascontiguousarray(value).tobytes())


def _in_aggregate(operation: Operation) -> bool:
    parent = operation.parent_operation
    while parent is not None:
        if parent.name in ("cuda_tile.reduce", "cuda_tile.scan"):
            return True
        parent = parent.parent_operation
    return False


def arguments_for(entry: Operation) -> list[Any] | None:
    rng = numpy.random.default_rng(1)
    found: list[Any] = []
    for parameter in entry.regions[0].blocks[0].arguments:
        if not isinstance(parameter.type, TileType):
            return None
        element = parameter.type.element
        if isinstance(element, PointerType):
            found.append(rng.integers(0, 255, 1024).astype(numpy.uint8).view(memory_dtype(element.pointee)))
        else:
            found.append(1 if isinstance(element, IntegerType) else 1.5)
    return found


def _run(module: Operation, name: str, observer: _Digest | None) -> tuple[Any, ...] | None:
    """How a program ends, the memory it leaves, the values it computes, what it prints."""
    arguments = arguments_for(entries_of(module)[name])
    if arguments is None:
        return None
    printed: list[str] = []
    end = "fine"
    try:
        tileir.compile(module, entry=name).launch((2, 2), arguments, observer=observer, output=printed.append)
    except _Enough:
        end = "enough"
    except tileir.TileIRError as error:
        # Addresses differ from run to run.
        end = type(error).__name__ + error.diagnostics[0].message.partition(" at address ")[0]
    memory = b"".join([value.tobytes() for value in arguments if isinstance(value, numpy.ndarray)])
    digest = observer.hash.hexdigest() if observer is not None else ""
    return end, memory, digest, printed if not _prints_addresses(module) else []


def _prints_addresses(module: Operation) -> bool:
    return any(
        isinstance(value.type, TileType) and isinstance(value.type.element, PointerType)
        for operation in module.walk()
        if operation.name == "cuda_tile.print_tko"
        for value in operation.operands
    )


# What each family of programs holds, and the bytecode it makes a trip through.  What only the seeds have is in no
# bytecode; the documented layout is there for 13.1.
FAMILIES: dict[str, tuple[Version, bool, tuple[str, ...]]] = {
    "seed forms": (V13_4, True, ()),
    "13.4": (V13_4, False, ("public",)),
    "13.3": (V13_3, False, ("public",)),
    "13.2": (V13_2, False, ("public",)),
    "13.1": (V13_1, False, ("public", "documented")),
}


def _copies(module: Operation, version: Version, layouts: tuple[str, ...]) -> list[Operation]:
    copies: list[Operation] = [tileir.parse(str(module))]
    for layout in layouts:
        data = tileir.to_bytecode(module, version=f"{version[0]}.{version[1]}", layout=layout)
        copies.append(tileir.from_bytecode(data))
    return copies


def _check(family: str, seed: int) -> int:
    version, draft_forms, layouts = FAMILIES[family]
    module = random_module(
        Random(seed),
        size=25,
        operations=OPERATIONS,
        version=version,
        draft_forms=draft_forms,
        discardable=False,
        locations=False,
    )
    copies = _copies(module, version, layouts)
    runs = 0
    for name in entries_of(module):
        first = _run(module, name, _Digest())
        if first is None:
            continue
        runs += 1
        assert _run(module, name, _Digest()) == first
        for copy in copies:
            assert _run(copy, name, _Digest()) == first
        if first[0] == "fine":
            # Without an observer what does not depend on the tile block is computed elsewhere.
            plain = _run(module, name, None)
            assert plain is not None and (plain[0], plain[1], plain[3]) == (first[0], first[1], first[3])
    return runs


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seeds", one_in(2, [range(8), range(8, 16)]))
@pytest.mark.parametrize("family", FAMILIES)
def test_random_programs_run_the_same_twice_and_after_text_and_bytecode(family: str, seeds: range) -> None:
    assert sum([_check(family, seed) for seed in seeds]) > 4


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 1800, 100))
@pytest.mark.parametrize("family", FAMILIES)
def test_many_random_programs_run_the_same_twice_and_after_text_and_bytecode(family: str, start: int) -> None:
    assert sum([_check(family, seed) for seed in range(start, start + 100)]) > 50
