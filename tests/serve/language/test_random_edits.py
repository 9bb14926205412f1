"""Random edits over the wire: the server is never lost, and ends up saying what it says about the text opened anew."""

import random
import time

import pytest
from lsprotocol import types as lsp
from tests.serve.language.wire import Editor
from tests.text.edits import PROGRAMS, random_edits

from tileir.serve.language.document.document import Document
from tileir.text.edits import TokenText

QUESTIONS = [
    ("text_document_hover_async", lsp.HoverParams),
    ("text_document_completion_async", lsp.CompletionParams),
    ("text_document_definition_async", lsp.DefinitionParams),
    ("text_document_signature_help_async", lsp.SignatureHelpParams),
    ("text_document_document_highlight_async", lsp.DocumentHighlightParams),
]


async def session(editor, seed, edits):
    """Open a program, edit it at random, ask about it now and then; the diagnostics are those of a fresh document."""
    chance = random.Random(seed)
    text = chance.choice(PROGRAMS).read_text("utf-8", "replace")
    words = [token for token in TokenText(text).tokens if token]
    uri = await editor.open(text)
    mirror = Document(uri, text)
    for start, end, new in random_edits(chance, text, edits, words):
        change = mirror.range(start, end)
        mirror.replace(start, end, new)
        editor.send_edits(uri, (change, new))
        if chance.random() < 0.3:
            name, kind = chance.choice(QUESTIONS)
            place = mirror.position(chance.randrange(len(mirror.text) + 1))
            await getattr(editor, name)(kind(lsp.TextDocumentIdentifier(uri), place))
        if chance.random() < 0.3:
            await editor.settled(uri)
    found = await editor.settled(uri)
    fresh = await editor.open(mirror.text)
    expected = await editor.settled(fresh)
    assert [_told(each) for each in found] == [_told(each) for each in expected], seed
    editor.close(uri)
    editor.close(fresh)


def _told(diagnostic):
    related = [(each.location.range, each.message) for each in diagnostic.related_information or ()]
    return diagnostic.range, diagnostic.message, diagnostic.code, related


@pytest.mark.parametrize("seed", range(4))
async def test_random_edits(editor, seed):
    await session(editor, f"wire {seed}", 12)
    assert editor.error is None


@pytest.mark.long
async def test_random_edits_for_minutes():
    editor = await Editor().start()
    end = time.monotonic() + 240
    count = 0
    while time.monotonic() < end:
        await session(editor, f"minutes {count}", 40)
        count += 1
    assert editor.error is None
    assert count > 5
    await editor.finish()
