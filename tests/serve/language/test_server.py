"""The life of a server, and diagnostics as texts are written."""

import asyncio
import io
import json
import os
import sys
import threading
import weakref
from typing import Any

from lsprotocol import types as lsp
from tests.serve.debugger.client import address_in
from tests.serve.language.wire import WITHOUT_ADVICE, Editor

from tileir.serve.language.server import TileServer

KERNEL = """\
cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>) {
    %0 = constant <f32: 1.0> : tile<4xf32>
    %1 = addf %0, %0 : tile<4xf32>
    return
  }
}
"""


async def test_diagnostics_follow_what_is_typed(editor):
    uri = await editor.open(KERNEL)
    assert editor.diagnostics[uri] == ()
    line = lsp.Range(lsp.Position(3, 9), lsp.Position(3, 13))
    (found,) = await editor.edit(uri, (line, "adff"))
    assert found.message == "custom op 'adff' is unknown (tried 'cuda_tile.adff' as well)"
    assert found.range == line
    assert found.code == "syntax"
    assert [note.message for note in found.related_information] == ["did you mean 'addf'?"]
    assert await editor.edit(uri, (line, "addf")) == ()


async def test_the_verifier_speaks_too(editor):
    uri = await editor.open(KERNEL.replace("addf", "addi"))
    (found,) = editor.diagnostics[uri]
    assert found.code == "verification"
    assert found.severity == lsp.DiagnosticSeverity.Error


async def test_several_documents_are_apart(editor):
    broken = await editor.open("entry @k() { nonsense }")
    sound = await editor.open(KERNEL)
    assert len(editor.diagnostics[broken]) == 1
    assert editor.diagnostics[sound] == ()


async def test_closing_takes_diagnostics_back(editor):
    uri = await editor.open("nonsense")
    assert editor.diagnostics[uri]
    editor.close(uri)
    other = await editor.open(KERNEL)
    assert editor.diagnostics[uri] == ()
    editor.close(other)


async def test_lint_speaks_once_a_text_is_correct(editor):
    uri = await editor.open(KERNEL)
    change = lsp.DidChangeConfigurationParams({"tileir": {"lint": {"enable": True, "select": ["unused-value"]}}})
    editor.workspace_did_change_configuration(change)
    await editor.until(lambda: editor.diagnostics[uri])
    (found,) = editor.diagnostics[uri]
    assert (found.code, found.severity) == ("unused-value", lsp.DiagnosticSeverity.Warning)
    assert found.range.start == lsp.Position(3, 9)
    change = lsp.DidChangeConfigurationParams({"tileir": {"lint": {"enable": False}}})
    editor.workspace_did_change_configuration(change)
    await editor.until(lambda: not editor.diagnostics[uri])


async def test_settings_that_change_nothing_say_nothing_twice(editor):
    uri = await editor.open(KERNEL)
    change = lsp.DidChangeConfigurationParams({"tileir": {"lint": {"enable": True, "select": ["unused-value"]}}})
    editor.workspace_did_change_configuration(change)
    await editor.until(lambda: editor.diagnostics[uri])
    for _ in range(3):
        count = len(editor.published[uri])
        editor.workspace_did_change_configuration(change)
        await editor.until(lambda count=count: len(editor.published[uri]) > count)
        assert len(editor.diagnostics[uri]) == 1
    # What comes when the server is idle has come by the answer to an edit.
    assert len(await editor.edit(uri, KERNEL.replace("addf", "adff"))) == 1
    assert all(len(each.diagnostics) <= 1 for each in editor.published[uri])
    editor.workspace_did_change_configuration(lsp.DidChangeConfigurationParams({"tileir": {"lint": {"enable": False}}}))
    editor.close(uri)


async def test_settings_of_a_version_are_those_of_texts_that_are_open(editor):
    uri = await editor.open("entry @k() {\n  %x = alloca num_elem = 16, alignment = 16 : tile<ptr<f32>>\n  return\n}\n")
    editor.workspace_did_change_configuration(lsp.DidChangeConfigurationParams({"bytecodeVersion": "13.1"}))
    await editor.until(lambda: any("is unknown" in each.message for each in editor.diagnostics[uri]))
    editor.workspace_did_change_configuration(lsp.DidChangeConfigurationParams({"bytecodeVersion": ""}))
    await editor.until(lambda: not any("is unknown" in each.message for each in editor.diagnostics[uri]))
    editor.close(uri)


async def test_a_text_that_is_too_long_is_told_so(editor):
    uri = await editor.open("// " + "x" * 10_000_000)
    (found,) = editor.diagnostics[uri]
    assert found.code == "too-long"
    assert await editor.edit(uri, KERNEL) == ()
    editor.close(uri)


async def test_a_deep_nest_is_answered(editor):
    uri = await editor.open("entry @k() {" + "loop {" * 4000)
    assert len(editor.diagnostics[uri]) >= 1
    document = lsp.TextDocumentIdentifier(uri)
    (outline,) = await editor.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
    assert outline.name == "@k"
    levels, count = 0, 0
    inside = [outline]
    while inside:
        levels, count = levels + 1, count + len(inside)
        inside = [child for symbol in inside for child in symbol.children or ()]
    assert count == 4001
    assert levels > 40
    at = lsp.SelectionRangeParams(document, [lsp.Position(0, 12000)])
    (selected,) = await editor.text_document_selection_range_async(at)
    last = selected
    while last.parent is not None:
        last = last.parent
    assert (last.range.start.character, last.range.end.character) == (0, 24012)
    editor.close(uri)


def test_an_answer_that_cannot_be_written_is_a_failure():
    written: list[Any] = []
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    request = frame(id=7, method="tileir/disassemble", params={})
    messages = io.BytesIO(INITIALIZE + request + frame(method="exit"))
    server = TileServer(messages.read, written.append)
    server.handlers["tileir/disassemble"] = lambda _: deep
    assert server.run() == 1
    header, body = written[1].split(b"\r\n\r\n")
    assert header == b"Content-Length: %d" % len(body)
    answered = json.loads(body)
    assert answered["id"] == 7
    assert answered["error"]["code"] == lsp.ErrorCodes.InternalError


def test_garbage_does_not_grow_while_an_editor_never_pauses(monkeypatch):
    class Cycle:
        def __init__(self):
            self.itself = self

    monkeypatch.setattr("tileir.serve.language.connection._MOST_GARBAGE", 10_000)
    ended = threading.Event()

    def read(_):
        ended.wait()
        return b""

    server = TileServer(read, lambda _: None)
    alive: weakref.WeakSet[Cycle] = weakref.WeakSet()
    sizes: list[int] = []

    def edit():
        alive.update([Cycle() for _ in range(1000)])
        sizes.append(len(alive))
        if len(sizes) < 50:
            server.post(edit)
        else:
            ended.set()

    server.post(edit)
    server.run()
    assert len(sizes) == 50
    assert max(sizes) < 20_000


# --- the life of a server ---


async def start(*arguments):
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tileir",
        "lsp",
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(os.environ),
    )


def frame(**message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


async def answer(stream):
    length = 0
    while line := (await stream.readline()).strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return json.loads(await stream.readexactly(length))


INITIALIZE = frame(id=1, method="initialize", params={"processId": None, "rootUri": None, "capabilities": {}})


async def test_a_server_ends_as_the_protocol_says():
    server = await start("--stdio")
    server.stdin.write(frame(id=7, method="textDocument/hover", params={}))
    refused = await answer(server.stdout)
    assert (refused["id"], refused["error"]["code"]) == (7, lsp.ErrorCodes.ServerNotInitialized.value)
    server.stdin.write(b"Content-Length: 3\r\n\r\n{]}")
    assert (await answer(server.stdout))["error"]["code"] == lsp.ErrorCodes.ParseError.value
    server.stdin.write(INITIALIZE)
    found = await answer(server.stdout)
    assert found["result"]["serverInfo"]["name"] == "tileir"
    assert found["result"]["capabilities"]["textDocumentSync"]["change"] == lsp.TextDocumentSyncKind.Incremental.value
    server.stdin.write(frame(id=2, method="shutdown"))
    assert (await answer(server.stdout))["result"] is None
    server.stdin.write(frame(id=3, method="textDocument/hover", params={}))
    assert (await answer(server.stdout))["error"]["code"] == lsp.ErrorCodes.InvalidRequest.value
    server.stdin.write(frame(method="exit"))
    assert await server.wait() == 0
    assert await server.stderr.read() == b""


async def test_an_editor_that_goes_away_ends_the_server():
    server = await start()
    server.stdin.write(INITIALIZE)
    await answer(server.stdout)
    server.stdin.close()
    assert await server.wait() == 1
    assert await server.stderr.read() == b""


async def test_a_request_that_is_cancelled_before_its_turn_is_refused():
    server = await start()
    server.stdin.write(INITIALIZE)
    await answer(server.stdout)
    text = {"uri": "file:///x.mlir", "languageId": "tileir", "version": 1, "text": KERNEL * 200}
    opened = frame(method="textDocument/didOpen", params={"textDocument": text})
    asked = frame(id=5, method="workspace/executeCommand", params={"command": "none"})
    server.stdin.write(opened + opened + asked + frame(method="$/cancelRequest", params={"id": 5}))
    while "id" not in (found := await answer(server.stdout)):
        pass
    assert (found["id"], found["error"]["code"]) == (5, lsp.LSPErrorCodes.RequestCancelled.value)
    server.stdin.write(frame(method="exit"))
    assert await server.wait() == 1


async def test_a_request_of_a_browser_ends_the_connection():
    """A page can have a browser send any body to a port of its machine, behind headers that it does not choose."""
    server = await start()
    server.stdin.write(b"POST / HTTP/1.1\r\nHost: example.org\r\n" + INITIALIZE)
    assert await server.stdout.read() == b""
    assert await server.wait() == 1


async def test_several_editors_are_served_over_tcp():
    server = await start("--tcp", "127.0.0.1:0")
    words = (await server.stderr.readline()).decode()
    assert words.startswith("listening on 127.0.0.1:")
    port, token = address_in(words)
    connection = {"address": ("127.0.0.1", port), "options": {**WITHOUT_ADVICE, "token": token}}
    first = await Editor().start(**connection)
    second = await Editor().start(**connection)
    uri = await first.open("nonsense")
    assert await second.open(KERNEL, uri=uri) and second.diagnostics[uri] == ()
    assert len(first.diagnostics[uri]) == 1
    await first.finish()
    assert len(await second.edit(uri, "still nonsense")) > 0
    await second.finish()
    third = await Editor().start(**connection)
    await third.finish()
    assert server.returncode is None
    server.terminate()
    await server.wait()
