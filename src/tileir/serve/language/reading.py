"""The questions of somebody who reads and writes a program: what the server registers for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lsprotocol import types as lsp

from tileir.serve.language import completion, signature
from tileir.serve.language.colours import LEGEND, semantic_tokens, semantic_tokens_delta, semantic_tokens_range
from tileir.serve.language.document import Document
from tileir.serve.language.hover import hover
from tileir.serve.language.inlays import inlay_hints


def _complete(document: Document, asked: lsp.CompletionParams) -> lsp.CompletionList:
    trigger = asked.context.trigger_character if asked.context is not None else None
    return completion.complete(document, asked.position, trigger)


_COLOURS: Final = lsp.SemanticTokensRegistrationOptions(
    LEGEND, full=lsp.SemanticTokensFullDelta(delta=True), range=True
)
READING: Final[list[tuple[str, Any, Callable[[Document, Any], Any]]]] = [
    (lsp.TEXT_DOCUMENT_HOVER, None, lambda document, asked: hover(document, asked.position)),
    (
        lsp.TEXT_DOCUMENT_COMPLETION,
        lsp.CompletionOptions(trigger_characters=completion.TRIGGERS, resolve_provider=True),
        _complete,
    ),
    (
        lsp.TEXT_DOCUMENT_SIGNATURE_HELP,
        lsp.SignatureHelpOptions(trigger_characters=signature.TRIGGERS),
        lambda document, asked: signature.signature_help(document, asked.position),
    ),
    (lsp.TEXT_DOCUMENT_INLAY_HINT, None, lambda document, asked: inlay_hints(document, asked.range)),
    (lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _COLOURS, lambda document, _: semantic_tokens(document)),
    (
        lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA,
        _COLOURS,
        lambda document, asked: semantic_tokens_delta(document, asked.previous_result_id),
    ),
    (
        lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE,
        _COLOURS,
        lambda document, asked: semantic_tokens_range(document, asked.range),
    ),
]
