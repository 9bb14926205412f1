"""The server answers the user's own browser and nobody else, whatever it is sent."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.serve.explorer.made_answers import made_explorer

from tileir.serve.explorer.server import ExplorerServer


class Answers:
    """Answers with what it was asked; `slow` waits until it is let go, `broken` fails, `nan` is no JSON."""

    def __init__(self) -> None:
        self.waiting = threading.Event()
        self.let_go = threading.Event()

    def answer(self, question: str, parameters: Mapping[str, str | int]) -> dict[str, Any]:
        if question == "slow":
            self.waiting.set()
            assert self.let_go.wait(60)
        if question == "broken":
            raise RuntimeError("out of order")
        if question == "nan":
            return {"number": float("nan")}
        return {"question": question, **parameters}


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def server(answers: Answers) -> Iterator[ExplorerServer]:
    with ExplorerServer(answers) as started:
        yield started


def asked(server: ExplorerServer, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    return connection.getresponse()


def inside(server: ExplorerServer, path: str) -> str:
    return urlsplit(server.url).path + path


def sent(server: ExplorerServer, data: bytes) -> bytes:
    """What comes back for bytes that need not be HTTP."""
    received = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as stream:
        try:
            stream.sendall(data)
            stream.shutdown(socket.SHUT_WR)
            while part := stream.recv(65536):
                received += part
        except OSError as error:
            # It need not read what it has refused.
            assert not isinstance(error, TimeoutError)
    return received


def works(server: ExplorerServer) -> bool:
    return json.load(asked(server, inside(server, "answer/fine?block=3"))) == {"question": "fine", "block": "3"}


def test_answers_are_json(server: ExplorerServer) -> None:
    response = asked(server, inside(server, "answer/tile?block=1&step=2"))
    assert response.status == 200
    assert response.headers["Content-Type"] == "application/json"
    assert json.load(response) == {"question": "tile", "block": "1", "step": "2"}


def test_page_comes_compressed_where_that_is_understood(server: ExplorerServer) -> None:
    plain = asked(server, inside(server, "")).read().decode()
    response = asked(server, inside(server, ""), Accept_Encoding="gzip")
    packed = gzip.decompress(response.read()).decode()
    assert response.headers["Content-Encoding"] == "gzip"
    assert plain.startswith("<!doctype html>") and packed.startswith("<!doctype html>")


def test_listens_on_this_machine_only(server: ExplorerServer) -> None:
    assert server.url.startswith(f"http://127.0.0.1:{server.port}/")
    # Another address of this machine, which all of 127.0.0.0/8 is on Linux; elsewhere nobody has it.
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", server.port), timeout=2)


def test_tokens_are_long_and_differ(server: ExplorerServer) -> None:
    other = ExplorerServer(Answers())
    tokens = {urlsplit(each.url).path for each in (server, other)}
    other.close()
    assert len(tokens) == 2
    assert all(len(token) >= 43 for token in tokens)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "//",
        "/answer/summary",
        "/wrong/",
        "/wrong/answer/summary",
        "/\xe9\xff/",
        "/{token}",
        "/{token}x/",
        "/x{token}/",
        "/{upper}/",
        "/./{token}/",
        "http://127.0.0.1/{token}/",
    ],
)
def test_without_the_token_there_is_nothing(server: ExplorerServer, path: str) -> None:
    token = urlsplit(server.url).path.strip("/")
    whole = path.format(token=token, upper=token.swapcase()).encode("latin-1")
    received = sent(server, b"GET " + whole + b" HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % server.port)
    assert received.split(b"\r\n")[0].split()[1] in (b"404", b"400")
    assert b"<" not in received and token.encode() not in received
    assert works(server)


@pytest.mark.parametrize(
    "path",
    [
        "../../../../etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e/",
        "assets/page.html",
        "main.js",
        "explorer/main.js",
        "?file=/etc/passwd",
        "answer",
        "\\..\\",
        "answerx/summary",
    ],
)
def test_nothing_but_the_page_and_answers(server: ExplorerServer, path: str) -> None:
    response = asked(server, inside(server, path))
    assert response.status == 404
    assert json.load(response) == {"error": "there is only the page and its answers"}


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:{port}",
        "evil.example",
        "127.0.0.1.",
        "127.0.0.1:",
        "127.0.0.1:123456",
        "localhost.evil.example",
        "127.0.0.1:{port}.evil.example",
        "127.0.0.1:{port}@evil.example",
        "[::1]:{port}",
        "0.0.0.0:{port}",
        "",
    ],
)
def test_other_hosts_are_refused(server: ExplorerServer, host: str) -> None:
    """A name that somebody made point to this machine brings that somebody's page."""
    response = asked(server, inside(server, ""), Host=host.format(port=server.port))
    assert response.status == 403
    assert b"<" not in response.read()


@pytest.mark.parametrize("host", ["localhost:{port}", "127.0.0.1:{port}", "localhost:8080", "LOCALHOST:8080"])
def test_a_port_may_be_forwarded(server: ExplorerServer, host: str) -> None:
    """As by `ssh -L 8080:127.0.0.1:PORT`, whose browser knows another number."""
    assert asked(server, inside(server, ""), Host=host.format(port=server.port)).status == 200


def test_address_for_a_command_line_leads_to_the_page_once(
    server: ExplorerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others of this machine can read command lines: what they find there is of no use later."""
    visit = server.visiting_url()
    token = urlsplit(server.url).path
    assert token not in visit
    assert asked(server, urlsplit(visit).path + "answer/fine").status == 404
    assert asked(server, urlsplit(visit).path, Host="evil.example").status == 403
    assert asked(server, urlsplit(visit).path, Sec_Fetch_Site="cross-site").status == 403
    response = asked(server, urlsplit(visit).path)
    assert (response.status, response.headers["Location"]) == (303, token)
    assert asked(server, urlsplit(visit).path).status == 404
    visit = server.visiting_url()
    later = time.monotonic() + 61
    monkeypatch.setattr("tileir.serve.explorer.server.time.monotonic", lambda: later)
    assert asked(server, urlsplit(visit).path).status == 404


def test_no_host_and_two_hosts_are_refused(server: ExplorerServer) -> None:
    line = b"GET " + inside(server, "").encode() + b" HTTP/1.1\r\n"
    own = b"Host: 127.0.0.1:%d\r\n" % server.port
    assert b" 403 " in sent(server, line + b"\r\n").split(b"\r\n")[0]
    assert b" 403 " in sent(server, line + own + b"Host: evil.example\r\n\r\n").split(b"\r\n")[0]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_other_sites_are_refused(server: ExplorerServer, headers: dict[str, str]) -> None:
    given = {name: value.format(port=server.port) for name, value in headers.items()}
    response = asked(server, inside(server, "answer/summary"), **given)
    assert response.status == 403
    assert not [name for name in response.headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PATCH"])
def test_other_methods_are_refused(server: ExplorerServer, method: str) -> None:
    response = asked(server, inside(server, "answer/summary"), method, Origin=f"http://127.0.0.1:{server.port}")
    assert response.status == 501
    assert not [name for name in response.headers if name.lower().startswith("access-control")]
    assert works(server)


def test_every_response_forbids_what_it_does_not_need(server: ExplorerServer) -> None:
    for path in ("", "answer/fine", "nothing"):
        headers = asked(server, inside(server, path)).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert "Python" not in headers["Server"]


def test_nonces_are_used_once(server: ExplorerServer) -> None:
    policies = {asked(server, inside(server, "")).headers["Content-Security-Policy"] for _ in range(3)}
    assert len(policies) == 3


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/x\r\n\r\n",
        b"<script> / HTTP/1.1\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 1000 + b"\r\n",
        b"GET / HTTP/1.1\r\nA: " + b"a" * 100_000 + b"\r\n\r\n",
        b"\x00" * 1000,
    ],
    ids=[
        "nothing",
        "lines",
        "tls",
        "one word",
        "version",
        "no version",
        "markup",
        "path",
        "headers",
        "header",
        "zeros",
    ],
)
def test_nonsense_is_refused_and_not_repeated(server: ExplorerServer, data: bytes) -> None:
    received = sent(server, data)
    assert not received or received.split()[1].startswith((b"4", b"5"))
    assert b"<script" not in received and b"aaaa" not in received
    assert works(server)


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 0\r\nContent-Length: 5",
        b"Content-Length: 0\r\ncontent-length: 0",
        b"Cookie: a\r\nCookie: a",
        b"Origin: http://127.0.0.1:%d\r\nOrigin: http://evil.example",
        b"no colon",
        b" continued: line",
    ],
)
def test_malformed_and_repeated_headers_close_the_connection(server: ExplorerServer, header: bytes) -> None:
    own = b"Host: 127.0.0.1:%d\r\n" % server.port
    line = b"GET " + inside(server, "answer/fine").encode() + b" HTTP/1.1\r\n" + own
    received = sent(server, line + header.replace(b"%d", b"%d" % server.port) + b"\r\n\r\n" + line + b"\r\n")
    assert received.count(b"HTTP/1.1") == 1 and received.startswith(b"HTTP/1.1 4")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose a connection is")
def test_other_users_are_turned_away(server: ExplorerServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert works(server)
    monkeypatch.setattr("tileir.serve.addresses.user_of", lambda connection: 4711)
    line = b"GET " + inside(server, "").encode() + b" HTTP/1.1\r\n"
    assert sent(server, line + b"Host: 127.0.0.1:%d\r\n\r\n" % server.port) == b""


def test_bodies_are_refused(server: ExplorerServer) -> None:
    """What follows a request that is refused is not taken for another one."""
    own = b"Host: 127.0.0.1:%d\r\n" % server.port
    line = b"GET " + inside(server, "answer/fine").encode() + b" HTTP/1.1\r\n" + own
    received = sent(server, line + b"Content-Length: 5\r\n\r\n" + line + b"\r\n")
    assert received.count(b"HTTP/1.1") == 1 and b" 400 " in received
    received = sent(server, line + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + line + b"\r\n")
    assert received.count(b"HTTP/1.1") == 1 and b" 400 " in received


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("block=1&block=2", "'block' is given twice"),
        ("&".join([f"a{n}=1" for n in range(100)]), "the question has too many parameters"),
        ("a=" + "1" * 5000, "the question is too long"),
    ],
)
def test_odd_queries_are_told_in_words(server: ExplorerServer, query: str, words: str) -> None:
    response = asked(server, inside(server, f"answer/fine?{query}"))
    assert response.status == 400
    assert json.load(response) == {"error": words}


@pytest.mark.parametrize(
    ("question", "query", "words"),
    [
        ("nonsense", "", "there is no answer to 'nonsense': use one of summary, accesses, "),
        ("steps", "", "'steps' needs the parameter 'block'"),
        ("steps", "block=-1", "'block' of 'steps' is a number from 0 on, not '-1'"),
        ("steps", "block=1e3", "'block' of 'steps' is a number from 0 on, not '1e3'"),
        ("steps", "block=%D9%A3", "'block' of 'steps' is a number from 0 on, not "),
        ("steps", "block=99999999999999999999", "'block' of 'steps' is a number from 0 on, not '99999999999999999999'"),
        ("steps", "block=1&other=2", "'steps' has no parameter 'other': it takes block"),
        ("summary", "other=2", "'summary' has no parameter 'other': it takes none"),
        ("tile", "block=1&step=1&value=0&start=1,,2", "'start' of 'tile' is a number from 0 on, not ''"),
        ("tile", "block=1&step=1&value=0&start=" + ",".join("1" * 40), "'start' of 'tile' has more than 32 numbers"),
        ("form", "id=" + "x" * 300, "'id' of 'form' is too long for a name"),
    ],
)
def test_wrong_questions_are_told_in_words(question: str, query: str, words: str) -> None:
    with ExplorerServer(made_explorer()) as server:
        response = asked(server, inside(server, f"answer/{question}?{query}"))
        assert response.status == 400
        assert json.load(response)["error"].startswith(words)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("broken", "'broken' failed: RuntimeError: out of order"),
        ("nan", "'nan' failed: ValueError: Out of range float"),
    ],
)
def test_an_answer_that_fails_is_told_and_others_go_on(server: ExplorerServer, question: str, words: str) -> None:
    response = asked(server, inside(server, f"answer/{question}"))
    assert response.status == 500
    assert json.load(response)["error"].startswith(words)
    assert works(server)


def test_a_slow_answer_keeps_nobody_waiting(server: ExplorerServer, answers: Answers) -> None:
    replies: list[Any] = []
    slow = threading.Thread(target=lambda: replies.append(json.load(asked(server, inside(server, "answer/slow")))))
    slow.start()
    assert answers.waiting.wait(60)
    assert works(server) and not replies
    answers.let_go.set()
    slow.join()
    assert replies == [{"question": "slow"}]


def test_questions_of_one_part_wait_for_each_other_and_others_do_not() -> None:
    from tileir.serve.explorer.questions import Explorer, Part

    begun, let_go = threading.Event(), threading.Event()

    def slow() -> dict[str, Any]:
        begun.set()
        assert let_go.wait(60)
        return {"findings": []}

    explorer = Explorer([Part({"findings": slow}), Part({"form": lambda id: {"id": id}}, lambda: {"kernel": "k"})])
    first = threading.Thread(target=explorer.answer, args=("findings", {}))
    first.start()
    assert begun.wait(60)
    assert explorer.answer("form", {"id": "tile"}) == {"id": "tile"}
    assert explorer.answer("summary", {})["kernel"] == "k"
    assert first.is_alive()
    let_go.set()
    first.join()


def test_many_idle_connections_are_bounded(server: ExplorerServer) -> None:
    before = threading.active_count()
    streams = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(40)]
    for stream in streams:
        try:
            stream.sendall(b"GET /")
        except OSError:
            pass  # closed by the server already, which has enough
    assert threading.active_count() - before <= 33
    for stream in streams:
        stream.close()
    assert works(server)


def test_a_request_that_arrives_slowly_is_given_up(server: ExplorerServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte is in time, but the request is not."""
    monkeypatch.setattr("tileir.serve.explorer.server._SECONDS", 0.5)
    with socket.create_connection(("127.0.0.1", server.port), timeout=0.05) as stream:
        for _ in range(100):
            try:
                stream.sendall(b"a")
                assert stream.recv(1) == b""
                return
            except TimeoutError:
                continue
            except ConnectionError:
                return
    pytest.fail("the server still reads the request")


def test_close_frees_the_port_and_may_be_called_twice() -> None:
    server = ExplorerServer(Answers())
    server.start()
    server.close()
    server.close()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", server.port), timeout=2)
    never_started = ExplorerServer(Answers())
    never_started.close()


def test_a_port_in_use_is_an_error(server: ExplorerServer) -> None:
    with pytest.raises(OSError):
        ExplorerServer(Answers(), port=server.port)
