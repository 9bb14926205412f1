"""An agent with nothing but the tools repairs planted bugs: at least 20, over the protocol and with the SDK's client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.agent.clients import Agent
from tests.agent.repairs import BUGS, repair
from tests.optional import has, needs
from tests.sampling import one_in


@pytest.fixture(scope="module")
def agent() -> Iterator[Agent]:
    with Agent() as found:
        yield found


@pytest.mark.parametrize("name", one_in(4, BUGS))
def test_the_bug_is_found_and_repaired(agent: Agent, name: str) -> None:
    bug = BUGS[name]
    if "cuda.tile" in bug.source and not has("cuda.tile"):
        needs("cuda.tile")
    answer = agent.call("sanitize", source=bug.source)
    text = json.dumps(answer)
    assert answer["status"] != 0 or "results are right" not in text, "the bug shows"

    repaired, _ = repair(bug.source, agent.call)

    assert repaired != bug.source
    last: dict[str, Any] = agent.call("sanitize", source=repaired)
    assert last["status"] == 0


def test_there_are_twenty_bugs() -> None:
    assert len(BUGS) >= 20
