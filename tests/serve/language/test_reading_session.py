"""The questions of a reader over the wire: every answer is held to the protocol by `wire.py`."""

from __future__ import annotations

from lsprotocol import types as lsp
from tests.serve.language.test_reading import PROGRAM, words
from tests.serve.language.wire import Editor

from tileir.serve.language.document.document import Document


def position(text: str, place: str) -> lsp.Position:
    before, _, behind = place.partition("|")
    return Document("", text).position(text.index(before + behind) + len(before))


async def test_a_session_of_hovering(editor: Editor) -> None:
    uri = await editor.open(PROGRAM)
    document = lsp.TextDocumentIdentifier(uri)
    found = await editor.text_document_hover_async(lsp.HoverParams(document, position(PROGRAM, "%sum = |addf")))
    assert found is not None and isinstance(found.contents, lsp.MarkupContent)
    assert "%result = addf %lhs, %rhs" in found.contents.value
    assert found.range == Document("", PROGRAM).range(PROGRAM.index("addf"), PROGRAM.index("addf") + 4)
    nothing = await editor.text_document_hover_async(lsp.HoverParams(document, lsp.Position(1000, 1000)))
    assert nothing is None


async def test_a_session_of_completing(editor: Editor) -> None:
    assert editor.result is not None
    provided = editor.result.capabilities.completion_provider
    assert provided is not None and provided.resolve_provider and "%" in (provided.trigger_characters or [])
    uri = await editor.open(PROGRAM)
    document = lsp.TextDocumentIdentifier(uri)
    place = position(PROGRAM, "|return")
    await editor.edit(uri, (lsp.Range(place, place), "%new = sub\n    "))
    asked = lsp.CompletionParams(document, lsp.Position(place.line, place.character + len("%new = sub")))
    found = await editor.text_document_completion_async(asked)
    assert isinstance(found, lsp.CompletionList)
    assert [item.label for item in found.items][:2] == ["subf", "subi"]
    resolved = await editor.completion_item_resolve_async(found.items[0])
    assert isinstance(resolved.documentation, lsp.MarkupContent) and "Subtracts" in resolved.documentation.value
    blank = lsp.CompletionContext(lsp.CompletionTriggerKind.TriggerCharacter, " ")
    asked = lsp.CompletionParams(document, lsp.Position(0, 0), context=blank)
    found = await editor.text_document_completion_async(asked)
    assert isinstance(found, lsp.CompletionList) and not found.items


async def test_a_session_of_signatures(editor: Editor) -> None:
    uri = await editor.open(PROGRAM)
    asked = lsp.SignatureHelpParams(lsp.TextDocumentIdentifier(uri), position(PROGRAM, "addf %product, |%x"))
    found = await editor.text_document_signature_help_async(asked)
    assert found is not None and found.signatures[0].label.startswith("%result = addf %lhs, %rhs")
    parameters = found.signatures[0].parameters
    assert parameters is not None and found.active_parameter is not None
    start, end = parameters[found.active_parameter].label
    assert found.signatures[0].label[int(start) : int(end)] == "%rhs"


async def test_a_session_of_hints_and_colors(editor: Editor) -> None:
    uri = await editor.open(PROGRAM)
    document = lsp.TextDocumentIdentifier(uri)
    everything = Document("", PROGRAM).range(0, len(PROGRAM))
    hints = await editor.text_document_inlay_hint_async(lsp.InlayHintParams(document, everything))
    assert hints is not None and ": tile<16x16xf32>" in [hint.label for hint in hints]
    whole = await editor.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(document))
    assert whole is not None
    part = await editor.text_document_semantic_tokens_range_async(lsp.SemanticTokensRangeParams(document, everything))
    assert part is not None and list(part.data) == list(whole.data)
    assert ("mmaf", "function", []) in words(Document("", PROGRAM), list(whole.data))
