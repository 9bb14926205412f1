"""The server: documents that editors open and change, and the questions about them, over the wire."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

import tileir
from tileir.serve.language.analysis import PlacedDiagnostic, Settings
from tileir.serve.language.document import Document
from tileir.serve.language.formatting import format_document, format_on_type, format_range
from tileir.serve.language.hover import hover

_LOG = logging.getLogger(__name__)
_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "remark": lsp.DiagnosticSeverity.Information,
}


class _Protocol(LanguageServerProtocol):
    """Keeps documents as this package does; pygls would keep a second copy of each text and of its lines."""

    _server: TileServer

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        self._server.open(params.text_document)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        self._server.change(params)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        self._server.close(params.text_document.uri)

    @lsp_method(lsp.INITIALIZE)
    def lsp_initialize(self, params: lsp.InitializeParams) -> Generator[Any, Any, lsp.InitializeResult]:
        result = yield from super().lsp_initialize(params)
        return result


class TileServer(LanguageServer):
    """A server for one editor.

    `documents` are those that are open, by URI.  Diagnostics of a document are sent once all messages that have come
    in are handled, so that what is typed faster than it can be read is read once.
    """

    def __init__(self) -> None:
        super().__init__("tileir", tileir.__version__, protocol_cls=_Protocol)
        self.documents: dict[str, Document] = {}
        self.settings = Settings()
        self._changed: dict[str, Document] = {}
        self._publishing: asyncio.Handle | None = None

    # --- documents ---

    def document(self, uri: str) -> Document | None:
        return self.documents.get(uri)

    def open(self, item: lsp.TextDocumentItem) -> None:
        document = Document(
            item.uri,
            item.text,
            item.version,
            encoding=self.protocol.workspace.position_encoding or lsp.PositionEncodingKind.Utf16,
            settings=self.settings,
            language=item.language_id,
        )
        self.documents[item.uri] = document
        self._publish_later(document)

    def change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        document = self.documents.get(params.text_document.uri)
        if document is None:
            _LOG.warning("a change of %s, which is not open", params.text_document.uri)
            return
        for change in params.content_changes:
            document.change(change)
        document.version = params.text_document.version
        self._publish_later(document)

    def close(self, uri: str) -> None:
        self._changed.pop(uri, None)
        if self.documents.pop(uri, None) is not None:
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    # --- diagnostics ---

    def _publish_later(self, document: Document) -> None:
        self._changed[document.uri] = document
        if self._publishing is None:
            self._publishing = asyncio.get_running_loop().call_soon(self._publish)

    def _publish(self) -> None:
        self._publishing = None
        changed, self._changed = self._changed, {}
        for document in changed.values():
            self.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(document.uri, diagnostics_of(document), document.version)
            )


def diagnostics_of(document: Document) -> list[lsp.Diagnostic]:
    return [_diagnostic(document, each) for each in document.analysis.diagnostics]


def _diagnostic(document: Document, found: PlacedDiagnostic) -> lsp.Diagnostic:
    related = [
        lsp.DiagnosticRelatedInformation(lsp.Location(document.uri, document.range(note.start, note.end)), note.message)
        for note in found.notes
        if note.start >= 0
    ]
    # What is not about a place would be lost among related places.
    message = "\n".join([found.message, *[note.message for note in found.notes if note.start < 0]])
    return lsp.Diagnostic(
        document.range(found.start, found.end),
        message,
        severity=_SEVERITIES.get(found.severity, lsp.DiagnosticSeverity.Error),
        code=found.code,
        source="tileir",
        related_information=related or None,
    )


# One line for each question of the protocol: its method, what the server says about it to the editor, and the function
# that answers.  A function gets the document and the parameters of the request.
Answer = Callable[[Document, Any], Any]
FEATURES: list[tuple[str, Any, Answer]] = [
    (lsp.TEXT_DOCUMENT_FORMATTING, None, lambda document, _: format_document(document)),
    (lsp.TEXT_DOCUMENT_RANGE_FORMATTING, None, lambda document, asked: format_range(document, asked.range)),
    (
        lsp.TEXT_DOCUMENT_ON_TYPE_FORMATTING,
        lsp.DocumentOnTypeFormattingOptions("}", ["\n"]),
        lambda document, asked: format_on_type(document, asked.position, asked.ch),
    ),
    (lsp.TEXT_DOCUMENT_HOVER, None, lambda document, params: hover(document, params.position)),
]


def make_server() -> TileServer:
    server = TileServer()
    for method, options, answer in FEATURES:
        _register(server, method, options, answer)
    return server


def _register(server: TileServer, method: str, options: Any, answer: Answer) -> None:
    def handle(params: Any) -> Any:
        document = server.document(params.text_document.uri)
        return answer(document, params) if document is not None else None

    server.feature(method, options)(handle)


def serve_stdio() -> None:
    make_server().start_io()


def serve_tcp(host: str, port: int) -> None:
    make_server().start_tcp(host, port)
