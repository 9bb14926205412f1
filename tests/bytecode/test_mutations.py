"""Broken files are refused as NVIDIA's disassembler refuses them, with its words, and never break the reader."""

from __future__ import annotations

import pytest
from tests.bytecode.limits import cpu_limit
from tests.kernels.export import TOOLS_MISSING, tools_available

if not tools_available():
    pytest.skip(TOOLS_MISSING, allow_module_level=True)

import resource

from tests.bytecode.judges import our_verdict, tool_verdicts
from tests.bytecode.mutations import mutants

#: A mutant is a few kilobytes and takes a few milliseconds; this is far beyond any of them.
SECONDS_PER_FILE = 20


@pytest.mark.parametrize(("seed", "count"), [(1, 500), pytest.param(2, 10_000, marks=pytest.mark.long)])
def test_broken_files_are_accepted_and_refused_as_the_disassembler_does(seed, count):
    files = list(mutants(seed, count))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ours = []
    for name, data in files:
        with cpu_limit(SECONDS_PER_FILE, name):
            ours.append(our_verdict(data))
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
    assert growth < 200, "megabytes"

    compared = refused = same_words = 0
    different: list[str] = []
    for (name, _), our, their in zip(files, ours, tool_verdicts([data for _, data in files]), strict=True):
        if their.crashed:
            continue  # The disassembler itself broke; that it should be copied nobody asks.
        compared += 1
        if our.accepted != their.accepted:
            different.append(
                f"{name}: accepted by {'us' if our.accepted else 'the tool'} only: {our.lines or their.lines}"
            )
        elif not our.accepted:
            refused += 1
            same_words += our.lines[:1] == their.lines[:1]
    assert compared > 0.98 * count
    assert len(different) <= 0.01 * compared, different
    assert same_words >= 0.95 * refused
