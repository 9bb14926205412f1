"""An agent with nothing but the tools repairs planted bugs, over the protocol and with the SDK's client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.agent.clients import Agent
from tests.agent.repairs import repair
from tests.bridge.mistakes import CUTILE, TRITON
from tests.optional import needs
from tests.sampling import one_in

BUGS = {
    f"{name} in {library}": bug
    for library, table in (("cuTile", CUTILE), ("Triton", TRITON))
    for name, bug in list(table.items())[::3]
}


@pytest.fixture(scope="module")
def agent() -> Iterator[Agent]:
    with Agent() as found:
        yield found


def is_right(answer: dict[str, Any]) -> bool:
    return answer["status"] == 0 and "results are right" in answer["text"]


@pytest.mark.parametrize("name", one_in(8, BUGS))
def test_the_bug_is_found_and_repaired(agent: Agent, name: str) -> None:
    bug = BUGS[name]
    for package in ("triton", "torch") if "triton" in bug.script else ("cuda.tile",):
        needs(package)
    assert not is_right(agent.call("sanitize", source=bug.script))
    repaired, _ = repair(bug.script, agent.call, is_right)
    assert is_right(agent.call("sanitize", source=repaired))


def test_several_bugs_of_one_program_are_repaired(agent: Agent) -> None:
    needs("cuda.tile")
    script = CUTILE["program_id"].script
    for name in ("tile of 12", "flat arguments", "grid rounded down"):
        script = script.replace(CUTILE[name].right, CUTILE[name].wrong, 1)
    script = script.replace("(16,))\n    b", "(12,))\n    b")
    repaired, calls = repair(script, agent.call, is_right, most=10)
    assert calls >= 5
    assert repaired.count("(16,)") == script.count("(12,)")


def test_there_are_twenty_bugs() -> None:
    assert len(BUGS) >= 20
