"""Each cheat of the corpus is refused, and named; no honest kernel is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.judging.cheats.corpus import CHEATS, CheatingCandidate
from tests.judging.cheats.honest import honest_kernels
from tests.judging.cheats.tasks import write_task
from tests.optional import needs

import tileir
from tileir.judging.cheats import CHEATS as NAMES
from tileir.judging.cheats import cheat_of

if not hasattr(os, "fork"):
    pytest.skip("candidates run in forks, which this system lacks", allow_module_level=True)
needs("cuda.tile")

HONEST = honest_kernels()


def _needs_of(source: str) -> None:
    for library in ("torch", "triton"):
        if f"import {library}" in source:
            needs(library)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_refused_by_its_name(name: str, tmp_path: Path) -> None:
    cheat: CheatingCandidate = CHEATS[name]
    _needs_of(cheat.source + cheat.task)
    task = write_task(cheat.task, tmp_path)
    found = tileir.judge(
        task, cheat.source.encode(), seed=5, backend="interpreter", timeout=cheat.seconds, memory_limit=2 << 30
    )
    assert not found.accepted, str(found)
    assert found.reason in cheat.reasons, f"{found.reason}: {found.message}\n{found}"
    if found.reason.startswith("cheat"):
        assert found.score == 0.0


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_kernel_is_accepted(name: str, tmp_path: Path) -> None:
    kernel = HONEST[name]
    _needs_of(kernel.source)
    task = kernel.write_task(tmp_path / "task")
    found = tileir.judge(task, kernel.source.encode(), seed=7, backend="interpreter")
    assert found.accepted, str(found)


def test_the_corpus_is_as_large_as_it_is_said_to_be() -> None:
    assert len(CHEATS) >= 60 and len({each.source for each in CHEATS.values()}) == len(CHEATS)
    assert len(HONEST) >= 200 and len({(each.source, each.reference) for each in HONEST.values()}) == len(HONEST)
    assert len({each.operator for each in HONEST.values()}) >= 25
    used = {cheat_of(reason) for each in CHEATS.values() for reason in each.reasons} - {""}
    assert set(NAMES) - used <= {"forged-launch"}, "each name has a candidate"
