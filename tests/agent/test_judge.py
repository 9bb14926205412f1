"""Candidates for a task, judged by the tool for agents."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.agent.clients import Agent
from tests.optional import needs

REFERENCE = """
import numpy

def inputs(seed, n=100):
    return (numpy.random.default_rng(seed).standard_normal(n, dtype="f4"),)

def reference(x):
    return x * 2
"""
CANDIDATE = """
import cuda.tile as ct
import numpy

@ct.kernel
def double(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (16,)) * 2)

def run(x):
    out = numpy.empty_like(x)
    ct.launch(None, (ct.cdiv(x.shape[0], 16),), double, (x, out))
    return out
"""


@pytest.fixture(scope="module")
def agent() -> Iterator[Agent]:
    needs("cuda.tile")
    with Agent("--timeout", "200") as found:
        yield found


def test_a_right_candidate_is_accepted(agent: Agent) -> None:
    answer = agent.call("judge", reference=REFERENCE, candidate=CANDIDATE)
    assert (answer["status"], "accepted, score" in answer["text"]) == (0, True), answer["text"]


def test_a_candidate_without_a_kernel_is_named(agent: Agent) -> None:
    answer = agent.call("judge", reference=REFERENCE, candidate="def run(x):\n    return x * 2\n")
    assert answer["status"] == 1
    assert "cheat:no-kernel" in answer["text"]
    assert "Correct what the first check" in answer["next"]


def test_a_wrong_task_is_named(agent: Agent) -> None:
    answer = agent.call("judge", reference="x = 1", candidate=CANDIDATE)
    assert answer["status"] == 2
    assert "Correct the task" in answer["next"]
