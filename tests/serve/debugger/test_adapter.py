"""Sessions of the debug adapter over its real wire: every message of both sides is as the published schema says."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.serve.debugger.client import Client, RequestFailed, address_in, in_process, over_socket, over_stdio

import tileir

SOFTMAX: dict[str, Any] = {
    "program": str(Path(__file__).parents[3] / "examples" / "softmax.mlir"),
    "grid": "4",
    "args": ["signed:f32:4x1000", "zeros:f32:4x1000", "4", "1000"],
}


@pytest.fixture
def client() -> Iterator[Client]:
    client = in_process()
    yield client
    client.close()


def test_session_from_launch_to_its_end() -> None:
    client = over_stdio()
    client.begin(**SOFTMAX, stopOnEntry=True)
    assert client.stopped()["reason"] == "entry"
    assert client.request("threads")["threads"] == [{"id": 1, "name": "tile block (0, 0, 0)"}]
    assert client.top()["line"] == 5
    client.step("next")
    assert client.top()["line"] == 6
    assert {one["name"]: one["value"] for one in client.scope("Values")} == {"%row": "0", "%y": "0", "%z": "0"}
    assert client.step("stepBack")["reason"] == "step"
    assert client.top()["line"] == 5
    client.request("continue", threadId=1)
    assert client.event("exited")["exitCode"] == 0
    client.event("terminated")
    assert "The launch is done." in client.output("console")
    client.request("disconnect")
    client.close()
    assert client.process.returncode == 0


def test_tiles_are_opened_row_by_row(client: Client) -> None:
    client.begin(**SOFTMAX, stopOnEntry=True)
    client.stopped()
    for _ in range(5):
        client.step("next")
    x = next(one for one in client.scope("Values") if one["name"] == "%x")
    assert x["indexedVariables"] == 1
    rows = client.request("variables", variablesReference=x["variablesReference"], filter="indexed")["variables"]
    assert [row["type"] for row in rows] == ["1024xf32"]
    part = client.request("variables", variablesReference=rows[0]["variablesReference"], start=990, count=20)
    assert [one["name"] for one in part["variables"]] == [f"[{place}]" for place in range(990, 1010)]
    assert part["variables"][0]["evaluateName"] == "x[0, 990]"
    assert part["variables"][19]["value"] == "-inf"
    named = client.request("variables", variablesReference=x["variablesReference"], filter="named")["variables"]
    words = {one["name"]: one["value"] for one in named}
    assert words["shape"] == "[1, 1024]" and words["infinite"] == "24"
    hex = client.request(
        "variables", variablesReference=rows[0]["variablesReference"], start=1000, count=1, format={"hex": True}
    )
    assert hex["variables"][0]["value"] == "0xff800000"


def test_memory_of_an_array(client: Client) -> None:
    client.begin(**SOFTMAX, stopOnEntry=True)
    client.stopped()
    source = next(one for one in client.scope("Arrays") if one["name"] == "source")
    reference = source["memoryReference"]
    body = client.request("readMemory", memoryReference=reference, offset=4, count=8)
    found = numpy.frombuffer(base64.b64decode(body["data"]), numpy.float32)
    assert [str(one) for one in found] == source["value"][2:].split(", ")[1:3]
    last = client.request("readMemory", memoryReference=reference, offset=15_996, count=8)
    assert last["unreadableBytes"] == 4
    with pytest.raises(RequestFailed, match="there is no memory 'array 7'"):
        client.request("readMemory", memoryReference="array 7", count=8)


def test_lines_and_columns_may_begin_at_zero(client: Client) -> None:
    client.initialize(linesStartAt1=False, columnsStartAt1=False)
    client.begin(**SOFTMAX, stopOnEntry=True)
    client.stopped()
    assert client.top()["line"] == 4


def test_bytecode_has_a_source_that_is_asked_for(client: Client, tmp_path: Path) -> None:
    program = tmp_path / "softmax.tileirbc"
    program.write_bytes(tileir.to_bytecode(tileir.load(SOFTMAX["program"])))
    client.begin(**{**SOFTMAX, "program": str(program)}, stopOnEntry=True)
    client.stopped()
    frame = client.top()
    number = frame["source"]["sourceReference"]
    text = client.request("source", sourceReference=number)["content"]
    assert "get_tile_block_id" in text.split("\n")[frame["line"] - 1]
    assert client.request("loadedSources")["sources"][0]["sourceReference"] == number
    with pytest.raises(RequestFailed, match="there is no source 99"):
        client.request("source", sourceReference=99)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"program": "/nowhere.mlir"}, "cannot read '/nowhere.mlir': No such file"),
        ({"program": 3}, "'program' of 'launch' is a text, not 3"),
        ({"args": []}, "4 arguments"),
        ({"grid": "none"}, "'none'"),
        ({"names": "mine"}, "'names' of 'launch' is script or tile, not 'mine'"),
        ({"memoryLimit": "lots"}, "'lots' is no size"),
    ],
)
def test_launch_that_makes_no_sense_is_refused_in_words(client: Client, changed: dict, words: str) -> None:
    client.initialize()
    with pytest.raises(RequestFailed) as refused:
        client.request("launch", **{**SOFTMAX, **changed})
    assert words in refused.value.words
    # The next one may be right.
    client.begin(**SOFTMAX, stopOnEntry=True)
    assert client.stopped()["reason"] == "entry"


def test_program_with_a_mistake_is_told_with_its_place(client: Client) -> None:
    program = str(Path(SOFTMAX["program"]).with_name("broken.mlir"))
    client.initialize()
    with pytest.raises(RequestFailed, match=r"error: [^\n]*\n +--> [^\n]*broken\.mlir:\d+:\d+\n"):
        client.request("launch", program=program)


def test_questions_without_a_launch_are_refused(client: Client) -> None:
    client.initialize()
    asked: list[tuple[str, Any]] = [
        ("stackTrace", {"threadId": 1}),
        ("next", {"threadId": 1}),
        ("scopes", {"frameId": 1}),
    ]
    for command, arguments in asked:
        with pytest.raises(RequestFailed, match="no kernel is being launched"):
            client.request(command, **arguments)
    with pytest.raises(RequestFailed, match="knows no request 'launchpad'"):
        client.request("launchpad", check=False)
    with pytest.raises(RequestFailed, match="there is no script to attach to"):
        client.request("attach", port=1)


def test_malformed_messages_do_not_end_the_adapter(client: Client) -> None:
    client.initialize()
    client.send_raw(b"Content-Length: 9\r\n\r\n{nonsense")
    client.send_raw(b'Content-Length: 2\r\n\r\n[]Content-Length: 17\r\n\r\n{"type":"request"}'[:-1])
    assert "not JSON" in client.event("output")["output"]
    assert "a JSON object" in client.event("output")["output"]
    client.begin(**SOFTMAX, stopOnEntry=True)
    assert client.stopped()["reason"] == "entry"


def test_adapter_over_tcp_serves_one_after_the_other() -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "tileir", "debug", "--tcp", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
    )
    try:
        port, token = address_in(server.stderr.readline())
        for _ in range(2):
            client = over_socket(("127.0.0.1", port))
            client.begin(**SOFTMAX, stopOnEntry=True, token=token)
            client.stopped()
            assert client.step("next")["reason"] == "step"
            client.request("disconnect")
            while client.receive() is not None:
                pass
            client.close()
    finally:
        server.terminate()
        server.wait()


def test_the_client_of_the_tests_finds_what_is_not_in_the_schema() -> None:
    from tests.serve.debugger.protocol_schema import validate

    jsonschema = pytest.importorskip("jsonschema")
    good = {"seq": 1, "type": "event", "event": "stopped", "body": {"reason": "step"}}
    validate(good)
    for body in ({"reason": 3}, {}):
        with pytest.raises(jsonschema.ValidationError):
            validate({**good, "body": body})
    with pytest.raises(AssertionError, match="has no"):
        validate({**good, "body": {"reason": "step", "why": "nobody knows"}})
    assert json.dumps(good)
