"""The server: the documents that an editor has open, their diagnostics, and the features of the protocol."""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import replace
from operator import attrgetter
from typing import Any, Final

from lsprotocol import types as lsp

import tileir
from tileir.bytecode import MAGIC, is_bytecode
from tileir.bytecode.layouts import from_bytes
from tileir.bytecode.primitives import BytecodeError
from tileir.ir.diagnostics import TileIRError
from tileir.processes.messages import write_all
from tileir.serve.addresses import Client, Listener
from tileir.serve.language import proving
from tileir.serve.language.completion import completion, cursor
from tileir.serve.language.connection import Connection, greet, member
from tileir.serve.language.cutile.compilation import CompiledLaunch, compile_script
from tileir.serve.language.cutile.document import SCRIPT_FEATURES, CutileDocument
from tileir.serve.language.document.analysis import TextDiagnostic, lint
from tileir.serve.language.document.document import Document, path_of
from tileir.serve.language.editing import code_actions
from tileir.serve.language.navigation import decorations, outline, references
from tileir.serve.language.navigation.hover import hover
from tileir.serve.language.settings import Settings, changed_settings
from tileir.text.printer import print_disassembly

DISASSEMBLE: Final = "tileir/disassemble"
_MAGIC: Final = MAGIC.rstrip(b"\0").decode("latin-1")


class TileServer(Connection):
    """A server for one editor.

    Diagnostics of a document are sent once all messages that have come are handled: what is typed faster than it can be
    read is read once.  Lint findings follow, a rule at a time.
    """

    untyped = frozenset(
        [
            lsp.INITIALIZE,
            lsp.WORKSPACE_DID_CHANGE_CONFIGURATION,
            lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS,
            DISASSEMBLE,
        ]
    )

    def __init__(self, read: Callable[[int], bytes], write: Callable[[bytes], object]) -> None:
        super().__init__(read, write)
        self.documents: dict[str, Document] = {}
        self.settings = Settings()
        self._encoding = lsp.PositionEncodingKind.Utf16
        self._capabilities: dict[str, Any] = {}
        self._folders: list[str] = []
        self._compilations: Counter[str] = Counter()
        self.handlers: dict[str, Callable[[Any], Any]] = {
            lsp.INITIALIZE: self._initialize,
            lsp.INITIALIZED: lambda _: self._request_settings(),
            lsp.TEXT_DOCUMENT_DID_OPEN: self._open,
            lsp.TEXT_DOCUMENT_DID_CHANGE: self._change,
            lsp.TEXT_DOCUMENT_DID_SAVE: lambda params: self.save(params.text_document.uri),
            lsp.TEXT_DOCUMENT_DID_CLOSE: lambda params: self._close(params.text_document.uri),
            lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: self._change_settings,
            lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: self._change_folders,
            lsp.WORKSPACE_SYMBOL: self._workspace_symbols,
            lsp.COMPLETION_ITEM_RESOLVE: completion.resolve,
            lsp.WORKSPACE_EXECUTE_COMMAND: self._execute,
            DISASSEMBLE: lambda params: {"text": disassemble(str(member(params, "uri") or ""))},
            **{method: self._handler(method) for method in FEATURES},
        }

    def _handler(self, method: str) -> Callable[[Any], Any]:
        def handle(params: Any) -> Any:
            document = self.documents.get(params.text_document.uri)
            features = SCRIPT_FEATURES if isinstance(document, CutileDocument) else FEATURES
            if document is None or method not in features:
                return None
            function, *names = features[method]
            return function(document, *[attrgetter(name)(params) for name in names])

        return handle

    def _initialize(self, params: dict[str, Any]) -> lsp.InitializeResult:
        self._capabilities = member(params, "capabilities") or {}
        has_snippets = self._can("textDocument", "completion", "completionItem", "snippetSupport")
        settings = replace(self.settings, snippets=has_snippets)
        self.settings = changed_settings(settings, params.get("initializationOptions"))
        encodings = member(self._capabilities, "general", "positionEncodings") or []
        known = [each.value for each in lsp.PositionEncodingKind]
        self._encoding = lsp.PositionEncodingKind(next((each for each in encodings if each in known), "utf-16"))
        folders = [member(folder, "uri") for folder in params.get("workspaceFolders") or []] or [params.get("rootUri")]
        self._folders = [folder for folder in folders if isinstance(folder, str)]
        found = capabilities(self._encoding, self._can("textDocument", "rename", "prepareSupport"))
        return lsp.InitializeResult(found, lsp.ServerInfo("tileir", tileir.__version__))

    def _can(self, *names: str) -> bool:
        """Whether the editor has a capability."""
        return member(self._capabilities, *names) is True

    def _request_settings(self) -> None:
        if self._can("workspace", "configuration"):
            params = lsp.ConfigurationParams([lsp.ConfigurationItem(section="tileir")])
            self.request(
                lsp.WORKSPACE_CONFIGURATION, params, lambda found: self._configure(found[0] if found else None)
            )

    def _change_settings(self, params: dict[str, Any]) -> None:
        if member(params, "settings") is None:
            self._request_settings()
        else:
            self._configure(params["settings"])

    def _configure(self, options: object) -> None:
        self.settings = changed_settings(self.settings, options)
        for document in self.documents.values():
            document.configure(self.settings)
            self._diagnose(document)

    def _change_folders(self, params: dict[str, Any]) -> None:
        removed = [member(folder, "uri") for folder in member(params, "event", "removed") or []]
        added = [member(folder, "uri") for folder in member(params, "event", "added") or []]
        self._folders = [*[folder for folder in self._folders if folder not in removed], *added]

    def _workspace_symbols(self, params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
        programs = [each for each in self.documents.values() if not isinstance(each, CutileDocument)]
        return outline.workspace_symbols(params.query, programs, [path_of(uri) for uri in self._folders])

    def _open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        is_script = item.language_id == "python" or (not item.language_id and item.uri.endswith(".py"))
        kind = CutileDocument if is_script else Document
        document = kind(item.uri, item.text, item.version, encoding=self._encoding, settings=self.settings)
        self.documents[item.uri] = document
        self._diagnose(document)

    def _change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        document = self.documents.get(params.text_document.uri)
        if document is not None:
            for change in params.content_changes:
                document.change(change)
            document.version = params.text_document.version
            self._diagnose(document)

    def _close(self, uri: str) -> None:
        self.work.pop(uri, None)
        if self.documents.pop(uri, None) is not None:
            self.notify(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, lsp.PublishDiagnosticsParams(uri, []))

    def save(self, uri: str) -> None:
        """Compile a saved script for the launches that it states, if the user allows that."""
        document = self.documents.get(uri)
        if isinstance(document, CutileDocument) and self.settings.compile_scripts:
            self._compilations[uri] += 1
            launches = document.requested_launches() if document.path else []
            arguments = document, self._compilations[uri], document.text, launches
            threading.Thread(target=self._compile, args=arguments, daemon=True).start()

    def _compile(self, document: CutileDocument, number: int, text: str, launches: list[dict[str, Any]]) -> None:
        found = compile_script(document.path, launches, list(self.settings.targets)) if launches else []
        self.post(lambda: self.take_compiled(document, number, text, found))

    def take_compiled(self, document: CutileDocument, number: int, text: str, found: list[CompiledLaunch]) -> None:
        """Publish the result of a compilation, unless a later one was begun."""
        if self.documents.get(document.uri) is document and number == self._compilations[document.uri]:
            document.compiled_text, document.compiled = text, found
            self.publish(document)
            if self._can("workspace", "inlayHint", "refreshSupport"):
                self.request(lsp.WORKSPACE_INLAY_HINT_REFRESH, None)

    def _execute(self, params: lsp.ExecuteCommandParams) -> None:
        uri, name = [str(each) for each in (*(params.arguments or ()), "", "")][:2]
        document = self.documents.get(uri)
        if params.command == proving.COMMAND and document is not None:
            threading.Thread(target=self._prove, args=(document, document.text, name), daemon=True).start()

    def _prove(self, document: Document, text: str, kernel: str) -> None:
        found = proving.proof_of(text, kernel)
        self.post(lambda: self.take_proof(document, text, found))

    def take_proof(self, document: Document, text: str, found: proving.KernelProof) -> None:
        """Publish what a proof refutes, unless the text has changed, and show how it ended."""
        if self.documents.get(document.uri) is document and text == document.text:
            document.proved = text, proving.diagnostics(document, found)
            self.publish(document)
            kind = lsp.MessageType.Warning if found.error else lsp.MessageType.Info
            self.notify(lsp.WINDOW_SHOW_MESSAGE, lsp.ShowMessageParams(kind, found.error or found.summary))

    def _diagnose(self, document: Document) -> None:
        """Have the diagnostics of a document published, before any work on others."""
        self.work.pop(document.uri, None)
        self.work = {document.uri: self._diagnostics(document), **self.work}

    def _diagnostics(self, document: Document) -> Generator[None, None, None]:
        """Publish the errors, then with the lint findings if there are any, which are computed a rule at a time."""
        self.publish(document)
        if isinstance(document, CutileDocument) or _is_bytecode(document):
            return
        yield
        # Scan before the first completion needs it.
        _ = document.syntax.top
        analysis = document.analysis
        if document.settings.lint and not analysis.is_linted:
            found = yield from lint(document.path or "-", analysis, document.settings)
            analysis.is_linted = True
            analysis.diagnostics.extend(found)
            if found:
                self.publish(document)

    def publish(self, document: Document) -> None:
        found = [_AS_BYTECODE] if _is_bytecode(document) else document.diagnostics
        proved_text, refuted = document.proved
        found = [*found, *refuted] if refuted and proved_text == document.text else found
        shown = [_diagnostic(document, each) for each in found]
        params = lsp.PublishDiagnosticsParams(document.uri, shown, document.version)
        self.notify(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)


_SEVERITIES: Final = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "remark": lsp.DiagnosticSeverity.Information,
}


def _diagnostic(document: Document, found: TextDiagnostic) -> lsp.Diagnostic:
    related = [
        lsp.DiagnosticRelatedInformation(lsp.Location(document.uri, document.range(note.start, note.end)), note.message)
        for note in found.notes
        if note.start >= 0
    ]
    # A note without a location belongs to the message.
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


_AS_BYTECODE: Final = TextDiagnostic(
    "remark",
    "this is bytecode, not text: 'tileir dis FILE -o FILE.mlir' writes its program as text, and the extension for "
    "Visual Studio Code shows it",
    0,
    len(_MAGIC),
    "bytecode",
)


def _is_bytecode(document: Document) -> bool:
    """Whether an editor has opened a bytecode file as text."""
    return not isinstance(document, CutileDocument) and document.text.startswith(_MAGIC)


def disassemble(uri: str) -> str:
    """The text of a bytecode file; of one that cannot be read, the reason, as comments."""
    path = path_of(uri)
    if not path:
        return _comments(f"{uri} is no file of this machine")
    try:
        # The editor waits: pipes and devices, which may never end, are not read.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError("it is no regular file")
        with open(path, "rb") as file:
            data = file.read(len(MAGIC))
            data += file.read() if is_bytecode(data) else b""
    except (OSError, ValueError) as error:
        return _comments(f"{path} cannot be read: {error}")
    if not is_bytecode(data):
        return _comments(f"{path} is no Tile IR bytecode")
    try:
        return print_disassembly(from_bytes(data))
    except (BytecodeError, TileIRError) as error:
        return _comments(f"{path} cannot be decoded:\n{error}")


def _comments(text: str) -> str:
    return "".join([f"// {line}\n" for line in text.splitlines()])


# The features of programs: for each method the function that answers it, and the parameters that this takes.
FEATURES: Final[dict[str, tuple[Any, ...]]] = {
    lsp.TEXT_DOCUMENT_DEFINITION: (references.definition, "position"),
    lsp.TEXT_DOCUMENT_DECLARATION: (references.definition, "position"),
    lsp.TEXT_DOCUMENT_TYPE_DEFINITION: (references.type_definition, "position"),
    lsp.TEXT_DOCUMENT_REFERENCES: (references.references, "position", "context.include_declaration"),
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: (references.highlights, "position"),
    lsp.TEXT_DOCUMENT_LINKED_EDITING_RANGE: (references.linked_editing, "position"),
    lsp.TEXT_DOCUMENT_PREPARE_RENAME: (references.prepare_rename, "position"),
    lsp.TEXT_DOCUMENT_RENAME: (references.rename, "position", "new_name"),
    lsp.TEXT_DOCUMENT_CODE_ACTION: (code_actions.code_actions, "range", "context"),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (outline.document_symbols,),
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: (outline.folding_ranges,),
    lsp.TEXT_DOCUMENT_SELECTION_RANGE: (outline.selection_ranges, "positions"),
    lsp.TEXT_DOCUMENT_FORMATTING: (code_actions.format_document,),
    lsp.TEXT_DOCUMENT_RANGE_FORMATTING: (code_actions.format_range, "range"),
    lsp.TEXT_DOCUMENT_ON_TYPE_FORMATTING: (code_actions.format_on_type, "position", "ch"),
    lsp.TEXT_DOCUMENT_HOVER: (hover, "position"),
    lsp.TEXT_DOCUMENT_COMPLETION: (completion.complete, "position", "context"),
    lsp.TEXT_DOCUMENT_SIGNATURE_HELP: (cursor.signature_help, "position"),
    lsp.TEXT_DOCUMENT_INLAY_HINT: (decorations.inlay_hints, "range"),
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: (decorations.semantic_tokens,),
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: (decorations.semantic_tokens, "range"),
}


_WITHOUT_OPTIONS: Final[dict[str, Any]] = {
    f"{feature}_provider": True
    for feature in (
        *("definition", "declaration", "type_definition", "references", "document_highlight", "linked_editing_range"),
        *("document_symbol", "workspace_symbol", "folding_range", "selection_range", "hover", "inlay_hint"),
        *("document_formatting", "document_range_formatting"),
    )
}


def capabilities(encoding: lsp.PositionEncodingKind, can_prepare_rename: bool) -> lsp.ServerCapabilities:
    """What the server announces to an editor."""
    return lsp.ServerCapabilities(
        position_encoding=encoding,
        text_document_sync=lsp.TextDocumentSyncOptions(
            open_close=True, change=lsp.TextDocumentSyncKind.Incremental, save=True
        ),
        rename_provider=lsp.RenameOptions(prepare_provider=True) if can_prepare_rename else True,
        code_action_provider=lsp.CodeActionOptions(code_actions.KINDS),
        document_on_type_formatting_provider=lsp.DocumentOnTypeFormattingOptions("}", ["\n"]),
        completion_provider=lsp.CompletionOptions(trigger_characters=completion.TRIGGERS, resolve_provider=True),
        execute_command_provider=lsp.ExecuteCommandOptions([proving.COMMAND]),
        signature_help_provider=lsp.SignatureHelpOptions(trigger_characters=cursor.SIGNATURE_TRIGGERS),
        semantic_tokens_provider=lsp.SemanticTokensOptions(decorations.LEGEND, full=True, range=True),
        workspace=lsp.WorkspaceOptions(
            workspace_folders=lsp.WorkspaceFoldersServerCapabilities(supported=True, change_notifications=True)
        ),
        **_WITHOUT_OPTIONS,
    )


def serve_stdio() -> int:
    """Serve the editor that started this process; the exit status."""
    # Other output to standard output must not end up between messages.
    source, target = sys.stdin.fileno(), os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return TileServer(lambda count: os.read(source, count), lambda data: write_all(target, data)).run()


def serve_tcp(listener: Listener) -> None:
    """Serve editors that connect, each with a server of its own, until the process is interrupted."""
    listener.serve(greet, _serve_client)


def _serve_client(client: Client) -> None:
    try:
        TileServer(client.read, client.connection.sendall).run()
    finally:
        client.close()
