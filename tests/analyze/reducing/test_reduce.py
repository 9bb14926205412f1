"""`tileir.reduce`: smaller, valid, still interesting, and the same whatever the number of jobs."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest
from tests.generators.programs import random_module

import tileir
from tileir.ir.core import Operation

ROOT = Path(__file__).parents[3]
ATTENTION = ROOT / "examples" / "attention.mlir"


def has(name: str, module: Operation) -> bool:
    return any(operation.name == f"cuda_tile.{name}" for operation in module.walk())


def test_everything_but_the_interesting_operation_goes() -> None:
    found = tileir.reduce(tileir.load(ATTENTION), lambda module: has("exp", module))
    assert [operation.declaration.mnemonic for operation in found.module.walk()] == [
        "module",
        "entry",
        "constant",
        "exp",
        "return",
    ]
    assert found.original == 62
    assert found.operations == 5
    assert found.complete


def test_every_candidate_is_valid_and_the_original_is_not_changed() -> None:
    module = random_module(random.Random(3), size=60)
    before = module.text(debug_info=True)
    seen: list[str] = []

    def interesting(candidate: Operation) -> bool:
        tileir.verify(candidate)
        seen.append(candidate.text())
        return len(seen) % 3 != 0

    found = tileir.reduce(module, interesting)
    assert module.text(debug_info=True) == before
    assert len(seen) == found.tests + 1
    # No candidate twice.
    assert len(set(seen)) >= len(seen) - 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(6))
def test_the_result_does_not_depend_on_the_number_of_jobs(seed: int) -> None:
    module = random_module(random.Random(seed), size=60)
    names = sorted({operation.name for operation in module.walk() if not operation.declaration.is_terminator})
    wanted = random.Random(seed).sample(names, 2)

    def interesting(candidate: Operation) -> bool:
        return set(wanted) <= {operation.name for operation in candidate.walk()}

    one = tileir.reduce(module, interesting)
    four = tileir.reduce(module, interesting, jobs=4)
    assert one.module.text() == four.module.text()
    assert (one.tests, one.steps) == (four.tests, four.steps)
    assert tileir.reduce(one.module, interesting).operations == one.operations


def test_what_is_not_interesting_cannot_be_reduced() -> None:
    with pytest.raises(tileir.errors.NotInterestingError, match="not interesting itself"):
        tileir.reduce(tileir.load(ATTENTION), lambda module: False)


def test_an_interrupted_reduction_gives_the_best_so_far() -> None:
    calls = 0

    def interesting(candidate: Operation) -> bool:
        nonlocal calls
        calls += 1
        if calls == 15:
            raise KeyboardInterrupt
        return has("exp", candidate)

    found = tileir.reduce(tileir.load(ATTENTION), interesting)
    assert not found.complete
    assert has("exp", found.module)
    assert 5 < found.operations < 62


def test_a_state_is_gone_on_with_and_no_test_is_repeated(tmp_path: Path) -> None:
    module = tileir.load(ATTENTION)
    texts: list[str] = []
    stop = 9

    def interesting(candidate: Operation) -> bool:
        texts.append(candidate.text())
        if len(texts) == stop:
            raise KeyboardInterrupt
        return has("exp", candidate) and has("for", candidate)

    assert not tileir.reduce(module, interesting, state=tmp_path / "state").complete
    before = texts[1:8]
    texts.clear()
    stop = 0
    found = tileir.reduce(module, interesting, state=tmp_path / "state")
    assert found.complete
    # The original is looked at each time.
    assert not set(before) & set(texts[1:])
    assert found.module.text() == tileir.reduce(module, interesting).module.text()


def test_the_state_of_another_program_is_refused(tmp_path: Path) -> None:
    tileir.reduce(tileir.load(ATTENTION), lambda module: has("exp", module), state=tmp_path)
    with pytest.raises(tileir.OptionError, match="another reduction"):
        tileir.reduce(tileir.load(ROOT / "examples" / "softmax.mlir"), lambda module: True, state=tmp_path)


def test_jobs_run_at_the_same_time() -> None:
    inside: list[int] = []
    meeting = threading.Event()

    def interesting(candidate: Operation) -> bool:
        inside.append(1)
        if len(inside) == 2:
            meeting.set()
        # Long enough for another one to come, where there is one.
        meeting.wait(timeout=0.5 if len(list(candidate.walk())) > 5 else 0)
        inside.pop()
        return has("exp", candidate)

    tileir.reduce(tileir.load(ATTENTION), interesting, jobs=2)
    assert meeting.is_set()
