"""The campaign: a few inputs in the ordinary run, all of them in the long one, which goes on where it was interrupted.

`TILEIR_CAMPAIGN` is the number of files in the long run; texts and comparisons are fewer in proportion.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.fuzz import campaign as module
from tests.fuzz.campaign import STEP, Campaign, main
from tests.kernels.export import TOOLS_MISSING, tools_available

FILES = int(os.environ.get("TILEIR_CAMPAIGN", "1000000"))
COUNTS = {"bytecode": FILES, "text": FILES // 5, "verdicts": FILES // STEP}
AGREEMENT = 0.999


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "count"), [("bytecode", 250), ("text", 125)])
def test_some_inputs_end_in_programs_or_diagnostics(kind, count, tmp_path: Path) -> None:
    # Another seed than the long run's, so that the two do not do the same.
    campaign = Campaign(kind, 2, tmp_path)
    campaign.run(count)
    assert not campaign.failures, campaign.failures[0]["why"]
    assert campaign.done >= count
    assert campaign.counts["refused"] and campaign.counts["valid"]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["bytecode", "text"])
def test_all_inputs_end_in_programs_or_diagnostics(kind) -> None:
    campaign = Campaign(kind, 1)
    campaign.run(COUNTS[kind])
    assert campaign.done >= COUNTS[kind]
    assert not campaign.failures, (
        f"{len(campaign.failures)} failures, see {campaign.path}: {campaign.failures[0]['why']}"
    )


@pytest.mark.long
@pytest.mark.skipif(not tools_available(), reason=TOOLS_MISSING)
def test_verdicts_are_those_of_the_disassembler() -> None:
    campaign = Campaign("verdicts", 1)
    campaign.run(COUNTS["verdicts"])
    # The disassembler dies of some files; that it should be copied nobody asks.
    compared = campaign.done - campaign.counts.get("the tool crashed", 0)
    assert compared >= 0.9 * COUNTS["verdicts"]
    assert campaign.counts.get("other verdict", 0) <= (1 - AGREEMENT) * compared, campaign.failures[:3]
    assert campaign.counts.get("other text", 0) <= (1 - AGREEMENT) * compared, campaign.failures[:3]


# --- the campaign itself ---


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A campaign of small chunks, whose inputs are numbers that go by without being looked at."""
    seen: list[int] = []

    def examine(kind: str, seed: int, number: int) -> str:
        seen.append(number)
        return "valid"

    monkeypatch.setattr(module, "CHUNK", 4)
    monkeypatch.setattr(module, "examine", examine)
    monkeypatch.setattr(module, "text_sources", lambda: [""])
    return seen


def test_interrupted_campaign_goes_on_where_it_stopped(small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Campaign("text", 5, tmp_path)
    first.run(10)
    assert (first.done, first.chunks) == (12, {0, 1, 2})
    monkeypatch.setattr(module, "examine", lambda kind, seed, number: "valid" if number >= 12 else 1 / 0)
    second = Campaign("text", 5, tmp_path)
    second.run(20)
    assert second.counts == {"valid": 20}
    assert not second.failures
    assert json.loads(second.path.read_text())["chunks"] == [[0, 5]]


@pytest.mark.parametrize("way", ["raise", "loop", "die", "memory"])
def test_bad_input_is_kept_with_its_number(way, small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def examine(kind: str, seed: int, number: int) -> str:
        if number == 6:
            if way == "raise":
                raise RecursionError("too deep")
            if way == "die":
                os.kill(os.getpid(), 9)
            if way == "memory":
                bytearray(1 << 40)
            while True:
                pass
        return "valid"

    monkeypatch.setattr(module, "examine", examine)
    monkeypatch.setattr(module, "SECONDS_PER_INPUT", 0.3)
    campaign = Campaign("text", 5, tmp_path)
    campaign.run(12)
    assert campaign.counts == {"valid": 11, "failed": 1}
    (found,) = campaign.failures
    assert found["number"] == 6
    expected = {
        "raise": "RecursionError: too deep",
        "loop": "TooSlow",
        "die": "the process died",
        "memory": "MemoryError",
    }
    assert expected[way] in found["why"]
    assert found["again"] == "python -m tests.fuzz.campaign text --seed 5 --only 6"
    assert (tmp_path / "text-5-6.mlir").exists()


def test_one_input_is_run_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["text", "--only", "3"]) == 0
    assert capsys.readouterr().out.strip() in ("valid", "invalid", "refused")
