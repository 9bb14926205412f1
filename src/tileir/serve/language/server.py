"""The server: documents that editors open and change, and the questions about them, over the wire."""

from __future__ import annotations

import json
import logging
import os
import queue
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, PyglsError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

import tileir
from tileir.serve.addresses import Client, Listener
from tileir.serve.language import completion
from tileir.serve.language.actions import KINDS, code_actions
from tileir.serve.language.advice import advise
from tileir.serve.language.analysis import PlacedDiagnostic, Settings
from tileir.serve.language.bytecode_texts import (
    DISASSEMBLE,
    bytecode_diagnostics,
    disassemble,
    is_bytecode_document,
)
from tileir.serve.language.client_settings import changed_settings, settings_for
from tileir.serve.language.connection import Connection, greet
from tileir.serve.language.cutile.answers import ANSWERS
from tileir.serve.language.cutile.compiling import Answer as Compiled
from tileir.serve.language.cutile.compiling import compiled
from tileir.serve.language.cutile.document import CutileDocument, is_script
from tileir.serve.language.document import Document
from tileir.serve.language.folding import folding_ranges
from tileir.serve.language.formatting import format_document, format_on_type, format_range
from tileir.serve.language.navigation import (
    definition,
    highlights,
    linked_editing,
    path_of,
    references,
    type_definition,
)
from tileir.serve.language.reading import READING
from tileir.serve.language.renaming import RenameRefused, prepare_rename, rename
from tileir.serve.language.selection import selection_ranges
from tileir.serve.language.symbols import document_symbols, workspace_symbols

_LOG = logging.getLogger(__name__)
# An editor that asks about a text of so many tokens at most, some 500 operations, is told what lint says at once.
_ADVISED_AT_ONCE = 5000
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
        server = self._server
        server.settings = settings_for(params.capabilities, params.initialization_options)
        text, workspace = params.capabilities.text_document, params.capabilities.workspace
        refresh = workspace.diagnostics if workspace is not None else None
        if text is not None and text.diagnostic is not None and refresh is not None and refresh.refresh_support:
            # An editor that asks would show what is sent to it unasked a second time.  One that cannot be told to ask
            # again would not hear of what is found out later.
            server.pulled = True
            options = lsp.DiagnosticOptions(inter_file_dependencies=False, workspace_diagnostics=False)
            server.feature(lsp.TEXT_DOCUMENT_DIAGNOSTIC, options)(lambda asked: server.pull(asked))
        result = yield from super().lsp_initialize(params)
        return result

    def _send_data(self, data: Any) -> None:
        """Write a message.  An answer that cannot be written is a failure: the editor waits for one."""
        if not data or self.writer is None:
            return
        try:
            body = json.dumps(data, default=self._serialize_message)
        except (RecursionError, TypeError, ValueError) as error:
            _LOG.error("cannot write a message: %s", error)
            number = getattr(data, "id", None)
            if number is None or hasattr(data, "method"):
                return
            failure = lsp.ResponseError(lsp.ErrorCodes.InternalError, f"the answer cannot be written: {error}")
            body = json.dumps(lsp.ResponseErrorMessage(id=number, error=failure), default=self._serialize_message)
        self.writer.write(f"Content-Length: {len(body)}\r\n\r\n{body}".encode("ascii"))


class TileServer(LanguageServer):
    """A server for one editor.

    `documents` are those that are open, by URI.  Diagnostics of a document are sent once all messages that have come
    in are handled, so that what is typed faster than it can be read is read once.
    """

    def __init__(self) -> None:
        super().__init__("tileir", tileir.__version__, protocol_cls=_Protocol)
        logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_failure)
        self.documents: dict[str, Document] = {}
        self.settings = Settings()
        self._changed: dict[str, Document] = {}
        # What was compiled beside: the document, which time that was, its text then, and what came of it.
        self._compiled: queue.SimpleQueue[tuple[CutileDocument, int, str, list[Compiled]]] = queue.SimpleQueue()
        self._compilations: Counter[str] = Counter()
        self.wake: Callable[[], None] = lambda: None
        """Has the connection look again whether there is something to do; it says how."""
        # Documents whose mistakes are out, and what is still being looked for.
        self._advising: dict[str, Generator[None, None, list[PlacedDiagnostic]]] = {}
        # Whether the editor asks for diagnostics; then how often there was something new to say about each document.
        self.pulled = False
        self._editions: Counter[str] = Counter()

    # --- documents ---

    def document(self, uri: str) -> Document | None:
        return self.documents.get(uri)

    def open(self, item: lsp.TextDocumentItem) -> None:
        kind = CutileDocument if is_script(item.uri, item.language_id) else Document
        document = kind(
            item.uri,
            item.text,
            item.version,
            encoding=self.protocol.workspace.position_encoding or lsp.PositionEncodingKind.Utf16,
            settings=self.settings,
            language=item.language_id,
        )
        self.documents[item.uri] = document
        self._note_change(document)

    def change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        document = self.documents.get(params.text_document.uri)
        if document is None:
            _LOG.warning("a change of %s, which is not open", params.text_document.uri)
            return
        for change in params.content_changes:
            document.change(change)
        document.version = params.text_document.version
        self._note_change(document)

    def _note_change(self, document: Document) -> None:
        self._editions[document.uri] += 1
        self._advising.pop(document.uri, None)
        self._changed[document.uri] = document

    def close(self, uri: str) -> None:
        self._changed.pop(uri, None)
        self._advising.pop(uri, None)
        if self.documents.pop(uri, None) is not None and not self.pulled:
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def configure(self, options: object) -> None:
        """The user has changed what the editor says about them."""
        self.settings = changed_settings(self.settings, options)
        for document in self.documents.values():
            document.configure(self.settings)
            self._note_change(document)
        if self.pulled:
            self.workspace_diagnostic_refresh(None)

    def ask_for_settings(self) -> None:
        """Ask an editor that can tell for the settings of its user."""
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.configuration:
            asked = lsp.ConfigurationParams([lsp.ConfigurationItem(section="tileir")])
            self.workspace_configuration(asked, lambda found: self.configure(found[0] if found else None))

    def save(self, uri: str) -> None:
        """A document was saved: a script is compiled for the launches that it states, where the user allows that."""
        document = self.documents.get(uri)
        if isinstance(document, CutileDocument) and self.settings.compile_scripts:
            launches = document.requested()
            self._compilations[uri] += 1
            arguments = document, self._compilations[uri], document.text, launches
            if launches and document.path:
                threading.Thread(target=self._compile, args=arguments, daemon=True).start()
            else:
                self._compiled.put((*arguments[:3], []))

    def _compile(self, document: CutileDocument, number: int, text: str, launches: list[dict[str, Any]]) -> None:
        self._compiled.put((document, number, text, compiled(document.path, launches, list(self.settings.targets))))
        self.wake()

    # --- diagnostics ---

    @property
    def has_work(self) -> bool:
        """Whether there is something to do that nobody waits for by request."""
        return bool(self._changed or self._advising) or not self._compiled.empty()

    def work(self) -> None:
        """Do a piece of that."""
        try:
            self._work()
        except Exception as error:
            # The other documents go on.
            self.report_server_error(error, PyglsError)

    def _work(self) -> None:
        if self._changed:
            document = self._changed.pop(next(iter(self._changed)))
            if not self.pulled:
                self._publish(document)
            self._begin_advice(document)
        elif not self._compiled.empty():
            document, number, text, answers = self._compiled.get()
            # An earlier one may take longer than a later one.
            if self.documents.get(document.uri) is document and number == self._compilations[document.uri]:
                document.note_answers(text, answers)
                self._tell(document)
                if self._refreshes_hints:
                    self.workspace_inlay_hint_refresh(None)
        elif self._advising:
            uri = next(iter(self._advising))
            if self._advise(uri):
                self._tell(self.documents[uri])

    def _begin_advice(self, document: Document) -> None:
        program = not isinstance(document, CutileDocument) and not is_bytecode_document(document)
        if program and document.settings.lint and not document.analysis.is_advised:
            self._advising[document.uri] = advise(document)

    def _advise(self, uri: str) -> bool:
        """Look for what one more rule of lint says about a document; tells whether that is all, and there is some."""
        document = self.documents.get(uri)
        try:
            next(self._advising[uri])
            return False
        except StopIteration as end:
            del self._advising[uri]
            if document is None:
                return False
            document.analysis.is_advised = True
            document.analysis.diagnostics.extend(end.value)
            return bool(end.value)
        except Exception as error:
            # Without advice the mistakes are told all the same.
            del self._advising[uri]
            self.report_server_error(error, PyglsError)
            return False

    @property
    def _refreshes_hints(self) -> bool:
        workspace = self.client_capabilities.workspace
        return bool(workspace and workspace.inlay_hint and workspace.inlay_hint.refresh_support)

    def pull(self, params: lsp.DocumentDiagnosticParams) -> lsp.DocumentDiagnosticReport:
        """The diagnostics of a document for an editor that asks for them; of a long one advice comes later."""
        document = self.documents.get(params.text_document.uri)
        if document is None:
            return lsp.RelatedFullDocumentDiagnosticReport([])
        uri = document.uri
        number = str(self._editions[uri])
        if params.previous_result_id == number:
            return lsp.RelatedUnchangedDocumentDiagnosticReport(number)
        self._changed.pop(uri, None)
        self._begin_advice(document)
        if document.syntax.count <= _ADVISED_AT_ONCE:
            while uri in self._advising:
                self._advise(uri)
        return lsp.RelatedFullDocumentDiagnosticReport(diagnostics_of(document), result_id=number)

    def _tell(self, document: Document) -> None:
        """There is more to say about a document than was said."""
        if self.pulled:
            self._editions[document.uri] += 1
            self.workspace_diagnostic_refresh(None)
        else:
            self._publish(document)

    def _publish(self, document: Document) -> None:
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(document.uri, diagnostics_of(document), document.version)
        )

    def report_server_error(self, error: Exception, source: type[PyglsError] | type[JsonRpcException]) -> None:
        """A failure of the server's own, which goes to the editor's log and ends nothing."""
        if isinstance(error, RenameRefused):
            # An answer, which the editor shows.
            return
        _LOG.error("%s: %s", source.__name__, error)
        self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, f"tileir: {error}"))


def _is_failure(record: logging.LogRecord) -> bool:
    """Whether something is to be logged: a rename that is refused is no failure of the server, and has no traceback."""
    return record.exc_info is None or not isinstance(record.exc_info[1], RenameRefused)


def diagnostics_of(document: Document) -> list[lsp.Diagnostic]:
    if is_bytecode_document(document):
        return bytecode_diagnostics(document)
    if isinstance(document, CutileDocument):
        return document.diagnostics()
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
        tags=[lsp.DiagnosticTag.Unnecessary] if found.rule is not None and found.rule.startswith("unused-") else None,
        related_information=related or None,
    )


# One line for each question of the protocol: its method, what the server says about it to the editor, and the function
# that answers.  A function gets the document and the parameters of the request.
Answer = Callable[[Document, Any], Any]
FEATURES: list[tuple[str, Any, Answer]] = [
    (lsp.TEXT_DOCUMENT_DEFINITION, None, lambda document, asked: definition(document, asked.position)),
    (lsp.TEXT_DOCUMENT_DECLARATION, None, lambda document, asked: definition(document, asked.position)),
    (lsp.TEXT_DOCUMENT_TYPE_DEFINITION, None, lambda document, asked: type_definition(document, asked.position)),
    (
        lsp.TEXT_DOCUMENT_REFERENCES,
        None,
        lambda document, asked: references(document, asked.position, asked.context.include_declaration),
    ),
    (lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, None, lambda document, asked: highlights(document, asked.position)),
    (lsp.TEXT_DOCUMENT_LINKED_EDITING_RANGE, None, lambda document, asked: linked_editing(document, asked.position)),
    (lsp.TEXT_DOCUMENT_PREPARE_RENAME, None, lambda document, asked: prepare_rename(document, asked.position)),
    (
        lsp.TEXT_DOCUMENT_RENAME,
        lsp.RenameOptions(prepare_provider=True),
        lambda document, asked: rename(document, asked.position, asked.new_name),
    ),
    (
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(KINDS),
        lambda document, asked: code_actions(document, asked.range, asked.context),
    ),
    (lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, None, lambda document, _: document_symbols(document)),
    (lsp.TEXT_DOCUMENT_FOLDING_RANGE, None, lambda document, _: folding_ranges(document)),
    (lsp.TEXT_DOCUMENT_SELECTION_RANGE, None, lambda document, asked: selection_ranges(document, asked.positions)),
    (lsp.TEXT_DOCUMENT_FORMATTING, None, lambda document, _: format_document(document)),
    (lsp.TEXT_DOCUMENT_RANGE_FORMATTING, None, lambda document, asked: format_range(document, asked.range)),
    (
        lsp.TEXT_DOCUMENT_ON_TYPE_FORMATTING,
        lsp.DocumentOnTypeFormattingOptions("}", ["\n"]),
        lambda document, asked: format_on_type(document, asked.position, asked.ch),
    ),
    *READING,
]


def make_server() -> TileServer:
    server = TileServer()
    for method, options, answer in FEATURES:
        _register(server, method, options, answer)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        server.save(params.text_document.uri)

    @server.feature(lsp.WORKSPACE_SYMBOL)
    def symbols_of_workspace(params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
        folders = [path_of(uri) for uri in server.workspace.folders]
        programs = [each for each in server.documents.values() if not isinstance(each, CutileDocument)]
        return workspace_symbols(params.query, programs, folders)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configuration_changed(params: lsp.DidChangeConfigurationParams) -> None:
        if params.settings is None:
            server.ask_for_settings()
        else:
            server.configure(params.settings)

    @server.feature(lsp.INITIALIZED)
    def initialized(_: lsp.InitializedParams) -> None:
        server.ask_for_settings()

    @server.feature(DISASSEMBLE)
    def text_of_bytecode(params: Any) -> dict[str, str]:
        return {"text": disassemble(str(getattr(params, "uri", "")))}

    server.feature(lsp.COMPLETION_ITEM_RESOLVE)(completion.resolve)
    return server


def _register(server: TileServer, method: str, options: Any, answer: Answer) -> None:
    def handle(params: Any) -> Any:
        document = server.document(params.text_document.uri)
        if isinstance(document, CutileDocument):
            about_script = ANSWERS.get(method)
            return about_script(document, params) if about_script is not None else None
        return answer(document, params) if document is not None else None

    server.feature(method, options)(handle)


def serve_stdio() -> int:
    """Serve the editor that started this process; the status to end with."""
    # What anything else writes to standard output must not end up between messages.
    source, target = sys.stdin.fileno(), os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def write(data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(target, rest) :]

    return Connection(make_server(), lambda count: os.read(source, count), write).run()


def serve_tcp(listener: Listener) -> None:
    """Serve editors that connect, each with a server of its own, until somebody interrupts."""
    listener.serve(greet, _serve_client)


def _serve_client(client: Client) -> None:
    try:
        Connection(make_server(), client.read, client.connection.sendall).run()
    finally:
        client.close()
