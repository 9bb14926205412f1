"""Programs of every operation compiled by Triton for three generations of GPUs, but for the few that docs/internals/triton.md names."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from itertools import islice

import pytest
from tests.execute.gpu.triton.sweeping import TARGETS, Failure, agreement_programs, compile_all, table_of_causes
from tests.hardware.agreement.families import FAMILIES

from tileir.ir.registry import REGISTRY

pytestmark = pytest.mark.usefixtures("triton")

QUICK = {
    "elementwise": 2000, "shapes": 1000, "reduce": 20, "scan": 20, "products": 200, "views": 200, "accesses": 200,
    "atomics": 200, "control": 100, "examples": 10,
}  # fmt: skip
"""Families whose programs are made in a moment, and how many of each are enough to choose from."""

LACKING: dict[str, tuple[str, ...]] = {
    "": ("has the memory ordering 'seq_cst'",),
    "sm_80": (),
    "sm_90": (),
    "sm_100": ("failed to find valid tcgen05.mma layout",),
}
"""What docs/internals/triton.md says is not compiled, by the words of the error; under no name for all GPUs."""


@functools.cache
def sample() -> list[tuple[str, str]]:
    programs = [program for name, most in QUICK.items() for program in islice(FAMILIES[name](), most)]
    return list(of_every_operation({program.text: program.name for program in programs}))


def of_every_operation(programs: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Names and texts of short programs that have all operations together which the given ones have."""
    mnemonics = {declaration.mnemonic for declaration in REGISTRY.declarations()}
    words = {text: mnemonics.intersection(re.findall(r"\w+", text)) for text in programs}
    seen: set[str] = set()
    # Those with the most operations for their length first: each brings some that were not seen.
    for text in sorted(programs, key=lambda text: (len(text) + 1500) / len(words[text])):
        if words[text] - seen:
            seen |= words[text]
            yield programs[text], text


def check(failures: list[Failure]) -> None:
    others = [each for each in failures if not any(words in each.words for words in LACKING[""] + LACKING[each.target])]
    assert not others, table_of_causes(others)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", TARGETS)
def test_every_operation_compiles(target: str) -> None:
    # Triton's part takes most of the time, and is much the same for all: some of them get a few programs.
    check(list(compile_all(sample() if target == "sm_90" else sample()[::8], [target], 2)))
    check(list(compile_all(sample(), [target], 2, only_lower=True)))


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
def test_all_programs_compile(target: str) -> None:
    check(list(compile_all(agreement_programs(None, []), [target], 2)))
