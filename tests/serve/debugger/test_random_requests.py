"""Requests in any order, with any arguments: the adapter never dies, and each has exactly one response."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.serve.debugger.client import Client, RequestFailed, in_process
from tests.serve.debugger.test_adapter_breakpoints import MATMUL, SOURCE

from tileir.serve.debugger.adapter import execution
from tileir.serve.debugger.adapter.requests import REQUESTS

ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    3,
    1 << 60,
    2.5,
    "",
    "x",
    "c[0, 0]",
    "%step",
    [],
    [1],
    {},
    {"line": 3},
    [{"line": 29}],
]
NAMES = [
    *["threadId", "frameId", "variablesReference", "expression", "context", "source", "line", "breakpoints", "name"],
    *["start", "count", "filter", "granularity", "targetId", "memoryReference", "offset", "text", "column", "filters"],
    *["startFrame", "levels", "instructionCount", "sourceReference", "requestId", "progressId", "format", "lines"],
]
ENDING = {"disconnect", "terminate", "launch", "attach", "initialize", "restart"}
assert execution.CAPABILITIES
COMMANDS = sorted({*REQUESTS, "no such request"} - ENDING)
TYPED = [
    "step",
    "next.sum()",
    "n",
    "s",
    "rn",
    "rc",
    "c",
    "bt",
    "info locals",
    "b 29",
    "delete",
    "x/4x a[0,0]",
    "up",
    "",
]


def sensible(chance: random.Random, command: str) -> dict[str, Any]:
    """Arguments that may be right."""
    if command == "evaluate":
        context = chance.choice(["watch", "repl", "hover", "clipboard"])
        return {"expression": chance.choice(TYPED), "context": context}
    if command in ("setBreakpoints", "gotoTargets", "breakpointLocations"):
        line = chance.randrange(1, 40)
        return {
            "source": SOURCE,
            "line": line,
            "breakpoints": [{"line": line, "condition": chance.choice(["", "step > 1"])}],
        }
    number = chance.randrange(1, 12)
    found = dict.fromkeys(("threadId", "frameId", "variablesReference", "targetId", "sourceReference"), number)
    return {
        **found,
        "granularity": chance.choice(["line", "instruction"]),
        "text": "inf",
        "column": 3,
        "filters": ["failure"],
    }


def anything(chance: random.Random) -> dict[str, Any]:
    return {name: chance.choice(ODD) for name in chance.sample(NAMES, 5)}


def drive(seed: int, count: int) -> None:
    """So many requests; a launch that comes to its end is followed by another."""
    chance = random.Random(seed)
    left = count
    while left > 0:
        left -= one_session(chance, left)


def one_session(chance: random.Random, most: int) -> int:
    client: Client = in_process()
    client.begin(**MATMUL, stopOnEntry=True)
    client.stopped()
    sent: list[int] = []
    while len(sent) < most and not any(one.get("event") == "terminated" for one in client.events):
        command = chance.choice(COMMANDS)
        arguments = sensible(chance, command) if chance.random() < 0.7 else anything(chance)
        sent.append(client.send(command, arguments, check=False))
        if chance.random() < 0.6:
            wait_for(client, sent[-1])
    for sequence in sent:
        wait_for(client, sequence)
    assert all(len(client.responses[sequence]) == 1 for sequence in sent)
    assert not [one for one in client.history if "please report it" in str(one)]
    wait_for(client, client.send("disconnect", {}))
    client.close()
    return len(sent)


def wait_for(client: Client, sequence: int) -> None:
    try:
        client.response(sequence)
    except RequestFailed:
        pass


@pytest.mark.parametrize("seed", range(2))
def test_random_requests_have_one_response_each(seed: int) -> None:
    drive(seed, 150)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_random_requests(seed: int) -> None:
    drive(seed, 1000)
