"""Messages on a channel: a body that is no message is passed over, and said; a header that is none is the end."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tileir.serve.debugger.adapter.requests import Channel
from tileir.serve.framing import MessageReader


def framed(body: bytes, header: bytes = b"Content-Length: %d\r\n\r\n") -> bytes:
    return header % len(body) + body


def read_all(data: bytes) -> list[Any]:
    channel = Channel(io.BytesIO(data).read, io.BytesIO())
    found: list[Any] = []
    while True:
        message = channel.read()
        if message is None:
            return found
        found.append(message)


def written(target: io.BytesIO) -> list[Any]:
    reader = MessageReader(io.BytesIO(target.getvalue()).read, 1 << 20)
    return [json.loads(body) for body in iter(reader.message, None)]


MESSAGE = {"seq": 1, "type": "request", "command": "threads"}
GOOD = framed(json.dumps(MESSAGE).encode())


@pytest.mark.parametrize(
    "header",
    [b"Content-Length: %d\r\n\r\n", b"content-length:%d\r\nContent-Type: json\r\n\r\n"],
)
def test_headers_may_be_spelled_in_several_ways(header: bytes) -> None:
    assert read_all(framed(json.dumps(MESSAGE).encode(), header) + GOOD) == [MESSAGE, MESSAGE]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (framed(b"{nonsense"), "not JSON"),
        (framed(b"[1, 2]"), "a JSON object, not a list"),
        (framed(b'"\xff"'), "not JSON"),
        (framed(b"[" * 100_000), "not JSON"),
    ],
)
def test_what_is_no_message_is_named_and_the_next_one_read(wrong: bytes, why: str) -> None:
    found = read_all(wrong + GOOD)
    assert len(found) == 2
    assert why in str(found[0])
    assert found[1] == MESSAGE


def test_a_malformed_header_is_the_end_and_said() -> None:
    target = io.BytesIO()
    channel = Channel(io.BytesIO(GOOD + b"hello\r\n\r\n" + GOOD).read, target)
    assert [channel.read(), channel.read()] == [MESSAGE, None]
    (told,) = written(target)
    assert told["body"]["output"] == "tileir: a line of the header is malformed: the connection ends\n"


@pytest.mark.parametrize("cut", [1, 10, len(GOOD) - 1])
def test_end_within_a_message_is_the_end(cut: int) -> None:
    assert read_all(GOOD + GOOD[:cut]) == [MESSAGE]


def test_messages_are_numbered_from_one() -> None:
    target = io.BytesIO()
    channel = Channel(io.BytesIO().read, target)
    channel.event("initialized")
    channel.respond({"seq": 7, "command": "threads"}, {"threads": []})
    channel.refuse({"seq": 8, "command": "next"}, "no {braces} here\nsecond line")
    found = written(target)
    assert [message["seq"] for message in found] == [1, 2, 3]
    assert found[2]["message"] == "no {braces} here"
    assert found[2]["body"]["error"]["variables"] == {"words": "no {braces} here\nsecond line"}


def test_nobody_listens_is_no_error() -> None:
    target = io.BytesIO()
    target.close()
    assert Channel(io.BytesIO().read, target).event("initialized") is False
