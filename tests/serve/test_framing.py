"""The headers of messages: everything that the protocols do not define ends the connection, however it arrives."""

from __future__ import annotations

import itertools
import random

import pytest
from tests.serve.attacks import HEADERS, PAGES

from tileir.serve.framing import BadFrame, MessageReader, frame

BODY = b'{"seq": 1}'


def arriving(data: bytes, cuts: list[int]) -> MessageReader:
    """A reader of bytes that arrive in parts."""
    at = [0, *sorted(cuts), len(data)]
    parts = [data[start:end] for start, end in itertools.pairwise(at) if start < end]

    def read(size: int) -> bytes:
        if not parts:
            return b""
        first, parts[0] = parts[0][:size], parts[0][size:]
        if not parts[0]:
            del parts[0]
        return first

    return MessageReader(read, 1 << 20)


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 10\r\n\r\n",
        b"content-length:10\r\n\r\n",
        b"CONTENT-LENGTH: \t 10\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
        b"Content-Type: text/plain\r\nContent-Length: 10\r\n\r\n",
    ],
)
def test_messages_arrive_in_any_parts(header: bytes) -> None:
    data = (header + BODY) * 2
    for cut in range(len(data)):
        reader = arriving(data, [cut, len(data) - cut])
        assert [reader.message(), reader.message(), reader.message()] == [BODY, BODY, None]


@pytest.mark.parametrize("name", HEADERS)
def test_nothing_behind_a_malformed_header_is_read(name: str) -> None:
    chance = random.Random(name)
    header = HEADERS[name]
    for behind in (b"", frame(BODY)):
        data = behind + header + frame(BODY) * 3
        for _ in range(50):
            reader = arriving(data, [chance.randrange(len(data)) for _ in range(chance.randrange(8))])
            if behind:
                assert reader.message() == BODY
            with pytest.raises(BadFrame):
                reader.message()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_sends_no_message(name: str) -> None:
    chance = random.Random(name)
    data = PAGES[name](frame(BODY))
    for _ in range(50):
        reader = arriving(data, [chance.randrange(len(data)) for _ in range(chance.randrange(8))])
        with pytest.raises(BadFrame):
            reader.message()


def test_a_message_that_is_too_long_is_not_read() -> None:
    with pytest.raises(BadFrame, match="a message of 1048577 bytes is longer than 1048576"):
        arriving(b"Content-Length: 1048577\r\n\r\n" + b" " * 2000, []).message()


@pytest.mark.parametrize("cut", [0, 1, 16, 20, 25, len(frame(BODY)) - 1])
def test_the_end_within_a_message_is_the_end(cut: int) -> None:
    assert arriving(frame(BODY)[:cut], []).message() is None
