"""Optimizing changes no result: random programs compute the same bits before and after, pass by pass and level by level."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy
import pytest
from tests.execute.test_random_programs import arguments_for
from tests.generators.programs import declared_operations, random_module

import tileir
from tileir.execute.arguments import entries_of
from tileir.execute.observer import TileBlock
from tileir.ir.clone import clone
from tileir.ir.core import Operation
from tileir.ir.diagnostics import PassError

_LIMIT = 4000
# Addresses differ from run to run, so nothing may follow from them.
_OPERATIONS = [d.mnemonic for d in declared_operations() if d.mnemonic not in ("ptr_to_int", "print_tko")]
# fuse-fma rounds once instead of twice, which is what it is for.
PASSES = (
    "canonicalize",
    "cse",
    "dce",
    "loop-invariant-code-motion",
    "loop-split",
    "strip-debuginfo",
    "synthesize-debug-info-scopes",
    "simplify",
    "legalize",
)


# Legalized to several operations that each round, so the last bit may differ from the function rounded once.
_REFINED = frozenset(f"cuda_tile.{name}" for name in ("sigmoid", "log10", "log1p", "recipf"))


class _Enough(Exception):
    """The program ran long enough: random loops need not end."""


class _Limit(tileir.Observer):
    def __init__(self) -> None:
        self.steps = 0

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        self.steps += 1
        if self.steps > _LIMIT:
            raise _Enough


def memory_after(module: Operation, name: str) -> bytes | None:
    """What a program leaves in its arrays; None when it does not come to a good end."""
    arguments = arguments_for(entries_of(module)[name])
    if arguments is None:
        return None
    try:
        tileir.compile(module, name).launch((2, 2), *arguments, observer=_Limit())
    except (_Enough, tileir.TileIRError):
        return None
    return b"".join([value.tobytes() for value in arguments if isinstance(value, numpy.ndarray)])


def forms_of(module: Operation) -> list[tuple[str, Operation]]:
    """The program after each pass alone, and after each level of both pipelines."""
    forms: list[tuple[str, Operation]] = []
    for name in PASSES:
        if name == "legalize" and not _REFINED.isdisjoint(operation.name for operation in module.walk()):
            continue
        try:
            forms.append((name, tileir.run_passes(clone(module), [name])))
        except PassError:
            # Some forms of the seeds have no public counterpart, and legalizing says so.
            assert name == "legalize"
    for pipeline in ("parity", "seed"):
        for level in range(4):
            forms.append((f"{pipeline} -O{level}", tileir.optimize(clone(module), level=level, pipeline=pipeline)))
    return forms


def _check(seed: int) -> int:
    module = random_module(Random(seed), size=30, operations=_OPERATIONS, discardable=False, locations=False)
    compared = 0
    expected = {name: memory_after(module, name) for name in entries_of(module)}
    if all(memory is None for memory in expected.values()):
        return 0
    for form, optimized in forms_of(module):
        tileir.verify(optimized)
        for name, memory in expected.items():
            if memory is not None:
                assert memory_after(optimized, name) == memory, f"{form} changes what @{name} computes (seed {seed})"
                compared += 1
    return compared


@pytest.mark.parametrize("start", range(0, 60, 15))
def test_no_pass_and_no_level_changes_a_result(start: int) -> None:
    assert sum([_check(seed) for seed in range(start, start + 15)]) > 30


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 3000, 100))
def test_no_pass_and_no_level_changes_a_result_of_many_programs(start: int) -> None:
    assert sum([_check(seed) for seed in range(start, start + 100)]) > 200
