"""An editor that talks to the real server over its wire, and holds every message to the protocol."""

import asyncio
import functools
import itertools
import os
import sys
import threading

from lsprotocol import types as lsp
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient, client_capabilities
from pytest_lsp.client import register_lsp_features
from pytest_lsp.protocol import LanguageClientProtocol

SERVER = [sys.executable, "-m", "tileir", "lsp"]
SECONDS = 60
# Advice comes behind the mistakes, and there is some about any small program: test_advice.py asks for it.
WITHOUT_ADVICE = {"lint": {"enable": False}}


@functools.cache
def _loop():
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="editors", daemon=True).start()
    return loop


def run(coroutine):
    """Wait for a coroutine that a thread of its own carries out: the main one has a loop for the browser, once a test
    of a page has run there."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop()).result()


class StrictProtocol(LanguageClientProtocol):
    """Takes nothing from a server that the protocol does not know: pytest-lsp passes over such members."""

    def structure_message(self, data):
        message = super().structure_message(data)
        if "jsonrpc" in data:
            known = self._converter.unstructure(message)
            _demand_same(data, known, data.get("method", "answer"))
        return message


def _demand_same(sent, known, place):
    """Every member that was sent is one that the protocol has, with the value that was understood."""
    if isinstance(sent, dict):
        assert isinstance(known, dict), f"{place}: {sent!r} was understood as {known!r}"
        for key, value in sent.items():
            assert key in known or value is None, f"{place}: the protocol has no member '{key}' here"
            if value is not None:
                _demand_same(value, known[key], f"{place}.{key}")
    elif isinstance(sent, list):
        assert isinstance(known, list) and len(sent) == len(known), f"{place}: {sent!r} was understood as {known!r}"
        for index, (one, other) in enumerate(zip(sent, known, strict=True)):
            _demand_same(one, other, f"{place}[{index}]")
    else:
        assert sent == known, f"{place}: {sent!r} was understood as {known!r}"


class Editor(LanguageClient):
    """Opens and edits documents, and waits for what the server says about them."""

    def __init__(self):
        super().__init__(protocol_cls=StrictProtocol, converter_factory=default_converter)
        register_lsp_features(self)
        self.published = {}
        self.versions = {}
        self._numbers = itertools.count(1)
        self.result = None

    async def start(self, *, capabilities=None, options=None, address=None, client="visual_studio_code"):
        if address is None:
            await self.start_io(*SERVER, env=dict(os.environ))
        else:
            await self.start_tcp(*address)
        self.protocol.fm.features[lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = self._note
        self.result = await self.initialize_session(
            lsp.InitializeParams(
                capabilities=capabilities if capabilities is not None else client_capabilities(client),
                initialization_options=options if options is not None else WITHOUT_ADVICE,
            )
        )
        return self

    async def finish(self):
        await self.shutdown_session()
        await self.stop()

    def _note(self, params):
        self.diagnostics[params.uri] = params.diagnostics
        self.published.setdefault(params.uri, []).append(params)

    # --- documents ---

    async def open(self, text, *, uri=None, language="tileir"):
        """Open a document; its URI, once its diagnostics are there."""
        if uri is None:
            uri = f"file:///tests/program{next(self._numbers)}.mlir"
        self.versions[uri] = 1
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, language, 1, text)))
        await self.settled(uri)
        return uri

    def send_edits(self, uri, *edits):
        """Change a document, and wait for nothing.  An edit is a range and a text, or the whole text."""
        self.versions[uri] += 1
        changes = [
            lsp.TextDocumentContentChangeWholeDocument(edit)
            if isinstance(edit, str)
            else lsp.TextDocumentContentChangePartial(edit[0], edit[1])
            for edit in edits
        ]
        self.text_document_did_change(
            lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(self.versions[uri], uri), changes)
        )

    async def edit(self, uri, *edits):
        """Change a document; its diagnostics afterwards."""
        self.send_edits(uri, *edits)
        return await self.settled(uri)

    async def settled(self, uri):
        """The diagnostics of the newest version of a document."""
        newest = self.versions[uri]
        await self.until(lambda: any(each.version == newest for each in self.published.get(uri, [])[-1:]))
        return self.diagnostics[uri]

    async def until(self, holds):
        """Wait until something holds."""

        async def wait():
            while not holds():
                if self.error is not None:
                    raise self.error
                await asyncio.sleep(0.002)

        await asyncio.wait_for(wait(), SECONDS)

    def close(self, uri):
        self.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))


def place(text, marker="^^"):
    """A text without its marker, and the position where that was."""
    before, found, behind = text.partition(marker)
    assert found, "the text has no marker"
    line = before.count("\n")
    return before + behind, lsp.Position(line, len(before) - (before.rfind("\n") + 1))
